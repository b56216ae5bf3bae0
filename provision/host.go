package provision

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// hostIdentity is what a booted host says of itself. Blank is not known.
type hostIdentity struct {
	bootID, cmdline, uuid string
	bmcMACs               []string
}

const hostDeadline = 20 * time.Second

// askHost asks a host who it is. What one tool does not say is left blank: only
// what two sides say can be compared.
func askHost(ctx context.Context, node burnin.Shell, p *profiles.Profile) (hostIdentity, error) {
	facts, err := (&burnin.Node{Shell: node, Origin: burnin.FromSSH, Profile: p}).Facts(ctx)
	if err != nil {
		return hostIdentity{}, err
	}
	h := hostIdentity{bootID: facts.BootID}
	if out, err := node.Run(ctx, burnin.Command{Line: "cat /proc/cmdline", Deadline: hostDeadline}); err != nil {
		return h, err
	} else if out.Exit != nil && *out.Exit == 0 {
		h.cmdline = strings.TrimSpace(string(out.Out))
	}
	dmi, _, err := ask(ctx, node, p, burnin.Dmidecode)
	if err != nil && ctx.Err() != nil {
		return h, err
	}
	h.uuid = dmi.UUID
	lan, _, err := ask(ctx, node, p, burnin.IPMILan)
	if err != nil && ctx.Err() != nil {
		return h, err
	}
	h.bmcMACs = lan.MACs
	return h, nil
}

// ask runs one probe outside a burn-in.
func ask[T any](ctx context.Context, node burnin.Shell, p *profiles.Profile, probe burnin.Probe[T]) (T, *burnin.Evidence, error) {
	var none T
	line := probe.Spec.Command(p)
	out, err := node.Run(ctx, burnin.Command{Line: burnin.Wrap(line), Deadline: max(probe.Spec.Deadline, hostDeadline)})
	if err != nil {
		return none, nil, err
	}
	e := &burnin.Evidence{
		Probe: probe.Spec.Name, Phase: burnin.PhaseBefore, Command: line, Source: burnin.FromSSH,
		Started: out.Started, Seconds: out.Seconds, Exit: out.Exit, Ended: out.Ended, Out: out.Out, Err: out.Err,
	}
	if err := e.Usable(); err != nil {
		return none, e, err
	}
	v, err := probe.Parse(e)
	if err != nil {
		return none, e, fmt.Errorf("%s: %w", probe.Spec.Name, err)
	}
	return v, e, nil
}
