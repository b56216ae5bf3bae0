package lab

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// answers reports how long one question to each BMC took.
func (p *both) answers(t *testing.T) (overRedfish, overIPMI time.Duration) {
	t.Helper()
	start := time.Now()
	if _, err := p.redfish.Power(t.Context()); err != nil {
		t.Error(err)
	}
	overRedfish = time.Since(start)
	start = time.Now()
	if _, err := p.ipmi.Power(t.Context()); err != nil {
		t.Error(err)
	}
	return overRedfish, time.Since(start)
}

// slow is far above what a busy computer adds to an answer.
func (p *both) slow(t *testing.T) {
	const late = 2 * time.Second
	p.fault(t, "bmc-slow", "2")
	if r, i := p.answers(t); r < late || i < late {
		t.Errorf("answers after %v over Redfish, %v over IPMI", r, i)
	}
	p.fault(t, NoFault, "")
	within(t, time.Minute, func() bool {
		r, i := p.answers(t)
		return r < late && i < late
	}, func() string { return "healed, and the answers are late still" })
}

// dead looks from the network: nothing answers and nothing refuses.
func (p *both) dead(t *testing.T) {
	p.fault(t, "bmc-dies", "")
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(p.spec.BMCIP(), "443")); err == nil {
		_ = conn.Close()
		t.Error("the Redfish BMC answers")
	} else if strings.Contains(err.Error(), "refused") {
		t.Errorf("a dead BMC refuses: %v", err)
	}
	if _, err := p.ipmi.Power(ctx); err == nil {
		t.Error("the IPMI BMC answers")
	}
	p.fault(t, NoFault, "")
	fresh := openBoth(t, p.lab, p.spec)
	fresh.answers(t)
}

// powerLoss takes the mains away: the BMC comes back with its logs, its
// certificate and its clock.
func (p *both) powerLoss(t *testing.T) {
	before := p.redfish.Fingerprint()
	p.fault(t, "power-loss", "1")
	var after *redfish.Client
	within(t, time.Minute, func() bool {
		var err error
		after, err = redfish.Open(t.Context(), redfish.Config{Addr: p.spec.BMCIP(), User: BMCUser, Password: BMCPassword})
		return err == nil
	}, func() string { return "the BMC does not come back" })
	defer after.Close()
	if after.Fingerprint() != before {
		t.Error("it has another certificate")
	}
	fresh := openBoth(t, p.lab, p.spec)
	fresh.bothLog(t, 12, false)
}
