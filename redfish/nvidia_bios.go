package redfish

// intents: the DGX H100 has no attribute for above-4g, resizable-bar, boot mode,
// ACS, ASPM and the cores' C-states; SR-IOV stands in two menus; ControlIommu is
// the protection before boot and no IOMMU switch. The Grace trays have ASPM and
// ACS once per root port, under names that differ from tray to tray.
func (nvidia) intents() []intentTable {
	return []intentTable{
		{
			model: "DGX H100 (Intel)", firmware: "BMC 23.11.20, BIOS 1.1.3", standing: seen,
			source: "captured tree nvidia_viking: Registries/BiosAttributeRegistry113.en-US.1.1.3.json",
			rules: []intentRule{
				{intent: "smt", attribute: "ProcessorHyperThreadingDisable", values: enabled()},
				{intent: "iommu", attribute: "VTdSupport", values: onOff("Enable", "Disable")},
				{intent: "sriov", attribute: "SriovSupport", values: enabled()},
				{intent: "sriov", attribute: "SRIOVEnable", values: onOff("Enable", "Disable")},
				{intent: "secure-boot", attribute: "SecureBootSupport", values: enabled()},
				{intent: "performance", attribute: "PwrPerfTuning", values: map[string]any{"max": "BIOS Controls EPB", "balanced": "OS Controls EPB"}},
				{intent: "performance", attribute: "AltEngPerfBIAS", values: map[string]any{"max": "Performance"}},
				{intent: "tpm", attribute: "TpmSupport", values: onOff("Enable", "Disable")},
				{intent: "serial-console", attribute: "ConsoleRedirectionEnable0", values: onOff(true, false)},
				{intent: "network-stack", attribute: "NetworkStack", values: enabled()},
				{intent: "http-boot", attribute: "NetworkStack", values: map[string]any{"on": "Enabled"}},
				{intent: "http-boot", attribute: "Ipv4Http", values: enabled()},
			},
		},
		{
			model: "GB200 NVL and GH200 trays (Grace)", firmware: "BMC GB200Nvl-24.12, GH200-24.05", standing: documented,
			source: "registries in NVIDIA/libredfish, tests/mockups/nvidia_gb200 and nvidia_gh200",
			rules: []intentRule{
				{intent: "tpm", attribute: "TPM", values: enabled()},
				{intent: "serial-console", attribute: "SerialPortConfiguration", values: onOff("ConsoleEnabledSbsa", "PortDisabled")},
			},
		},
		{
			model: "BlueField-3", firmware: "BF-24.10, UEFI 4.9.0", standing: documented,
			source: "registry in NVIDIA/libredfish, tests/mockups/nvidia_dpu",
			rules:  []intentRule{{intent: "iommu", attribute: "EnableSMMU", values: onOff(true, false)}},
		},
	}
}
