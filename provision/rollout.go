package provision

import (
	"fmt"
	"maps"
	"strings"
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

	FailedOn map[string]string `json:"failed_on,omitempty"` // cause, by machine
}

// with returns r after one more machine, or one more try of the same: a machine counts
// once, as its last try went. r itself, and its maps, stay as they are: others may be
// reading them.
func (r Rollout) with(machine, cause string) Rollout {
	failed := maps.Clone(r.FailedOn)
	if failed == nil {
		failed = map[string]string{}
	}
	delete(failed, machine)
	if cause == "" {
		r.Passed++
	} else {
		failed[machine], r.Last = cause, cause
	}
	r.FailedOn, r.Failed, r.Causes = failed, len(failed), map[string]int{}
	for _, c := range failed {
		r.Causes[c]++
	}
	return r
}

// stopped says why no further machine of the model is changed, "" when it may be:
// two failed for the same cause, or a tenth of all did. before are the steps that have
// changed machines of the model already.
func (r Rollout) stopped(total, active int, step string, before []string) string {
	word := "same cause"
	switch {
	case r.Causes[r.Last] >= 2:
	case r.Failed >= 2 && r.Failed*10 >= total:
		word = "a tenth of the machines, last"
	default:
		return ""
	}
	touched := r.Passed + r.Failed + active
	left := max(total-touched, 0)
	rest := fmt.Sprintf("Nothing changed on the other %d.", left)
	if len(before) > 0 && left > 0 {
		rest = fmt.Sprintf("On the other %d %s was not begun; %s may have changed them before.", left, step, strings.Join(before, " and "))
	}
	return fmt.Sprintf("Stopped after %d of %d: %s (%s). %s", touched, total, word, r.Last, rest)
}

// changedBefore are the step whose change a key names, and those before it that have changed
// machines of the same model. done reports whether a key's change was made, or tried.
func changedBefore(key string, done func(key string) bool) (step string, before []string) {
	step, model, other := strings.Cut(key, " ")
	if !other {
		step, model = biosSettings{}.Name(), key
	}
	for _, s := range Steps() {
		name := s.Step.Name()
		if name == step {
			break
		}
		if done(rolloutKey(name, model)) {
			before = append(before, name)
		}
	}
	return step, before
}

// model is what a change is rolled out by: a corrected profile begins anew.
func (m Machine) model() string { return fmt.Sprintf("%s@%.12s", m.Profile, m.ProfileSHA256) }

// rollout is what a step's change is rolled out by: each change goes to one machine of a
// model first, also where another went well.
func rollout(step string, m Machine) string { return rolloutKey(step, m.model()) }

func rolloutKey(step, model string) string {
	if step == (biosSettings{}).Name() { // as runs have written it from the beginning
		return model
	}
	return step + " " + model
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
	rollouts[c.Model] = rollouts[c.Model].with(e.Machine, c.Cause)
	r.Rollouts = rollouts
	return nil
}
