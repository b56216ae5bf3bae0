package redfish

// hpe is iLO. Fixture: ProLiant DL385 Gen10 Plus v2, iLO5 2.72.
type hpe struct{ base }

// postDone reads PostState, which iLO5 has instead of BootProgress.
func (hpe) postDone(host systemDoc) (done, known bool) {
	var ext struct {
		State text `json:"PostState"`
	}
	oem(host.Oem, "Hpe", &ext)
	switch ext.State {
	case "", "Unknown":
		return false, false
	case "FinishedPost":
		return true, true
	}
	return false, true
}

// intents: names and values of the registry A42 1.2.60.
func (hpe) intents() []intentRule {
	return []intentRule{
		{intent: "smt", value: "on", attribute: "ProcSMT", set: "Enabled"},
		{intent: "smt", value: "off", attribute: "ProcSMT", set: "Disabled"},
		{intent: "numa-per-socket", value: "1", attribute: "NumaMemoryDomainsPerSocket", set: "OneMemoryDomainPerSocket"},
		{intent: "numa-per-socket", value: "2", attribute: "NumaMemoryDomainsPerSocket", set: "TwoMemoryDomainsPerSocket"},
		{intent: "numa-per-socket", value: "4", attribute: "NumaMemoryDomainsPerSocket", set: "FourMemoryDomainsPerSocket"},
		{intent: "iommu", value: "on", attribute: "ProcAmdIoVt", set: "Enabled"},
		{intent: "iommu", value: "off", attribute: "ProcAmdIoVt", set: "Disabled"},
		{intent: "sriov", value: "on", attribute: "Sriov", set: "Enabled"},
		{intent: "sriov", value: "off", attribute: "Sriov", set: "Disabled"},
		{intent: "acs", value: "on", attribute: "AccessControlService", set: "Enabled"},
		{intent: "acs", value: "off", attribute: "AccessControlService", set: "Disabled"},
		{intent: "boot-mode", value: "uefi", attribute: "BootMode", set: "Uefi"},
	}
}

// hardwareLog is the Integrated Management Log, whose service names no type (iLO 5
// 2.72). The iLO event log beside it has logins, the Event log repeats the IML.
func (hpe) hardwareLog(svc logServiceDoc, _ string) bool { return svc.ID == "IML" }
