package provision

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// ErrStopped is why work ends when a person stops or cancels it: loads come down
// at once. Any other end leaves them to whoever carries the run on, or to the dead
// man's timer on the node.
var ErrStopped = errors.New("stopped by a person")

// NodeBurner is the Burner of real nodes.
type NodeBurner struct{ Log *slog.Logger }

// Burn implements Burner.
func (n NodeBurner) Burn(ctx context.Context, b BurnIn) error {
	if err := b.unpermitted(); err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), ErrStopped) {
			cancel(ErrStopped)
			return
		}
		cancel(burnin.ErrDetach)
	})()
	node := &burnin.Node{Shell: b.Node, Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: b.Profile, Log: n.Log}
	node.Progress = func(p burnin.Progress) {
		text, until := string(p.Phase)+": "+p.Doing, time.Time{}
		if p.Left > 0 {
			until = time.Now().Add(p.Left)
		}
		b.Progress(text, until)
	}
	o := burnin.BurnOptions{
		Node: node, Sources: b.Sources, Store: b.Store, Machine: b.Record, Spec: b.Spec.Bytes(),
		Run: string(b.Run), Attempt: b.Attempt, Owner: Operator(), Rackproof: b.Version,
		Duration: b.Duration, DeadMan: b.DeadMan, Carried: b.Carried, Soak: b.Spec.Soak, OnFail: b.Spec.OnFail, Freeze: b.Freeze, Narrow: b.Narrow, Loads: burnin.LoadsFor(burnin.Loads(), b.Spec, b.Consent), Resume: true, Coverage: burnin.CoverFull, Log: n.Log,
	}
	var err error
	if b.Wipe == nil {
		err = burnin.Burn(work, o)
	} else {
		err = n.wipe(work, o, b.Wipe)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return burnWaits(err)
}

// wipe looks at the node where nobody has yet, and erases.
func (NodeBurner) wipe(ctx context.Context, o burnin.BurnOptions, w *Wipe) error {
	if !o.Store.Has(burnin.PhaseBefore, burnin.OSInfo.Spec.Name) {
		o.Duration, o.Loads = 0, nil
		if err := burnin.Burn(ctx, o); err != nil {
			return err
		}
	}
	if err := o.Store.SetMachine(o.Machine); err != nil {
		return err
	}
	return burnin.Wipe(ctx, burnin.WipeOptions{
		Wiping: w.Wiping, Node: o.Node, Store: o.Store, Run: o.Run, Machine: o.Machine.Name, Attempt: o.Attempt, DeadMan: o.DeadMan,
		Marked: w.Marked, Mark: w.Mark,
	})
}

// burnWaits tells an end of a burn-in that people must look at from one that may be tried
// again.
func burnWaits(err error) error {
	_, held := errors.AsType[*burnin.HeldError](err)
	switch {
	case held, errors.Is(err, burnin.ErrGPUBusy):
		return &Stuck{Why: err.Error(), Do: "Wait for that work, or end it on the host."}
	case errors.Is(err, burnin.ErrNodeLost):
		return &Stuck{Why: err.Error(), Do: "Look at its console and power.", Suspect: true, cause: err}
	}
	return err
}
