package provision

import (
	"context"
	"errors"

	"github.com/rackproof/rackproof/redfish"
)

// imageBoot is one boot from an image of ours, whichever way it comes to the host.
type imageBoot struct {
	token    string
	override redfish.Boot
	begun    func() bool             // the host has shown that it boots
	nobody   func() (why, do string) // when it has not
	drive    *mediaBoot              // into which the image goes first; nil where the host fetches it
}

// imageBoot prepares the boot of this attempt and makes its ticket; nothing is done to the
// machine.
func (e *Env) imageBoot(ctx context.Context, c BMC, method BootMethod) (imageBoot, error) {
	switch method {
	case BootMedia:
		return e.bootFromMedia(ctx, c)
	case BootPXE:
		return e.bootByPXE(ctx)
	default:
		return e.bootOverHTTP(ctx, c)
	}
}

// ready makes the next start of the host this boot.
func (b imageBoot) ready(ctx context.Context, e *Env, c BMC) error {
	if b.drive != nil {
		if err := e.Act(ctx, b.drive.insertAct()); err != nil {
			return err
		}
	}
	return e.Act(ctx, e.overrideAct(c, b.override, b.begun))
}

// fromUs boots an image of ours once, and empties the virtual drive when the host has
// shown that it runs.
func (boot) fromUs(ctx context.Context, e *Env, c BMC, method BootMethod) error {
	b, err := e.imageBoot(ctx, c, method)
	if err != nil {
		return err
	}
	if err := e.awaitCarried(ctx, b); err != nil {
		return err
	}
	if !b.begun() {
		if err := b.ready(ctx, e, c); err != nil {
			return err
		}
		if err := e.restart(ctx, c, "boot reset", b.begun); err != nil {
			return err
		}
		if err := e.awaitBoot(ctx, b); err != nil {
			return err
		}
	}
	if b.drive == nil {
		return nil
	}
	return b.drive.eject(ctx)
}

// awaitBoot waits until the host shows that it boots.
func (e *Env) awaitBoot(ctx context.Context, b imageBoot) error {
	err := e.WaitFor(ctx, e.poll()/4, Stuck{Anew: true, Suspect: true}, func() (bool, error) { return b.begun(), nil })
	if stuck, ok := errors.AsType[*Stuck](err); ok {
		stuck.Why, stuck.Do = b.nobody()
	}
	return err
}

// carryBoot lets the reset that comes next, which something else needs, boot the host too,
// so that one is enough: big servers take ten minutes for each. It returns what shows that
// the host boots, and nil where that reset boots nothing of ours.
func (e *Env) carryBoot(ctx context.Context, c BMC) (begun func() bool, err error) {
	method, _, err := e.method(ctx, c)
	if err != nil || !method.fromUs() || e.startBoot == nil {
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
		return nil, nil
	}
	return b.begun, e.Learn(ctx, Facts{FactCarried: biosSettings{}.Name()})
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
	return e.Learn(ctx, Facts{FactCarried: ""})
}

// carriedPolls is for how many polls behind POST a boot may take to show: ten minutes at
// the usual pace.
const carriedPolls = 200
