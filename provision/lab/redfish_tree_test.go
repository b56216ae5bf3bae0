package lab

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

func testMachine(t *testing.T, change func(*Spec)) *Machine {
	t.Helper()
	spec := testSpec(t)
	if change != nil {
		change(&spec)
	}
	m, err := NewMachine(spec, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.console.close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Every link of the tree leads somewhere, and a BMC can be made of it.
func TestRedfishTreeIsWhole(t *testing.T) {
	for _, firmware := range []Firmware{BIOS, UEFI} {
		m := testMachine(t, func(s *Spec) { s.Firmware, s.GPUs = firmware, 8 })
		tree, err := m.redfishTree()
		if err != nil {
			t.Fatal(err)
		}
		for uri, raw := range tree {
			var body any
			if err := json.Unmarshal(raw, &body); err != nil {
				t.Fatal(err)
			}
			for _, link := range linksIn(body) {
				link, _, _ = strings.Cut(link, "#")
				if _, ok := tree[link]; !ok {
					t.Errorf("%s links to %s, which is not there", uri, link)
				}
			}
		}
		bmc, err := redfishtest.Start(t.Context(), redfishtest.Options{Tree: tree})
		if err != nil {
			t.Fatal(err)
		}
		if st := bmc.State(); st.Power != "Off" || len(st.BIOS) == 0 || st.Boot.Mode != m.spec.mode() {
			t.Errorf("state %+v", st)
		}
		if err := bmc.Close(); err != nil {
			t.Error(err)
		}
	}
}

func linksIn(value any) []string {
	var links []string
	switch v := value.(type) {
	case map[string]any:
		if link, ok := v["@odata.id"].(string); ok {
			links = append(links, link)
		}
		for _, inner := range v {
			links = append(links, linksIn(inner)...)
		}
	case []any:
		for _, inner := range v {
			links = append(links, linksIn(inner)...)
		}
	}
	return links
}

// What is broken in the machine shows in what its BMC says of the parts.
func TestRedfishTreeFollowsTheMachine(t *testing.T) {
	m := testMachine(t, nil)
	m.hardware.dimms[2] = DIMM{Slot: "DIMM_C1"}
	m.hardware.drive.missing = true
	if err := m.sensors.Set("PSU2 Status", psuPresent|psuInputLost); err != nil {
		t.Fatal(err)
	}
	tree, err := m.redfishTree()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		systemURI + "/Memory/DIMM_C1":            `"State":"Absent"`,
		systemURI + "/Memory/DIMM_A1":            `"SerialNumber":"D0100001"`,
		systemURI + "/Storage/NVMe/Drives/NVMe1": `"State":"Absent"`,
		systemURI + "/Storage/NVMe/Drives/NVMe0": `"SerialNumber":"NVME10"`,
		systemURI:                                `"Health":"Critical"`,
		chassisURI + "/Power":                    `"Health":"Critical"`,
		chassisURI + "/Sensors/CPU1_Temp":        `"State":"Absent"`,
		systemURI + "/Processors/GPU1":           `"SerialNumber":"1650001000002"`,
	}
	for uri, want := range cases {
		if !strings.Contains(string(tree[uri]), want) {
			t.Errorf("no %s in %s", want, tree[uri])
		}
	}
}

func TestBootChoiceAndOverride(t *testing.T) {
	spec := testSpec(t)
	spec.Firmware = UEFI
	cases := []struct {
		choice BootChoice
		boot   redfishtest.Boot
	}{
		{BootChoice{}, redfishtest.Boot{Target: "None", Enabled: "Disabled", Mode: "UEFI"}},
		{BootChoice{Device: BootPXE, UEFI: true}, redfishtest.Boot{Target: "Pxe", Enabled: "Once", Mode: "UEFI"}},
		{BootChoice{Device: BootCD, UEFI: true, Persistent: true}, redfishtest.Boot{Target: "Cd", Enabled: "Continuous", Mode: "UEFI"}},
		{
			BootChoice{Device: BootHTTP, URI: "http://10.77.0.1/x", UEFI: true},
			redfishtest.Boot{Target: "UefiHttp", Enabled: "Once", Mode: "UEFI", HTTPBootURI: "http://10.77.0.1/x"},
		},
	}
	for _, c := range cases {
		if got := redfishBoot(spec, c.choice); got != c.boot {
			t.Errorf("%+v as an override: %+v", c.choice, got)
		}
		if got := labBoot(c.boot); got != c.choice {
			t.Errorf("%+v as a choice: %+v", c.boot, got)
		}
	}
	if got := labBoot(redfishtest.Boot{Target: "Pxe", Enabled: "Disabled"}); got != (BootChoice{}) {
		t.Errorf("an override that is off: %+v", got)
	}
	if got := labBoot(redfishtest.Boot{Target: "Utilities", Enabled: "Once"}); got != (BootChoice{}) {
		t.Errorf("a target that is not here: %+v", got)
	}
}
