package provision

import (
	"fmt"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// SoakAdvice says, for each spec of the batch that requires hours under load, that
// limits.load is too short to prove them.
func SoakAdvice(b *Batch) []string {
	load := time.Duration(b.Limits.Load)
	if load <= 0 { // then the spec's own hours count
		return nil
	}
	var order []string
	count := map[string]int{}
	for _, m := range b.Machines {
		if count[m.SpecSHA256] == 0 {
			order = append(order, m.SpecSHA256)
		}
		count[m.SpecSHA256]++
	}
	var out []string
	for _, sha := range order {
		s, err := profiles.ParseResolvedSpec(b.Resolved[sha])
		if err != nil || s.ScopeOf("soak", "hours") != profiles.Required || load.Hours() >= s.Soak.Hours {
			continue
		}
		noun := "machines"
		if count[sha] == 1 {
			noun = "machine"
		}
		out = append(out, fmt.Sprintf("spec %s requires %g h under load and limits.load is %s: the soak will not be proven, and no better than INCOMPLETE comes of %d %s",
			s.Name, s.Soak.Hours, load, count[sha], noun))
	}
	return out
}
