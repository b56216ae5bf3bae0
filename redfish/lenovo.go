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

// intents: attributes of BIOS U8E122J, whose registry was not captured.
func (lenovo) intents() []intentRule {
	return []intentRule{
		{intent: "smt", value: "on", attribute: "Processors_HyperThreading", set: "Enabled"},
		{intent: "smt", value: "off", attribute: "Processors_HyperThreading", set: "Disabled"},
		{intent: "numa-per-socket", value: "1", attribute: "Processors_SNC", set: "Disabled"},
		{intent: "iommu", value: "on", attribute: "DevicesandIOPorts_IntelVTforDirectedIOVTd", set: "Enabled"},
		{intent: "iommu", value: "off", attribute: "DevicesandIOPorts_IntelVTforDirectedIOVTd", set: "Disabled"},
		{intent: "sriov", value: "on", attribute: "DevicesandIOPorts_SRIOV", set: "Enabled"},
		{intent: "sriov", value: "off", attribute: "DevicesandIOPorts_SRIOV", set: "Disabled"},
		{intent: "aspm", value: "off", attribute: "Power_ASPM", set: "Disabled"},
		{intent: "boot-mode", value: "uefi", attribute: "BootModes_SystemBootMode", set: "UEFIMode"},
	}
}
