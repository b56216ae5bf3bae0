package provision

const (
	factImageLeft = "image_left"     // the earlier run that left the host in an image of ours
	factBIOSBack  = "bios_restored"  // the BIOS has its delivery settings, or those found
	factPowerBack = "power_restored" // the host's power is as it was found
)

// Arrived is what a run found on the machines of b and did not put back, for the next
// run of the same batch. A machine that became another one since brings nothing with it.
func (r *Run) Arrived(b *Batch) map[string]Facts {
	out := map[string]Facts{}
	for i := range r.Machines {
		m := &r.Machines[i]
		now, ok := b.Find(m.Machine.Name)
		if !ok || otherMachine(m.Machine, now) != "" {
			continue
		}
		facts := Facts{}
		for fact, back := range map[string]string{FactBIOSFound: factBIOSBack, FactPowerFound: factPowerBack} {
			if v := m.Facts[fact]; v != "" && m.Facts[back] == "" {
				facts[fact] = v
			}
		}
		for _, fact := range []string{FactPassword, factLEDFound} {
			if v := m.Facts[fact]; v != "" {
				facts[fact] = v
			}
		}
		booted := BootMethod(m.Facts[FactBoot]).fromUs() || m.Facts[factImageLeft] != ""
		if booted && m.Facts[factLeft] == "" {
			facts[factImageLeft] = string(r.ID)
		}
		if len(facts) > 0 {
			out[m.Machine.Name] = facts
		}
	}
	return out
}

// inOurImage reports a host that runs an image of this run, or of one before.
func inOurImage(e *Env) bool { return live(e) || e.Facts[factImageLeft] != "" }
