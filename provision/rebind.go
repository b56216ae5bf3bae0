package provision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/burnin"
)

// Bond is by what a machine of a batch is known: as the batch states it, and as its BMC
// showed it. What is not known is "".
type Bond struct {
	Serial string `json:"serial,omitempty"` // of the batch
	UUID   string `json:"uuid,omitempty"`   // of the batch
	BMC    string `json:"bmc,omitempty"`    // address
	MAC    string `json:"mac,omitempty"`    // of the NIC that boots, by the batch

	SeenSerial string `json:"serial_seen,omitempty"`
	SeenUUID   string `json:"uuid_seen,omitempty"`
	BMCMAC     string `json:"bmc_mac,omitempty"`
	SHA256     string `json:"sha256,omitempty"` // of the BMC's certificate
}

// Rebound says that a machine is known by something else from now on: its board or its
// BMC was exchanged, and a person says so.
type Rebound struct {
	Was Bond `json:"was"`
	Is  Bond `json:"is"`
}

// bond is by what a machine is known in its run.
func (m *MachineRun) bond() Bond {
	return Bond{
		Serial: m.Machine.Serial, UUID: m.Machine.UUID, BMC: m.Machine.BMC, MAC: m.Machine.MAC,
		SeenSerial: m.Facts[FactSerial], SeenUUID: m.Facts[FactUUID], BMCMAC: m.Facts[FactBMCMAC], SHA256: m.Facts[FactPrint],
	}
}

// sameBoard reports whether nothing but the BMC became another one: then the settings of
// the host are those that were found.
func (r Rebound) sameBoard() bool {
	return r.Was.SeenUUID != "" && r.Is.SeenUUID != "" && sameUUID(r.Was.SeenUUID, r.Is.SeenUUID)
}

// Part is what was exchanged, as far as the identity tells.
func (r Rebound) Part() string {
	if r.sameBoard() {
		return "BMC"
	}
	return "system board"
}

// String says what changed: "S/N A is S/N B, BMC MAC x is y".
func (r Rebound) String() string {
	var words []string
	for _, c := range []struct{ what, was, is string }{
		{"S/N", or(r.Was.Serial, r.Was.SeenSerial), or(r.Is.Serial, r.Is.SeenSerial)},
		{"UUID", or(r.Was.SeenUUID, r.Was.UUID), or(r.Is.SeenUUID, r.Is.UUID)},
		{"BMC MAC", r.Was.BMCMAC, r.Is.BMCMAC},
		{"BMC", r.Was.BMC, r.Is.BMC},
		{"boot MAC", r.Was.MAC, r.Is.MAC},
		{"certificate", short(r.Was.SHA256), short(r.Is.SHA256)},
	} {
		if c.was != c.is {
			words = append(words, fmt.Sprintf("%s %s is now %s", c.what, or(c.was, "(not known)"), or(c.is, "(not shown)")))
		}
	}
	return strings.Join(words, ", ")
}

func short(sha256 string) string {
	if len(sha256) > 16 {
		return sha256[:16] + "…"
	}
	return sha256
}

// as is a machine of a batch file as it is known since: a file that states what it was
// before means the same machine.
func (m Machine) as(repairs []Repaired) Machine {
	for _, rep := range repairs {
		if rep.Rebound == nil {
			continue
		}
		was, is := rep.Rebound.Was, rep.Rebound.Is
		for _, f := range []struct {
			to      *string
			was, is string
		}{{&m.Serial, was.Serial, is.Serial}, {&m.UUID, was.UUID, is.UUID}, {&m.BMC, was.BMC, is.BMC}, {&m.MAC, was.MAC, is.MAC}} {
			if *f.to == f.was {
				*f.to = f.is
			}
		}
		if was.SHA256 != "" && m.Login.SHA256 == was.SHA256 {
			m.Login.SHA256 = is.SHA256
		}
	}
	return m
}

// known is a machine of a batch file as the run knows it.
func (r *Run) known(m Machine) Machine {
	if old := r.Find(m.Name); old != nil {
		return m.as(old.Repairs)
	}
	return m
}

// rebind takes the word of a person that a machine is known by something else. It begins
// a new attempt: whatever was proven was proven of another board, and so is the pair of
// BMC and host. Of a machine that is under way the word comes too late.
func (r *Run) rebind(e Event, m *MachineRun) error {
	var rep Repaired
	if err := decode(e, &rep); err != nil {
		return err
	}
	if rep.Rebound == nil || m.Runnable() {
		return nil
	}
	if rep.At.IsZero() {
		rep.At = e.At
	}
	known := *r.Batch // others may read the one before
	known.Machines = slices.Clone(known.Machines)
	for i := range known.Machines {
		if known.Machines[i].Name == m.Machine.Name {
			known.Machines[i] = known.Machines[i].as([]Repaired{rep})
		}
	}
	r.Batch = &known
	m.Machine = m.Machine.as([]Repaired{rep})
	m.Repairs = append(slices.Clip(m.Repairs), rep)
	keep := []string{FactDraw}
	if rep.Rebound.sameBoard() {
		keep = append(keep, FactBIOSFound, FactPowerFound)
	}
	r.nextAttempt(e, m, keep)
	return nil
}

// identity is a Bond as the record of a machine keeps it.
func (b Bond) identity() *burnin.Identity {
	return &burnin.Identity{UUID: or(b.SeenUUID, b.UUID), SystemSerial: or(b.SeenSerial, b.Serial), BMCMAC: b.BMCMAC}
}
