package provision

import (
	"context"
	"fmt"

	"github.com/rackproof/rackproof/redfish"
)

// powerAsFound switches the host on or off as it was when its BMC was first proven. A
// host that runs an image of ours goes off: no machine stays in it.
type powerAsFound struct{}

func (powerAsFound) Name() string { return "power-as-found" }

// want is the state to come to; unknown where nobody knows how it was found.
func (powerAsFound) want(e *Env) redfish.PowerState {
	if inOurImage(e) {
		return redfish.Off
	}
	switch found := redfish.PowerState(e.Facts[FactPowerFound]); found {
	case redfish.On, redfish.Off:
		return found
	case redfish.PoweringOn:
		return redfish.On
	default:
		return redfish.PowerUnknown
	}
}

func (s powerAsFound) Done(ctx context.Context, e *Env) (bool, error) {
	words := "its power left as it is: nobody knows how it was found"
	if want := s.want(e); want != redfish.PowerUnknown {
		c, err := e.Client(ctx)
		if err != nil {
			return false, err
		}
		state, err := c.Power(ctx)
		if err != nil || state != want {
			return false, err
		}
		e.Facts[factPowerBack] = "true"
		words = "power " + string(state) + ", as found"
		if inOurImage(e) {
			words = "powered off"
		}
	}
	if before := e.Facts[FactHandover]; before != "" {
		words = before + "; " + words
	}
	e.Facts[FactHandover] = words
	return true, nil
}

func (s powerAsFound) Do(ctx context.Context, e *Env) (Facts, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	if inOurImage(e) {
		if err := e.leaving(ctx, c); err != nil {
			return nil, err
		}
	}
	act := e.switchAct(c, "power off", redfish.PowerOff, redfish.Off)
	if s.want(e) == redfish.On {
		act = e.switchAct(c, "power on", redfish.PowerOn, redfish.On)
	}
	if err := e.Act(ctx, act); err != nil {
		return nil, fmt.Errorf("power as found: %w", err)
	}
	return nil, nil
}

// Plan implements Planner.
func (s powerAsFound) Plan(ctx context.Context, e *Env) ([]Change, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	now, err := c.Power(ctx)
	want := s.want(e)
	if err != nil || want == redfish.PowerUnknown || want == now {
		return nil, err
	}
	return []Change{{Step: "power-as-found", What: "power", Now: string(now), Want: string(want)}}, nil
}
