package redfish

// intents: names and values of XCC's registry. PCIeACSCTL is left out: its help
// speaks of overwriting the register, not of which way. resizable-bar is not in
// it, and the TPM can only be cleared.
func (lenovo) intents() []intentTable {
	custom := map[string]any{"OperatingModes_ChooseOperatingMode": "CustomMode"}
	return []intentTable{{
		model: "ThinkSystem SR670 V2 (Intel)", firmware: "XCC 2.83, BIOS U8E122J", standing: seen,
		source: "captured tree lenovo: schemas/registries/BiosAttributeRegistry.1.0.0.json",
		rules: []intentRule{
			{intent: "smt", attribute: "Processors_HyperThreading", values: enabled()},
			{intent: "numa-per-socket", attribute: "Processors_SNC", values: map[string]any{"1": "Disabled"}},
			{intent: "above-4g", attribute: "DevicesandIOPorts_PCI64BitResourceAllocation", values: map[string]any{"on": "Enabled"}},
			{intent: "iommu", attribute: "DevicesandIOPorts_IntelVTforDirectedIOVTd", values: enabled()},
			{intent: "sriov", attribute: "DevicesandIOPorts_SRIOV", values: enabled()},
			{intent: "aspm", attribute: "Power_ASPM", values: onOff("Auto", "Disabled")},
			{intent: "boot-mode", attribute: "BootModes_SystemBootMode", values: map[string]any{"uefi": "UEFIMode", "legacy": "LegacyMode"}},
			{intent: "secure-boot", attribute: "SecureBootConfiguration_SecureBootSetting", values: enabled()},
			{intent: "performance", attribute: "OperatingModes_ChooseOperatingMode", values: map[string]any{
				"max": "MaximumPerformance", "balanced": "Efficiency_FavorPerformance",
			}},
			{intent: "c-states", attribute: "Processors_CStates", values: onOff("Legacy", "Disabled"), unlock: custom},
			{intent: "serial-console", attribute: "DevicesandIOPorts_ConsoleRedirection", values: enabled()},
			{intent: "network-stack", attribute: "NetworkStackSettings_NetworkStack", values: enabled()},
			{intent: "http-boot", attribute: "NetworkStackSettings_NetworkStack", values: map[string]any{"on": "Enabled"}},
			{intent: "http-boot", attribute: "NetworkStackSettings_IPv4HTTPSupport", values: enabled()},
		},
	}}
}
