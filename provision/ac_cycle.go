package provision

import (
	"context"
	"errors"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// ACCycler takes the power away from the whole machine and gives it back; a BMC may be
// one.
type ACCycler interface {
	ACOffered(context.Context) error // wraps redfish.ErrUnsupported where it cannot
	ACCycle(context.Context) error
}

// acAct cuts the power once. Only a new reset time shows that it happened.
func (e *Env) acAct(c BMC, cycler ACCycler, name string) Act {
	return Act{
		Name: name, Poll: e.poll(), Inrush: true,
		Mark: func(ctx context.Context) (string, error) {
			if err := cycler.ACOffered(ctx); err != nil {
				return "", err
			}
			return c.LastResetTime(ctx)
		},
		Seen: func(ctx context.Context, mark string) (Sight, error) {
			last, err := c.LastResetTime(ctx)
			if err == nil && last != "" && last != mark {
				return Happened, nil
			}
			return CannotTell, err
		},
		Do: cycler.ACCycle,
	}
}

// acCycle takes the machine's power away, by its BMC where that can do it, else by hand.
func (e *Env) acCycle(ctx context.Context, c BMC, why string) error {
	cycler, ok := c.(ACCycler)
	err := redfish.ErrUnsupported
	if ok {
		err = e.Act(ctx, e.acAct(c, cycler, why+" AC cycle"))
	}
	if err == nil {
		err = e.switchOn(ctx, c, why+" on", nil) // what comes back may be off, as its BIOS is set
	}
	if !errors.Is(err, redfish.ErrUnsupported) {
		return err
	}
	return &Hands{
		Why: why + ": the machine must lose its power once, and its BMC cannot do that", Where: or(e.Machine.Where(), e.Machine.Name),
		Do: []burnin.Advice{{
			Do: "shut down, pull all power cords for 60 s, plug them in", Minutes: 12, Who: OwnerHands, Retest: "the BMC answers again",
		}},
		Next: "rackproof done " + e.Machine.Name, Knows: "it asks the BMC again",
	}
}
