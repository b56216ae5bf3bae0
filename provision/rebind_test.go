package provision

import (
	"errors"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
)

// rebound is m1 of finishedStory with another board, or another BMC on the same board.
func rebound(t *testing.T, sameBoard bool) *story {
	t.Helper()
	s := newStory(t, "m1", "m2").ends("one", Facts{FactUUID: "u1", FactBIOSFound: "{}", FactPowerFound: "On", FactProof: "token", FactPassword: passwordNew, FactPrint: "aa"})
	s.ends("two", nil).ends("report", Facts{FactResult: "failed"}).add("m1", 1, MachineOver, nil)
	uuid := "u2"
	if sameBoard {
		uuid = "u1"
	}
	s.step = ""
	return s.add("m1", 0, Rebind, Repaired{By: "anna@hall1", Note: "RMA", Rebound: &Rebound{
		Was: Bond{Serial: "Sm1", BMC: "m1", SeenUUID: "u1", SHA256: "aa"}, Is: Bond{Serial: "NEW", BMC: "m1", SeenUUID: uuid, SHA256: "bb"},
	}})
}

// A board that was exchanged begins a new attempt of which nothing is proven, nor is the
// pair of BMC and host; a BMC on the same board leaves the host's settings as they were.
func TestRebindBeginsAnew(t *testing.T) {
	for _, sameBoard := range []bool{false, true} {
		r := rebound(t, sameBoard).fold()
		m, want := r.Machines[0], ""
		if sameBoard {
			want = "{}"
		}
		if m.Attempt != 2 || m.State != StateRun || m.Step != "one" || m.Machine.Serial != "NEW" || r.Batch.Machines[0].Serial != "NEW" {
			t.Errorf("%+v", m)
		}
		if m.Facts[FactBIOSFound] != want || m.Facts[FactProof] != "" || m.Facts[FactPassword] != "" || m.Facts[FactPrint] != "" || m.Facts[FactUUID] != "" {
			t.Errorf("same board %v: facts %v", sameBoard, m.Facts)
		}
		if len(m.Repairs) != 1 || m.Repairs[0].By != "anna@hall1" || m.Repairs[0].At.IsZero() || m.Earlier[0].State != StateFailed {
			t.Errorf("repairs %+v, earlier %+v", m.Repairs, m.Earlier)
		}
		if r.Machines[1].Machine.Serial != "Sm2" || r.Machines[1].Attempt != 1 {
			t.Errorf("the other machine: %+v", r.Machines[1])
		}
	}
}

// A machine that is under way is not bound anew.
func TestRebindOfAMachineUnderWay(t *testing.T) {
	s := newStory(t, "m1")
	m := s.add("m1", 0, Rebind, Repaired{Rebound: &Rebound{Was: Bond{Serial: "Sm1"}, Is: Bond{Serial: "NEW"}}}).fold().Machines[0]
	if m.Attempt != 1 || m.Machine.Serial != "Sm1" {
		t.Errorf("%+v", m)
	}
}

// The batch file may state the old numbers or the new ones; any other asks.
func TestBatchFileAfterARebind(t *testing.T) {
	s := rebound(t, false)
	r := s.fold()
	for serial, asks := range map[string]bool{"Sm1": false, "NEW": false, "OTHER": true} {
		b := *r.Batch
		b.Machines = append([]Machine(nil), r.Batch.Machines...)
		b.Machines[0].Serial = serial
		if e := Compare(r, &b); (len(e.Identity) > 0) != asks || !asks && e.String() != "2 untouched" {
			t.Errorf("%s: %s", serial, e)
		}
		if serial != "Sm1" {
			continue
		}
		after := s.add("", 0, Edited, Submission{Batch: &b, Plan: r.Plan}).fold()
		if after.Machines[0].Machine.Serial != "NEW" || after.Batch.Machines[0].Serial != "NEW" {
			t.Errorf("an edited file took %q back", after.Machines[0].Machine.Serial)
		}
	}
}

// The person's word must be what the BMC shows, and what it shows nobody else's.
func TestRebindRefuses(t *testing.T) {
	id := redfish.Identity{SystemSerial: "S9", ChassisSerial: "CH1", UUID: "0a0a0a0a-0000-4000-8000-000000000009", BMCMAC: "7c:c2:55:00:00:09", NICMACs: []string{"7c:c2:55:00:01:09"}}
	old := Bond{Serial: "S1", BMC: "b1", SeenUUID: "0a0a0a0a-0000-4000-8000-000000000001", BMCMAC: "7c:c2:55:00:00:01", SHA256: "aa"}
	for _, test := range []struct {
		name    string
		machine Machine
		as, mac string
		id      redfish.Identity
		serial  string // bound to
		uuid    string
		refused string
	}{
		{"serial", Machine{Serial: "S1"}, "s9", "", id, "S9", "", ""},
		{"BMC MAC", Machine{Serial: "S1"}, "7CC255000009", "", id, "S9", "", ""},
		{"UUID stated", Machine{Serial: "S1", UUID: old.SeenUUID}, id.UUID, "", id, "S9", id.UUID, ""},
		{"chassis stays", Machine{Serial: "CH1"}, "S9", "", id, "CH1", "", ""},
		{"no serial on the board", Machine{Serial: "S1"}, id.UUID, "", redfish.Identity{UUID: id.UUID}, "", id.UUID, ""},
		{"boot MAC", Machine{Serial: "S1", MAC: "7c:c2:55:00:01:01"}, "S9", "7c:c2:55:00:01:09", id, "S9", "", ""},
		{"another number", Machine{Name: "m1", Serial: "S1"}, "S8", "", id, "", "", "you read S8 at m1"},
		{"old number", Machine{Name: "m1", Serial: "S1"}, "S1", "", id, "", "", "you read S1 at m1"},
		{"nothing to know it by", Machine{Serial: "S1"}, id.BMCMAC, "", redfish.Identity{BMCMAC: id.BMCMAC}, "", "", "neither serial number nor UUID"},
		{"old boot MAC", Machine{Serial: "S1", MAC: "7c:c2:55:00:01:01"}, "S9", "", id, "", "", "MAC 7c:c2:55:00:01:01"},
	} {
		r := Rebound{Was: old, Is: Bond{BMC: "b1", MAC: or(test.mac, test.machine.MAC), SeenUUID: test.id.UUID, BMCMAC: test.id.BMCMAC, SeenSerial: test.id.SystemSerial}}
		err := r.agree(test.machine, test.id, RebindWish{As: test.as, MAC: test.mac})
		if refused, ok := errors.AsType[*RebindError](err); ok != (test.refused != "") || ok && !strings.Contains(refused.Why, test.refused) {
			t.Errorf("%s: %v", test.name, err)
		}
		if err == nil && (r.Is.Serial != test.serial || r.Is.UUID != test.uuid) {
			t.Errorf("%s: bound to %+v", test.name, r.Is)
		}
	}
	run := &Run{Batch: &Batch{Machines: []Machine{{Name: "m1", Serial: "S1"}, {Name: "m2", Serial: "S9"}}}}
	run.Machines = []MachineRun{{Machine: run.Batch.Machines[0]}, {Machine: run.Batch.Machines[1]}}
	if err := run.foreign("m1", id); err == nil || !strings.HasPrefix(err.Error(), "that is m2 (system S9") {
		t.Errorf("by the batch: %v", err)
	}
	run.Batch.Machines[1].Serial, run.Machines[1].Facts = "", Facts{FactUUID: id.UUID}
	if err := run.foreign("m1", id); err == nil {
		t.Error("the UUID of m2 was taken")
	}
	run.Machines[1].Facts[FactBMCMAC] = "7c:c2:55:00:00:02" // boards with one UUID
	if err := run.foreign("m1", id); err != nil {
		t.Errorf("MACs differ: %v", err)
	}
}

func TestKnownAlreadyIsNotRebound(t *testing.T) {
	id := redfish.Identity{SystemSerial: "S1", UUID: "0a0a0a0a-0000-4000-8000-000000000001"}
	b := Bond{Serial: "S1", BMC: "b1", SeenUUID: id.UUID, SHA256: "aa"}
	r := Rebound{Was: b, Is: Bond{BMC: "b1", SeenUUID: id.UUID, SeenSerial: "S1", SHA256: "aa"}}
	if err := r.agree(Machine{Name: "m1", Serial: "S1"}, id, RebindWish{As: "S1"}); err == nil || !strings.Contains(err.Error(), "m1 is known by this already") {
		t.Errorf("%v", err)
	}
}
