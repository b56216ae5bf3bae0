package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// PowerEvent is what happened to the supply of a rack: the loads of the rack stop, and no
// machine is blamed. It is over when a person resumes machines of the rack.
type PowerEvent struct {
	At       time.Time `json:"at"`
	Rack     string    `json:"rack,omitempty"` // "" = of a machine without a rack
	What     string    `json:"what"`           // "r12u07: its power supplies lost their redundancy"
	Machines []string  `json:"machines"`       // that showed it
	Over     bool      `json:"over,omitempty"`
}

func (p PowerEvent) String() string {
	place := strings.Join(p.Machines, ", ")
	if p.Rack != "" {
		place = "rack " + p.Rack
	}
	return fmt.Sprintf("power event at %s: %s. Its loads are down; no machine is at fault", place, p.What)
}

// concerns reports whether the event is of m's supply.
func (p PowerEvent) concerns(m Machine) bool {
	return slices.Contains(p.Machines, m.Name) || p.Rack != "" && p.Rack == m.Rack
}

// powerFailed folds a PowerEvent.
func (r *Run) powerFailed(e Event) error {
	var p PowerEvent
	if err := decode(e, &p); err != nil {
		return err
	}
	p.At = e.At
	r.Power = append(slices.Clip(r.Power), p)
	for i := range r.Machines {
		m := &r.Machines[i]
		if slices.Contains(p.Machines, m.Machine.Name) && !m.Over() { // also one that was STUCK for it
			m.stop(e, p.String())
		}
		r.holdLoad(e, m)
	}
	return nil
}

// holdLoad stops m where it would be under load while the supply of its rack is in doubt.
func (r *Run) holdLoad(e Event, m *MachineRun) {
	if !m.Runnable() || !slices.ContainsFunc(r.Plan.Steps, func(s PlanStep) bool { return s.Name == m.Step && s.Loads }) {
		return
	}
	for _, p := range r.Power {
		if !p.Over && p.concerns(m.Machine) {
			m.stop(e, p.String())
			return
		}
	}
}

// powerBack ends the events of m's supply: a person has looked.
func (r *Run) powerBack(m Machine) {
	r.Power = slices.Clone(r.Power) // others may be reading it
	for i := range r.Power {
		r.Power[i].Over = r.Power[i].Over || r.Power[i].concerns(m)
	}
}

// powerEvent tells the run of one.
func (e *Env) powerEvent(ctx context.Context, what string, machines ...string) PowerEvent {
	p := PowerEvent{Rack: e.Machine.Rack, What: what, Machines: machines}
	e.Log.Warn(p.String())
	if err := e.rec.Record(ctx, PowerFailed, p); err != nil && ctx.Err() == nil {
		e.Log.Warn("power event not recorded", "err", err)
	}
	return p
}

// silences remembers the machines that lost their power or went silent under test, also for
// the process that carries the run on: the second of a rack tells that it was no single one.
type silences struct {
	file string // "" = of this process alone

	mu   sync.Mutex
	last map[string]silence // by rack
}

type silence struct {
	Machine string    `json:"machine"`
	At      time.Time `json:"at"`
}

// openSilences takes up what an earlier process of the run noted. A file that says nothing is
// as none: it decides no result.
func openSilences(file string) *silences {
	s := &silences{file: file}
	if b, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(b, &s.last)
	}
	return s
}

// keep is durable enough for the next process; a power loss of this computer may lose it.
func (s *silences) keep() error {
	if s.file == "" {
		return nil
	}
	b, err := json.Marshal(s.last)
	if err == nil {
		err = os.WriteFile(s.file+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(s.file+".new", s.file)
	}
	return err
}

// silentTogether is how far apart two machines of a rack may be noticed and still be
// silent at once: each is tried again for minutes before it counts as lost.
const silentTogether = 10 * time.Minute

// add notes one more, and returns another machine of its rack that went silent with it.
func (s *silences) add(m Machine) (other string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]silence{}
	}
	before := s.last[m.Rack]
	s.last[m.Rack] = silence{m.Name, time.Now()}
	err = s.keep()
	if m.Rack == "" || before.Machine == "" || before.Machine == m.Name || time.Since(before.At) > silentTogether {
		return "", err
	}
	return before.Machine, err
}

// wentDark says that the machine lost its power or is silent altogether. Where another of
// its rack is too, it is the rack's supply or network: nil otherwise.
func (e *Env) wentDark(ctx context.Context) error {
	if e.silences == nil {
		return nil
	}
	other, err := e.silences.add(e.Machine)
	if err != nil {
		e.Log.Warn("a silence is not kept for the next process", "err", err)
	}
	if other == "" {
		return nil
	}
	p := e.powerEvent(ctx, fmt.Sprintf("%s and %s went silent at once", other, e.Machine.Name), other, e.Machine.Name)
	return &Aside{Why: p.String(), Wait: func(context.Context) {}} // the event has stopped it
}
