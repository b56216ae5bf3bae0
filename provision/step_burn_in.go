package provision

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// burnIn measures the booted host, idle and under load.
type burnIn struct{}

func (burnIn) Name() string { return "burn-in" }

// defaultLoad is the time under load where neither batch nor spec states one.
const defaultLoad = 10 * time.Minute

func (burnIn) Done(_ context.Context, e *Env) (bool, error) {
	m, ok, err := e.Store.Meta()
	return ok && !m.Ended.IsZero() && e.Store.Has(burnin.PhaseAfter, burnin.OSInfo.Spec.Name), err
}

func (b burnIn) Do(ctx context.Context, e *Env) (Facts, error) {
	rec, err := e.record()
	if err != nil {
		return nil, err
	}
	node, err := e.lastingNode(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = node.Close() }()
	permit, err := e.permit(ctx, b, node)
	if err != nil && !errors.Is(err, errNoProof) {
		return nil, err
	}
	load := loadTime(e)
	if want := soak(e); want > 0 && load < want {
		e.Facts[FactLoad] = load.String() + " instead of the spec's " + want.String()
	}
	source := &bmcSource{env: e, since: e.logSince()}
	watch := e.watchLoad(ctx, b.Name())
	err = e.Burner.Burn(ctx, BurnIn{
		Node: node, Sources: []burnin.Source{network(e, node), source}, Freeze: source.freeze, Store: e.Store, Profile: e.Profile, Spec: e.Spec, Run: e.Run, Attempt: e.Attempt,
		Record: rec, Version: e.Version, Duration: load, DeadMan: time.Duration(e.Batch.Limits.DeadMan), Carried: soakBefore(e),
		Consent: consent(e, err), Permit: permit,
		Narrow: func(rec *burnin.Record, loads []burnin.Load) ([]burnin.Load, error) {
			return e.narrow(ctx, rec, loads)
		},
		Progress: func(text string, until time.Time) { e.Progress(ctx, until, "%s", text) },
	})
	if source.frozen != "" {
		err = errors.Join(err, e.Learn(context.WithoutCancel(ctx), Facts{FactDiagnostics: source.frozen}))
	}
	if watts := source.drawing.counts(e.Machine.LoadedWatts); watts != e.Machine.LoadedWatts {
		err = errors.Join(err, e.Learn(context.WithoutCancel(ctx), Facts{FactDraw: strconv.FormatFloat(watts, 'f', 0, 64)}))
	}
	return nil, e.lost(ctx, watch.end(err), watch.console.Bytes())
}

func soak(e *Env) time.Duration { return time.Duration(e.Spec.Soak.Hours * float64(time.Hour)) }

func loadTime(e *Env) time.Duration {
	if l := e.Batch.Limits.Load; l > 0 {
		return time.Duration(l)
	}
	if s := soak(e); s > 0 {
		return s
	}
	return defaultLoad
}

// consent is what the batch lets be written and set on the host. Serial numbers bind a disk, and
// what binds the host to this machine is its proof: where that was refused nothing is written.
func consent(e *Env, refused error) burnin.Consent {
	c := burnin.Consent{Disks: writeDisks(e), MIG: migTest(e)}
	if stuck, ok := errors.AsType[*Stuck](refused); ok {
		c.Refused = stuck.Why
	}
	return c
}

// Destroys implements destroyer.
func (burnIn) Destroys(e *Env) []string {
	what := diskNames(writeDisks(e))
	if migTest(e) {
		what = append(what, migWord)
	}
	return what
}

// writeDisks are the disks that are written: those that the batch names, where the spec
// asks for writes.
func writeDisks(e *Env) []string {
	if e.Spec.Loads.NVMe != profiles.NVMeWrite {
		return nil
	}
	return e.Machine.WriteDisks
}

// migTest reports whether the profile's instances are made, by the profile and the batch.
func migTest(e *Env) bool { return e.Machine.MIGTest && e.Profile.GPU.MIGLeave != "" }

// Plan implements Planner.
func (burnIn) Plan(_ context.Context, e *Env) ([]Change, error) {
	load := Change{Step: "burn-in", What: changeLoad, Want: loadTime(e).String() + "; writes to no disk"}
	disks := writeDisks(e)
	if len(disks) > 0 {
		load.Want = loadTime(e).String()
	}
	out := append([]Change{load}, planNetwork(e)...)
	for _, serial := range disks {
		out = append(out, Change{Step: "burn-in", What: PlanDisk, Now: serial, Want: "written over, if it is empty"})
	}
	if migTest(e) {
		want := "on, " + e.Profile.GPU.MIGLayout.String() + " on every GPU, then "
		if e.Profile.GPU.MIGLeave == profiles.MIGRemoved {
			want += "off again"
		} else {
			want += "left so"
		}
		out = append(out, Change{Step: "burn-in", What: "MIG", Now: "off", Want: want})
	}
	return out, nil
}

// changeLoad is the word of a plan for a load.
const changeLoad = "load"

// PlanDisk is the word of a plan for a disk that is written over.
const PlanDisk = "disk"
