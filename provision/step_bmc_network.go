package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// Networker sets up a BMC's own network port; a BMC may be one.
type Networker interface {
	Network(context.Context) (redfish.Network, error)
	SetNetwork(context.Context, redfish.NetworkWish) error
}

// bmcNetwork gives the BMC the network settings of the batch. What may cut the connection
// is sent once; then the BMC is looked for at its new address and at the old. It counts
// when the machine that answers shows the certificate and the identity of before.
type bmcNetwork struct{}

const (
	stepBMCNetwork = "bmc-network"
	actBMCNetwork  = "bmc network"
)

// networkPolls is for how many polls a BMC may be away before it shows its new settings:
// 10 minutes at the usual pace, since some restart for it.
const networkPolls = 200

func (bmcNetwork) Name() string { return stepBMCNetwork }

func (s bmcNetwork) Done(ctx context.Context, e *Env) (bool, error) {
	if e.Machine.Network == nil {
		return true, nil
	}
	in, begun := e.intents[actBMCNetwork]
	if !begun {
		open, err := s.open(ctx, e)
		return err == nil && len(open) == 0, err
	}
	open, err := s.find(ctx, e, in.Mark)
	if _, other := errors.AsType[*Hands](err); other {
		return false, err
	}
	if err != nil {
		e.Log.Debug("the BMC is not found yet", "err", err)
		return false, nil // Do looks for it for longer
	}
	return len(open) == 0 && e.Machine.BMC == in.Mark, nil
}

// open lists what still differs, as the BMC tells it in the session that there is.
func (bmcNetwork) open(ctx context.Context, e *Env) ([]redfish.NetworkChange, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	n, ok := c.(Networker)
	if !ok {
		return nil, noNetwork(fmt.Errorf("BMC %s: %w: its network is not set this way", e.Machine.BMC, redfish.ErrUnsupported))
	}
	now, err := n.Network(ctx)
	if err != nil {
		return nil, noNetwork(err)
	}
	open := now.Changes(*e.Machine.Network)
	clock, ok := c.(clocker)
	if !ok || !e.Machine.Network.Clock || len(now.NTP) > 0 || len(e.Machine.Network.NTP) > 0 {
		return open, nil
	}
	_, skew, err := clock.Clock(ctx)
	if err == nil && skew.Abs() > redfish.ClockTolerance {
		open = append(open, redfish.NetworkChange{What: "clock", Now: fmt.Sprintf("off by %s", skew.Round(time.Second)), Want: "set"})
	}
	return open, err
}

// noNetwork words a BMC that does not show its network settings.
func noNetwork(err error) error {
	if !errors.Is(err, redfish.ErrUnsupported) {
		return err
	}
	return &Stuck{Why: err.Error(), Do: "Set its network by hand, and take bmc_network of this machine out of the batch."}
}

type clocker interface {
	Clock(context.Context) (bmc time.Time, skew time.Duration, err error)
}

func (s bmcNetwork) Do(ctx context.Context, e *Env) (Facts, error) {
	to := e.Machine.BMC
	if in, begun := e.intents[actBMCNetwork]; begun {
		to = in.Mark
	} else {
		open, err := s.open(ctx, e)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(open, func(ch redfish.NetworkChange) bool { return ch.What == "address" }) {
			to = e.Machine.movedAddr()
		}
		if err := s.vacant(ctx, e, to); err != nil {
			return nil, err
		}
	}
	if err := e.Act(ctx, s.act(e, to)); err != nil {
		return nil, s.explain(ctx, e, to, err)
	}
	e.dropClient() // its session may be one with an address that is gone
	return nil, s.explain(ctx, e, to, s.look(ctx, e, to))
}

// vacant refuses an address at which somebody answers already: two machines at one
// address are found by nobody.
func (bmcNetwork) vacant(ctx context.Context, e *Env, to string) error {
	if to == e.Machine.BMC || e.open.answers == nil {
		return nil
	}
	m := e.Machine
	m.BMC = to
	if !e.open.answers(ctx, m) {
		return nil
	}
	return &Stuck{
		Why: fmt.Sprintf("something answers at %s already, which is to be the address of BMC %s; nothing was changed", to, e.Machine.BMC),
		Do:  "Find out what stands there; take another address, or if it is this very machine write that address as its bmc: in the batch.",
	}
}

// act sets it, once. The intent's mark is where the BMC will be; there it is seen as
// done, and wherever it is found with other settings as not done.
func (s bmcNetwork) act(e *Env, to string) Act {
	return Act{
		Name: actBMCNetwork, Poll: e.poll(), Settle: settlePolls * e.poll(), Deadline: networkPolls * e.poll(),
		Mark: func(context.Context) (string, error) { return to, nil },
		Seen: func(ctx context.Context, _ string) (Sight, error) {
			open, err := s.find(ctx, e, to)
			switch {
			case err != nil:
				return CannotTell, err
			case len(open) > 0:
				return Absent, nil
			case e.Machine.BMC != to:
				return CannotTell, nil // on its way
			}
			return Happened, nil
		},
		Do: func(ctx context.Context) error {
			c, err := e.Client(ctx)
			if err != nil {
				return err
			}
			n, ok := c.(Networker)
			if !ok {
				return redfish.ErrUnsupported
			}
			err = n.SetNetwork(ctx, *e.Machine.Network)
			if err != nil {
				e.dropClient()
			}
			return err
		},
	}
}

// look waits until the BMC is where it is to be, with all settings.
func (s bmcNetwork) look(ctx context.Context, e *Env, to string) error {
	limited, cancel := context.WithTimeout(ctx, networkPolls*e.poll())
	defer cancel()
	return e.WaitFor(limited, e.poll(), Stuck{}, func() (bool, error) {
		e.Progress(ctx, zeroTime, "waits for the BMC at %s", to)
		open, err := s.find(limited, e, to)
		if _, other := errors.AsType[*Hands](err); other {
			return false, err
		}
		if err != nil {
			e.Log.Debug("the BMC is not found yet", "err", err)
		}
		return err == nil && len(open) == 0 && e.Machine.BMC == to, nil
	})
}

// explain words a BMC that did not take its settings, or is not found.
func (s bmcNetwork) explain(ctx context.Context, e *Env, to string, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.Is(err, redfish.ErrBadValue), errors.Is(err, redfish.ErrUnsupported):
		return &Stuck{Why: err.Error(), Do: "Correct bmc_network of the batch, or set it at the BMC and take it out of the batch.", Anew: true}
	}
	if _, ok := errors.AsType[*Stuck](err); !ok {
		return err
	}
	from, w := e.Machine.BMC, e.Machine.Network
	open, last := s.find(ctx, e, to)
	if last == nil && len(open) > 0 {
		return &Stuck{
			Why:  fmt.Sprintf("BMC %s took network settings and does not show them: %s is %s, wanted %s; it answers at %s", from, open[0].What, or(open[0].Now, "none"), open[0].Want, e.Machine.BMC),
			Do:   "Look at the network page of the BMC: a setting of the model may be in the way. They are set again on resume.",
			Anew: true,
		}
	}
	why := fmt.Sprintf("BMC %s took network settings and is not found since, at %s", from, strings.Join(places(to, from), " nor at "))
	if last != nil {
		why += ": " + strings.ReplaceAll(last.Error(), "\n", "; ")
	}
	stuck := &Stuck{Why: why} // not anew: it is looked for again on resume
	switch {
	case errors.Is(last, redfish.ErrPinMismatch):
		stuck.Do = fmt.Sprintf("No password was sent to it. If the sticker says that it is this machine, with a new certificate: write %s as its bmc: in the batch, `rackproof bmc %s forget-pin %s`, then `rackproof retest %s`.",
			to, to, or(e.Facts[FactUUID], e.Facts[FactBMCMAC]), e.Machine.Name)
	case w.DHCP != nil && *w.DHCP:
		stuck.Do = "It takes its address from DHCP now: look for it among the leases, and write what it got as its bmc: in the batch."
	default:
		stuck.Do = "Look whether its switch port carries " + wishWords(*w) + "; else set its network at the machine. Resuming looks at both addresses again."
	}
	return stuck
}

// wishWords says what a switch port must carry.
func wishWords(w redfish.NetworkWish) string {
	out := "its network"
	if w.Address.IsValid() {
		out = "the network of " + w.Address.String()
	}
	if w.VLAN != nil && *w.VLAN > 0 {
		out += fmt.Sprintf(" with VLAN %d tagged", *w.VLAN)
	}
	return out
}

// Plan implements Planner.
func (s bmcNetwork) Plan(ctx context.Context, e *Env) ([]Change, error) {
	if e.Machine.Network == nil {
		return nil, nil
	}
	open, err := s.open(ctx, e)
	var out []Change
	for _, ch := range open {
		out = append(out, Change{Step: stepBMCNetwork, What: "BMC " + ch.What, Now: ch.Now, Want: ch.Want})
	}
	return out, err
}
