package provision

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
)

const (
	pxeMAC  = "52:54:00:77:00:01"
	pxeUUID = "4c4c4544-0000-2010-8020-000000000001"
)

// pxeBMC restarts a machine that asks for its boot as the DHCP server tells it.
type pxeBMC struct {
	*fakeBMC
	t    *testing.T
	e    *Env
	asks bool
}

func (f *pxeBMC) SetPower(ctx context.Context, a redfish.PowerAction) error {
	err := f.fakeBMC.SetPower(ctx, a)
	if !f.asks || a != redfish.Restart || f.boot.Target != "Pxe" {
		return err
	}
	url := "http://127.0.0.1:" + strconv.Itoa(f.e.Boot.Port()) + "/pxe.ipxe?uuid=&mac=" + pxeMAC
	req, reqErr := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if reqErr != nil {
		f.t.Fatal(reqErr)
	}
	resp, reqErr := http.DefaultClient.Do(req)
	if reqErr != nil {
		f.t.Fatal(reqErr)
	}
	return errors.Join(err, resp.Body.Close())
}

func pxeEnv(t *testing.T, f *pxeBMC) *Env {
	t.Helper()
	e, _ := stepEnv(t, f.fakeBMC, Machine{BMC: "127.0.0.1:1", MAC: pxeMAC, Boot: Boot{Image: SimulatedImage, Method: BootPXE}})
	f.t, f.e = t, e
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
	e.Batch.Limits.Poll = Duration(4 * time.Millisecond)
	e.Batch.Netboot.Listen = "127.0.0.1:8080"
	e.Boot = &netboot.Server{Addr: "127.0.0.1:0", State: filepath.Join(t.TempDir(), "netboot.json")}
	if err := e.Boot.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Boot.Close() })
	e.startBoot = func(context.Context) error { return nil }
	if _, err := e.Boot.Ticket(e.Machine.Name, e.Attempt, SimulatedImage, "ssh-ed25519 AAAA test"); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestBootByPXE(t *testing.T) {
	f := &pxeBMC{fakeBMC: newFakeBMC(), asks: true}
	e := pxeEnv(t, f)
	if err := carryOut(t, boot{}, e); err != nil {
		t.Fatal(err)
	}
	if f.acts["boot"] != 1 || f.acts["restart"] != 1 || f.boot.Target != "Pxe" || f.boot.Enabled != "Once" {
		t.Errorf("acts %v, override %+v", f.acts, f.boot)
	}
	if e.Facts[FactBoot] != "pxe" || e.Facts[FactToken] == "" || e.Facts[FactHostKey] == "" {
		t.Errorf("facts %v", e.Facts)
	}
	// A rackproof that was killed behind the reset does nothing twice.
	again := pxeEnv(t, f)
	again.Boot, again.intents = e.Boot, map[string]Intent{"boot override": {Act: "boot override"}, "boot reset": {Act: "boot reset", Mark: "0"}}
	if err := carryOut(t, boot{}, again); err != nil || f.acts["boot"] != 1 || f.acts["restart"] != 1 {
		t.Errorf("again: %v, acts %v", err, f.acts)
	}
}

func TestPXEThatNobodyTook(t *testing.T) {
	f := &pxeBMC{fakeBMC: newFakeBMC()}
	e := pxeEnv(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := boot{}.Do(ctx, e)
	var stuck *Stuck
	if !errors.As(err, &stuck) || !strings.Contains(stuck.Why, "http://127.0.0.1:8080/pxe.ipxe") || !strings.Contains(stuck.Why, pxeMAC) || !stuck.Anew {
		t.Errorf("nobody asked: %v", err)
	}
	unknown := pxeEnv(t, f)
	unknown.Machine.MAC = ""
	if _, err := (boot{}).Do(t.Context(), unknown); !errors.As(err, &stuck) || !strings.Contains(stuck.Do, "mac:") {
		t.Errorf("a machine without MAC and UUID: %v", err)
	}
}

// TestPXEByItself is chosen where nothing better is offered and it can work.
func TestPXEByItself(t *testing.T) {
	for _, test := range []struct {
		name, listen, mac string
		allowed           []string
		want              BootMethod
	}{
		{"all there", "10.0.0.1:8080", pxeMAC, []string{"Hdd", "Pxe"}, BootPXE},
		{"the BMC offers better", "10.0.0.1:8080", pxeMAC, []string{"Pxe", "UefiHttp"}, BootUEFIHTTP},
		{"no address that stays", "10.0.0.1:0", pxeMAC, []string{"Hdd", "Pxe"}, BootDisk},
		{"a machine that cannot be known", "10.0.0.1:8080", "", []string{"Hdd", "Pxe"}, BootDisk},
	} {
		f := newFakeBMC()
		f.boot.Allowed = test.allowed
		e, _ := stepEnv(t, f, Machine{MAC: test.mac, Boot: Boot{Method: BootAuto, Image: SimulatedImage}})
		e.Batch.Netboot.Listen = test.listen
		if got, _, err := e.method(t.Context(), f); got != test.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", test.name, got, err, test.want)
		}
	}
}

// TestProofAfterPXE: the token went to whoever answers to a MAC, so it proves
// nothing, and host and BMC must know each other in-band.
func TestProofAfterPXE(t *testing.T) {
	const mac, other = "52:54:00:bc:00:01", "52:54:00:bc:00:02"
	for _, test := range []struct {
		name           string
		method         BootMethod
		bmcUUID, bmc   string
		uuid           string
		macs           []string
		proof, unknown string
	}{
		{"over HTTP the token proves it", BootUEFIHTTP, "", "", "", nil, "one-time token", ""},
		{"by the BMC's MAC", BootPXE, "", mac, "", []string{other, mac}, "MAC " + mac, ""},
		{"by the UUID", BootPXE, strings.ToUpper(pxeUUID), "", pxeUUID, nil, "SMBIOS UUID, " + pxeUUID, ""},
		{"by the UUID in the other byte order", BootPXE, "44454c4c-0000-1020-8020-000000000001", mac, pxeUUID, nil, "UUID", ""},
		{"by nothing", BootPXE, "", "", "", nil, "", "UUID none and MAC none"},
		{"one side alone says its UUID", BootPXE, pxeUUID, "", "", nil, "", "the host says UUID none"},
		{"one UUID, but another BMC", BootPXE, pxeUUID, mac, pxeUUID, []string{other}, "", "BMC MAC " + other},
	} {
		e, _ := stepEnv(t, newFakeBMC(), Machine{})
		e.Facts[FactBoot], e.Facts[FactUUID], e.Facts[FactBMCMAC] = string(test.method), test.bmcUUID, test.bmc
		host := hostIdentity{uuid: test.uuid, bmcMACs: test.macs}
		got := provenBy(e, host)
		if !strings.Contains(got, test.proof) || (got == "") != (test.proof == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.proof)
		}
		if test.unknown != "" && !strings.Contains(unproven(e, host).Error(), test.unknown) {
			t.Errorf("%s: %v, want %q", test.name, unproven(e, host), test.unknown)
		}
	}
}

// portedBMC names the ports of its host, and may need its BIOS set for one.
type portedBMC struct {
	*pxeBMC
	inBIOS bool
	err    error
}

func (f portedBMC) PlanBoot(_ context.Context, want redfish.Boot) (redfish.BootPlan, error) {
	plan := redfish.BootPlan{Override: want}
	if f.inBIOS {
		plan.Changes = []redfish.BIOSChange{{Attribute: "PxeDev1Interface"}}
	}
	if want.MAC == pxeMAC {
		plan.Override = redfish.Boot{Target: "UefiBootNext", Enabled: "Once", Next: "Boot0022"}
	}
	return plan, f.err
}

// TestPXEFromItsPort: the port that the batch names, where the BMC can name it; from any
// where it cannot; and an answer that did not come decides nothing.
func TestPXEFromItsPort(t *testing.T) {
	for _, test := range []struct {
		name   string
		mac    string
		inBIOS bool
		err    error
		target string
		fails  error
	}{
		{name: "an entry of the boot order", mac: pxeMAC, target: "UefiBootNext"},
		{name: "no MAC stated", target: "Pxe"},
		{name: "not listed", mac: pxeMAC, err: redfish.ErrUnsupported, target: "Pxe"},
		{name: "a BIOS setting", mac: pxeMAC, inBIOS: true, target: "Pxe"},
		{name: "no answer", mac: pxeMAC, err: redfish.ErrUnreachable, fails: redfish.ErrUnreachable},
	} {
		f := portedBMC{pxeBMC: &pxeBMC{fakeBMC: newFakeBMC()}, inBIOS: test.inBIOS, err: test.err}
		e := pxeEnv(t, f.pxeBMC)
		e.Machine.MAC = test.mac
		got, err := e.pxeOverride(t.Context(), f)
		if !errors.Is(err, test.fails) || test.fails == nil && (got.Target != test.target || got.Enabled != "Once" || (got.Next != "") != (test.target == "UefiBootNext")) {
			t.Errorf("%s: %+v, %v; want %s, %v", test.name, got, err, test.target, test.fails)
		}
	}
}
