package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/shell"
	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
)

// openPatience is how long a BMC that does not answer, or has no free session, is
// asked again. A refused login is never tried again: BMCs lock accounts.
const openPatience = 20 * time.Second

// openBMC logs in to the BMC of m. Whatever keeps us out is infrastructure.
func (b *Bench) openBMC(ctx context.Context, m Machine) (BMC, error) {
	cfg, err := b.bmcConfig(ctx, m)
	if err != nil {
		return nil, err
	}
	limit := time.Now().Add(openPatience)
	for {
		c, err := login(ctx, m.Login.Protocol, cfg)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		passing := (errors.Is(err, redfish.ErrUnreachable) || errors.Is(err, redfish.ErrSessionLimit)) && !refusedUs(err)
		if !passing || time.Now().After(limit) {
			return nil, keptOut(m, err)
		}
		t := time.NewTimer(2 * time.Second)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// keptOut words an error by which a BMC, or what is before it, keeps us out.
func keptOut(m Machine, err error) *Stuck {
	stuck := &Stuck{Why: err.Error(), Do: bmcChore(err)}
	switch {
	case errors.Is(err, redfish.ErrAuth): // the BMC may have its new password already
		stuck.cause = redfish.ErrAuth
	case errors.Is(err, redfish.ErrPinMismatch):
		stuck.cause = redfish.ErrPinMismatch
		stuck.Do += " If its board or BMC was exchanged: " + m.rebindWord() + "."
		if m.Login.SHA256 != "" {
			stuck.Do += " If it is right, correct `sha256` of the machine, or delete it."
		}
	case redfish.Sick(err) && !refusedUs(err):
		stuck.cause = err
	}
	return stuck
}

// credentialChore is what a person does about a secret that is not where the batch
// says.
const credentialChore = "Put the credential where the batch file says it is."

// bmcChore is what a person does about a BMC that keeps us out.
func bmcChore(err error) string {
	hop, way := errors.AsType[*redfish.HopError](err)
	switch {
	case way:
		return fmt.Sprintf("Log in to the bastion with `ssh %s`: what keeps ssh out keeps us out.", hop.Hop)
	case errors.Is(err, redfish.ErrAuth):
		return "Check user and password against the tag (0 and O, 1 and I); nothing is tried again before somebody says so."
	case errors.Is(err, redfish.ErrPasswordChange):
		return "Set a new password at the BMC, and put it where the batch file says it is."
	case errors.Is(err, redfish.ErrPinMismatch):
		return "Find out why the certificate is another one: board or BMC swapped, firmware updated, or another machine at this address."
	case errors.Is(err, redfish.ErrSessionLimit):
		return "Close sessions in the BMC's web page, or wait until they end."
	case errors.Is(err, redfish.ErrBadValue):
		return "Correct what the message names in the batch, or choose another bmc.protocol."
	case errors.Is(err, redfish.ErrUnreachable):
		return "Check that the PSUs have power, then the BMC's cable and link LED, its VLAN, and its address against the label."
	}
	return ""
}

func (b *Bench) bmcConfig(ctx context.Context, m Machine) (redfish.Config, error) {
	cfg := redfish.Config{Addr: m.BMC, System: m.System, Log: b.Log, Poll: time.Duration(m.Poll)}
	var err error
	if cfg.User, err = m.Login.User.ResolveFor(ctx, m.Name); err != nil {
		return cfg, &Stuck{Why: err.Error(), Do: credentialChore}
	}
	if cfg.Password, err = m.Login.Password.ResolveFor(ctx, m.Name); err != nil {
		return cfg, &Stuck{Why: err.Error(), Do: credentialChore}
	}
	b.Secrets.Add(cfg.Password)
	if m.Via != "" {
		cfg.Dial, cfg.Via = b.dialer(m.Via), m.Via
	}
	cfg.Refusals, cfg.Sessions = OpenRefusals(b.State), OpenSessionStore(b.State)
	cfg.TLS = redfish.TLS{Mode: redfish.TLSMode(m.Login.TLS), Pins: OpenKnownBMCs(b.State), Legacy: m.Login.Legacy}
	if m.Login.SHA256 != "" {
		cfg.TLS.Pins = statedPin{OpenKnownBMCs(b.State), m.Login.SHA256}
	}
	if file, ok := strings.CutPrefix(m.Login.TLS, "ca:"); ok {
		cfg.TLS.Mode, cfg.TLS.CAFile = redfish.CA, ExpandHome(file)
	}
	return cfg, nil
}

// openNode logs in to the host of m: with the host key that we injected where we
// booted it, else with the known_hosts of the batch or of the user.
func (b *Bench) openNode(ctx context.Context, m Machine, f Facts) (burnin.Shell, error) {
	addr := or(f[FactHost], m.Host)
	if addr == "" {
		return nil, &Stuck{Why: "the batch does not say where the host's SSH answers", Do: "Add `host:` to the machine."}
	}
	cfg := shell.SSHConfig{User: m.SSH.User, Addr: addr, Log: b.Log}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		cfg.Port = m.SSH.Port
	}
	if m.Via != "" {
		cfg.Jump = []string{m.Via}
	}
	if m.SSH.Key != "" {
		pem, err := m.SSH.Key.ResolveFor(ctx, m.Name)
		if err != nil {
			return nil, &Stuck{Why: err.Error(), Do: credentialChore}
		}
		b.Secrets.Add(pem)
		signer, err := netboot.Signer([]byte(pem))
		if err != nil {
			return nil, &Stuck{Why: fmt.Sprintf("%s: %v", m.SSH.Key, err), Do: "Give one without a passphrase, or load it into an agent and leave ssh.key out."}
		}
		cfg.Signers = append(cfg.Signers, signer)
	}
	if line := f[FactHostKey]; line != "" {
		key, err := netboot.HostKey(line)
		if err != nil {
			return nil, err
		}
		cfg.HostKeys = append(cfg.HostKeys, key)
		if m.Via == "" { // the bastion may be an alias of it
			cfg.ConfigFile = "none"
		}
	} else if m.SSH.KnownHosts != "" {
		cfg.KnownHosts = []string{ExpandHome(m.SSH.KnownHosts)}
	}
	return shell.DialSSH(ctx, cfg)
}

// hostPort is an address with a port where it has none.
func hostPort(addr string, port int) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), strconv.Itoa(port))
}
