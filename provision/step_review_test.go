package provision

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
)

// A host that is off may show no volumes yet, and a volume may be without health: both are
// said, and neither is a pass that nobody can tell from a proven one.
func TestRAIDIsToldAsItIsKnown(t *testing.T) {
	f, e, _ := moreEnv(t)
	f.power, e.Machine.RAID = redfish.Off, []RAIDWish{}
	if err := doStep(t, e, raid{}); err != nil || e.Facts[FactVolumes] != "none, as its BMC shows them with the host off" {
		t.Errorf("off and none: %v, %q", err, e.Facts[FactVolumes])
	}
	e.Machine.RAID = []RAIDWish{{Level: "RAID1"}}
	if err := doStep(t, e, raid{}); err == nil || !strings.Contains(err.Error(), "missing: RAID1; the host is off") || !strings.Contains(err.Error(), "switch it on first") {
		t.Errorf("off and missing: %v", err)
	}
	f.power = redfish.On
	if err := doStep(t, e, raid{}); err == nil || strings.Contains(err.Error(), "the host is off") {
		t.Errorf("on and missing: %v", err)
	}
	f.volumes = []redfish.Volume{{Name: "os", Level: "RAID1", Drives: 2}}
	if err := doStep(t, e, raid{}); err != nil || e.Facts[FactVolumes] != "RAID1 of 2 drives (os), whose health the BMC does not tell" {
		t.Errorf("no health: %v, %q", err, e.Facts[FactVolumes])
	}
}

// The profile's own attribute would put secure boot back before the test.
func TestSecureBootAgainstAnAttributeOfTheProfile(t *testing.T) {
	for value, refused := range map[string]bool{"Enabled": true, "Disabled": false} {
		f, e, _ := moreEnv(t)
		e.With = Options{optWant: "off"}
		set := e.Profile.BIOS[setBurnIn]
		set.Attributes = map[string]any{"SecureBoot": value}
		e.Profile.BIOS[setBurnIn] = set
		err := doStep(t, e, secureBoot{})
		if refused != (err != nil && strings.Contains(err.Error(), "SecureBoot Disabled, and profile")) || (f.acts["stage"] == 0) != refused {
			t.Errorf("%s: %v, acts %v", value, err, f.acts)
		}
	}
}

// A LED that cannot be reached is not one that was put back.
func TestLocateOffKeepsWhatWasFound(t *testing.T) {
	f, e, _ := moreEnv(t)
	if err := doStep(t, e, locate{}); err != nil {
		t.Fatal(err)
	}
	f.none = redfish.ErrUnsupported
	if err := doStep(t, e, locateOff{}); err != nil || e.Facts[factLEDFound] != wishOff {
		t.Errorf("%v, found %q", err, e.Facts[factLEDFound])
	}
	f.none = nil
	if err := doStep(t, e, locateOff{}); err != nil || f.lit || e.Facts[factLEDFound] != "" {
		t.Errorf("later: %v, lit %v, found %q", err, f.lit, e.Facts[factLEDFound])
	}
}
