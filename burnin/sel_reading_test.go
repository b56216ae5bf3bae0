package burnin

import (
	"strings"
	"testing"
	"time"
)

func eventIn(t *testing.T, log EventLog, id string) LogEvent {
	t.Helper()
	for _, e := range log.Entries {
		if e.ID == id {
			return e
		}
	}
	t.Fatalf("no entry %s among %d", id, len(log.Entries))
	return LogEvent{}
}

// TestLogsOfTrees reads the hardware events of captured machines, and none of their
// logs of logins, jobs and dumps.
func TestLogsOfTrees(t *testing.T) {
	for _, c := range []struct {
		vendor         string
		entries        int
		id, log, event string
		asserted       bool
	}{
		{"dell", 5, "1024", "Sel", "An OEM diagnostic event occurred.", true},
		{"hpe", 5, "3", "IML", "Input Power Loss", true},
		{"lenovo", 5, "1", "PlatformLog", "Front USB Detect", false},
		{"nvidia_viking", 0, "2659", "EventLog", "GPU_SXM_3 ThrottleReason", false},
		{"supermicro", 82, "18", "Log1", "Power Supply Failure detected", true},
	} {
		t.Run(c.vendor, func(t *testing.T) {
			out := capturedBodies(t, c.vendor, func(uri string) bool { return strings.Contains(uri, "LogServices") })
			log, err := parseBMCSEL(&Evidence{Out: out, Source: FromBMC, Ended: EndedExit})
			if err != nil || log.Missing != nil || log.Full {
				t.Fatal(err, log.Missing, log.Full)
			}
			if c.entries > 0 && len(log.Entries) != c.entries {
				t.Errorf("%d entries, want %d", len(log.Entries), c.entries)
			}
			e := eventIn(t, log, c.id)
			if e.Log != c.log || !strings.Contains(e.Event, c.event) || e.Asserted.V != c.asserted || e.Time.IsZero() {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestSELForms reads the same log in every form.
func TestSELForms(t *testing.T) {
	const (
		list = "   1 | 02/01/2026 | 10:00:00 | Memory #0x53 | Correctable ECC | Asserted\n" +
			"   2 | Pre-Init  |0000000067| Fan #0x41 | Lower Critical going low  | Asserted\n" +
			"   a | 02/01/2026 | 10:05:00 | Power Supply #0xc8 | Failure detected () | Deasserted\n" +
			"   b | OEM record e0 | 000001370000001800000000\n"
		elist = "   1 | 02/01/2026 | 10:00:00 UTC | Memory DIMM P1-A1 | Correctable ECC | Asserted\n" +
			"   2 | Pre-Init Time-stamp | Fan FAN4 | Lower Critical going low  | Asserted\n" +
			"   a | 02/01/2026 | 10:05:00 UTC | Power Supply PS1 Status | Failure detected () | Deasserted\n" +
			"   b | 02/01/26 | 10:06:00 UTC | OEM record c1 | 000137 | 001800000000\n"
		own = `{"ipmi:/sel":{"entries":[
			{"id":"1","log":"sel","time":"2026-02-01T10:00:00Z","sensor":"Memory 0x53","kind":"Memory","event":"Correctable ECC","asserted":true,"raw":"00"},
			{"id":"2","log":"sel","sensor":"FAN4","kind":"Fan","event":"Lower Critical - going low","asserted":true},
			{"id":"a","log":"sel","time":"2026-02-01T10:05:00Z","sensor":"PS1 Status","kind":"Power Supply","event":"Failure detected","asserted":false},
			{"id":"b","log":"sel","event":"OEM record e0","asserted":null}]}}`
	)
	for name, text := range map[string]string{"ipmitool sel list": list, "ipmitool sel elist": elist, "our own rows": own} {
		t.Run(name, func(t *testing.T) {
			log, err := parseBMCSEL(loose(text))
			if err != nil || log.Missing != nil || len(log.Entries) != 4 {
				t.Fatalf("%d entries, %v, missing %v", len(log.Entries), err, log.Missing)
			}
			if e := eventIn(t, log, "1"); e.Kind != "Memory" || e.Event != "Correctable ECC" || !e.Asserted.V || !e.Time.Equal(time.Date(2026, 2, 1, 10, 0, 0, 0, time.UTC)) {
				t.Errorf("%+v", e)
			}
			if e := eventIn(t, log, "2"); e.Kind != "Fan" || !e.Time.IsZero() || !strings.HasPrefix(e.Event, "Lower Critical") {
				t.Errorf("%+v", e)
			}
			if e := eventIn(t, log, "a"); e.Kind != "Power Supply" || !e.over() || e.Event != "Failure detected" {
				t.Errorf("%+v", e)
			}
			if e := eventIn(t, log, "b"); !strings.HasPrefix(e.Event, "OEM record") || e.Asserted.Set {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestSELNotWhole: an empty log is one only where the tool or the BMC says so.
func TestSELNotWhole(t *testing.T) {
	for text, entries := range map[string]int{
		"SEL has no entries\n":         0,
		`{"ipmi:/sel":{"entries":[]}}`: 0,
		`{"/x/Entries":{"@odata.type":"#LogEntryCollection.LogEntryCollection","Members":[]}}`: 0,
	} {
		if log, err := parseBMCSEL(loose(text)); err != nil || log.Missing != nil || len(log.Entries) != entries {
			t.Errorf("%q: %v, missing %v", text, err, log.Missing)
		}
	}
	for _, text := range []string{"", "{}", "[]", "{", "null", "Get SEL Info command failed\n", `{"/a":{}}`, `{"rackproof:reading":{}}`} {
		if log, err := parseBMCSEL(loose(text)); err == nil {
			t.Errorf("%q gives a log of %d", text, len(log.Entries))
		}
	}
	for _, text := range []string{
		"1 | 02/01/2026 | 10:00:00 | Memory #0x53 | Correctable ECC | Asserted\n2 | 02/01/20",
		`{"ipmi:/sel":{"entries":[]},"rackproof:reading":{"skew_seconds":0,"missing":["/redfish/v1/Systems/1/LogServices/SEL: 503"]}}`,
	} {
		if log, err := parseBMCSEL(loose(text)); err == nil && log.Missing == nil {
			t.Errorf("whole: %.60s", text)
		}
	}
	full := `{"/s":{"@odata.type":"#LogService.v1_0_0.LogService","Id":"SEL","LogEntryType":"SEL","OverWritePolicy":"NeverOverWrites","MaxNumberOfRecords":2,"Entries":{"@odata.id":"/s/Entries"}},
		"/s/Entries":{"@odata.type":"#LogEntryCollection.LogEntryCollection","Members@odata.count":2,"Members":[]}}`
	if log, err := parseBMCSEL(loose(full)); err != nil || !log.Full {
		t.Errorf("a full log is not: %+v, %v", log, err)
	}
}

func FuzzBMCSEL(f *testing.F) {
	f.Add([]byte("   1 | 02/01/2026 | 10:00:00 | Memory #0x53 | Correctable ECC | Asserted\n"))
	f.Add([]byte("   2 | Pre-Init  |0000000067| Fan #0x41 | Lower Critical going low  | Asserted\n"))
	f.Add([]byte(`{"ipmi:/sel":{"entries":[{"id":1,"event":null},{}]}}`))
	f.Add([]byte(`{"/a/Entries?$skip=5":{"@odata.type":"#LogEntryCollection.LogEntryCollection","Members":[{"Id":"1","Created":"x","Oem":{"A":{"RawEventData":[]}}}]}}`))
	f.Fuzz(func(t *testing.T, out []byte) {
		log, err := parseBMCSEL(&Evidence{Out: out, Source: FromLoose, Ended: EndedUnknown})
		if err != nil {
			return
		}
		for _, e := range inOrder(log.Entries) {
			_, _, _ = e.key(), e.state(), e.String()
			if !e.Time.IsZero() && e.Time.Before(clockUnset) {
				t.Errorf("%+v", e)
			}
		}
	})
}
