package provision

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// monitored is a BMC whose recorded bodies are those of IPMI.
type monitored struct {
	*fakeBMC
	recorded map[string]json.RawMessage
	forgot   int
	closed   int
	ahead    time.Duration
}

func (m *monitored) Recorded() map[string]json.RawMessage {
	return maps.Clone(m.recorded)
}
func (m *monitored) Forget() { m.forgot++ }
func (m *monitored) Close() error {
	m.closed++
	return nil
}

func (m *monitored) Clock(context.Context) (time.Time, time.Duration, error) {
	return time.Now().Add(m.ahead), m.ahead, nil
}

func monitoredEnv(t *testing.T) (*Env, *monitored) {
	t.Helper()
	f := newFakeBMC()
	reads := 61.0
	f.sensors = []redfish.Sensor{{Name: "CPU1 Temp", Kind: redfish.Temperature, Reading: &reads, Unit: "Cel", Health: "OK", State: "Enabled", Source: "sdr 0x01"}}
	f.entries = []redfish.LogEntry{{ID: "1", Log: "sel", Event: "OEM System boot event", Source: "sel 0x0001"}}
	m := &monitored{fakeBMC: f, recorded: map[string]json.RawMessage{"ipmi:session": json.RawMessage(`{}`)}, ahead: time.Hour}
	e, _ := stepEnv(t, f, Machine{Serial: "S1"})
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return m, nil }
	return e, m
}

// The log is kept as it is when the attempt begins, and at the end asked for since
// then, with room for clocks that are set in between.
func TestLogIsReadAtBothEnds(t *testing.T) {
	e, m := monitoredEnv(t)
	if err := carryOut(t, verifyBMC{}, e); err != nil {
		t.Fatal(err)
	}
	if !e.Store.Has(burnin.PhaseBMC, "bmc-sel") || !m.asked.IsZero() {
		t.Fatalf("no log of the beginning, or only since %v", m.asked)
	}
	read, err := time.Parse(time.RFC3339, e.Facts[FactLogRead])
	if err != nil {
		t.Fatal(err)
	}
	src := &bmcSource{env: e, since: e.logSince()}
	got, err := src.Collect(t.Context(), burnin.PhaseAfter)
	if err != nil || len(got) != 2 || got[0].Name() != "bmc-sensors" || got[1].Name() != "bmc-sel" {
		t.Fatalf("%v, %v", got, err)
	}
	if want := read.Add(-logMargin); !m.asked.Equal(want) {
		t.Errorf("the log was asked for since %v, want %v", m.asked, want)
	}
	log, err := burnin.BMCSEL.Parse(got[1])
	if err != nil || len(log.Entries) != 1 || log.Note.Skew == nil || *log.Note.Skew != 3600 || !log.Note.Since.Equal(read.Add(-logMargin+time.Hour)) {
		t.Errorf("%+v, %v", log, err)
	}
}

// Under load the first reading is kept whole, those after it by their values.
func TestSensorsOfEachPhase(t *testing.T) {
	e, m := monitoredEnv(t)
	src := &bmcSource{env: e}
	for i, phase := range []burnin.Phase{burnin.PhaseBefore, burnin.PhaseLoad, burnin.PhaseLoad, burnin.PhaseAfter} {
		got, err := src.Collect(t.Context(), phase)
		if err != nil || len(got) == 0 {
			t.Fatal(err)
		}
		ev := got[0]
		set, err := burnin.BMCSensors.Parse(ev)
		if err != nil || len(set.Sensors) != 1 || set.Sensors[0].Reading.V != 61 || ev.Source != burnin.FromBMC || ev.Ended != burnin.EndedExit {
			t.Errorf("%s: %+v, %v", ev.Ref(), set, err)
		}
		if whole := strings.Contains(string(ev.Out), "ipmi:session"); whole == (i == 2) {
			t.Errorf("reading %d under load: whole %v", i, whole)
		}
	}
	if m.forgot < 4 {
		t.Errorf("what was recorded before is in the evidence of a reading: forgot %d times", m.forgot)
	}
}

// What a reading lacks is in its evidence; a BMC that does not answer is evidence too,
// the session with it is ended, and no secret stands in the reason.
func TestBMCThatIsNotRead(t *testing.T) {
	e, m := monitoredEnv(t)
	e.secrets = &Secrets{}
	e.secrets.Add("hunter22")
	src := &bmcSource{env: e}
	m.sensorsErr = &redfish.PartialError{Addr: "b", Missing: []string{"/redfish/v1/Chassis/1/Power: 503"}}
	got, err := src.Collect(t.Context(), burnin.PhaseBefore)
	if err != nil {
		t.Fatal(err)
	}
	if set, err := burnin.BMCSensors.Parse(got[0]); err != nil || set.Missing == nil || !strings.Contains(set.Missing.Error(), "503") {
		t.Errorf("%+v, %v", set, err)
	}
	m.sensorsErr = errors.New("BMC b does not answer (hunter22)")
	if got, err = src.Collect(t.Context(), burnin.PhaseLoad); err != nil {
		t.Fatal(err)
	}
	why := got[0].Usable()
	if got[0].Ended != burnin.EndedLost || why == nil || !strings.Contains(why.Error(), "does not answer") || strings.Contains(why.Error(), "hunter22") {
		t.Errorf("%+v: %v", got[0], why)
	}
	if m.closed != 1 {
		t.Errorf("the session was closed %d times, want once", m.closed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := src.Collect(ctx, burnin.PhaseAfter); err == nil {
		t.Errorf("a reading that was cut is evidence: %v", got)
	}
}
