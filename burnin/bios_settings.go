package burnin

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

// biosSettings asks whether the BIOS had the settings that the run wanted, as the BMC
// showed them before the test.
var biosSettings = Check{
	Name:   "bios",
	Title:  "The BIOS has the settings that the profile wants for the test",
	Probes: []string{BIOSSettings.Spec.Name},
	BMC:    true,
	Judge:  judgeBIOS,
}

func judgeBIOS(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	lines := r.Machine().BIOS
	reading := Read(r, BIOSSettings, PhaseBMC)
	all := About("bios", "setting", Part{Class: ClassFirmware, Name: "BIOS"}, reading.Ref)
	if len(lines) == 0 {
		return []Finding{all.NotHere("nothing was wanted of the BIOS")}
	}
	if !reading.OK() {
		return []Finding{all.Missing(reading.Err)}
	}
	var out []Finding
	for _, line := range lines {
		f := About("bios", "setting", Part{Class: ClassFirmware, Name: "BIOS " + line.Attribute}, reading.Ref)
		now, shown := reading.Value[line.Attribute]
		if !shown {
			out = append(out, f.Missing(fmt.Errorf("the BMC shows no BIOS attribute %s", line.Attribute)))
			continue
		}
		f.Measured, f.Limit, f.Relation = settingText(now), settingText(line.Wanted), string(profiles.Equal)
		f.Provenance = &Provenance{Kind: string(profiles.FromAgreed), Source: "BIOS settings of the profile " + p.Name}
		f = f.decide(sameSetting(now, line.Wanted))
		if f.Verdict == Fail {
			f = f.Because("%s is %s, the profile wants %s", line.Attribute, f.Measured, f.Limit)
		}
		out = append(out, f)
	}
	return out
}
