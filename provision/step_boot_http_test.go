package provision

import (
	"context"
	"fmt"
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
// reset brings both into force, a second boots; and handover puts back what was found.
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
	if f.resets != 2 || f.boot.HTTPBootURI != "" || e.Facts[FactBoot] != "uefi-http" || e.Facts[FactToken] != ticket.Token {
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
