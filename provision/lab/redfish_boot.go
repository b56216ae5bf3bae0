package lab

import "github.com/rackproof/rackproof/redfish/redfishtest"

// redfishTargets are Redfish's words for the boot devices.
var redfishTargets = map[BootDevice]string{
	BootOwn: "None", BootPXE: "Pxe", BootDisk: "Hdd", BootCD: "Cd", BootHTTP: "UefiHttp", BootSetup: "BiosSetup",
}

// targets are those that this machine's firmware can do.
func (s Spec) targets() []string {
	t := []string{"None", "Pxe", "Cd", "Hdd", "BiosSetup"}
	if s.Firmware == UEFI {
		t = append(t, "UefiHttp")
	}
	return t
}

// mode is Redfish's word for the machine's firmware.
func (s Spec) mode() string {
	if s.Firmware == UEFI {
		return "UEFI"
	}
	return "Legacy"
}

// redfishBoot is a boot choice as an override.
func redfishBoot(s Spec, b BootChoice) redfishtest.Boot {
	out := redfishtest.Boot{Target: redfishTargets[b.Device], Enabled: "Disabled", Mode: s.mode(), HTTPBootURI: b.URI}
	switch {
	case b.Device == BootOwn:
	case b.Persistent:
		out.Enabled = "Continuous"
	default:
		out.Enabled = "Once"
	}
	return out
}

// labBoot is an override as a boot choice.
func labBoot(b redfishtest.Boot) BootChoice {
	if b.Enabled == "Disabled" || b.Enabled == "" {
		return BootChoice{}
	}
	for device, target := range redfishTargets {
		if target != b.Target || device == BootOwn {
			continue
		}
		c := BootChoice{Device: device, UEFI: b.Mode == "UEFI", Persistent: b.Enabled == "Continuous"}
		if device == BootHTTP {
			c.URI = b.HTTPBootURI
		}
		return c
	}
	return BootChoice{}
}
