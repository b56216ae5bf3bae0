package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// NetworkWish is what a batch says of the measurements between two of its machines.
type NetworkWish struct {
	Alone bool     `json:"alone,omitempty"` // none are made
	Wait  Duration `json:"wait,omitempty"`  // for a partner, at most; 0 means 15 min
}

// partnerWait is how long a machine waits for a partner where the batch does not say.
const partnerWait = 15 * time.Minute

// pairs is a burnin.Source that measures a machine's InfiniBand ports with those of
// another machine of the run, before the load of either.
type pairs struct {
	env  *Env
	me   *guest
	pair burnin.Pair // without a peer
}

// network measures the ports with those of another machine where spec and profile ask
// for that, else with each other where the profile has that.
func network(e *Env, node burnin.Shell) burnin.Source {
	pair := burnin.Pair{
		Node: node, Profile: e.Profile, Origin: burnin.FromSSH, Store: e.Store,
		Claim: burnin.Claim{Run: string(e.Run), Attempt: e.Attempt, Owner: Operator()},
	}
	if !wantsPairs(e) || e.Batch.Network.Alone || e.meeting == nil {
		return &pair
	}
	me := &guest{
		machine: e.Machine, attempt: e.Attempt, addr: hostAddress(e), store: e.Store,
		open: func(ctx context.Context) (burnin.Shell, error) { return e.open.node(ctx, e.Machine, e.Facts) },
	}
	for i, m := range e.Batch.Machines {
		switch {
		case m.Name == e.Machine.Name:
			me.place = i
		case m.ProfileSHA256 == e.Machine.ProfileSHA256 && m.SpecSHA256 == e.Machine.SpecSHA256:
			me.others = append(me.others, m.Name)
		}
	}
	return &pairs{env: e, me: me, pair: pair}
}

// wantsPairs reports whether the acceptance hangs on a measurement between two machines.
func wantsPairs(e *Env) bool {
	return e.Profile.IB.Bandwidth.Set() && e.Spec.ScopeOf("ib.bandwidth", "bandwidth") == profiles.Required
}

// planNetwork tells of the measurement, where there is one.
func planNetwork(e *Env) []Change {
	c := Change{Step: "burn-in", What: "network", Want: "measured with another machine of the run, 10 s each port and way; listens at its own address meanwhile"}
	switch {
	case !wantsPairs(e):
		return nil
	case e.Batch.Network.Alone:
		c.Want = "not measured with another machine (network: {pairs: false})"
	}
	return []Change{c}
}

// hostAddress is where a host is for other hosts, without the port of its SSH.
func hostAddress(e *Env) string {
	addr := or(e.Facts[FactHost], e.Machine.Host)
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// Collect implements burnin.Source. Its error is an *Aside where the machine is to wait
// for a partner.
func (p *pairs) Collect(ctx context.Context, phase burnin.Phase) ([]*burnin.Evidence, error) {
	if phase != burnin.PhaseBefore {
		return nil, nil
	}
	meeting, me := p.env.meeting, p.me
	if p.pair.Done() {
		meeting.leave(me.machine.Name)
		return nil, nil
	}
	for {
		together, visit := meeting.take(ctx, me)
		if visit == nil {
			break
		}
		p.env.Progress(ctx, zeroTime, "measures the network with %s", visit.partner.machine.Name)
		err := p.measure(together, visit.partner)
		visit.end(err)
		switch {
		case err == nil:
			return nil, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.Is(err, burnin.ErrNoPartner) && !errors.Is(err, errGone):
			return nil, err
		}
		p.env.Log.Info("the network was not measured with a partner", "partner", visit.partner.machine.Name, "why", err)
	}
	wait := time.Duration(p.env.Batch.Network.Wait)
	if wait == 0 {
		wait = partnerWait
	}
	if until, ok := meeting.hope(me, wait); ok {
		return nil, &Aside{
			Why:  "waits until " + until.Format("15:04:05") + " for a machine to measure the network with",
			Wait: func(ctx context.Context) { meeting.wait(ctx, me) },
		}
	}
	return p.alone(ctx)
}

// alone measures neighbouring ports where the profile has that, or says why nothing is
// measured and what to type later.
func (p *pairs) alone(ctx context.Context) ([]*burnin.Evidence, error) {
	p.env.meeting.leave(p.me.machine.Name)
	if p.env.Profile.IB.Loopback {
		return p.pair.Collect(ctx, burnin.PhaseBefore)
	}
	why := "no partner: no other machine of its profile and spec came to this point in time"
	if len(p.me.others) == 0 {
		why = "no partner: the batch has no other machine of this profile and spec"
	}
	if said := p.env.meeting.why(p.me); said != "" {
		why += "; " + said
	}
	why = p.env.secrets.redact(why)
	user := p.env.Machine.SSH.User
	return p.pair.NotRun(fmt.Sprintf("%s. Run `rackproof retest` for two of them, or measure it by itself: rackproof burnin -H %s@%s --peer %s@HOST", why, user, p.me.addr, user)), nil
}

// measure measures both ways, one after the other, and stores what each machine is judged
// by. Nothing is stored unless both ways came to their end.
func (p *pairs) measure(ctx context.Context, partner *guest) (err error) {
	far, err := partner.open(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%w: %w", burnin.ErrNoPartner, err)
	}
	defer func() { _ = far.Close() }()
	out, back := p.pair, p.pair
	out.Peer, out.Name, out.Addr = far, partner.machine.Name, partner.addr
	back.Node, back.Peer, back.Name, back.Addr = far, p.pair.Node, p.me.machine.Name, p.me.addr
	mine, err := out.Measure(ctx)
	if err != nil {
		return err
	}
	theirs, err := back.Measure(ctx)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(addAll(partner.store, theirs), addAll(p.me.store, mine))
}

func addAll(s *burnin.Store, list []*burnin.Evidence) error {
	for _, e := range list {
		if err := s.Add(e); err != nil {
			return err
		}
	}
	return nil
}

// network reads `network:` of a batch.
func (l *loader) network(n ast.Node) {
	to, together := &l.batch.Network, true
	l.fields(n, "network", field{"pairs": l.yes(&together), "wait": l.duration(&to.Wait)})
	to.Alone = !together
}
