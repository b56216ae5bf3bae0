package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/redfish"
)

// RebindWish is the word of a person that the board or BMC of a machine was exchanged.
type RebindWish struct {
	As  string // a number read at the machine: serial number, UUID, or MAC of the BMC
	BMC string // where its BMC is now; "" = where it was
	MAC string // of the NIC that boots now; "" = that of the batch
}

// RebindError refuses to bind a machine anew. Nothing was changed.
type RebindError struct {
	Why  string
	Next string
}

func (e *RebindError) Error() string { return e.Why }

// Rebind asks the BMC of a machine who it is, and makes of it, of what was known before
// and of a person's word by what the machine is known from now on. It keeps the pin of its
// certificate, in the place of the one that this machine had; what the run makes of it is
// told by an event Rebind. The BMC must show the number that the person read, and none of
// the identity may be that of another machine of the run: *RebindError.
func (b *Bench) Rebind(ctx context.Context, run *Run, name string, wish RebindWish) (Rebound, error) {
	m := run.Find(name)
	if m == nil {
		return Rebound{}, fmt.Errorf("no machine %q in run %s", name, run.ID)
	}
	at := b.atBMC(m.Machine, m.Facts)
	at.BMC = or(wish.BMC, at.BMC)
	at.Login.SHA256 = "" // of the BMC that it had
	for i := range run.Machines {
		if o := run.Machines[i].Machine; o.Name != name && (o.bmcAddr() == at.bmcAddr() || b.atBMC(o, run.Machines[i].Facts).bmcAddr() == at.bmcAddr()) {
			return Rebound{}, &RebindError{Why: fmt.Sprintf("BMC %s is that of %s", at.BMC, o.at()), Next: "give the address of the new BMC of " + name + " with --bmc"}
		}
	}
	id, print, err := b.askAnew(ctx, at)
	if err != nil {
		return Rebound{}, err
	}
	out := Rebound{Was: b.bondOf(run, m), Is: Bond{
		BMC: at.BMC, MAC: or(redfish.CleanMAC(wish.MAC), m.Machine.MAC), SeenUUID: id.UUID, BMCMAC: id.BMCMAC, SHA256: print,
		SeenSerial: or(id.SystemSerial, or(id.ServiceTag, or(id.ChassisSerial, id.BoardSerial))),
	}}
	if err := out.agree(m.Machine, id, wish); err != nil {
		return Rebound{}, err
	}
	if err := run.foreign(name, id); err != nil {
		return Rebound{}, err
	}
	return out, b.rePin(m, at, out)
}

// askAnew logs in to a BMC whatever certificate it shows: a person says that it is
// another one, and who it is decides.
func (b *Bench) askAnew(ctx context.Context, m Machine) (id redfish.Identity, print string, err error) {
	open := b.OpenBMC
	if open == nil {
		open = func(ctx context.Context, m Machine) (BMC, error) {
			cfg, err := b.bmcConfig(ctx, m)
			if err != nil {
				return nil, err
			}
			cfg.TLS.Pins = nil
			return login(ctx, m.Login.Protocol, cfg)
		}
	}
	c, err := open(ctx, m)
	if err != nil {
		return id, "", b.Secrets.clean(err)
	}
	id, err = c.Identity(ctx)
	if !c.Insecure() {
		print = c.Fingerprint()
	}
	return id, print, b.Secrets.clean(errors.Join(err, c.Close()))
}

// bondOf is by what a machine was known: in this attempt, else in the record of the last
// one in which its BMC was read.
func (b *Bench) bondOf(run *Run, m *MachineRun) Bond {
	was := m.bond()
	for a := m.Attempt; a > 0 && was.SeenUUID == "" && was.BMCMAC == ""; a-- {
		if j, err := ReadReport(AttemptDir(b.State, run.ID, m.Machine.Name, a)); err == nil {
			id := j.Machine.Identity
			was.SeenUUID, was.BMCMAC, was.SeenSerial = id.UUID, id.BMCMAC, or(was.SeenSerial, or(id.SystemSerial, id.ServiceTag))
		}
	}
	known := OpenKnownBMCs(b.State)
	pin, _ := known.Pin(m.Machine.bmcAddr())
	was.SHA256 = or(was.SHA256, or(known.Of(or(was.SeenUUID, was.BMCMAC)).SHA256, pin))
	return was
}

// agree holds what the BMC shows to the person's word, and chooses by what the batch
// knows the machine from now on.
func (r *Rebound) agree(m Machine, id redfish.Identity, wish RebindWish) error {
	shows := serials(id) + ", UUID " + or(id.UUID, "none") + ", BMC MAC " + or(id.BMCMAC, "none")
	if !isSaid(id, wish.As) {
		return &RebindError{
			Why:  fmt.Sprintf("you read %s at %s, and BMC %s shows %s: it is another machine, or the number is another one", wish.As, m.at(), r.Is.BMC, shows),
			Next: "compare the sticker and the BMC cable; --as takes a serial number, the UUID or the BMC's MAC",
		}
	}
	r.Is.Serial = r.serialOf(m, id, wish.As)
	if m.UUID != "" || r.Is.Serial == "" {
		r.Is.UUID = id.UUID
	}
	switch {
	case r.Is.Serial == "" && r.Is.UUID == "":
		return &RebindError{Why: fmt.Sprintf("BMC %s shows neither serial number nor UUID (%s), so nothing would tell this machine from another", r.Is.BMC, shows), Next: "have the vendor write the serial number into the new board"}
	case r.Is.MAC != "" && len(id.NICMACs) > 0 && !slices.Contains(id.NICMACs, strings.ToLower(r.Is.MAC)):
		return &RebindError{Why: fmt.Sprintf("MAC %s, by which %s boots, is none of its ports now: %s", r.Is.MAC, m.Name, strings.Join(id.NICMACs, ", ")), Next: "say with --mac which of them boots"}
	}
	was := r.Was
	was.SeenSerial = r.Is.SeenSerial // not known as often as the others
	if was == r.Is {
		return &RebindError{Why: fmt.Sprintf("%s is known by this already: %s", m.Name, shows), Next: "rackproof retest " + m.Name}
	}
	return nil
}

// isSaid reports whether a BMC shows the number that a person read.
func isSaid(id redfish.Identity, number string) bool {
	if _, ok := id.Match(number); ok {
		return true
	}
	mac := redfish.CleanMAC(number)
	return id.UUID != "" && sameUUID(id.UUID, number) || mac != "" && mac == id.BMCMAC
}

// serialOf is the serial number by which the batch knows the machine from now on: the old
// one where it stays, as that of the chassis does, else the one that the person read, as
// the BMC writes it, else the one that the BMC shows.
func (r *Rebound) serialOf(m Machine, id redfish.Identity, number string) string {
	if _, stays := id.Match(m.Serial); stays {
		return m.Serial
	}
	for _, s := range []string{id.ServiceTag, id.SystemSerial, id.ChassisSerial, id.BoardSerial} {
		if s != "" && strings.EqualFold(s, strings.TrimSpace(number)) {
			return s
		}
	}
	if m.Serial == "" {
		return ""
	}
	return r.Is.SeenSerial
}

// foreign refuses an identity that another machine of the run has: by the batch, or as
// its BMC showed it. Of two BMCs that tell their MAC it decides: boards have been seen
// with one UUID for all of a batch.
func (r *Run) foreign(name string, id redfish.Identity) error {
	other, known := r.Batch.meant(id, name)
	for i := range r.Machines {
		o := &r.Machines[i]
		if known || o.Machine.Name == name {
			continue
		}
		mac, uuid := o.Facts[FactBMCMAC], o.Facts[FactUUID]
		if mac != "" && id.BMCMAC != "" {
			known = mac == id.BMCMAC
		} else {
			known = uuid != "" && id.UUID != "" && sameUUID(uuid, id.UUID)
		}
		other = o.Machine
	}
	if !known {
		return nil
	}
	return &RebindError{Why: fmt.Sprintf("that is %s (%s): their BMC cables are swapped, or their addresses in the batch", other.at(), serials(id)), Next: "put the cables or the batch right, then rackproof done " + name}
}

// rePin keeps the certificate of the new BMC, and forgets the one that this machine had.
func (b *Bench) rePin(m *MachineRun, at Machine, r Rebound) error {
	self := or(r.Is.SeenUUID, r.Is.BMCMAC)
	if r.Is.SHA256 == "" || self == "" || at.Login.TLS == string(redfish.Insecure) {
		return nil
	}
	known := OpenKnownBMCs(b.State)
	for _, addr := range []string{m.Machine.bmcAddr(), b.atBMC(m.Machine, m.Facts).bmcAddr(), at.bmcAddr()} {
		if _, err := known.Forget(addr, or(r.Was.SeenUUID, r.Was.BMCMAC)); err != nil {
			return err
		}
	}
	return known.Bind(at.bmcAddr(), r.Is.SHA256, self)
}

// rebindWord is the command for a machine whose board or BMC was exchanged.
func (m Machine) rebindWord() string {
	return fmt.Sprintf("`rackproof rebind %s --as NUMBER-ON-THE-STICKER`", m.Name)
}

// exchanged adds to a machine that is not the one meant what a person types where its
// board or BMC was exchanged.
func (e *Env) exchanged(err error) error {
	stranger, ok := errors.AsType[*Hands](err)
	if !ok || len(stranger.Do) == 0 {
		return err
	}
	h := *stranger
	h.Do = slices.Clone(h.Do)
	h.Do[0].Do += "; if its board or BMC was exchanged: " + e.Machine.rebindWord()
	return &h
}
