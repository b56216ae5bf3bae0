package redfish

// intents: names and values of iLO's registry. above-4g and resizable-bar are not
// in it; ASPM stands there once per slot, and of secure boot the state alone, so that
// it is set by its resource (secure_boot.go).
func (hpe) intents() []intentTable {
	custom := map[string]any{"WorkloadProfile": "Custom"} // "unchangeable unless in the Custom profile", says its help
	return []intentTable{{
		model: "ProLiant DL385 Gen10 Plus v2 (AMD)", firmware: "iLO5 2.72, BIOS A42 2.60", standing: seen,
		source: "captured tree hpe: registrystore/registries/en/biosattributeregistrya42.v1_2_60",
		rules: []intentRule{
			{intent: "smt", attribute: "ProcSMT", values: enabled()},
			{intent: "numa-per-socket", attribute: "NumaMemoryDomainsPerSocket", values: map[string]any{
				"1": "OneMemoryDomainPerSocket", "2": "TwoMemoryDomainsPerSocket", "4": "FourMemoryDomainsPerSocket",
			}},
			{intent: "iommu", attribute: "ProcAmdIoVt", values: enabled()},
			{intent: "sriov", attribute: "Sriov", values: enabled()},
			{intent: "acs", attribute: "AccessControlService", values: enabled()},
			{intent: "boot-mode", attribute: "BootMode", values: map[string]any{"uefi": "Uefi", "legacy": "LegacyBios"}},
			{intent: "performance", attribute: "PowerRegulator", values: map[string]any{"max": "StaticHighPerf", "balanced": "OsControl"}, unlock: custom},
			{intent: "c-states", attribute: "MinProcIdlePower", values: onOff("C6", "NoCStates"), unlock: custom},
			{intent: "determinism", attribute: "DeterminismControl", values: map[string]any{"performance": "DeterminismCtrlManual", "power": "DeterminismCtrlManual"}},
			{intent: "determinism", attribute: "PerformanceDeterminism", values: map[string]any{"performance": "PerformanceDeterministic", "power": "PowerDeterministic"}},
			{intent: "tpm", attribute: "TpmVisibility", values: onOff("Visible", "Hidden")},
			{intent: "serial-console", attribute: "SerialConsolePort", values: onOff("Virtual", "Disabled")},
			{intent: "http-boot", attribute: "HttpSupport", values: onOff("Auto", "Disabled")},
		},
	}, {
		model: "ProLiant Gen10 and Gen10 Plus (Intel)", firmware: "iLO5", standing: documented,
		source: "HPE iLO5 Redfish API reference, Bios.v1_0_0 (HewlettPackard/ilo-rest-api-docs, iLO5_Redfish_Reference.md)",
		rules: []intentRule{
			{intent: "smt", attribute: "ProcHyperthreading", values: enabled()},
			{intent: "numa-per-socket", attribute: "SubNumaClustering", values: map[string]any{"1": "Disabled"}},
			{intent: "iommu", attribute: "IntelProcVtd", values: enabled()},
		},
	}}
}
