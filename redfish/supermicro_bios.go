package redfish

// intents: names of the SYS-821GE's registry, whose suffix differs from board to
// board; a rule gives the part before it. Left out: "PCIe ACSCTL", whose help
// speaks of overwriting the register and not of which way; the TPM, for which the
// BIOS shows three attributes of one name; console redirection, shown twice, for
// COM1 and for SOL. Legacy boot needs more than CSM.
func (supermicro) intents() []intentTable {
	return []intentTable{{
		model: "SYS-821GE-TNHR (Intel)", firmware: "BMC 11.01.01, BIOS 1.4", standing: seen,
		source: "captured tree supermicro: /registries/BiosAttributeRegistry.1.0.0.json",
		rules: []intentRule{
			{intent: "smt", attribute: "Hyper_Threading_ALL_", values: onOff("Enable", "Disable")},
			{intent: "numa-per-socket", attribute: "SNC", values: map[string]any{
				"1": "Disable", "2": "Enable SNC2 (2-clusters)", "4": "Enable SNC4 (4-clusters)",
			}},
			{intent: "iommu", attribute: "IntelVTforDirectedI_O_VT_d_", values: onOff("Enable", "Disable")},
			{intent: "above-4g", attribute: "Above4GDecoding", values: enabled()},
			{intent: "resizable-bar", attribute: "Re_SizeBARSupport", values: enabled()},
			{intent: "sriov", attribute: "SR_IOVSupport", values: enabled()},
			{intent: "aspm", attribute: "PCIeASPMSupport_Global_", values: onOff("Auto", "Disable")},
			{intent: "boot-mode", attribute: "CSMSupport", values: map[string]any{"uefi": "Disabled"}},
			{intent: "secure-boot", attribute: "SecureBootEnable", values: onOff(true, false)},
			{intent: "performance", attribute: "PowerPerformanceTuning", values: map[string]any{"max": "BIOS Controls EPB", "balanced": "OS Controls EPB"}},
			{intent: "performance", attribute: "ENERGY_PERF_BIAS_CFGMode", values: map[string]any{"max": "Maximum Performance"}},
			{intent: "c-states", attribute: "CPUC6Report", values: onOff("Auto", "Disable")},
			{intent: "c-states", attribute: "PackageCState", values: onOff("Auto", "C0/C1 state")},
			{intent: "network-stack", attribute: "NetworkStack", values: enabled()},
			{intent: "http-boot", attribute: "NetworkStack", values: map[string]any{"on": "Enabled"}},
			{intent: "http-boot", attribute: "IPv4HTTPSupport", values: enabled()},
		},
	}}
}
