package provision

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

const (
	// factLeaving is since when a host that comes for our image comes anew.
	factLeaving = "leaving_live"
	// factSticky says that the boot override was not used up.
	factSticky = "override_sticky"

	// leavePolls is for how many polls behind POST a host is watched that must not come
	// for our image: firmware asks for its boot within seconds of it.
	leavePolls = 20
)

// overrideIsOff reports a host that boots by its own order next.
func overrideIsOff(b redfish.Boot) bool {
	return !b.Supported || b.Enabled == "" || b.Enabled == "Disabled" || b.Target == "" || b.Target == "None"
}

// clearOverride makes sure that the next start is not ours. A Once that still stands was
// not used up by the boot (quirk 37, Supermicro with a virtual CD): every start would
// take it again.
func (e *Env) clearOverride(ctx context.Context, c BMC, name string) error {
	was, err := c.Boot(ctx)
	if err != nil {
		return err
	}
	if overrideIsOff(was) {
		return nil
	}
	act := e.overrideAct(c, redfish.Boot{Target: "None", Enabled: "Disabled"}, nil)
	act.Name = name
	act.Seen = func(ctx context.Context, _ string) (Sight, error) {
		b, err := c.Boot(ctx)
		switch {
		case err != nil:
			return CannotTell, err
		case overrideIsOff(b):
			return Happened, nil
		}
		return Absent, nil
	}
	if err := e.Act(ctx, act); err != nil {
		return fmt.Errorf("take the boot override back: %w", err)
	}
	if now, err := c.Boot(ctx); err != nil || !overrideIsOff(now) {
		return errors.Join(err, &Stuck{
			Why: fmt.Sprintf("the BMC keeps its boot override %s, and would start our image again", now),
			Do:  "Take the override back by hand: `rackproof bmc ADDR boot none`, or on the BMC's page.",
		})
	}
	e.Log.Warn("the boot override was not used up, and was taken back", "was", was.String())
	return e.Learn(ctx, Facts{factSticky: fmt.Sprintf("the BMC had kept its boot override %s behind the boot; it was taken back", was)})
}

// leaving takes back what would start our image again, before the host is reset or
// switched off.
func (e *Env) leaving(ctx context.Context, c BMC) error {
	if err := e.clearOverride(ctx, c, "handover override"); err != nil {
		return err
	}
	if e.Facts[factLeaving] != "" {
		return nil
	}
	return e.Learn(ctx, Facts{factLeaving: time.Now().UTC().Format(time.RFC3339Nano)})
}

// cameAgain reports whether the host came for our image since it was to leave it.
func (e *Env) cameAgain() bool {
	since, err := time.Parse(time.RFC3339Nano, e.Facts[factLeaving])
	t, ok := e.Boot.Find(e.Machine.Name, e.Attempt)
	return err == nil && ok && t.Last.After(since)
}

// left finds out where a restart has led: into the installed system, into our image
// again, or nobody can tell. The override is off again in any case.
func (e *Env) left(ctx context.Context, c BMC) (how string, err error) {
	if err := e.waitPOST(ctx, c); err != nil {
		return "", err
	}
	_, known, err := c.POSTDone(ctx)
	if err != nil {
		return "", err
	}
	for range leavePolls {
		if e.cameAgain() {
			break
		}
		if err := (sleeper{}).Pause(ctx, e.poll()); err != nil {
			return "", err
		}
	}
	if err := e.clearOverride(ctx, c, "handover override behind the restart"); err != nil {
		return "", err
	}
	switch {
	case e.cameAgain():
		return leftAgain, nil
	case !known:
		return leftUnknown, nil
	}
	return leftRestarted, nil
}
