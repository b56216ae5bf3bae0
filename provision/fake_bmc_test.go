package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
)

// fakeBMC is a machine and its BMC in memory.
type fakeBMC struct {
	id       redfish.Identity
	power    redfish.PowerState
	resets   int  // restarts and switches on
	noTime   bool // keeps no reset time
	boot     redfish.Boot
	attrs    map[string]any
	pending  map[string]any
	unmapped []redfish.Unmapped
	acts     map[string]int
	lose     string // act whose answer is lost

	sensors    []redfish.Sensor
	sensorsErr error
	entries    []redfish.LogEntry
	asked      time.Time // since when the log was asked for
}

func newFakeBMC() *fakeBMC {
	return &fakeBMC{
		id:    redfish.Identity{UUID: "00112233-4455-6677-8899-aabbccddeeff", SystemSerial: "S1", ServiceTag: "TAG1", BMCMAC: "02:00:00:00:00:01"},
		power: redfish.On, boot: redfish.Boot{Supported: true, Allowed: []string{"Hdd", "UefiHttp"}},
		attrs: map[string]any{"IOMMU": "Enabled", "SMT": "On"}, pending: map[string]any{}, acts: map[string]int{},
	}
}

func (f *fakeBMC) act(name string) error {
	f.acts[name]++
	if f.lose == name {
		return errors.New("connection reset by peer")
	}
	return nil
}

func (f *fakeBMC) Identity(context.Context) (redfish.Identity, error) { return f.id, nil }
func (f *fakeBMC) Inventory(context.Context) (redfish.Inventory, error) {
	return redfish.Inventory{System: f.id}, nil
}

func (f *fakeBMC) Sensors(context.Context) ([]redfish.Sensor, error) { return f.sensors, f.sensorsErr }

func (f *fakeBMC) Log(_ context.Context, since time.Time) ([]redfish.LogEntry, error) {
	f.asked = since
	return f.entries, nil
}
func (f *fakeBMC) Power(context.Context) (redfish.PowerState, error) { return f.power, nil }
func (f *fakeBMC) LastResetTime(context.Context) (string, error) {
	if f.noTime {
		return "", nil
	}
	return fmt.Sprint(f.resets), nil
}

func (f *fakeBMC) SetPower(_ context.Context, a redfish.PowerAction) error {
	switch a {
	case redfish.PowerOff, redfish.ForceOff:
		f.power = redfish.Off
	case redfish.PowerOn, redfish.Restart:
		f.power = redfish.On
		f.resets++
		maps.Copy(f.attrs, f.pending)
		clear(f.pending)
	}
	return f.act(string(a))
}
func (f *fakeBMC) POSTDone(context.Context) (done, known bool, err error) { return true, true, nil }
func (f *fakeBMC) Boot(context.Context) (redfish.Boot, error)             { return f.boot, nil }
func (f *fakeBMC) SetBoot(_ context.Context, b redfish.Boot) error {
	f.boot.Target, f.boot.Enabled, f.boot.HTTPBootURI = b.Target, b.Enabled, b.HTTPBootURI
	return f.act("boot")
}

func (f *fakeBMC) BIOS(context.Context) (redfish.BIOS, error) {
	return redfish.BIOS{Attributes: maps.Clone(f.attrs), Pending: maps.Clone(f.pending)}, nil
}

func (f *fakeBMC) MapIntents(_ context.Context, intents map[string]string) (map[string]any, []redfish.Unmapped, error) {
	out := map[string]any{}
	if intents["iommu"] == "off" {
		out["IOMMU"] = "Disabled"
	}
	return out, f.unmapped, nil
}

func (f *fakeBMC) PlanBIOS(ctx context.Context, want map[string]any) ([]redfish.BIOSChange, error) {
	return f.VerifyBIOS(ctx, want)
}

func (f *fakeBMC) VerifyBIOS(_ context.Context, want map[string]any) ([]redfish.BIOSChange, error) {
	var out []redfish.BIOSChange
	for k, v := range want {
		if f.attrs[k] != v {
			out = append(out, redfish.BIOSChange{Attribute: k, Now: f.attrs[k], Want: v})
		}
	}
	return out, nil
}

func (f *fakeBMC) StageBIOS(_ context.Context, changes []redfish.BIOSChange) (string, error) {
	for _, c := range changes {
		f.pending[c.Attribute] = c.Want
	}
	return "", f.act("stage")
}
func (f *fakeBMC) WaitJob(context.Context, string) error { return nil }
func (f *fakeBMC) Recorded() map[string]json.RawMessage {
	return map[string]json.RawMessage{"/redfish/v1/Systems/1": json.RawMessage(`{}`), "/redfish/v1/Systems/1/Bios": json.RawMessage(`{}`)}
}
func (f *fakeBMC) Fingerprint() string { return "aa" }
func (f *fakeBMC) Insecure() bool      { return false }
func (f *fakeBMC) Close() error        { return nil }

// stepEnv is an Env over a fake BMC, with a store in a test folder.
func stepEnv(t *testing.T, f *fakeBMC, m Machine) (*Env, *memory) {
	t.Helper()
	store, err := burnin.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lib := profiles.Open()
	p, err := lib.Profile("hgx-h100-8")
	if err != nil {
		t.Fatal(err)
	}
	p.BIOS = map[string]profiles.BIOSSet{setBurnIn: {Intents: map[string]string{"iommu": "off"}}}
	s, err := lib.Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	rec := &memory{room: -1}
	m.Name = "m1"
	return &Env{
		Run: "job", Attempt: 1, Batch: &Batch{Name: "job", Machines: []Machine{m}}, Machine: m, Profile: p, Spec: s,
		Log: slog.New(slog.DiscardHandler), Store: store, Facts: Facts{}, Boot: &netboot.Server{Images: t.TempDir()},
		rec: rec, intents: map[string]Intent{},
		open: openers{bmc: func(context.Context, Machine) (BMC, error) { return f, nil }},
	}, rec
}
