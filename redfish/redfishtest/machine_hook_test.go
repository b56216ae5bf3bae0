package redfishtest_test

import (
	"context"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// A machine with a life of its own is asked, and what it does is told to the BMC.
func TestMachineWithALifeOfItsOwn(t *testing.T) {
	asked := make(chan string, 10)
	bmc, err := redfishtest.Start(t.Context(), redfishtest.Options{
		Tree: fixtureTree("Dell"),
		Hooks: redfishtest.Hooks{
			Power:     func(_ context.Context, kind string) { asked <- kind },
			OnBootSet: func(_ context.Context, b redfishtest.Boot) { asked <- "boot " + b.Target },
			OnBIOS:    func(context.Context, map[string]any) { asked <- "bios" },
			OnBoot:    func(context.Context, redfishtest.BootChoice) { t.Error("a boot was simulated") },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer bmc.Close()
	r := &rig{BMC: bmc, t: t, basic: true, client: insecureClient(t)}
	next := func(want string) {
		t.Helper()
		if got := <-asked; got != want {
			t.Fatalf("asked %q, want %q", got, want)
		}
	}
	old := r.get(t, systemURI).value("LastResetTime")
	r.reset(t, "GracefulShutdown").want(t, 204)
	next("GracefulShutdown")
	if got := r.get(t, systemURI).value("PowerState"); got != "On" {
		t.Errorf("power %v before the machine went off", got)
	}
	r.SetPower(false)
	r.reset(t, "ForceOff").want(t, 409)
	r.patch(t, systemURI, pxeOnce()).want(t, 200)
	next("boot Pxe")
	r.patch(t, settingsURI, onReset(smtOff())).want(t, 202)
	r.reset(t, "On").want(t, 204)
	next("On")
	if choice := r.Started(); choice.Target != "Pxe" || !choice.Override {
		t.Errorf("choice %+v", choice)
	}
	next("bios")
	a := r.get(t, systemURI)
	if a.value("PowerState") != "On" || a.value("LastResetTime") == old || a.value("Boot", "BootSourceOverrideEnabled") != "Disabled" {
		t.Errorf("after the start: %s", a.raw)
	}
	if got := r.get(t, biosURI).value("Attributes", "Smt"); got != "Disabled" {
		t.Errorf("smt %v", got)
	}
	r.acts(t, map[string]int{
		"power.off": 1, "power.on": 1, "boot.set": 1, "boot.used": 1, "bios.stage": 1, "bios.apply": 1,
	})
}
