package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
)

// planningBMC has its boot URI among the BIOS settings, where inBIOS says so, and
// boots what stands there once its override says so.
type planningBMC struct {
	*mediaBMC
	inBIOS bool
	err    error
}

func (p planningBMC) PlanBoot(ctx context.Context, want redfish.Boot) (redfish.BootPlan, error) {
	plan := redfish.BootPlan{Override: want}
	if p.err != nil || !p.inBIOS {
		return plan, p.err
	}
	plan.BIOS = map[string]any{"BootURI": want.HTTPBootURI, "HTTPBoot": "Enabled"}
	if want.MAC != "" {
		if want.MAC != pxeMAC {
			return plan, redfish.ErrUnsupported
		}
		plan.BIOS["BootPort"] = want.MAC
	}
	plan.Override.HTTPBootURI = ""
	var err error
	plan.Changes, err = p.PlanBIOS(ctx, plan.BIOS)
	return plan, err
}

func (p planningBMC) SetPower(ctx context.Context, a redfish.PowerAction) error {
	if err := p.fakeBMC.SetPower(ctx, a); err != nil {
		return err
	}
	if uri, _ := p.attrs["BootURI"].(string); p.boot.Target == "UefiHttp" && p.attrs["HTTPBoot"] == "Enabled" {
		p.get(uri)
	}
	return nil
}

// TestBootURIAmongBIOSSettings: the URL is staged with the burn-in's settings, one
// reset brings both into force and boots; and handover puts back what was found.
func TestBootURIAmongBIOSSettings(t *testing.T) {
	f := planningBMC{mediaBMC: &mediaBMC{fakeBMC: newFakeBMC()}, inBIOS: true}
	e := mediaEnv(t, f.mediaBMC)
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
	f.boot.Allowed, e.Machine.Boot.Method = []string{"Hdd", "UefiHttp"}, BootUEFIHTTP
	f.attrs["BootURI"], f.attrs["HTTPBoot"] = "", "Disabled"
	ticket, _ := e.Boot.Find(e.Machine.Name, e.Attempt)

	changes, err := biosSettings{}.Plan(t.Context(), e)
	if err != nil || len(changes) != 4 || len(f.acts) != 0 {
		t.Errorf("planned %v, %v, acts %v; want IOMMU, two of the boot and a reset", changes, err, f.acts)
	}
	if err := carryOut(t, biosSettings{}, e); err != nil {
		t.Fatal(err)
	}
	uri := fmt.Sprint(f.attrs["BootURI"])
	if f.resets != 1 || f.attrs["IOMMU"] != "Disabled" || f.attrs["HTTPBoot"] != "Enabled" || !strings.Contains(uri, "/b/"+ticket.Token+"/") {
		t.Errorf("after %d resets %v", f.resets, f.attrs)
	}
	if err := carryOut(t, boot{}, e); err != nil {
		t.Fatal(err)
	}
	if f.resets != 1 || f.acts["boot"] != 1 || f.boot.HTTPBootURI != "" || e.Facts[FactBoot] != "uefi-http" || e.Facts[FactToken] != ticket.Token {
		t.Errorf("after %d resets boot %+v, facts %v", f.resets, f.boot, e.Facts)
	}
	if found, err := biosFound(e.Facts); err != nil || found["BootURI"] != "" || found["HTTPBoot"] != "Disabled" {
		t.Errorf("kept as found: %v, %v", found, err)
	}
	if ok, err := (biosSettings{}).Done(t.Context(), e); !ok || err != nil {
		t.Errorf("after the boot the settings are not done: %v", err)
	}
	if want, _, err := (handover{}).settings(t.Context(), e, f); err != nil || want["BootURI"] != "" || want["IOMMU"] != "Enabled" {
		t.Errorf("handover would set %v, %v", want, err)
	}
}

// TestHTTPBootFromItsPort: where the URL is a BIOS setting, so is the port, if the BMC
// knows it.
func TestHTTPBootFromItsPort(t *testing.T) {
	f := planningBMC{mediaBMC: &mediaBMC{fakeBMC: newFakeBMC()}, inBIOS: true}
	e := mediaEnv(t, f.mediaBMC)
	for mac, port := range map[string]any{pxeMAC: pxeMAC, "02:00:00:00:00:99": nil, "": nil} {
		e.Machine.MAC = mac
		if plan, err := e.httpBoot(t.Context(), f); err != nil || plan.BIOS["BootPort"] != port || plan.BIOS["HTTPBoot"] != "Enabled" {
			t.Errorf("MAC %q: %v, %v; want port %v", mac, plan.BIOS, err, port)
		}
	}
}

// TestBootGoesWithTheBIOS: settings and boot share a reset where the BMC takes both at
// once, and a boot that was lost on the way is set again. What is planned says so.
func TestBootGoesWithTheBIOS(t *testing.T) {
	for _, test := range []struct {
		name          string
		refused       bool // the override, while settings wait for the reset
		lost          bool // the override, in the first reset
		resets, boots int
	}{
		{name: "both at once", resets: 1, boots: 1},
		{name: "no override beside pending settings", refused: true, resets: 2, boots: 2},
		{name: "the reset for the settings loses the override", lost: true, resets: 2, boots: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &carryingBMC{mediaBMC: &mediaBMC{fakeBMC: newFakeBMC()}, refused: test.refused, lost: test.lost}
			e := mediaEnv(t, f.mediaBMC)
			e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
			f.boot.Allowed, e.Machine.Boot.Method = []string{"Hdd", "UefiHttp"}, BootUEFIHTTP

			plan, err := biosSettings{}.Plan(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			boots, err := boot{}.Plan(t.Context(), e)
			resets := slices.DeleteFunc(append(plan, boots...), func(c Change) bool { return c.What != "reset" })
			if err != nil || len(resets) != 1 {
				t.Errorf("planned resets %v, %v; want one", resets, err)
			}
			e.Facts[FactCarried] = "bios" // of a try before
			if err := carryOut(t, biosSettings{}, e); err != nil {
				t.Fatal(err)
			}
			clear(e.intents) // as the journal does behind a step
			if err := carryOut(t, boot{}, e); err != nil {
				t.Fatal(err)
			}
			if test.refused != (e.Facts[FactCarried] == "") && !test.lost {
				t.Errorf("carried by %q", e.Facts[FactCarried])
			}
			if f.resets != test.resets || f.acts["boot"] != test.boots || f.attrs["IOMMU"] != "Disabled" || !e.bootFetched() {
				t.Errorf("%d resets, acts %v, %v; want %d resets and %d overrides", f.resets, f.acts, f.attrs, test.resets, test.boots)
			}
		})
	}
}

// carryingBMC boots over HTTP what its override says, once.
type carryingBMC struct {
	*mediaBMC
	refused, lost bool
}

func (f *carryingBMC) SetBoot(ctx context.Context, b redfish.Boot) error {
	if err := f.fakeBMC.SetBoot(ctx, b); err != nil || !f.refused || len(f.pending) == 0 {
		return err
	}
	f.boot.Target, f.boot.Enabled = "None", "Disabled"
	return errors.New("a configuration job is pending")
}

func (f *carryingBMC) SetPower(ctx context.Context, a redfish.PowerAction) error {
	lost := f.lost && len(f.pending) > 0
	if err := f.fakeBMC.SetPower(ctx, a); err != nil {
		return err
	}
	if f.boot.Target == "UefiHttp" && f.boot.Enabled == "Once" && !lost {
		f.get(f.boot.HTTPBootURI)
	}
	f.boot.Target, f.boot.Enabled = "None", "Disabled"
	return nil
}

// TestBootIsBootedAgain: a second try of the settings resets a host that runs the image:
// that boot is over, and only one that comes behind the reset counts.
func TestBootIsBootedAgain(t *testing.T) {
	f := &carryingBMC{mediaBMC: &mediaBMC{fakeBMC: newFakeBMC()}}
	e := mediaEnv(t, f.mediaBMC)
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
	f.boot.Allowed, e.Machine.Boot.Method = []string{"Hdd", "UefiHttp"}, BootUEFIHTTP
	ticket, _ := e.Boot.Find(e.Machine.Name, e.Attempt)
	f.get(e.Boot.URL("127.0.0.1", ticket.Token)) // of the first try
	if !e.bootFetched() {
		t.Fatal("the first try did not boot")
	}
	if _, err := e.carryBoot(t.Context(), f, "bios"); err != nil || e.bootFetched() || f.boot.Target != "UefiHttp" {
		t.Errorf("before the reset: %v, booted %v, override %+v", err, e.bootFetched(), f.boot)
	}
	if err := e.restart(t.Context(), f, "bios reset", e.bootFetched); err != nil || !e.bootFetched() || f.resets != 1 {
		t.Errorf("behind it: %v, booted %v after %d resets", err, e.bootFetched(), f.resets)
	}
}

// TestBootMethodByPlan: what changes no BIOS setting comes first; a boot that the BMC
// cannot be given is none.
func TestBootMethodByPlan(t *testing.T) {
	for _, test := range []struct {
		name    string
		inBIOS  bool
		err     error
		allowed []string
		want    BootMethod
	}{
		{"the override takes the URL", false, nil, []string{"UefiHttp", "Cd"}, BootUEFIHTTP},
		{"settings, or a CD without any", true, nil, []string{"UefiHttp", "Cd"}, BootMedia},
		{"settings, and no CD", true, nil, []string{"UefiHttp", "Hdd"}, BootUEFIHTTP},
		{"no way for the URL", false, redfish.ErrUnsupported, []string{"UefiHttp", "Hdd"}, BootDisk},
		{"a URL that the BIOS does not take", false, redfish.ErrBadValue, []string{"UefiHttp", "Cd"}, BootMedia},
	} {
		f := planningBMC{mediaBMC: &mediaBMC{fakeBMC: newFakeBMC()}, inBIOS: test.inBIOS, err: test.err}
		e := mediaEnv(t, f.mediaBMC)
		f.boot.Allowed, e.Machine.Boot.Method = test.allowed, BootAuto
		if got, _, err := e.method(t.Context(), f); got != test.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", test.name, got, err, test.want)
		}
	}
	f := planningBMC{mediaBMC: &mediaBMC{fakeBMC: newFakeBMC()}, err: redfish.ErrUnreachable}
	e := mediaEnv(t, f.mediaBMC)
	f.boot.Allowed, e.Machine.Boot.Method = []string{"UefiHttp", "Cd"}, BootAuto
	if got, _, err := e.method(t.Context(), f); err == nil {
		t.Errorf("a BMC that does not answer decides for %s", got)
	}
}
