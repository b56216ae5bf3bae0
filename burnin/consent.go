package burnin

import (
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// Consent is what a person allows to be written or set on one machine, in words that name it: a
// spec that asks for writes asks for nothing until somebody has said on which disks.
type Consent struct {
	Disks   []string // serial numbers of NVMe drives that may be written over
	MIG     bool     // the GPUs may be cut into instances for a while, or as the profile says for good
	Refused string   // why it does not hold, though it was given; nothing is written or set then
}

// LoadsFor leaves out of loads what measures for checks that the spec does not ask for,
// and what writes without both the spec and the consent of a person.
func LoadsFor(loads []Load, s *profiles.Spec, c Consent) []Load {
	var out []Load
	for _, l := range loads {
		if l.Check != "" && !asked(s, l.Check) {
			continue
		}
		if l.Name == nvmeWriteName {
			if s.Loads.NVMe != profiles.NVMeWrite || len(c.Disks) == 0 {
				continue
			}
			l.Command, l.Disks = nvmeWrite(c), slices.Clone(c.Disks)
		}
		if l.Behind {
			if !c.MIG {
				continue
			}
			l.Command = migTrial(c)
		}
		out = append(out, l)
	}
	return out
}
