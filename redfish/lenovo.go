package redfish

import "regexp"

// lenovo is XCC. Fixture: ThinkSystem SR670 V2, XCC 2.83.
type lenovo struct{ base }

// named: the name of an XCC is "XCC-", the machine type, "-" and the serial (SR670
// V2: XCC-7Z23-J105958B).
func (lenovo) named(host string) string { return factoryName(lenovoName, host) }

var lenovoName = regexp.MustCompile(`^XCC-[0-9A-Z]{4}-([0-9A-Z]{8})$`)

// postDone reads SystemStatus, which XCC has instead of BootProgress.
func (l lenovo) postDone(host systemDoc) (done, known bool) {
	switch l.postWord(host) {
	case "":
		return false, false
	case "BootingOSOrInUndetectedOS", "OSBooted":
		return true, true
	}
	return false, true
}

// postWord is SystemStatus.
func (lenovo) postWord(host systemDoc) string {
	var ext struct {
		Status text `json:"SystemStatus"`
	}
	oem(host.Oem, "Lenovo", &ext)
	return string(ext.Status)
}

// hardwareLog is the platform log: the SEL service of an XCC (SR670 V2, 2.83) has no
// entries, the active log repeats what still holds.
func (l lenovo) hardwareLog(svc logServiceDoc, owner string) bool {
	return svc.ID == "PlatformLog" || l.base.hardwareLog(svc, owner)
}

func (lenovo) ways() []way {
	return []way{
		{"AC cycle", "ACPowerCycle", seen, documented, "captured tree lenovo (SR670 V2, XCC 2.83): the action lists it"},
		{"BMC socket", "NicMode", seen, documented, "captured tree lenovo; setting it: its schema"},
	}
}
