package provision

import (
	"fmt"
	"slices"
)

// Waits reports whether m waits for a person: to do something about it, or to say
// that it is to be tested again.
func (m *MachineRun) Waits() bool {
	switch m.State {
	case StateHands, StateStuck, StateFailed, StateIncomplete:
		return true
	default:
		return false
	}
}

// Passed reports whether m is over and well.
func (m *MachineRun) Passed() bool {
	return m.State == StatePassed || m.State == StateDeviations
}

// again takes the word of a person. A machine that waits in the middle of its
// attempt is asked again where it stands; one that is over gets a new attempt,
// in the same run, so that the chain of serials stays whole. One that
// passed waits for nobody: only a retest touches it.
func (r *Run) again(e Event, m *MachineRun) error {
	var rep Repaired
	if err := decode(e, &rep); err != nil {
		return err
	}
	if rep.At.IsZero() {
		rep.At = e.At
	}
	if m.State == StateRun && !m.Stopped || e.Kind == HandsDone && m.Passed() {
		return nil
	}
	if Due(r.Until, e.At) { // who asks for more asks beyond it
		r.Until = zeroTime
	}
	m.Repairs = append(m.Repairs, rep)
	if !m.Over() && e.Kind == HandsDone {
		m.resume(e)
		return nil
	}
	r.nextAttempt(e, m, carried)
	return nil
}

// nextAttempt begins a new attempt of m, with the facts named.
func (r *Run) nextAttempt(e Event, m *MachineRun, keep []string) {
	past := PastAttempt{Attempt: m.Attempt, State: m.State, Result: m.Result, Line: or(m.said(), m.Why)}
	facts := Facts{}
	for _, k := range keep {
		if v, ok := m.Facts[k]; ok {
			facts[k] = v
		}
	}
	machine, ok := r.Batch.Find(m.Machine.Name) // as the batch file says by now
	if !ok {
		machine = m.Machine
	}
	*m = MachineRun{
		Machine: machine, Attempt: m.Attempt + 1, State: StateRun, Owner: OwnerTool, Since: e.At,
		Facts: facts, Repairs: m.Repairs,
		Earlier: append(slices.Clip(m.Earlier), past),
	}
	m.Step = m.nextStep(r.Plan)
}

// judgeAgain makes a finished machine go once more through the steps that always
// run, with the profile and spec that the batch names now. Nothing before them is
// done again: the evidence of the attempt stays.
func (r *Run) judgeAgain(e Event, m *MachineRun) {
	now, ok := r.Batch.Find(m.Machine.Name)
	if !ok || !m.Over() {
		return
	}
	was := fmt.Sprintf("was %s by profile %s (%.12s) and spec %s (%.12s)", m.State, m.Machine.Profile, m.Machine.ProfileSHA256, m.Machine.Spec, m.Machine.SpecSHA256)
	m.Machine.judgeBy(now)
	for _, fact := range []string{FactResult, FactLine, FactLadder, FactSwap} {
		delete(m.Facts, fact)
	}
	m.learn(Facts{FactJudged: was})
	m.Steps = slices.DeleteFunc(m.Steps, func(d StepDone) bool {
		return slices.ContainsFunc(r.Plan.Steps, func(s PlanStep) bool { return s.Always && s.Name == d.Step })
	})
	m.Result, m.Try, m.Failed = "", 0, 0
	m.set(e, StateRun, OwnerTool, "judged again", "")
	m.Step = m.nextStep(r.Plan)
}
