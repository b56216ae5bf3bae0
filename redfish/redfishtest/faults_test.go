package redfishtest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// faultCase shows one fault at work. The rig is fresh, without the fault.
type faultCase struct {
	vendor string
	run    func(*rig)
}

func TestEveryFaultHasATest(t *testing.T) {
	for _, f := range redfishtest.Faults() {
		if _, ok := faultCases()[f.Name]; !ok {
			t.Errorf("fault %s has no test", f.Name)
		}
		if f.Doc == "" || f.Seen == "" {
			t.Errorf("fault %s does not say what it does and where it was seen", f.Name)
		}
	}
	if got := len(redfishtest.FaultNames()); got != len(faultCases()) {
		t.Errorf("%d faults, %d cases", got, len(faultCases()))
	}
}

func TestFaults(t *testing.T) {
	for name, c := range faultCases() {
		t.Run(name, func(t *testing.T) {
			c.run(start(t, c.vendor, redfishtest.Options{}))
		})
	}
}

func faultCases() map[string]faultCase {
	all := maps.Clone(wireFaults)
	maps.Copy(all, machineFaults)
	maps.Copy(all, mediaFaults)
	maps.Copy(all, logFaults)
	maps.Copy(all, networkFaults)
	maps.Copy(all, diagnosticsFaults)
	return all
}

func login() map[string]any {
	return map[string]any{"UserName": "admin", "Password": "password"}
}

func pxeWithoutMode() map[string]any {
	return map[string]any{"Boot": map[string]any{
		"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe",
	}}
}

func TestSetFaultRefuses(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	for _, spec := range []string{
		"nonsense", "", "slow=soon", "slow=-1s", "reset-connection=0", "reset-connection=x",
		"power-stuck=1", "not-ready*0", "not-ready*many",
	} {
		if err := r.SetFault(spec, true); err == nil {
			t.Errorf("%q was taken", spec)
		}
	}
	if on := r.ActiveFaults(); len(on) != 0 {
		t.Errorf("on: %v", on)
	}
}

func TestFaultsEnd(t *testing.T) {
	r := start(t, "", redfishtest.Options{Faults: []string{"boot-ignored*2", "power-stuck"}})
	if on := r.ActiveFaults(); !slices.Equal(on, []string{"boot-ignored", "power-stuck"}) {
		t.Errorf("on: %v", on)
	}
	for range 3 {
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
	}
	r.acts(t, map[string]int{"boot.set": 1})
	if err := r.SetFault("power-stuck", false); err != nil {
		t.Fatal(err)
	}
	r.reset(t, "ForceOff").want(t, 204)
	r.expect(t, "power false")
}

func FuzzSetFault(f *testing.F) {
	for _, fault := range redfishtest.Faults() {
		f.Add(fault.Name + "=" + fault.Default + "*1")
	}
	tree := fixtureTree("")
	f.Fuzz(func(t *testing.T, spec string) {
		bmc, err := redfishtest.Start(t.Context(), redfishtest.Options{Tree: tree, Faults: []string{spec}})
		if err != nil {
			return
		}
		defer bmc.Close()
		name, _, _ := strings.Cut(spec, "=")
		name, _, _ = strings.Cut(name, "*")
		if !slices.Equal(bmc.ActiveFaults(), []string{name}) {
			t.Errorf("%q switched on %v", spec, bmc.ActiveFaults())
		}
	})
}
