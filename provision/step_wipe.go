package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// wipeDisks erases the disks that the batch names by their serial numbers, on a host that is
// proven to be this machine, and keeps of each the proof. How the drives themselves answer is
// judged with the rest; a disk that could not be touched waits for a person.
type wipeDisks struct{}

func (wipeDisks) Name() string { return "wipe" }

// factMarked are the disks that bear our marks by now: what was begun on them is ours.
const factMarked = "wipe_marked"

func (wipeDisks) Done(_ context.Context, e *Env) (bool, error) {
	if e.Machine.Wipe == nil {
		return true, nil
	}
	left, err := burnin.NotWiped(e.Store, *e.Machine.Wipe)
	return len(left) == 0, err
}

// Destroys implements destroyer.
func (wipeDisks) Destroys(e *Env) []string {
	if e.Machine.Wipe == nil {
		return nil
	}
	return diskNames(e.Machine.Wipe.Disks)
}

func (w wipeDisks) Do(ctx context.Context, e *Env) (Facts, error) {
	rec, err := e.record()
	if err != nil {
		return nil, err
	}
	node, err := e.lastingNode(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = node.Close() }()
	permit, err := e.permit(ctx, w, node)
	if err != nil {
		return nil, err
	}
	err = e.Burner.Burn(ctx, BurnIn{
		Node: node, Sources: []burnin.Source{&bmcSource{env: e, since: e.logSince()}}, Store: e.Store, Profile: e.Profile, Spec: e.Spec,
		Run: e.Run, Attempt: e.Attempt, Record: rec, Version: e.Version, DeadMan: time.Duration(e.Batch.Limits.DeadMan),
		Permit: permit,
		Wipe: &Wipe{Wiping: *rec.Wipe, Marked: strings.Fields(e.Facts[factMarked]), Mark: func(ctx context.Context, serial string) error {
			return e.Learn(ctx, Facts{factMarked: strings.TrimSpace(e.Facts[factMarked] + " " + serial)})
		}},
		Progress: func(text string, until time.Time) { e.Progress(ctx, until, "%s", text) },
	})
	if err != nil {
		return nil, err
	}
	return nil, w.left(e)
}

// left is an error where a disk is not erased.
func (wipeDisks) left(e *Env) error {
	left, err := burnin.NotWiped(e.Store, *e.Machine.Wipe)
	if err != nil || len(left) == 0 {
		return err
	}
	hurt := slices.IndexFunc(left, func(d burnin.NotErased) bool { return d.Failed })
	text := fmt.Sprintf("%d of %d disks are not erased: %s", len(left), len(e.Machine.Wipe.Disks), reasons(left))
	if hurt >= 0 {
		return &Fault{
			Line: fmt.Sprintf("disk %s was not erased", left[hurt].Serial), Why: text,
			Do: []burnin.Advice{{Do: "take the disk out and destroy it, or keep it under lock: it holds what it held", Minutes: 10, Who: OwnerHands}},
		}
	}
	return &Stuck{Why: text, Do: "Mend that on the host or in the batch: what is erased stays so.", Anew: true}
}

// reasons says why disks are not erased, those of one reason together.
func reasons(left []burnin.NotErased) string {
	var order []string
	disks := map[string][]string{}
	for _, d := range left {
		if disks[d.Why] == nil {
			order = append(order, d.Why)
		}
		disks[d.Why] = append(disks[d.Why], d.Serial)
	}
	for i, why := range order {
		order[i] = strings.Join(disks[why], ", ") + ": " + why
	}
	return strings.Join(order, "; ")
}

// Plan implements Planner.
func (wipeDisks) Plan(_ context.Context, e *Env) ([]Change, error) {
	if e.Machine.Wipe == nil {
		return nil, nil
	}
	var out []Change
	for _, serial := range e.Machine.Wipe.Disks {
		out = append(out, Change{Step: "wipe", What: PlanDisk, Now: serial, Want: "erased, level " + string(e.Machine.Wipe.Level)})
	}
	return out, nil
}

// Written are the disks of m that a workflow writes over or erases, each once.
func (m Machine) Written(w Workflow) []string {
	var out []string
	if w.Loads() {
		out = slices.Clone(m.WriteDisks)
	}
	if _, erases := w.Find(wipeDisks{}.Name()); erases && m.Wipe != nil {
		out = append(out, m.Wipe.Disks...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Wipe is what is erased instead of being put under load.
type Wipe struct {
	burnin.Wiping
	Marked []string // see burnin.WipeOptions
	Mark   func(ctx context.Context, serial string) error
}
