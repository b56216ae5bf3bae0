package provision

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/rackproof/rackproof/burnin"
)

// Fold makes a Run of its events, which must be in order and all of one run. It
// is the one place where events get their meaning, for every engine alike. An
// event that cannot be read is an error: half a story is no story. Kinds that
// this version does not know are passed over.
func Fold(events []Event) (Run, error) {
	var r Run
	for _, e := range events {
		if err := r.Apply(e); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Apply folds one more event into r.
func (r *Run) Apply(e Event) error {
	if r.ID == "" {
		r.ID, r.Started = e.Run, e.At
	}
	r.Seq, r.Last = e.Seq, e.At
	var err error
	switch m := r.Find(e.Machine); {
	case e.Machine == "":
		err = r.applyRun(e)
	case m == nil: // taken out of the batch since
	case e.Kind == ChangeEnded:
		err = r.changed(e)
	case e.Kind == PowerFailed:
		err = r.powerFailed(e)
	case e.Kind == JudgedAgain:
		r.judgeAgain(e, m)
	case e.Kind == HandsDone, e.Kind == Retested:
		err = r.again(e, m)
	case e.Kind == Rebind:
		err = r.rebind(e, m)
	default:
		err = m.apply(e, r.Plan)
		r.holdLoad(e, m)
	}
	if err != nil {
		return fmt.Errorf("run %s, event %d (%s): %w", r.ID, e.Seq, e.Kind, err)
	}
	return nil
}

func (r *Run) applyRun(e Event) error {
	switch e.Kind {
	case Submitted, Edited:
		return r.submit(e)
	case Served:
		return decode(e, &r.Owner)
	case Resumed:
		return r.resume(e)
	case Cancelled:
		r.Cancelled = true
	case Stopped:
		var sel Selector
		if err := decode(e, &sel); err != nil {
			return err
		}
		for i := range r.Machines {
			if m := &r.Machines[i]; !m.Over() && sel.Match(m) {
				m.stop(e, "stopped by a person; its load is down")
			}
		}
	default: // of a later version
	}
	return nil
}

func (r *Run) resume(e Event) error {
	var what Resume
	if err := decode(e, &what); err != nil {
		return err
	}
	r.Cancelled, r.Until = false, what.Until
	if what.Release {
		r.Rollouts, r.Released = nil, r.Released+1
	}
	for i := range r.Machines {
		if m := &r.Machines[i]; what.Match(m) {
			m.resume(e)
			r.powerBack(m.Machine)
		}
	}
	return nil
}

// submit takes a batch, the first or an edited one. A machine that is there
// already keeps its story; a machine that is over keeps also what it was tested
// as, because it is never touched again without a retest.
func (r *Run) submit(e Event) error {
	var s Submission
	if err := decode(e, &s); err != nil {
		return err
	}
	if s.Batch == nil {
		return fmt.Errorf("no batch in it")
	}
	if r.Batch != nil {
		for sha, b := range r.Batch.Resolved { // of machines that are over
			if s.Batch.Resolved == nil {
				s.Batch.Resolved = map[string][]byte{}
			}
			s.Batch.Resolved[sha] = b
		}
		if s.Batch.Planned == nil {
			s.Batch.Planned = r.Batch.Planned
		}
	}
	for i, m := range s.Batch.Machines {
		s.Batch.Machines[i] = r.known(m)
	}
	r.Batch, r.Plan, r.Until = s.Batch, s.Plan, s.Until
	machines := make([]MachineRun, 0, len(s.Batch.Machines))
	for _, m := range s.Batch.Machines {
		old := r.Find(m.Name)
		switch {
		case old == nil:
			fresh := MachineRun{Machine: m, Attempt: 1, State: StateRun, Owner: OwnerTool, Since: e.At, Facts: s.Batch.Arrived[m.Name].Clone()}
			fresh.Step = fresh.nextStep(s.Plan)
			machines = append(machines, fresh)
		case old.Over():
			machines = append(machines, *old)
		default:
			old.Machine = m
			if !s.Plan.has(old.Step) { // taken out of the workflow since
				old.Intents, old.Step = nil, old.nextStep(s.Plan)
			}
			machines = append(machines, *old)
		}
	}
	r.Machines = machines
	return nil
}

func (p Plan) has(step string) bool {
	return slices.ContainsFunc(p.Steps, func(s PlanStep) bool { return s.Name == step })
}

func (m *MachineRun) apply(e Event, p Plan) error {
	switch e.Kind {
	case StepStarted, Intended, Acted, Progressed, Learned, StepEnded, StepFailed, GotStuck, NeedsHands, HeldBack, Broke, MachineOver:
		if e.Attempt != m.Attempt { // of an attempt that a retest has ended
			return nil
		}
		return m.applyStep(e, p)
	default: // of a later version
		return nil
	}
}

func (m *MachineRun) applyStep(e Event, p Plan) error {
	switch e.Kind {
	case StepStarted:
		return m.started(e)
	case Intended, Acted:
		return m.intend(e)
	case Progressed, Learned:
		return m.hear(e)
	case StepEnded:
		return m.stepEnded(e, p)
	case StepFailed, Broke:
		return m.failed(e, p)
	case GotStuck, NeedsHands:
		return m.wait(e)
	case HeldBack:
		return m.heldBack(e)
	case MachineOver:
		return m.over(e)
	default: // handled by apply
		return nil
	}
}

func (m *MachineRun) started(e Event) error {
	var t Try
	if err := decode(e, &t); err != nil {
		return err
	}
	m.set(e, StateRun, OwnerTool, "", "")
	m.Step, m.Try, m.Broken = e.Step, t.Try, false
	return nil
}

// hear takes what a step says while it is under way.
func (m *MachineRun) hear(e Event) error {
	if e.Kind == Learned {
		var f Facts
		err := decode(e, &f)
		m.learn(f)
		return err
	}
	var pr Progress
	err := decode(e, &pr)
	m.Why, m.Until = pr.Text, pr.Until
	return err
}

// wait parks a machine: for infrastructure, or for hands.
func (m *MachineRun) wait(e Event) error {
	if e.Kind == NeedsHands {
		h := &Hands{}
		err := decode(e, h)
		m.set(e, StateHands, OwnerHands, h.Why, h.Next)
		m.Hands = h
		return err
	}
	var s Stuck
	err := decode(e, &s)
	m.set(e, StateStuck, or(s.Owner, OwnerHands), s.Why, or(s.Next, "rackproof resume "+string(e.Run)))
	m.Until, m.Do = s.Until, s.Do
	switch {
	case s.Looked:
		m.Intents = nil
	case s.Anew:
		m.forgetActs()
	}
	return err
}

// set changes the state and who has the next move; Since moves only when the
// state does.
func (m *MachineRun) set(e Event, s State, owner, why, next string) {
	if m.State != s {
		m.Since = e.At
	}
	m.State, m.Owner, m.Why, m.Next = s, owner, why, next
	m.Until, m.Do = zeroTime, ""
	if s != StateHands {
		m.Hands = nil
	}
}

func (m *MachineRun) intend(e Event) error {
	var in Intent
	if err := decode(e, &in); err != nil {
		return err
	}
	if m.Intents == nil {
		m.Intents = map[string]Intent{}
	}
	in.Acted = e.Kind == Acted
	m.Intents[in.Act] = in
	return nil
}

func (m *MachineRun) stepEnded(e Event, p Plan) error {
	var d StepDone
	if err := decode(e, &d); err != nil {
		return err
	}
	d.Step = e.Step
	m.learn(d.Facts)
	m.Steps = append(m.Steps, d)
	m.Intents, m.Try, m.Failed, m.Why, m.Until = nil, 0, 0, "", zeroTime
	m.Step = m.nextStep(p)
	return nil
}

// failed ends a try. Acts that happened are forgotten with it, so that the next
// try may act again; an act of which nobody knows whether it happened is kept,
// so that it is asked for first.
func (m *MachineRun) failed(e Event, p Plan) error {
	var f Failure
	if err := decode(e, &f); err != nil {
		return err
	}
	m.forgetActs()
	m.learn(f.Facts)
	m.Why = f.Error
	m.Failed++
	switch {
	case e.Kind == Broke:
		m.set(e, StateStuck, OwnerTool, f.Error, "rackproof resume "+string(e.Run))
		m.Broken, m.Do = true, or(f.Do, "read run.log in the run's folder: it has the details")
	case f.Fault:
		m.Faulted = true
		m.learn(Facts{FactFault: or(f.Line, f.Error), FactFaultDo: f.Do})
		m.Intents, m.Failed = nil, 0
		m.Step = m.nextStep(p)
	}
	return nil
}

// forgetActs forgets the acts that happened; those of which nobody knows are kept.
func (m *MachineRun) forgetActs() {
	maps.DeleteFunc(m.Intents, func(_ string, in Intent) bool { return in.Acted })
}

func (m *MachineRun) learn(f Facts) {
	if m.Facts == nil {
		m.Facts = Facts{}
	}
	maps.Copy(m.Facts, f)
}

// nextStep is the first step of the plan that has not ended in this attempt; ""
// when there is none. A step whose condition does not hold when its turn comes ends
// with that: it is left out for the whole attempt, whatever is told later.
func (m *MachineRun) nextStep(p Plan) string {
	for _, s := range p.Steps {
		done := slices.ContainsFunc(m.Steps, func(d StepDone) bool { return d.Step == s.Name })
		if done || m.Faulted && !s.Always {
			continue
		}
		why := s.When.unmet(m.Machine, m.Facts)
		if why == "" {
			return s.Name
		}
		m.Steps = append(m.Steps, StepDone{Step: s.Name, LeftOut: why})
		said := s.Name + ": " + why
		if before := m.Facts[FactLeftOut]; before != "" {
			said = before + "; " + said
		}
		m.learn(Facts{FactLeftOut: said})
	}
	return ""
}

func (m *MachineRun) over(e Event) error {
	m.Result = burnin.Result(m.Facts[FactResult])
	switch m.Result {
	case burnin.Passed, burnin.PassedWithDeviations, burnin.Failed, burnin.Incomplete:
	default: // no word of a result is never a pass
		m.Result = burnin.Incomplete
	}
	if m.Faulted && m.Result != burnin.Failed {
		m.Result = burnin.Failed
	}
	why := m.Facts[FactLine]
	m.set(e, StateOf(m.Result), OwnerCustomer, why, "")
	m.Step = ""
	if m.Result == burnin.Failed || m.Result == burnin.Incomplete {
		m.Owner = OwnerHands
		m.Next = "rackproof done " + m.Machine.Name
		if m.Result == burnin.Incomplete { // nobody has anything to do first
			m.Next = "rackproof retest " + m.Machine.Name
		}
	}
	if ladder := m.Facts[FactLadder]; ladder != "" {
		h := &Hands{}
		if err := json.Unmarshal([]byte(ladder), h); err != nil {
			return err
		}
		m.Hands = h
		m.Next = h.Next
		if len(h.Do) > 0 && h.Do[0].Who == OwnerVendor {
			m.Owner = OwnerVendor
		}
	}
	return nil
}

func (m *MachineRun) resume(e Event) {
	if m.Over() {
		return
	}
	m.Stopped, m.Broken, m.Failed, m.Late = false, false, 0, nil
	m.set(e, StateRun, OwnerTool, "", "")
}

func (m *MachineRun) stop(e Event, why string) {
	m.Stopped = true
	m.set(e, StateRun, OwnerHands, why, "rackproof resume "+string(e.Run))
}

func decode(e Event, v any) error {
	if len(e.Data) == 0 {
		return nil
	}
	return json.Unmarshal(e.Data, v)
}
