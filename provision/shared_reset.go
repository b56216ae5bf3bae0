package provision

import (
	"context"
	"errors"
)

// resetForAll brings firmware into force that waits for a reset, with it the settings of
// the burn-in, and boots the host: one reset for all.
func (e *Env) resetForAll(ctx context.Context, c BMC, step string) error {
	w, none, err := e.burnInWishes(ctx, c)
	if err != nil {
		return err
	}
	if !none {
		return e.applyBIOS(ctx, c, w.want, step, true)
	}
	begun, err := e.carryBoot(ctx, c, step)
	if err != nil {
		return err
	}
	if err := e.restart(ctx, c, step+" reset", begun); err != nil {
		return err
	}
	return e.waitPOST(ctx, c)
}

// carryBoot lets the reset that comes next, which something else needs, boot the host too,
// so that one is enough: big servers take ten minutes for each. It returns what shows that
// the host boots, and nil where that reset boots nothing of ours.
func (e *Env) carryBoot(ctx context.Context, c BMC, step string) (begun func() bool, err error) {
	method, _, err := e.method(ctx, c)
	if err != nil || !method.fromUs() || e.startBoot == nil || !e.boots() {
		return nil, err
	}
	if err := e.StartBoot(ctx); err != nil {
		return nil, err
	}
	b, err := e.imageBoot(ctx, c, method)
	if err != nil {
		return nil, err
	}
	if _, set := e.intents[actOverride]; !set {
		// A host that an earlier try booted is reset again: that boot is over.
		if err := e.Boot.Again(b.token); err != nil {
			return nil, err
		}
	}
	err = b.ready(ctx, e, c)
	if _, stuck := errors.AsType[*Stuck](err); stuck || ctx.Err() != nil {
		return nil, err
	}
	if err != nil { // some BMCs take no override while settings wait for the reset
		e.Log.Warn("the boot does not go with this reset and has its own", "err", err)
		return nil, e.notCarried(ctx)
	}
	return b.begun, e.Learn(ctx, Facts{FactCarried: step})
}

// awaitCarried waits for a boot that went with the reset of an earlier step. Firmware that
// restarts by itself to take its settings may have lost it: it is booted anew then.
func (e *Env) awaitCarried(ctx context.Context, b imageBoot) error {
	if e.Facts[FactCarried] == "" || b.begun() {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, carriedPolls*e.poll())
	defer cancel()
	err := e.awaitBoot(limited, b)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, ok := errors.AsType[*Stuck](err); !ok {
		return err
	}
	e.Log.Warn("the host did not boot the image with the reset before; it is booted now")
	return e.notCarried(ctx)
}

// notCarried lets step boot set its own boot at once.
func (e *Env) notCarried(ctx context.Context) error {
	if e.Facts[FactCarried] == "" {
		return nil
	}
	return e.Learn(ctx, Facts{FactCarried: ""})
}

// carriedPolls is for how many polls behind POST a boot may take to show: ten minutes at
// the usual pace.
const carriedPolls = 200

// boots reports whether the run will start the host by itself.
func (e *Env) boots() bool {
	w, err := e.Batch.Flow()
	if err != nil { // not one of ours
		return true
	}
	s, ok := w.Find(boot{}.Name())
	return ok && s.When.unmet(e.Machine, e.Facts) == ""
}
