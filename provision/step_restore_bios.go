package provision

import (
	"context"
	"fmt"
)

// restoreBIOS gives the BIOS the delivery settings of the profile, or what was found,
// also on a machine that failed: whoever asks for it wants it back.
type restoreBIOS struct{}

func (restoreBIOS) Name() string { return "restore-bios" }

func (restoreBIOS) Done(ctx context.Context, e *Env) (bool, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return false, err
	}
	want, what, err := handover{}.settings(ctx, e, c)
	if err != nil {
		return false, err
	}
	if len(want) > 0 {
		open, err := c.VerifyBIOS(ctx, want)
		if err != nil || len(open) > 0 {
			return false, err
		}
	} else {
		what = "BIOS untouched: this run changed nothing in it"
	}
	e.Facts[FactHandover], e.Facts[factBIOSBack] = what, "true"
	return true, nil
}

func (restoreBIOS) Do(ctx context.Context, e *Env) (Facts, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	want, _, err := handover{}.settings(ctx, e, c)
	if err != nil {
		return nil, err
	}
	if inOurImage(e) { // the restart must not lead into our image again
		if err := e.leaving(ctx, c); err != nil {
			return nil, err
		}
	}
	return nil, e.applyBIOS(ctx, c, want, "restore-bios", false)
}

// Plan implements Planner.
func (restoreBIOS) Plan(ctx context.Context, e *Env) ([]Change, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	want, _, err := handover{}.settings(ctx, e, c)
	if err != nil || len(want) == 0 {
		return nil, err
	}
	changes, err := c.PlanBIOS(ctx, want)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	out := make([]Change, 0, len(changes)+1)
	for _, ch := range changes {
		out = append(out, Change{Step: "restore-bios", What: or(ch.Display, ch.Attribute), Now: fmt.Sprint(ch.Now), Want: fmt.Sprint(ch.Want)})
	}
	return append(out, Change{Step: "restore-bios", What: changeReset, Want: "1"}), nil
}
