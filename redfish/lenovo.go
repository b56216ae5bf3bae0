package redfish

// lenovo is XCC. Fixture: ThinkSystem SR670 V2, XCC 2.83.
type lenovo struct{ base }

// postDone reads SystemStatus, which XCC has instead of BootProgress.
func (lenovo) postDone(host systemDoc) (done, known bool) {
	var ext struct {
		Status text `json:"SystemStatus"`
	}
	oem(host.Oem, "Lenovo", &ext)
	switch ext.Status {
	case "":
		return false, false
	case "BootingOSOrInUndetectedOS", "OSBooted":
		return true, true
	}
	return false, true
}

// intents: names and values of the registry of BIOS U8E122J.
func (lenovo) intents() []intentRule {
	return []intentRule{
		{intent: "smt", value: "on", attribute: "Processors_HyperThreading", set: "Enabled"},
		{intent: "smt", value: "off", attribute: "Processors_HyperThreading", set: "Disabled"},
		{intent: "numa-per-socket", value: "1", attribute: "Processors_SNC", set: "Disabled"},
		{intent: "above-4g", value: "on", attribute: "DevicesandIOPorts_PCI64BitResourceAllocation", set: "Enabled"},
		{intent: "iommu", value: "on", attribute: "DevicesandIOPorts_IntelVTforDirectedIOVTd", set: "Enabled"},
		{intent: "iommu", value: "off", attribute: "DevicesandIOPorts_IntelVTforDirectedIOVTd", set: "Disabled"},
		{intent: "sriov", value: "on", attribute: "DevicesandIOPorts_SRIOV", set: "Enabled"},
		{intent: "sriov", value: "off", attribute: "DevicesandIOPorts_SRIOV", set: "Disabled"},
		{intent: "aspm", value: "off", attribute: "Power_ASPM", set: "Disabled"},
		{intent: "boot-mode", value: "uefi", attribute: "BootModes_SystemBootMode", set: "UEFIMode"},
		{intent: "performance", value: "max", attribute: "OperatingModes_ChooseOperatingMode", set: "MaximumPerformance"},
	}
}

// hardwareLog is the platform log: the SEL service of an XCC (SR670 V2, 2.83) has no
// entries, the active log repeats what still holds.
func (l lenovo) hardwareLog(svc logServiceDoc, owner string) bool {
	return svc.ID == "PlatformLog" || l.base.hardwareLog(svc, owner)
}
