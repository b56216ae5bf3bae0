package provision

import (
	"context"
	"fmt"

	"github.com/rackproof/rackproof/redfish"
)

// powerOff switches the host off, however it was found: its system is asked first where
// the BMC can. Our image goes down with it.
type powerOff struct{}

func (powerOff) Name() string { return "power-off" }

func (powerOff) Done(ctx context.Context, e *Env) (bool, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return false, err
	}
	state, err := c.Power(ctx)
	if err != nil || state != redfish.Off {
		return false, err
	}
	if inOurImage(e) && e.Facts[factLeft] == "" {
		if err := e.clearOverride(ctx, c, "handover override"); err != nil { // or its next start is our image again
			return false, err
		}
		e.Facts[factLeft] = leftOff
	}
	words := "powered off"
	if before := e.Facts[FactHandover]; before != "" {
		words = before + "; " + words
	}
	e.Facts[FactHandover] = words
	return true, nil
}

func (powerOff) Do(ctx context.Context, e *Env) (Facts, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	if inOurImage(e) {
		if err := e.leaving(ctx, c); err != nil {
			return nil, err
		}
	}
	if err := e.Act(ctx, e.switchAct(c, "power off", redfish.PowerOff, redfish.Off)); err != nil {
		return nil, fmt.Errorf("power off: %w", err)
	}
	return nil, nil
}

// Plan implements Planner.
func (powerOff) Plan(ctx context.Context, e *Env) ([]Change, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	now, err := c.Power(ctx)
	if err != nil {
		return nil, err
	}
	return []Change{{Step: "power-off", What: "power", Now: string(now), Want: string(redfish.Off)}}, nil
}
