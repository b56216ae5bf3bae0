package burnin

import "github.com/rackproof/rackproof/profiles"

// sinceBoot judges a counter that begins at zero with every boot: two readings give
// the growth over the run; of one reading the growth can only be bounded, so that it
// passes within the limit and is left open beyond.
func (f Finding) sinceBoot(before, after Opt[float64], both bool, l *profiles.Limit) Finding {
	if !both && after.Set && l.Set() && l.Relation == profiles.Max && after.V <= l.Number(profiles.Count) {
		return f.Number(after.V, profiles.Count, l)
	}
	return f.change(before, after, both, l)
}

// inPhase finds a reading by its phase; ok is false where the probe did not run in it.
func inPhase[T any](readings []Reading[T], phase Phase) (found Reading[T], ok bool) {
	for _, reading := range readings {
		if reading.Evidence != nil && reading.Evidence.Phase == phase {
			return reading, true
		}
	}
	return Reading[T]{}, false
}

// anyAbsent returns why one of the readings is absent, or nil.
func anyAbsent[T any](readings []Reading[T]) error {
	for _, reading := range readings {
		if !reading.OK() {
			return reading.Err
		}
	}
	return nil
}
