package lab

// biosAttributes are the settings of the lab's BIOS with their choices, the
// first being what a machine is delivered with. Nothing in the machine obeys
// them; they are staged and take effect at a start as on any BMC.
var biosAttributes = []struct {
	name, display string
	choices       []string
}{
	{"HyperThreading", "Hyper-Threading", []string{"Enabled", "Disabled"}},
	{"NumaNodesPerSocket", "NUMA nodes per socket", []string{"NPS1", "NPS2", "NPS4"}},
	{"Iommu", "IOMMU", []string{"Enabled", "Disabled"}},
	{"Above4GDecoding", "Above 4G Decoding", []string{"Enabled", "Disabled"}},
	{"SriovSupport", "SR-IOV Support", []string{"Enabled", "Disabled"}},
	{"PcieAspm", "PCIe ASPM", []string{"Auto", "Disabled"}},
	{"SerialConsole", "Serial Console", []string{"Enabled", "Disabled"}},
	{"NetworkStack", "Network Stack", []string{"Enabled", "Disabled"}},
}

func (t *treeMaker) bios() {
	mode := "Legacy"
	if t.spec.Firmware == UEFI {
		mode = "Uefi"
	}
	current := object{"BootMode": mode, "QuietBoot": false, "BootTimeout": 5}
	entries := []object{
		{"AttributeName": "BootMode", "DisplayName": "Boot Mode", "Type": "Enumeration", "Value": choices("Uefi", "Legacy"), "ReadOnly": true},
		{"AttributeName": "QuietBoot", "DisplayName": "Quiet Boot", "Type": "Boolean", "ReadOnly": false, "ResetRequired": true},
		{
			"AttributeName": "BootTimeout", "DisplayName": "Boot Timeout", "Type": "Integer", "LowerBound": 0, "UpperBound": 65535,
			"ReadOnly": false, "ResetRequired": true,
		},
	}
	for _, a := range biosAttributes {
		current[a.name] = a.choices[0]
		entries = append(entries, object{
			"AttributeName": a.name, "DisplayName": a.display, "Type": "Enumeration", "Value": choices(a.choices...), "ReadOnly": false, "ResetRequired": true,
		})
	}
	const bios, registry = systemURI + "/Bios", "LabBiosRegistry.v1_0_0"
	t.add(bios, "Bios.v1_2_1", "BIOS", object{
		"AttributeRegistry": registry, "Attributes": current,
		"@Redfish.Settings": object{
			"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": uri(bios + "/Settings"), "SupportedApplyTimes": []string{"OnReset"},
		},
	})
	t.add(bios+"/Settings", "Bios.v1_2_1", "BIOS settings that wait", object{"AttributeRegistry": registry, "Attributes": object{}})
	t.collection(rootURI+"/Registries", "MessageRegistryFileCollection", registryURI)
	t.add(registryURI, "MessageRegistryFile.v1_1_3", "BIOS attributes", object{
		"Languages": []string{"en"}, "Registry": registry, "Location": []object{{"Language": "en", "Uri": registryURI + "/en"}},
	})
	t.tree[registryURI+"/en"] = object{
		"@odata.type": "#AttributeRegistry.v1_3_6.AttributeRegistry", "Id": registry, "Name": "BIOS attributes", "Language": "en",
		"RegistryVersion": "1.0.0", "OwningEntity": Manufacturer, "RegistryEntries": object{"Attributes": entries},
	}
}

func choices(names ...string) []object {
	out := make([]object, len(names))
	for i, n := range names {
		out[i] = object{"ValueName": n, "ValueDisplayName": n}
	}
	return out
}
