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

// hardwareLog is the Integrated Management Log, whose service names no type (iLO 5
// 2.72). The iLO event log beside it has logins, the Event log repeats the IML.
func (hpe) hardwareLog(svc logServiceDoc, _ string) bool { return svc.ID == "IML" }
