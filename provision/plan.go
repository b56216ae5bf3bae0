package provision

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rackproof/rackproof/redfish"
)

// MachinePlan is what a run would change on one machine.
type MachinePlan struct {
	Machine string   `json:"machine"`
	Rack    string   `json:"rack,omitempty"`
	U       int      `json:"u,omitempty"`
	Is      string   `json:"is,omitempty"` // manufacturer and model by the BMC
	UUID    string   `json:"uuid,omitempty"`
	Serial  string   `json:"serial_is,omitempty"`
	Changes []Change `json:"changes"`
	Minutes int      `json:"minutes,omitempty"` // expected, 0 = not known
	KW      float64  `json:"kw,omitempty"`      // under load
	Idle    bool     `json:"idle,omitempty"`    // nothing is put under load
	Problem string   `json:"problem,omitempty"` // why there is no plan

	Obstacles []redfish.Obstacle `json:"obstacles,omitempty"` // what the BMC says is in the way
}

// PlanBatch asks every BMC what a run would change, and changes nothing. Nothing
// is kept but the certificates seen.
func (b *Bench) PlanBatch(ctx context.Context, batch *Batch, w Workflow, sel Selector) []MachinePlan {
	var chosen []Machine
	for _, m := range batch.Machines {
		if sel.Match(&MachineRun{Machine: m}) {
			chosen = append(chosen, m)
		}
	}
	out := make([]MachinePlan, len(chosen))
	gate := NewGate(batch)
	var wg sync.WaitGroup
	var telling sync.Mutex
	done := 0
	for i, m := range chosen {
		wg.Go(func() {
			defer func() {
				telling.Lock()
				defer telling.Unlock()
				if done++; b.Planned != nil {
					b.Planned(out[i], done, len(chosen))
				}
			}()
			free, err := gate.Slot(ctx)
			if err != nil {
				out[i] = MachinePlan{Machine: m.Name, Problem: err.Error()}
				return
			}
			defer free()
			out[i] = b.planMachine(ctx, batch, w, m)
		})
	}
	wg.Wait()
	return out
}

func (b *Bench) planMachine(ctx context.Context, batch *Batch, w Workflow, m Machine) MachinePlan {
	p := MachinePlan{Machine: m.Name, Rack: m.Rack, U: m.U, Changes: []Change{}, Minutes: m.Minutes, KW: m.LoadedWatts / 1000}
	e, err := b.planEnv(batch, m)
	if err == nil {
		defer func() { _ = e.Close() }()
		p.Minutes = burnMinutes(e)
		err = p.fill(ctx, e, w)
	}
	if err != nil {
		p.Problem = b.Secrets.Redact(problem(err))
	}
	return p
}

func (p *MachinePlan) fill(ctx context.Context, e *Env, w Workflow) error {
	c, err := e.Client(ctx)
	if err != nil {
		return err
	}
	id, err := c.Identity(ctx)
	if err != nil {
		return err
	}
	p.UUID = id.UUID
	p.Is = strings.TrimSpace(id.Manufacturer + " " + id.Model)
	if p.Serial, err = match(e.Machine, id); err != nil {
		_, err = e.asOther(err, id)
		return err
	}
	if p.Obstacles, err = obstacles(ctx, c); err != nil {
		return err
	}
	e.Facts[FactModel] = p.Is
	changes, err := e.changes(ctx, w)
	if err != nil {
		return err
	}
	p.Changes = changes
	if p.Idle = !slices.ContainsFunc(changes, func(c Change) bool { return c.What == changeLoad }); p.Idle {
		p.Minutes, p.KW = 0, 0
	}
	return stopped(p.Obstacles, changes)
}

// problem says why there is no plan, and what to do about it: there is no run yet
// that could be resumed.
func problem(err error) string {
	if stuck, ok := errors.AsType[*Stuck](err); ok {
		return (&Stuck{Why: stuck.Why, Do: stuck.Do}).Error()
	}
	if hands, ok := errors.AsType[*Hands](err); ok {
		text := hands.Why
		if len(hands.Do) > 0 {
			text += ". To do: " + hands.Do[0].Do
		}
		return text
	}
	return err.Error()
}

// planEnv is an Env that records and stores nothing.
func (b *Bench) planEnv(batch *Batch, m Machine) (*Env, error) {
	t := Task{Run: RunID(batch.Name), Batch: batch, Machine: m}
	s := &site{log: b.Log, known: map[string]resolved{}, netboot: b.newNetboot(t, filepath.Join(b.State, "plan-netboot.json"), b.Log)}
	profile, spec, err := s.resolve(t)
	if err != nil {
		return nil, err
	}
	e := &Env{
		Run: t.Run, Batch: batch, Machine: b.atBMC(m, nil).withNewPassword(batch.Arrived[m.Name]), Profile: profile, Spec: spec, Log: b.Log, Facts: batch.Arrived[m.Name].Clone(), Boot: s.netboot,
		rec: noRecorder{}, intents: map[string]Intent{}, open: b.openers(),
	}
	return e, nil
}

// noRecorder refuses: a plan acts on nothing.
type noRecorder struct{}

func (noRecorder) Record(context.Context, Kind, any) error {
	return errors.New("a plan changes nothing")
}
