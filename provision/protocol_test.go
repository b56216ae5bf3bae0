package provision

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
)

func TestBatchProtocol(t *testing.T) {
	b, err := parse(t, `
name: a
profile: a40-4
defaults:
  bmc: {protocol: ipmi}
  boot: {method: none}
machines:
  - {name: m1, bmc: 10.0.0.1, host: 10.0.1.1}
  - {name: m2, bmc: {addr: 10.0.0.2, protocol: redfish, tls: insecure}, host: 10.0.1.2}
  - {name: m3, bmc: {addr: "10.0.0.3:6230", protocol: ipmitool}, host: 10.0.1.3}
`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		protocol Protocol
		ipmi     bool
		addr     string
	}{{OverIPMI, true, "10.0.0.1:623"}, {OverRedfish, false, "10.0.0.2:443"}, {OverIPMITool, true, "10.0.0.3:6230"}} {
		m := b.Machines[i]
		if m.Login.Protocol != want.protocol || m.Login.Protocol.IPMI() != want.ipmi || m.bmcAddr() != want.addr {
			t.Errorf("%s: %s at %s, want %s at %s", m.Name, m.Login.Protocol, m.bmcAddr(), want.protocol, want.addr)
		}
	}
	const head = "name: a\nprofile: a40-4\n"
	for _, c := range []struct{ name, text, want string }{
		{"unknown", head + "machines: [{name: m, bmc: {addr: 10.0.0.1, protocol: impi}}]\n", `batch.yaml:3:54: protocol "impi": choose one of [redfish ipmi ipmitool], did you mean "ipmi"?`},
		{"a certificate for none", head + "defaults: {bmc: {protocol: ipmi, tls: pin}}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "batch.yaml:3:34: tls says how a certificate is trusted, and ipmi has none: leave it out"},
	} {
		if _, err := parse(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: err = %v, want %s", c.name, err, c.want)
		}
	}
}

func TestBatchProtocolFromCSV(t *testing.T) {
	dir := t.TempDir()
	list := "name,bmc,host,bmc_protocol\nm1,10.0.0.1,10.0.1.1,ipmi\nm2,10.0.0.2,10.0.1.2,\nm3,10.0.0.3,10.0.1.3,snmp\n"
	if err := os.WriteFile(filepath.Join(dir, "rack.csv"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BMC_USER", "admin")
	t.Setenv("BMC_PASSWORD", planted)
	text := "name: a\nprofile: a40-4\nmachines: {csv: rack.csv}\n"
	_, err := ParseBatch(filepath.Join(dir, "batch.yaml"), []byte(text), profiles.Open())
	var problems profiles.Problems
	if !errors.As(err, &problems) || len(problems) != 1 || problems[0].Pos.Line != 4 || !strings.Contains(problems[0].Text, `protocol "snmp"`) {
		t.Errorf("err = %v, want the one wrong protocol in line 4", err)
	}
}

// overIPMI is a fake BMC that is driven over IPMI.
type overIPMI struct {
	*fakeBMC
	print string
}

func (overIPMI) Transport() string     { return "IPMI: not encrypted by TLS, cipher suite 17" }
func (o overIPMI) Fingerprint() string { return o.print }
func (o overIPMI) Recorded() map[string]json.RawMessage {
	return map[string]json.RawMessage{"ipmi:/identity": json.RawMessage(`{}`)}
}

// Over IPMI the UUID stands in for the certificate: another BMC at the address is
// seen, and the certificate that the machine shows over Redfish is left alone.
func TestVerifyOverIPMI(t *testing.T) {
	f := newFakeBMC()
	ipmi := overIPMI{f, "guid:" + f.id.UUID}
	e, _ := stepEnv(t, f, Machine{BMC: "10.0.0.1", Serial: "S1", Login: BMCLogin{Protocol: OverIPMI, TLS: "pin"}})
	e.known = OpenKnownBMCs(t.TempDir())
	if err := e.known.Bind("10.0.0.1:443", "cert-of-redfish", f.id.UUID); err != nil {
		t.Fatal(err)
	}
	e.bmc = ipmi
	if done, err := (preflight{}).Done(t.Context(), e); !done || err != nil {
		t.Fatal(done, err)
	}
	if _, err := (verifyBMC{}).Do(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if got := e.Facts[FactTransport]; got != "IPMI: not encrypted by TLS, cipher suite 17" || e.Facts[FactInsecure] != "" {
		t.Errorf("transport %q, insecure %q", got, e.Facts[FactInsecure])
	}
	if rec, err := e.record(); err != nil || rec.Facts[FactTransport] == "" {
		t.Errorf("the record does not say how the BMC was reached: %v, %v", rec.Facts, err)
	}
	if who := e.known.At("10.0.0.1:623"); who != f.id.UUID {
		t.Errorf("at the IPMI port is %q", who)
	}
	if b := e.known.Of(f.id.UUID); b.SHA256 != "cert-of-redfish" || b.Addr != "10.0.0.1:443" {
		t.Errorf("the certificate over Redfish is %+v now", b)
	}
	rec, err := e.Store.Record()
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range rec.Evidence {
		if ev.Probe == probeInventory && ev.Phase == burnin.PhaseBMC && ev.Command != "IPMI commands, 1 answers" {
			t.Errorf("evidence was read by %q", ev.Command)
		}
	}
	e.bmc, e.Facts[FactPrint] = nil, ipmi.print
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return overIPMI{f, "guid:other"}, nil }
	var stuck *Stuck
	if _, err := e.Client(t.Context()); !errors.As(err, &stuck) || !strings.Contains(stuck.Why, "(UUID other, was UUID "+f.id.UUID+")") {
		t.Errorf("err = %v, want that another BMC answers", err)
	}
}

// A profile that wishes for BIOS settings, at a BMC that gives none.
func TestBIOSOverIPMI(t *testing.T) {
	f := newFakeBMC()
	for _, c := range []struct {
		name string
		set  profiles.BIOSSet
		want string // of what a person is told; "" = goes on
	}{
		{"by intent", profiles.BIOSSet{Intents: map[string]string{"smt": "off"}}, ""},
		{"by attribute", profiles.BIOSSet{Attributes: map[string]any{"SMT": "Off"}}, ""},
		{"required", profiles.BIOSSet{Required: true, Attributes: map[string]any{"SMT": "Off"}}, "does not give BIOS settings"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, _ := stepEnv(t, f, Machine{BMC: "10.0.0.1"})
			e.Profile.BIOS[setBurnIn], e.Profile.BIOS[setDelivery] = c.set, c.set
			e.bmc = noBIOS{f}
			done, err := (biosSettings{}).Done(t.Context(), e)
			var stuck *Stuck
			if c.want != "" {
				if !errors.As(err, &stuck) || !strings.Contains(stuck.Why, c.want) {
					t.Errorf("err = %v, want %s", err, c.want)
				}
				return
			}
			if err != nil || !done || !strings.Contains(e.Facts[FactUnmapped], "does not give BIOS settings") {
				t.Errorf("done %v, %v; %q", done, err, e.Facts[FactUnmapped])
			}
			if changes, err := (biosSettings{}).Plan(t.Context(), e); err != nil || len(changes) != 0 {
				t.Errorf("plan: %v, %v", changes, err)
			}
			if want, _, err := (handover{}).settings(t.Context(), e, e.bmc); err != nil || len(want) != 0 {
				t.Errorf("at handover %v, %v", want, err)
			}
		})
	}
}

// noBIOS gives no BIOS settings, as no BMC does over IPMI.
type noBIOS struct{ *fakeBMC }

func (noBIOS) BIOS(context.Context) (redfish.BIOS, error) {
	return redfish.BIOS{}, redfish.ErrUnsupported
}

func (noBIOS) MapIntents(context.Context, map[string]string) (map[string]any, []redfish.Unmapped, error) {
	return nil, nil, redfish.ErrUnsupported
}

func TestSameUUID(t *testing.T) {
	const host = "00112233-4455-40f7-8899-aabbccddeeff"
	for _, c := range []struct {
		bmc  string
		want bool
	}{
		{host, true},
		{"33221100-5544-f740-8899-AABBCCDDEEFF", true},
		{"ffeeddcc-bbaa-9988-f740-554433221100", true},
		{"ccddeeff-aabb-8899-f740-554433221100", true},
		{"00112233-4455-40f7-8899-aabbccddee00", false},
		{"", false},
	} {
		if got := sameUUID(host, c.bmc) && sameUUID(c.bmc, host); got != c.want {
			t.Errorf("%s and %s: %v, want %v", host, c.bmc, got, c.want)
		}
	}
}
