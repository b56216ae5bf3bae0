package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// verifyBMC makes sure that the BMC at the batch's address is that of the machine
// the batch means, and keeps its inventory as evidence.
type verifyBMC struct{}

func (verifyBMC) Name() string { return "verify-bmc" }

const probeInventory = "bmc-inventory"

func (verifyBMC) Done(_ context.Context, e *Env) (bool, error) {
	return e.Store.Has(burnin.PhaseBMC, probeInventory) && e.Facts[FactMember] != "", nil
}

func (verifyBMC) Do(ctx context.Context, e *Env) (Facts, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	start := time.Now()
	inv, err := c.Inventory(ctx)
	if err != nil {
		return nil, fmt.Errorf("inventory of the BMC: %w", err)
	}
	id := inv.System
	member, err := match(e.Machine, id)
	if err != nil {
		return nil, e.notMeant(ctx, c, id, err)
	}
	if err := e.bindPin(c, id); err != nil {
		return nil, err
	}
	if err := keepBodies(e.Store, probeInventory, c.Recorded(), start); err != nil {
		return nil, err
	}
	read, err := e.keepLog(ctx)
	if err != nil {
		return nil, err
	}
	power, err := c.Power(ctx)
	if err != nil {
		return nil, err
	}
	facts := Facts{
		FactPrint: c.Fingerprint(), FactUUID: id.UUID, FactBMCMAC: id.BMCMAC, FactMember: member, factAnswersAs: "",
		FactSerial: or(id.SystemSerial, or(id.ServiceTag, or(id.ChassisSerial, id.BoardSerial))), FactModel: strings.TrimSpace(id.Manufacturer + " " + id.Model),
	}
	maps.Copy(facts, read)
	if e.Facts[FactPowerFound] == "" { // a retest finds what we left
		facts[FactPowerFound] = string(power)
	}
	if n := len(inv.Partial); n > 0 {
		e.Log.Warn("the BMC did not give all of its inventory", "missing", n, "first", inv.Partial[0])
	}
	if mac := strings.ToLower(e.Machine.MAC); mac != "" && len(id.NICMACs) > 0 && !slices.Contains(id.NICMACs, mac) {
		facts[FactNote] = fmt.Sprintf("MAC %s of the batch is not among the %d that the BMC lists", mac, len(id.NICMACs))
	}
	return facts, nil
}

// bindPin makes the certificate that was seen that of this BMC, wherever it
// stands. A BMC that shows another certificate than before, or another BMC at an
// address that the batch alone identifies, is not worked on.
func (e *Env) bindPin(c BMC, id redfish.Identity) error {
	self := or(id.UUID, id.BMCMAC)
	simulated := e.Machine.Boot.Image == SimulatedImage // such machines come and go with one serial and new certificates
	if e.known == nil || simulated || c.Insecure() || self == "" || c.Fingerprint() == "" {
		return nil
	}
	addr, print := e.Machine.bmcAddr(), c.Fingerprint()
	if was := e.known.Of(self); was.SHA256 != "" && was.SHA256 != print && e.Machine.Login.TLS == string(redfish.Pin) && certified(print) {
		return e.exchanged(wrongMachine(e.Machine, fmt.Sprintf("BMC %s says it is %s, which showed certificate %.16s… at %s and shows %.16s… now: its certificate was made anew, or it is another machine; if it is right, `rackproof bmc %s forget-pin %s`",
			e.Machine.BMC, self, was.SHA256, was.Addr, print, e.Machine.BMC, self)))
	}
	if before := e.known.At(addr); before != "" && before != self && e.Machine.Serial == "" && e.Machine.UUID == "" {
		return wrongMachine(e.Machine, fmt.Sprintf("BMC %s was %s and is %s now, and the batch names neither serial nor UUID; name one, so that it is known which machine is meant", e.Machine.BMC, before, self))
	}
	return e.known.Bind(addr, print, self)
}

// disown lets another BMC come to the address than the one that was found there:
// hands are about to change a cable or the batch.
func (e *Env) disown(ctx context.Context, c BMC, id redfish.Identity) {
	err := e.Learn(ctx, Facts{FactPrint: ""})
	if addr, self := e.Machine.bmcAddr(), or(id.UUID, id.BMCMAC); e.known != nil {
		if !c.Insecure() && c.Fingerprint() != "" && self != "" {
			err = errors.Join(err, e.known.Bind(addr, c.Fingerprint(), self))
		}
		err = errors.Join(err, e.known.Release(addr))
	}
	if err != nil {
		e.Log.Warn("the pin of a BMC that is not the one meant is kept", "err", err)
	}
}

// match finds the member of the identity set that the batch's serial equals. A
// serial that matches none is another machine: nobody's hardware is touched on a
// guess.
func match(m Machine, id redfish.Identity) (member string, err error) {
	if m.UUID != "" && id.UUID != "" && !sameUUID(m.UUID, id.UUID) {
		return "", wrongMachine(m, fmt.Sprintf("batch says UUID %s, BMC %s says %s", m.UUID, m.BMC, id.UUID))
	}
	if m.Serial == "" {
		if m.UUID != "" && id.UUID != "" {
			return "uuid", nil
		}
		return "not stated", nil
	}
	if member, ok := id.Match(m.Serial); ok {
		return member, nil
	}
	return "", wrongMachine(m, fmt.Sprintf("batch says S/N %s, BMC %s says %s", m.Serial, m.BMC, serials(id)))
}

func serials(id redfish.Identity) string {
	var all []string
	for _, s := range []struct{ name, value string }{
		{"service tag", id.ServiceTag}, {"system", id.SystemSerial}, {"chassis", id.ChassisSerial}, {"board", id.BoardSerial},
	} {
		if s.value != "" {
			all = append(all, s.name+" "+s.value)
		}
	}
	if len(all) == 0 {
		return "no serial at all"
	}
	return strings.Join(all, ", ")
}

func wrongMachine(m Machine, why string) error {
	return &Hands{
		Why: why, Where: or(m.Where(), m.Name),
		Do: []burnin.Advice{{
			Do: "compare the sticker with the batch file and the BMC cable with its label; correct the one that is wrong", Minutes: 5, Who: OwnerHands,
			Retest: "the BMC shows the serial that the batch names",
		}},
		Next:  "rackproof done " + m.Name,
		Knows: "it asks the BMC for its serials again",
	}
}

// sameUUID compares in both byte orders: SMBIOS before 2.6 and some BMCs turn
// the first three groups round. Over IPMI a BMC may also send all bytes backwards
// (IPMI 2.0, 20.8), and the reader cannot always tell.
func sameUUID(a, b string) bool {
	a, b = strings.ToLower(strings.TrimSpace(a)), strings.ToLower(strings.TrimSpace(b))
	return a == b || swapUUID(a) == b || backwards(a) == b || backwards(swapUUID(a)) == b || backwards(swapUUID(b)) == a
}

func backwards(s string) string {
	h := []byte(strings.ReplaceAll(s, "-", ""))
	if len(h) != 32 {
		return s
	}
	for i, j := 0, 30; i < j; i, j = i+2, j-2 {
		h[i], h[i+1], h[j], h[j+1] = h[j], h[j+1], h[i], h[i+1]
	}
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

func swapUUID(s string) string {
	h := strings.ReplaceAll(s, "-", "")
	if len(h) != 32 {
		return s
	}
	turn := func(p string) string {
		var out strings.Builder
		for i := len(p) - 2; i >= 0; i -= 2 {
			out.WriteString(p[i : i+2])
		}
		return out.String()
	}
	return turn(h[:8]) + "-" + turn(h[8:12]) + "-" + turn(h[12:16]) + "-" + h[16:20] + "-" + h[20:]
}

// keepBodies writes what a BMC answered, redacted by the client, as evidence.
func keepBodies(store *burnin.Store, probe string, bodies map[string]json.RawMessage, start time.Time) error {
	out, err := burnin.JSON(bodies)
	if err != nil {
		return fmt.Errorf("evidence %s: %w", probe, err)
	}
	return store.Add(&burnin.Evidence{
		Probe: probe, Phase: burnin.PhaseBMC, Source: burnin.FromBMC, Ended: burnin.EndedExit,
		Command: reading(bodies),
		Started: start, Seconds: time.Since(start).Seconds(), Out: out,
	})
}

// reading says how bodies were read.
func reading(bodies map[string]json.RawMessage) string {
	for uri := range bodies {
		if strings.HasPrefix(uri, "ipmi:") {
			return fmt.Sprintf("IPMI commands, %d answers", len(bodies))
		}
	}
	return fmt.Sprintf("Redfish GET of %d resources", len(bodies))
}
