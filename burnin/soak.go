package burnin

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

// soakOpen says what is missing of the hours under load that the spec asks for:
// a machine that was loaded for minutes has not proven a day. It is nil when
// nothing is missing.
func soakOpen(rec *Record, s *profiles.Spec) *NotRun {
	if s.Soak.Hours <= 0 || rec.Meta.Coverage == CoverPartial {
		return nil
	}
	hours := loadedSeconds(rec) / 3600
	if hours >= s.Soak.Hours {
		return nil
	}
	return &NotRun{
		Check: "soak", Quantity: "hours", Part: "machine", Scope: s.ScopeOf("soak", "hours"),
		Why: fmt.Sprintf("under load for %.2f h of the %g h that spec %s asks for", hours, s.Soak.Hours, s.Name),
	}
}

// loadedSeconds is how long the longest load ran that came to its own end.
func loadedSeconds(rec *Record) float64 {
	longest := 0.0
	for _, l := range loadsOf(rec) {
		if l.Whole {
			longest = max(longest, l.Seconds)
		}
	}
	return longest
}

// loadsOf lists the loads that ran and kept the machine busy; what measured alone is no
// part of the soak.
func loadsOf(rec *Record) []LoadTime {
	out := []LoadTime{}
	for _, l := range Loads() {
		e := rec.find(PhaseLoad, l.Name, "")
		if l.Alone > 0 || e == nil || e.Ended == EndedNoTool {
			continue
		}
		whole := e.Ended == EndedExit && e.Exit != nil && *e.Exit == 0
		out = append(out, LoadTime{Name: l.Name, Seconds: e.Seconds, Whole: whole})
	}
	return out
}
