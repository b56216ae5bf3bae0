package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// movedAddr is where the machine's BMC will be by the batch, with the port that the batch
// names.
func (m Machine) movedAddr() string {
	if m.Network == nil || !m.Network.Address.IsValid() {
		return m.BMC
	}
	host := m.Network.Address.Addr().String()
	if _, port, err := net.SplitHostPort(m.BMC); err == nil {
		return net.JoinHostPort(host, port)
	}
	return host
}

// atBMC is the machine with its BMC where it is since its network was set: a run has that
// as facts, and a new run of the same batch file knows it by the pin.
func (b *Bench) atBMC(m Machine, f Facts) Machine {
	if f[FactBMCAddr] != "" && f[FactBMCWas] == m.BMC {
		m.BMC = f[FactBMCAddr]
		return m
	}
	moved, known := m, OpenKnownBMCs(b.State)
	moved.BMC = m.movedAddr()
	if moved.BMC == m.BMC {
		return m
	}
	if who := known.At(m.bmcAddr()); who != "" && known.Of(who).Addr == moved.bmcAddr() {
		return moved
	}
	return m
}

// places are the addresses at which a BMC may be, each once.
func places(to, from string) []string { return slices.Compact([]string{to, from}) }

// find looks for the BMC at its new address, then at the old, and lists what still
// differs there. From then on it is spoken to where it was found.
func (s bmcNetwork) find(ctx context.Context, e *Env, to string) ([]redfish.NetworkChange, error) {
	var missed []error
	for _, addr := range places(to, e.Machine.BMC) {
		err := e.reach(ctx, addr)
		if err == nil {
			var open []redfish.NetworkChange
			if open, err = s.open(ctx, e); err == nil {
				return open, nil
			}
			e.dropClient()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		missed = append(missed, err)
	}
	return nil, errors.Join(missed...)
}

// reach takes up a session with the machine's BMC at addr. It must show the certificate
// that the BMC had: a stranger gets no password. What answers must then prove to be the
// machine.
func (e *Env) reach(ctx context.Context, addr string) error {
	if addr == e.Machine.BMC && e.bmc != nil {
		return nil
	}
	print := e.Facts[FactPrint]
	if print == "" {
		return fmt.Errorf("BMC %s: its certificate is not known from before, so nobody is asked at %s", e.Machine.BMC, addr)
	}
	m := e.Machine
	m.BMC = addr
	c, err := e.open.known(ctx, m, print)
	if err != nil {
		return err
	}
	id, err := c.Identity(ctx)
	if err == nil {
		err = e.sameMachine(id, "since its network was set")
	}
	if err == nil {
		err = e.moveTo(ctx, m, c, or(id.UUID, id.BMCMAC))
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	e.dropClient()
	e.bmc, e.Machine = c, m
	return nil
}

// moveTo keeps where the BMC is now. Its pin goes with it, and the address of before is
// free for another.
func (e *Env) moveTo(ctx context.Context, m Machine, c BMC, self string) error {
	if m.BMC == e.Machine.BMC {
		return nil
	}
	e.Log.Info("the BMC has moved", "from", e.Machine.BMC, "to", m.BMC)
	if e.known != nil && m.Login.TLS != string(redfish.Insecure) {
		keep := e.known.SetPin(m.bmcAddr(), c.Fingerprint())
		if self != "" && e.known.Of(self).SHA256 == c.Fingerprint() {
			keep = e.known.Bind(m.bmcAddr(), c.Fingerprint(), self)
		}
		if err := errors.Join(keep, e.known.Release(e.Machine.bmcAddr())); err != nil {
			return err
		}
	}
	was := e.Machine.BMC
	if e.Facts[FactBMCAddr] == was {
		was = e.Facts[FactBMCWas] // what the batch says
	}
	return e.Learn(ctx, Facts{FactBMCAddr: m.BMC, FactBMCWas: was})
}

// openKnown logs in to the BMC of m, at once or not at all, and only where it shows the
// certificate sha256; one that a CA vouches for is checked as ever.
func (b *Bench) openKnown(ctx context.Context, m Machine, sha256 string) (BMC, error) {
	cfg, err := b.bmcConfig(ctx, m)
	if err != nil {
		return nil, err
	}
	if cfg.TLS.Mode != redfish.CA {
		cfg.TLS.Mode, cfg.TLS.Pins = redfish.Pin, onePin(sha256)
	}
	return login(ctx, m.Login.Protocol, cfg)
}

// onePin is the pin of every address.
type onePin string

func (p onePin) Pin(string) (string, bool)   { return string(p), true }
func (p onePin) Known(string) bool           { return false }
func (p onePin) SetPin(string, string) error { return nil }

// answerWait is how long somebody may take to answer at an address that is to be free.
const answerWait = 3 * time.Second

// answers reports whether somebody is where m's BMC is to be: one who takes a connection,
// who refuses it, or who answers a presence ping of IPMI.
func (b *Bench) answers(ctx context.Context, m Machine) bool {
	dial := (&net.Dialer{}).DialContext
	if m.Via != "" {
		dial = b.dialer(m.Via)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	addr := hostPort(m.BMC, m.Login.Protocol.port())
	conn, err := dial(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close()
		return true
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	if m.Via != "" { // which UDP does not pass
		return false
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), answerWait)
	defer cancel()
	found, err := redfish.Ping(ctx, host)
	return err == nil && found != redfish.Silent
}
