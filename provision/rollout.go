package provision

import (
	"fmt"
	"maps"
)

// ChangeResult is how a machine took a change that touches many machines alike.
type ChangeResult struct {
	Model string `json:"model"`           // as Machine.model
	Cause string `json:"cause,omitempty"` // why it failed, the same on machines alike; "" = it went well
}

// Rollout is how far such a change came on one model. It is folded from the
// run's events, so that a brake that is on stays on in the next process.
type Rollout struct {
	Passed int            `json:"passed"`
	Failed int            `json:"failed"`
	Causes map[string]int `json:"causes,omitempty"`
	Last   string         `json:"last_cause,omitempty"`
}

// with returns r after one more machine. r itself, and its map, stay as they are:
// others may be reading them.
func (r Rollout) with(cause string) Rollout {
	if cause == "" {
		r.Passed++
		return r
	}
	r.Causes = maps.Clone(r.Causes)
	if r.Causes == nil {
		r.Causes = map[string]int{}
	}
	r.Causes[cause]++
	r.Failed++
	r.Last = cause
	return r
}

// stopped says why no further machine of the model is changed, "" when it may be:
// two failed for the same cause, or a tenth of all did.
func (r Rollout) stopped(total, active int) string {
	word := "same cause"
	switch {
	case r.Causes[r.Last] >= 2:
	case r.Failed >= 2 && r.Failed*10 >= total:
		word = "a tenth of the machines, last"
	default:
		return ""
	}
	touched := r.Passed + r.Failed + active
	return fmt.Sprintf("Stopped after %d of %d: %s (%s). Nothing changed on the other %d.",
		touched, total, word, r.Last, max(total-touched, 0))
}

// model is what a change is rolled out by: a corrected profile begins anew.
func (m Machine) model() string { return fmt.Sprintf("%s@%.12s", m.Profile, m.ProfileSHA256) }

// rollout is what a step's change is rolled out by: each change goes to one machine of a
// model first, also where another went well.
func rollout(step string, m Machine) string {
	if step == (biosSettings{}).Name() { // as runs have written it from the beginning
		return m.model()
	}
	return step + " " + m.model()
}

// changed folds a ChangeResult.
func (r *Run) changed(e Event) error {
	var c ChangeResult
	if err := decode(e, &c); err != nil {
		return err
	}
	rollouts := maps.Clone(r.Rollouts)
	if rollouts == nil {
		rollouts = map[string]Rollout{}
	}
	rollouts[c.Model] = rollouts[c.Model].with(c.Cause)
	r.Rollouts = rollouts
	return nil
}
