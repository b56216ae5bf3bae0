package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/shell"
)

// waitSSH waits until the host answers, and makes sure that it belongs to the BMC
// we drive: no load is put on somebody else's machine.
type waitSSH struct{}

func (waitSSH) Name() string { return "wait-ssh" }

func (s waitSSH) Done(ctx context.Context, e *Env) (bool, error) {
	if live(e) {
		if err := e.StartBoot(ctx); err != nil { // the host may still have to fetch its seed
			return false, err
		}
		if !e.bootIsUp() {
			return false, nil
		}
		t, _ := e.Boot.Find(e.Machine.Name, e.Attempt)
		if t.Up.Address != "" {
			e.Facts[FactHost] = t.Up.Address
		}
		if err := crossed(e, t.Up.UUID, "the host that took this machine's boot"); err != nil {
			return false, s.keepIdentity(ctx, e, err)
		}
	}
	ok, err := s.look(ctx, e)
	if err != nil && s.mayCome(e, err) {
		e.Log.Debug("host does not answer yet", "err", err)
		return false, nil
	}
	return ok, err
}

// mayCome reports whether an error may pass while the host boots.
func (waitSSH) mayCome(e *Env, err error) bool {
	if waits(err) {
		return false
	}
	if errors.Is(err, shell.ErrSilent) || errors.Is(err, shell.ErrLost) {
		return true
	}
	// Before the live image is up, an old system may answer at the same address.
	return live(e) && (errors.Is(err, shell.ErrHostKey) || errors.Is(err, shell.ErrAuth))
}

func (s waitSSH) Do(ctx context.Context, e *Env) (Facts, error) {
	if e.Facts[FactBoot] == string(BootNone) { // it was up before us
		return nil, s.wait(ctx, e)
	}
	bounded, cancel := context.WithTimeout(ctx, watchLogin)
	defer cancel()
	c, err := e.Client(bounded)
	if err != nil {
		e.Log.Warn("the BMC is not asked how far the host is", "err", err)
		return nil, s.wait(ctx, e)
	}
	watch := e.watchBoot(ctx, c, s.Name())
	return nil, watch.end(s.wait(ctx, e))
}

// wait waits for the host.
func (s waitSSH) wait(ctx context.Context, e *Env) error {
	var last error
	stuck := Stuck{Do: "Look at the host's console and at the link of its NIC.", Suspect: true}
	err := e.WaitFor(ctx, e.poll()/2, stuck, func() (bool, error) {
		ok, err := s.Done(ctx, e)
		switch {
		case err != nil || ok:
		case live(e) && !e.bootIsUp():
			last = errors.New("the image has not said that it is up")
			e.Progress(ctx, zeroTime, "waits for image %s to come up", e.Machine.Boot.Image)
		default:
			if _, last = e.Node(ctx); last != nil {
				e.Progress(ctx, zeroTime, "waits for the host: %v", last)
			}
		}
		return ok, err
	})
	var st *Stuck
	if errors.As(err, &st) && st.Why == "" {
		st.Why = "the host did not come up"
		if last != nil {
			st.Why += ": " + last.Error()
		}
	}
	return err
}

// look asks the host who it is.
func (s waitSSH) look(ctx context.Context, e *Env) (bool, error) {
	e.DropNode()
	node, err := e.Node(ctx)
	if err != nil {
		return false, err
	}
	host, err := askHost(ctx, node, e.Profile)
	if err != nil {
		return false, err
	}
	if live(e) {
		if host.cmdline != "" && !strings.Contains(host.cmdline, e.tokenWord()) {
			e.DropNode()
			return false, nil // not our boot: the system from before
		}
	}
	if err := crossed(e, host.uuid, "the host at "+or(e.Facts[FactHost], e.Machine.Host)); err != nil {
		return false, s.keepIdentity(ctx, e, err)
	}
	proof := provenBy(e, host)
	if proof == "" && e.Facts[FactBoot] == string(BootPXE) {
		return false, unproven(e, host)
	}
	switch {
	case proof != "":
		e.Facts[FactProof], e.Facts[factProofFor] = proof, e.proofFor()
	case e.Facts[FactProof] != "": // of the host that answered before
		e.Facts[FactProof], e.Facts[factProofFor] = "", ""
	}
	e.Facts[FactBootID] = host.bootID
	e.tellBootOrder(ctx, node)
	return true, e.keepMachine() // the burn-in compares the boot it finds with this one
}

// provenBy says how host and BMC are proven one machine, or "". What came to the
// host through its BMC is the best proof. PXE has none of that: anyone who answers
// to the MAC gets the boot.
func provenBy(e *Env, host hostIdentity) string {
	mac := e.Facts[FactBMCMAC]
	switch {
	case live(e) && e.Facts[FactBoot] != string(BootPXE):
		// The host key went out for the token alone, and this host proved in the
		// handshake that it has it.
		return "the one-time token given to this BMC came back from this host, with the host key made for it"
	case mac != "" && slices.Contains(host.bmcMACs, strings.ToLower(mac)):
		return "the host's own BMC has MAC " + mac + ", that of this BMC"
	case e.Facts[FactBoot] == string(BootPXE) && host.uuid != "" && sameUUID(host.uuid, e.Facts[FactUUID]) && (mac == "" || len(host.bmcMACs) == 0):
		// Boards have been seen with one UUID for all of a batch, so MACs that differ
		// go before it.
		return "host and BMC show one SMBIOS UUID, " + host.uuid
	}
	return ""
}

// unproven waits for people: a host that came by PXE may be anybody's.
func unproven(e *Env, host hostIdentity) error {
	return &Stuck{
		Why: fmt.Sprintf("nothing proves that the host which booted by PXE is the one behind BMC %s: the BMC says UUID %s and MAC %s of its own, the host says UUID %s and BMC MAC %s; no load was put on it",
			e.Machine.BMC, or(e.Facts[FactUUID], "none"), or(e.Facts[FactBMCMAC], "none"), or(host.uuid, "none"), or(strings.Join(host.bmcMACs, " "), "none")),
		Do: "Put ipmitool with its kernel drivers into the image, or boot by uefi-http or virtual-media, which need no such proof.",
	}
}

// crossed compares the host's identity with the BMC's. Only like is compared with
// like, and silence proves nothing either way.
func crossed(e *Env, uuid, who string) error {
	bmc := e.Facts[FactUUID]
	if uuid == "" || bmc == "" || sameUUID(uuid, bmc) {
		return nil
	}
	is := ""
	for _, m := range e.Batch.Machines {
		if m.Name != e.Machine.Name && m.UUID != "" && sameUUID(m.UUID, uuid) {
			is = ", that of " + m.at()
		}
	}
	return &Fault{
		Line: "crossed cables: BMC and host are two machines",
		Why:  fmt.Sprintf("%s has UUID %s%s, BMC %s has %s: two machines; no load was put on either", who, uuid, is, e.Machine.BMC, bmc),
		Do: []burnin.Advice{{
			Do: "follow the BMC cable and the data cable of this machine to their switch ports; swap the one that is in its neighbour's port", Minutes: 10, Who: OwnerHands,
			Retest: "host and BMC show one UUID",
		}},
	}
}

// keepIdentity keeps what shows that the host is another machine, so that the
// record proves it.
func (waitSSH) keepIdentity(ctx context.Context, e *Env, fault error) error {
	node, err := e.Node(ctx)
	if err != nil {
		e.Log.Warn("the other host does not answer: its identity is known from its boot alone", "err", err)
		return fault
	}
	_, dmi, err := ask(ctx, node, e.Profile, burnin.Dmidecode)
	if dmi == nil {
		e.Log.Warn("identity of the other host not kept", "err", err)
		return fault
	}
	dmi.Simulated = e.Machine.Boot.Image == SimulatedImage
	if err := e.Store.Add(dmi); err != nil {
		return errors.Join(fault, err)
	}
	return fault
}
