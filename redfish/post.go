package redfish

import "context"

// POSTDone tells whether the firmware has handed over to a boot loader or an
// operating system. known is false where the BMC does not say; then only the
// host itself can tell. Right after a reset the BMC may still show the end of the
// boot before.
func (c *Client) POSTDone(ctx context.Context) (done, known bool, err error) {
	host, err := c.host(ctx)
	if err != nil {
		return false, false, err
	}
	done, known = c.postDone(host)
	return done, known, nil
}

func (c *Client) postDone(host systemDoc) (done, known bool) {
	if host.power() == Off {
		return false, true
	}
	switch host.Progress.value.LastState {
	case "", "None", "OEM":
		return c.behaviour.postDone(host)
	// A SYS-821GE stays at SystemHardwareInitializationComplete while its
	// operating system runs.
	case "SystemHardwareInitializationComplete", "OSBootStarted", "OSRunning":
		return true, true
	}
	return false, true
}
