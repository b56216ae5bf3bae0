package provision

import (
	"context"
	"fmt"

	"github.com/rackproof/rackproof/redfish"
)

// renewPin pins the BMC anew after our own firmware update: a BMC may make a new
// certificate with it. The new one counts only when the machine behind it proves to be
// the one that was updated, by UUID, BMC MAC and serial as they were read before.
func (e *Env) renewPin(ctx context.Context) error {
	if e.open.renew == nil {
		return fmt.Errorf("BMC %s shows another certificate after its update; `rackproof bmc %s forget-pin` when it is right", e.Machine.BMC, e.Machine.BMC)
	}
	if e.bmc != nil {
		_ = e.bmc.Close() // its session went with the restart
		e.bmc = nil
	}
	if err := e.stranger(ctx); err != nil {
		return err
	}
	c, err := e.open.renew(ctx, e.Machine)
	if err != nil {
		return err
	}
	id, err := c.Identity(ctx)
	if err == nil {
		err = e.sameMachine(id, "after its firmware update")
	}
	if err != nil {
		_ = c.Close()
		return err
	}
	self, addr := or(id.UUID, id.BMCMAC), e.Machine.bmcAddr()
	if e.known != nil && self != "" && !c.Insecure() {
		if err := e.known.Bind(addr, c.Fingerprint(), self); err != nil {
			return err
		}
	}
	note := fmt.Sprintf("the BMC has a new certificate %.16s… since its firmware update, as the machine with UUID %s", c.Fingerprint(), id.UUID)
	e.Log.Info(note)
	if err := e.Learn(ctx, Facts{FactPrint: c.Fingerprint(), FactRenewed: note}); err != nil {
		return err
	}
	e.bmc = c
	return nil
}

// stranger refuses who tells before any login that it is another BMC: its address may
// have another owner since the restart, and that one gets no password. Most BMCs tell
// their MAC there; of one that tells nothing the login decides.
func (e *Env) stranger(ctx context.Context) error {
	if e.open.greet == nil {
		return nil
	}
	g, err := e.open.greet(ctx, e.Machine)
	if err != nil {
		return err // it is not up yet, or no BMC
	}
	was, is := redfish.CleanMAC(e.Facts[FactBMCMAC]), redfish.CleanMAC(g.MAC)
	if was == "" || is == "" || was == is {
		return nil
	}
	return wrongMachine(e.Machine, fmt.Sprintf("who answers at BMC %s after its firmware update shows BMC MAC %s, before it was %s; no password was sent", e.Machine.BMC, is, was))
}

// sameMachine compares like with like: what both tell must be equal, and something must
// be told by both. since says what happened to the BMC since it was read.
func (e *Env) sameMachine(id redfish.Identity, since string) error {
	proven := false
	for _, m := range []struct{ what, was, is string }{{"UUID", e.Facts[FactUUID], id.UUID}, {"BMC MAC", e.Facts[FactBMCMAC], id.BMCMAC}} {
		if m.was == "" || m.is == "" {
			continue
		}
		if m.was != m.is && (m.what != "UUID" || !sameUUID(m.was, m.is)) {
			return wrongMachine(e.Machine, fmt.Sprintf("BMC %s has %s %s %s, before it %s", e.Machine.BMC, m.what, m.is, since, m.was))
		}
		proven = true
	}
	if !proven {
		return wrongMachine(e.Machine, fmt.Sprintf("BMC %s shows %s neither UUID nor MAC by which it is known", e.Machine.BMC, since))
	}
	_, err := match(e.Machine, id)
	return err
}

// greetBMC asks who is at the address of m's BMC, without a login.
func (b *Bench) greetBMC(ctx context.Context, m Machine) (redfish.Greeting, error) {
	cfg, err := b.bmcConfig(ctx, m)
	if err != nil {
		return redfish.Greeting{}, err
	}
	return redfish.Greet(ctx, cfg)
}

// renewBMC logs in to a BMC whose certificate is expected to be another one.
func (b *Bench) renewBMC(ctx context.Context, m Machine) (BMC, error) {
	cfg, err := b.bmcConfig(ctx, m)
	if err != nil {
		return nil, err
	}
	cfg.TLS.Pins = nil // whatever it shows; who it is decides
	c, err := redfish.Open(ctx, cfg)
	if err != nil {
		return nil, &Stuck{Why: err.Error(), Do: bmcChore(err)}
	}
	return c, nil
}
