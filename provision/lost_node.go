package provision

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// lostTime bounds the question to the BMC about a host that went silent.
const lostTime = time.Minute

// lost says of a host that went silent under test what its BMC says of it, and what its
// console said last. It was cut short, and what was measured does not count, so a retest
// boots and measures it anew. A kernel that died on its console is a fault.
func (e *Env) lost(ctx context.Context, err error, console []byte) error {
	stuck, ok := errors.AsType[*Stuck](err)
	if !ok || !errors.Is(err, burnin.ErrNodeLost) || ctx.Err() != nil {
		return err
	}
	if text := burnin.ConsoleCrash(console, e.Profile); text != "" {
		return &Fault{
			Line: burnin.OneLine("the kernel died under test: " + text),
			Why:  fmt.Sprintf("the kernel died under test and said so on its console: %s; %s", text, stuck.Why),
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lostTime)
	defer cancel()
	stuck.Next, stuck.Suspect = "rackproof retest "+e.Machine.Name, true
	state, perr := e.powerNow(ctx)
	if perr != nil || state == redfish.Off {
		if aside := e.wentDark(ctx); aside != nil {
			return aside
		}
	}
	switch {
	case perr != nil:
		stuck.Why = fmt.Sprintf("host and BMC went silent under test: %s; BMC: %v", stuck.Why, perr)
		stuck.Do = "Look whether it has power, and at its switch."
	case state == redfish.Off:
		stuck.Why = "the host went off under test, by no command of this run: " + stuck.Why
		stuck.Do = fmt.Sprintf("Look at its feeds and at `%s sel`: power was lost, or it switched itself off.", e.bmcVerb())
	default:
		stuck.Why = fmt.Sprintf("the host went silent under test, and its BMC says that its power is %s: %s", state, stuck.Why)
		stuck.Do = fmt.Sprintf("Look at its console (`%s console`): its kernel died or hangs, or its network does.", e.bmcVerb())
	}
	return stuck
}

// bmcVerb begins a command about the machine's BMC.
func (e *Env) bmcVerb() string {
	verb := "rackproof bmc " + e.Machine.BMC
	if e.Machine.Via != "" {
		verb += " --via " + e.Machine.Via
	}
	return verb
}

func (e *Env) powerNow(ctx context.Context) (redfish.PowerState, error) {
	e.dropClient() // its session may be older than the BMC's last start
	c, err := e.Client(ctx)
	if err != nil {
		return redfish.PowerUnknown, err
	}
	return c.Power(ctx)
}
