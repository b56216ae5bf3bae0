package burnin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Pair is a Source that measures what goes over the network between two nodes, rail by
// rail: port i of one with port i of the other. The peer serves, the node measures, by
// ib_write_bw over InfiniBand; where neither the profile nor the nodes have any, by
// iperf3 over the network between their addresses, which is recorded only. Without a
// peer, neighbouring ports of the node are paired where the profile has that (ib.loopback).
//
// It is asked in the phase before, so that the counters of the ports after the load tell
// of it too. Both nodes are taken for that time: one that is in work is no partner.
// Everything that runs there is a unit with a deadline, which the node ends by itself
// when it does not hear of us. That there is no partner is evidence and no error.
type Pair struct {
	Node, Peer Shell // Peer is nil without one
	Name       string
	Addr       string // of the peer, where its programs listen while they measure; nowhere else
	Profile    *profiles.Profile
	Claim      Claim
	Origin     Origin
	Store      *Store        // what is in it is not measured again; may be nil
	For        time.Duration // each pair; 0 = ten seconds

	sys string // "" = /sys
}

// rail is a port that has a link.
type rail struct {
	device string
	port   string
	rate   float64 // Gb/s
}

// pairEnd is one of the two nodes.
type pairEnd struct {
	shell  Shell
	folder *nodeFolder
	boot   string
	tools  map[string]bool
	rails  []rail
}

const (
	pairTime = 10 * time.Second
	pairPort = 18515 // the first of the ports that are listened on, one for each rail
)

// ErrNoPartner means that the two nodes could not be taken for each other.
var ErrNoPartner = errors.New("no partner")

// Collect implements Source.
func (p *Pair) Collect(ctx context.Context, phase Phase) ([]*Evidence, error) {
	if phase != PhaseBefore || p.Peer == nil && !p.Profile.IB.Loopback || p.Done() {
		return nil, nil
	}
	got, err := p.Measure(ctx)
	if errors.Is(err, ErrNoPartner) && ctx.Err() == nil {
		return p.NotRun(err.Error()), nil
	}
	return got, err
}

// Measure measures every pair of ports, whatever was measured before. An error that is
// ErrNoPartner tells that nothing was begun; any other is that of ctx.
func (p *Pair) Measure(ctx context.Context) ([]*Evidence, error) {
	here, there, err := p.take(ctx)
	defer p.release(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoPartner, err)
	}
	return p.measureAll(ctx, here, there)
}

// NotRun is the evidence that nothing was measured, with the reason.
func (p *Pair) NotRun(why string) []*Evidence {
	return []*Evidence{p.without(nil, "", why)}
}

// Done reports whether the store has it: an earlier process of this run has measured.
func (p *Pair) Done() bool {
	if p.Store == nil {
		return false
	}
	rec, err := p.Store.Record()
	return err == nil && slices.ContainsFunc(rec.Evidence, func(e *Evidence) bool {
		return e.Probe == IBBandwidth.Spec.Name && e.Phase == PhaseBefore
	})
}

// take takes both nodes and asks what they have.
func (p *Pair) take(ctx context.Context) (here, there *pairEnd, err error) {
	if here, err = p.end(ctx, p.Node); err != nil {
		return here, nil, fmt.Errorf("this node: %w", err)
	}
	if p.Peer == nil {
		return here, here, nil
	}
	if there, err = p.end(ctx, p.Peer); err != nil {
		return here, there, fmt.Errorf("%s: %w", p.Name, err)
	}
	return here, there, nil
}

func (p *Pair) end(ctx context.Context, sh Shell) (*pairEnd, error) {
	e := &pairEnd{shell: sh}
	sys := p.sys
	if sys == "" {
		sys = "/sys"
	}
	out, err := sh.Run(ctx, Command{Line: nodeLine("pair", []string{sys}, pairScript), Deadline: askLimit})
	if err != nil {
		return e, err
	}
	e.read(string(out.Out), p.Profile)
	e.folder, err = acquire(ctx, sh, p.claim())
	if err == nil && e.folder.again { // of a process that was killed: what it has there is of another pair
		if _, err = ReleaseNode(ctx, sh, p.Claim.Root, p.claim().Run); err == nil {
			e.folder, err = acquire(ctx, sh, p.claim())
		}
	}
	return e, err
}

// claim is one of its own, so that a load of the same run keeps the node to itself.
func (p *Pair) claim() Claim {
	c := p.Claim
	c.Run += "-pair"
	return c
}

func (p *Pair) release(ctx context.Context) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	for _, sh := range []Shell{p.Node, p.Peer} {
		if sh != nil {
			_, _ = ReleaseNode(late, sh, p.Claim.Root, p.claim().Run) // the dead man's timer ends the rest
		}
	}
}

const pairScript = `
echo "boot $(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
for t in ib_write_bw iperf3; do command -v "$t" >/dev/null 2>&1 && echo "tool $t"; done
for p in "$1"/class/infiniband/*/ports/*; do
	[ -r "$p/state" ] && [ -r "$p/link_layer" ] || continue
	d=${p%/ports/*}
	echo "port ${d##*/} ${p##*/} $(cat "$p/link_layer") $(cat "$p/rate" 2>/dev/null | cut -d' ' -f1) $(cat "$p/state")"
done
echo end`

// read takes the InfiniBand ports that have a link, and the profile's rate: a slower
// port of the same adapter is no rail.
func (e *pairEnd) read(text string, p *profiles.Profile) {
	e.tools = map[string]bool{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "boot":
			e.boot = f[1]
		case len(f) == 2 && f[0] == "tool":
			e.tools[f[1]] = true
		case len(f) == 7 && f[0] == "port" && f[3] == "InfiniBand" && f[6] == "ACTIVE":
			r := rail{device: f[1], port: f[2], rate: looseNumber(f[4]).V}
			if limit := p.IB.Rate; !limit.Set() || r.rate >= limit.Number(profiles.GbPerSecond) {
				e.rails = append(e.rails, r)
			}
		}
	}
	slices.SortStableFunc(e.rails, func(a, b rail) int {
		return byNumber(a.device+"/"+a.port, b.device+"/"+b.port)
	})
}

// byNumber orders names of devices by length first: mlx5_2 comes before mlx5_10.
func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// pairing is who is measured with whom.
type pairing struct{ client, server rail }

// pairings pairs the rails; alone are those of the node that have no partner.
func (p *Pair) pairings(here, there *pairEnd) (pairs []pairing, alone []rail) {
	if p.Peer == nil { // neighbours, each measured one way
		for i := 0; i+1 < len(here.rails); i += 2 {
			a, b := here.rails[i], here.rails[i+1]
			pairs = append(pairs, pairing{a, b}, pairing{b, a})
		}
		return pairs, here.rails[len(here.rails)/2*2:]
	}
	n := min(len(here.rails), len(there.rails))
	for i := range n {
		pairs = append(pairs, pairing{here.rails[i], there.rails[i]})
	}
	return pairs, here.rails[n:]
}

// measureAll measures one pair after the other.
func (p *Pair) measureAll(ctx context.Context, here, there *pairEnd) ([]*Evidence, error) {
	var out []*Evidence
	pairs, alone := p.pairings(here, there)
	for _, r := range alone {
		out = append(out, p.without(here, r.device, "no partner: the other end has no such rail with a link"))
	}
	if err := p.cannot(here, there); err != nil {
		return append(out, p.without(here, "", err.Error())), nil
	}
	if len(pairs) == 0 && len(alone) == 0 {
		pairs = []pairing{{}} // over the network between their addresses
	}
	for i, pair := range pairs {
		e, err := p.measure(ctx, here, there, pair, i)
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

// cannot says why nothing can be measured, or nil.
func (p *Pair) cannot(here, there *pairEnd) error {
	tool := "ib_write_bw"
	if len(here.rails) == 0 && len(there.rails) == 0 {
		tool = "iperf3"
		switch {
		case p.Profile.IB.Ports.Set() || p.Profile.IB.Bandwidth.Set():
			return errors.New("no InfiniBand port has a link at the profile's rate, here or there")
		case p.Peer == nil:
			return errors.New("no InfiniBand port has a link")
		}
	}
	switch {
	case !here.tools[tool]:
		return errors.New("no pair: " + notThere(tool))
	case !there.tools[tool]:
		return fmt.Errorf("no pair: on %s %s", p.Name, notThere(tool))
	}
	return nil
}

// without is the evidence of a rail that was not measured.
func (p *Pair) without(here *pairEnd, instance, why string) *Evidence {
	e := p.evidence(here, instance)
	e.Started, e.Err = time.Now().UTC(), []byte(pairMark+why+"\n")
	return e
}

func (p *Pair) evidence(here *pairEnd, instance string) *Evidence {
	one := 1
	e := &Evidence{Probe: IBBandwidth.Spec.Name, Instance: instance, Phase: PhaseBefore, Source: p.Origin, Ended: EndedExit, Exit: &one, Command: "pair with " + p.Name}
	if here != nil {
		e.BootID = here.boot
	}
	return e
}
