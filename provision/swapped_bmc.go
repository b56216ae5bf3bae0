package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// factAnswersAs names the machine of the batch whose identity the BMC at this machine's
// address shows.
const factAnswersAs = "answers_as"

// meant is the other machine of the batch that has an identity: BMC cables are swapped, or
// addresses in the batch.
func (b *Batch) meant(id redfish.Identity, not string) (Machine, bool) {
	for _, m := range b.Machines {
		if m.Name == not || m.Serial == "" && m.UUID == "" {
			continue
		}
		if _, err := match(m, id); err == nil {
			return m, true
		}
	}
	return Machine{}, false
}

// asOther says of a machine that is not the one meant which other of the batch it is, with
// the names and places of both.
func (e *Env) asOther(err error, id redfish.Identity) (Machine, error) {
	stranger, ok := errors.AsType[*Hands](err)
	other, known := e.Batch.meant(id, e.Machine.Name)
	if !ok || !known {
		return Machine{}, err
	}
	h := *stranger
	h.Why = fmt.Sprintf("%s answers as %s: %s", e.Machine.at(), other.at(), stranger.Why)
	h.Do = []burnin.Advice{{
		Do:      fmt.Sprintf("follow the BMC cables of %s and %s to their ports: put them right, or correct the two addresses in the batch", e.Machine.at(), other.at()),
		Minutes: 5, Who: OwnerHands, Retest: "each BMC shows the serial that the batch names at its address",
	}}
	return other, &h
}

// at is the machine with its place: "r12u19 (R12 U19)".
func (m Machine) at() string {
	if where := m.Where(); where != "" {
		return m.Name + " (" + where + ")"
	}
	return m.Name
}

// notMeant keeps what is known of a BMC that is not the one meant. Nothing was changed on
// the machine behind it.
func (e *Env) notMeant(ctx context.Context, c BMC, id redfish.Identity, err error) error {
	other, err := e.asOther(e.exchanged(err), id)
	if lerr := e.Learn(ctx, Facts{factAnswersAs: other.Name}); lerr != nil {
		e.Log.Warn("who answered is not kept", "err", lerr)
	}
	e.disown(ctx, c, id)
	return err
}

// swapped is one sentence about two machines that wait because each answers as the other;
// "" where m is none of two.
func (r *Run) swapped(m *MachineRun) string {
	other := r.Find(m.Facts[factAnswersAs])
	if other == nil || m.State != StateHands || other.State != StateHands || other.Facts[factAnswersAs] != m.Machine.Name {
		return ""
	}
	a, b := m.Machine, other.Machine
	if b.Name < a.Name {
		a, b = b, a
	}
	return fmt.Sprintf("%s and %s answer as each other: their BMC cables are swapped, or their addresses in the batch; nothing was changed on either", a.at(), b.at())
}
