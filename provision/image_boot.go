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
	again    string                  // begins the names of its acts, where one step boots it more than once
}

// imageBoot prepares the boot of this attempt and makes its ticket; nothing is done to the
// machine.
func (e *Env) imageBoot(ctx context.Context, c BMC, method BootMethod) (imageBoot, error) {
	switch method {
	case BootMedia:
		return e.bootFromMedia(ctx, c)
	case BootPXE:
		return e.bootByPXE(ctx, c)
	default:
		return e.bootOverHTTP(ctx, c)
	}
}

// ready makes the next start of the host this boot.
func (b imageBoot) ready(ctx context.Context, e *Env, c BMC) error {
	if b.drive != nil {
		insert := b.drive.insertAct()
		insert.Name = b.again + insert.Name
		if err := e.Act(ctx, insert); err != nil {
			return err
		}
	}
	override := e.overrideAct(c, b.override, b.begun)
	override.Name = b.again + override.Name
	return e.Act(ctx, override)
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
	err := e.WaitFor(ctx, e.poll()/4, Stuck{Anew: true, Suspect: true, cause: errNoBoot}, func() (bool, error) { return b.begun(), nil })
	if stuck, ok := errors.AsType[*Stuck](err); ok {
		stuck.Why, stuck.Do = b.nobody()
	}
	return err
}
