package provision

import (
	"context"
	"fmt"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// defaultPoll is the time between two questions to a BMC or a host.
const defaultPoll = 3 * time.Second

// settlePolls is for how many polls a BMC must show that an interrupted power act
// did not happen before it is done: some show the state of before until the next
// is reached (FIELD-QUIRKS 68), and write the reset time late.
const settlePolls = 10

// poll is the batch's pace.
func (e *Env) poll() time.Duration {
	if p := e.Batch.Limits.Poll; p > 0 {
		return time.Duration(p)
	}
	return defaultPoll
}

// restart resets the host once, or switches it on when it is off. name tells the
// resets of a step apart; also may know otherwise that the reset happened (the
// boot script was fetched), and may be nil. An interrupted restart goes on the way
// it was begun.
func (e *Env) restart(ctx context.Context, c BMC, name string, also func() bool) error {
	state, err := c.Power(ctx)
	if err != nil {
		return err
	}
	mark, err := c.LastResetTime(ctx)
	if err != nil {
		return err
	}
	_, begunOff := e.intents[name+" off"]
	_, begunReset := e.intents[name]
	_, begunOn := e.intents[name+" on"]
	begun := begunOff || begunReset || begunOn
	switch {
	case begunReset || (!begun && state != redfish.Off && mark != ""):
		err = e.Act(ctx, e.resetAct(c, name, also))
	case begunOff || (!begun && state != redfish.Off):
		// Nothing tells a host that was reset from one that was not, where the BMC
		// keeps no reset time. Off and on can both be read back.
		err = e.Act(ctx, e.switchAct(c, name+" off", redfish.ForceOff, redfish.Off))
	}
	if err != nil {
		return err
	}
	return e.switchOn(ctx, c, name+" on", also)
}

// switchOn ends a restart: the host must be on, also where the restart was cut
// between off and on.
func (e *Env) switchOn(ctx context.Context, c BMC, name string, also func() bool) error {
	if also != nil && also() {
		return nil
	}
	if _, begun := e.intents[name]; !begun {
		state, err := c.Power(ctx)
		if err != nil || state == redfish.On || state == redfish.PoweringOn {
			return err
		}
	}
	return e.Act(ctx, e.switchAct(c, name, redfish.PowerOn, redfish.On))
}

func (e *Env) resetAct(c BMC, name string, also func() bool) Act {
	return Act{
		Name: name, Poll: e.poll(), Settle: settlePolls * e.poll(), Inrush: true,
		Mark: func(ctx context.Context) (string, error) { return c.LastResetTime(ctx) },
		Seen: func(ctx context.Context, mark string) (Sight, error) {
			if also != nil && also() {
				return Happened, nil
			}
			last, err := c.LastResetTime(ctx)
			if err != nil {
				return CannotTell, err
			}
			state, err := c.Power(ctx)
			switch {
			case err != nil:
				return CannotTell, err
			case last == "":
				return CannotTell, nil
			case last != mark, state == redfish.Off: // cut between off and on
				return Happened, nil
			case state == redfish.On:
				return Absent, nil
			default:
				return CannotTell, nil
			}
		},
		Do: func(ctx context.Context) error { return c.SetPower(ctx, redfish.Restart) },
	}
}

// switchAct brings the host to a state that can be read back.
func (e *Env) switchAct(c BMC, name string, do redfish.PowerAction, want redfish.PowerState) Act {
	return Act{
		Name: name, Poll: e.poll(), Settle: settlePolls * e.poll(), Inrush: do != redfish.PowerOff && do != redfish.ForceOff,
		Mark: func(ctx context.Context) (string, error) {
			s, err := c.Power(ctx)
			return string(s), err
		},
		Seen: func(ctx context.Context, _ string) (Sight, error) {
			s, err := c.Power(ctx)
			switch {
			case err != nil:
				return CannotTell, err
			case s == want:
				return Happened, nil
			case s == redfish.On, s == redfish.Off:
				return Absent, nil
			default: // on its way, or not reported
				return CannotTell, nil
			}
		},
		Do: func(ctx context.Context) error { return c.SetPower(ctx, do) },
	}
}

// waitPOST waits until the firmware is through, where the BMC tells.
func (e *Env) waitPOST(ctx context.Context, c BMC) error {
	stuck := Stuck{
		Why: fmt.Sprintf("BMC %s: the machine did not come through POST", e.Machine.BMC),
		Do:  "Look at its console: a message may wait for a key.",
	}
	pauser, ok := c.(Pauser)
	if !ok {
		pauser = sleeper{}
	}
	return waitFor(ctx, pauser, e.poll(), stuck, func() (bool, error) {
		done, known, err := c.POSTDone(ctx)
		if err != nil {
			e.Log.Debug("POST state not read", "err", err)
			return false, nil
		}
		return done || !known, nil
	})
}
