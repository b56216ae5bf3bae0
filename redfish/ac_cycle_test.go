package redfish_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// acTree is a machine that offers FullPowerCycle and tells its last reset.
func acTree() redfishtest.Tree {
	tree := small()
	tree["/redfish/v1/Systems/a"] = []byte(strings.NewReplacer(
		`"ForceOff"`, `"ForceOff","FullPowerCycle"`, `"IndicatorLED":"Off"`, `"LastResetTime":"2026-01-05T07:00:00Z"`,
	).Replace(smallSystem))
	return tree
}

func TestACCycle(t *testing.T) {
	for _, fault := range []string{"", "lost-response=power.reset*1"} {
		bmc := serve(t, redfishtest.Options{Tree: acTree()})
		c := open(t, bmc)
		if fault != "" {
			if err := bmc.SetFault(fault, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.ACCycle(within(t, time.Minute)); err != nil || bmc.Acts()["power.reset"] != 1 || bmc.Acts()["power.off"] != 1 {
			t.Errorf("%q: %v, %v; want the host off, and its power cut once", fault, err, bmc.Acts())
		}
	}
}

// TestACCycleOfTheVendor asks for what iLO and XCC call it. The simulated BMC has no
// such action and says so; then nothing else is tried.
func TestACCycleOfTheVendor(t *testing.T) {
	for tree, want := range map[string]string{
		"hpe":    "POST /redfish/v1/Systems/1/Actions/Oem/Hpe/HpeComputerSystemExt.SystemReset",
		"lenovo": "POST /redfish/v1/Systems/1/Actions/Oem/LenovoComputerSystem.SystemReset",
	} {
		c, bmc := start(t, tree)
		if err := c.ACCycle(within(t, time.Minute)); err == nil || !strings.Contains(err.Error(), "pull the cords") {
			t.Errorf("%s: %v", tree, err)
		}
		if bmc.Requests()[want] == 0 {
			t.Errorf("%s: %s was not asked for", tree, want)
		}
	}
}

func TestACCycleUnsupported(t *testing.T) {
	for _, tree := range []string{"dell", "supermicro", "nvidia_viking"} {
		c, bmc := start(t, tree)
		if err := c.ACOffered(within(t, time.Minute)); !errors.Is(err, redfish.ErrUnsupported) {
			t.Errorf("%s: offered: %v, want ErrUnsupported", tree, err)
		}
		if err := c.ACCycle(within(t, time.Minute)); !errors.Is(err, redfish.ErrUnsupported) {
			t.Errorf("%s: %v, want ErrUnsupported", tree, err)
		}
		for act, n := range bmc.Acts() {
			if strings.HasPrefix(act, "power.") && n > 0 {
				t.Errorf("%s: %s, though it cannot cut the power", tree, act)
			}
		}
	}
}

// TestACOffered asks those that have a reset of their own or the standard's.
func TestACOffered(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: acTree()})
	if err := open(t, bmc).ACOffered(within(t, time.Minute)); err != nil || changing(bmc) != 0 {
		t.Errorf("FullPowerCycle: %v, %d changing requests; want nil and none", err, changing(bmc))
	}
	for _, tree := range []string{"hpe", "lenovo"} {
		c, bmc := start(t, tree)
		if err := c.ACOffered(within(t, time.Minute)); err != nil || changing(bmc) != 0 {
			t.Errorf("%s: %v, %d changing requests; want nil and none", tree, err, changing(bmc))
		}
	}
}
