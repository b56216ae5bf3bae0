package simrack

// biosAttribute is one setting with what it may be; the first choice is the
// factory's. Names are those of a SYS-821GE-TNHR, whose suffix differs from board
// to board.
type biosAttribute struct {
	name, display string
	choices       []string
}

var biosAttributes = []biosAttribute{
	{"IntelVTforDirectedI_O_VT_d__1E32", "Intel VT for Directed I/O (VT-d)", []string{"Enable", "Disable"}},
	{"Hyper_Threading_ALL__F27F", "Hyper-Threading [ALL]", []string{"Enable", "Disable"}},
	{"SNC_F300", "SNC", []string{"Disable", "Enable SNC2 (2-clusters)", "Enable SNC4 (4-clusters)"}},
	{"Above4GDecoding_0041", "Above 4G Decoding", []string{"Enabled", "Disabled"}},
	{"SR_IOVSupport_0047", "SR-IOV Support", []string{"Enabled", "Disabled"}},
	{"PCIeASPMSupport_Global__00A6", "PCIe ASPM Support (Global)", []string{"Disable", "Auto"}},
	{"PowerTechnology_FF77", "Power Technology", []string{"Energy Efficient", "Disable", "Custom"}},
	{"NUMA_003B", "NUMA", []string{"Enabled", "Disabled"}},
}

// iommuAttribute decides what the booted host says of its IOMMU.
const iommuAttribute = "IntelVTforDirectedI_O_VT_d__1E32"

func (t *treeMaker) bios() {
	current := object{"QuietBoot_0030": true, "CorrectableErrorThreshold_3C34": 512}
	entries := []object{
		{"AttributeName": "QuietBoot_0030", "DisplayName": "Quiet Boot", "Type": "Boolean", "DefaultValue": true, "ReadOnly": false, "ResetRequired": true},
		{
			"AttributeName": "CorrectableErrorThreshold_3C34", "DisplayName": "Correctable Error Threshold", "Type": "Integer", "DefaultValue": 512,
			"LowerBound": 1, "UpperBound": 32767, "ScalarIncrement": 1, "ReadOnly": false, "ResetRequired": true,
		},
	}
	for _, a := range biosAttributes {
		current[a.name] = a.choices[0]
		values := make([]object, len(a.choices))
		for i, c := range a.choices {
			values[i] = object{"ValueName": c, "ValueDisplayName": c}
		}
		entries = append(entries, object{
			"AttributeName": a.name, "DisplayName": a.display, "Type": "Enumeration", "DefaultValue": a.choices[0], "Value": values,
			"ReadOnly": false, "ResetRequired": true, "HelpText": "Simulated setting.",
		})
	}
	bios := systemURI + "/Bios"
	t.add(bios, "Bios.v1_1_1", "BIOS Configuration Current Settings", object{
		"AttributeRegistry": "BiosAttributeRegistry.v1_0_0", "Attributes": current, "Description": "Simulated BIOS",
		"@Redfish.Settings": object{"@odata.type": "#Settings.v1_0_4.Settings", "SettingsObject": link(bios + "/SD")},
	})
	t.add(bios+"/SD", "Bios.v1_1_1", "BIOS Configuration Pending Settings", object{"AttributeRegistry": "BiosAttributeRegistry.v1_0_0"})
	t.collection(root+"/Registries", "MessageRegistryFileCollection", []string{root + "/Registries/BiosAttributeRegistry"})
	t.add(root+"/Registries/BiosAttributeRegistry", "MessageRegistryFile.v1_1_3", "BIOS Attribute Registry File", object{
		"Languages": []string{"en"}, "Registry": "BiosAttributeRegistry.1.0.0", "Location": []object{{"Language": "en", "Uri": registryURI}},
	})
	t.tree[registryURI] = object{
		"@odata.type": "#AttributeRegistry.v1_3_6.AttributeRegistry", "Id": "BiosAttributeRegistry.v1_0_0", "Name": "BIOS Attribute Registry (simulated)",
		"Language": "en", "RegistryVersion": "1.0.0", "OwningEntity": "Simulated", "RegistryEntries": object{"Attributes": entries},
	}
}
