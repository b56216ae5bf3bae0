package redfish

import "context"

// BootProof is what the BMC shows of the last boot. It tells that the host booted
// and whether the override was used; what it booted tells only what came up: a
// Supermicro was seen to use a Once up and to boot its own order (jetlag #18).
type BootProof struct {
	Power        PowerState `json:"power"`
	LastReset    string     `json:"last_reset,omitempty"`  // as the BMC writes it, "" where it does not say
	Progress     string     `json:"progress,omitempty"`    // BootProgress.LastState, or the vendor's word
	ProgressTime string     `json:"progress_at,omitempty"` // when that was reached, by the BMC's clock
	POSTDone     bool       `json:"post_done"`
	POSTKnown    bool       `json:"post_known"` // false: the BMC does not say; only the host can tell
	Override     Boot       `json:"override"`   // as it reads now
}

// Used tells whether the override that was set has been taken by a boot: a Once
// reads Disabled then. A Continuous one stays, and known is false.
func (p BootProof) Used(set Boot) (used, known bool) {
	if set.Enabled == "Continuous" || !p.Override.Supported {
		return false, false
	}
	return p.Override.Enabled == overrideOff || p.Override.Target == "None", true
}

// BootProof reads how far the host is, and what is left of the override.
func (c *Client) BootProof(ctx context.Context) (BootProof, error) {
	host, err := c.host(ctx)
	if err != nil {
		return BootProof{}, err
	}
	boot, err := c.Boot(ctx)
	if err != nil {
		return BootProof{}, err
	}
	progress := host.Progress.value
	p := BootProof{
		Power: host.power(), LastReset: host.LastReset.clean(), Progress: progress.LastState.clean(),
		ProgressTime: progress.LastTime.clean(), Override: boot,
	}
	if p.Progress == "OEM" { // BlueField-3: "OsIsRunning" beside it
		p.Progress = firstOf(progress.OEM.clean(), p.Progress)
	}
	p.POSTDone, p.POSTKnown = c.postDone(host)
	return p, nil
}
