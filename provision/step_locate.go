package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/rackproof/rackproof/redfish"
)

// locate lights the locator LED, for whoever comes to the rack. How it was found is kept
// first, also for the next attempt: locate-off puts that back.
type locate struct{}

func (locate) Name() string { return "locate" }

// lamp is a BMC with a locator LED.
type lamp interface {
	Locator(context.Context) (bool, error)
	SetLocator(ctx context.Context, on bool) error
}

const (
	factLEDFound = "led_found" // "on" or "off" before step locate lit it; "" = it is as found
	factLEDNone  = "led_none"  // why no LED was lit
)

func (locate) Done(ctx context.Context, e *Env) (bool, error) {
	lit, none, err := e.led(ctx)
	switch {
	case err != nil:
		return false, err
	case none != "": // no reason to keep the machine waiting
		e.Facts[factLEDNone] = none
		return true, nil
	}
	return lit && e.Facts[factLEDFound] != "", nil
}

func (locate) Do(ctx context.Context, e *Env) (Facts, error) {
	lit, _, err := e.led(ctx)
	if err != nil {
		return nil, err
	}
	if e.Facts[factLEDFound] == "" { // durable before it changes
		if err := e.Learn(ctx, Facts{factLEDFound: onOffWord(lit)}); err != nil {
			return nil, err
		}
	}
	return nil, e.setLED(ctx, true)
}

// Plan implements Planner.
func (locate) Plan(ctx context.Context, e *Env) ([]Change, error) {
	lit, none, err := e.led(ctx)
	switch {
	case err != nil:
		return nil, err
	case none != "":
		return []Change{{Step: "locate", What: "left out:", Want: none}}, nil
	case lit:
		return nil, nil
	}
	return []Change{{Step: "locate", What: "locator LED", Now: wishOff, Want: wishOn}}, nil
}

// locateOff puts the locator LED back as it was found.
type locateOff struct{}

func (locateOff) Name() string { return "locate-off" }

func (locateOff) Done(ctx context.Context, e *Env) (bool, error) {
	found := e.Facts[factLEDFound]
	if found == "" { // nothing was lit
		return true, nil
	}
	lit, none, err := e.led(ctx)
	switch {
	case err != nil:
		return false, err
	case none != "": // what was lit is not put back: how it was found stays known
		e.Log.Warn("the locator LED is not put back", "why", none, "found", found)
		return true, nil
	case onOffWord(lit) != found:
		return false, nil
	}
	e.Facts[factLEDFound] = ""
	return true, nil
}

func (locateOff) Do(ctx context.Context, e *Env) (Facts, error) {
	return nil, e.setLED(ctx, e.Facts[factLEDFound] == wishOn)
}

// Plan implements Planner. Only what locate would light goes off again.
func (locateOff) Plan(ctx context.Context, e *Env) ([]Change, error) {
	lit, none, err := e.led(ctx)
	if err != nil || none != "" || lit && e.Facts[factLEDFound] != wishOff {
		return nil, err
	}
	return []Change{{Step: "locate-off", What: "locator LED", Now: wishOn, Want: wishOff}}, nil
}

// led reads the locator LED; none says why there is none.
func (e *Env) led(ctx context.Context) (lit bool, none string, err error) {
	c, err := e.Client(ctx)
	if err != nil {
		return false, "", err
	}
	l, ok := c.(lamp)
	if !ok {
		return false, "no locator LED over " + string(e.Machine.Login.Protocol), nil
	}
	lit, err = l.Locator(ctx)
	if errors.Is(err, redfish.ErrUnsupported) {
		return false, "the BMC has no locator LED", nil
	}
	return lit, "", err
}

// setLED is asked for as often as it takes: a LED that is lit already is not lit twice.
func (e *Env) setLED(ctx context.Context, on bool) error {
	c, err := e.Client(ctx)
	if err != nil {
		return err
	}
	l, ok := c.(lamp)
	if !ok {
		return nil
	}
	if err := l.SetLocator(ctx, on); err != nil {
		return fmt.Errorf("locator LED: %w", err)
	}
	return nil
}

// Words of a switch, in facts and in workflows.
const (
	wishOn  = "on"
	wishOff = "off"
)

func onOffWord(on bool) string {
	if on {
		return wishOn
	}
	return wishOff
}
