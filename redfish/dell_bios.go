package redfish

// intents: names and values of iDRAC's registries. numa-per-socket 4, acs and
// resizable-bar are not in the R750's. Its IOMMU has no switch of its own: the
// registry's help says that ProcVirtualization gives the DMAR table, by which an
// operating system finds it.
func (dell) intents() []intentTable {
	custom := map[string]any{"SysProfile": "Custom"} // "under Custom you can change each option", says its help
	return []intentTable{
		{
			model: "PowerEdge R750 (Intel)", firmware: "iDRAC9 6.00.30, BIOS 1.8.2", standing: seen,
			source: "captured tree dell: Systems/System.Embedded.1/Bios/BiosRegistry",
			rules: []intentRule{
				{intent: "smt", attribute: "LogicalProc", values: enabled()},
				{intent: "numa-per-socket", attribute: "SubNumaCluster", values: map[string]any{"1": "Disabled", "2": "2-Way"}},
				{intent: "iommu", attribute: "ProcVirtualization", values: enabled()},
				{intent: "above-4g", attribute: "MmioAbove4Gb", values: enabled()},
				{intent: "sriov", attribute: "SriovGlobalEnable", values: enabled()},
				{intent: "aspm", attribute: "PcieAspmL1", values: enabled(), unlock: custom},
				{intent: "boot-mode", attribute: "BootMode", values: map[string]any{"uefi": "Uefi", "legacy": "Bios"}},
				{intent: "secure-boot", attribute: "SecureBoot", values: enabled()},
				{intent: "performance", attribute: "SysProfile", values: map[string]any{"max": "PerfOptimized", "balanced": "PerfPerWattOptimizedDapc"}},
				{intent: "c-states", attribute: "ProcCStates", values: enabled(), unlock: custom},
				{intent: "tpm", attribute: "TpmSecurity", values: onOff("On", "Off")},
				{intent: "serial-console", attribute: "SerialComm", values: onOff("OnConRedir", "Off")},
				{intent: "http-boot", attribute: "HttpDev1EnDis", values: enabled()},
			},
		},
		{
			model: "PowerEdge R6515 (AMD)", firmware: "of April 2021", standing: seen,
			source: "corpus bios/ironlib-dell_r6515_bios.json: a configuration export, which shows the value in force only",
			rules: []intentRule{
				{intent: "numa-per-socket", attribute: "NumaNodesPerSocket", values: map[string]any{"1": "1"}},
				{intent: "serial-console", attribute: "SerialComm", values: map[string]any{"on": "OnConRedirCom1"}},
				{intent: "determinism", attribute: "DeterminismSlider", values: map[string]any{"power": "PowerDeterminism"}},
			},
		},
	}
}
