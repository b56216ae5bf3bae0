package redfishtest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// captures is the folder of captured trees beside the module.
func captures(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	folder := filepath.Join(dir, "..", "shared", "redfish")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the captured trees are not here: %v", err)
	}
	return folder
}

// A whole stay on every captured machine: what the tree links behaves.
func TestCaptures(t *testing.T) {
	cases := map[string]struct {
		system, bios, settings string
		stage                  map[string]any // attributes of that machine's registry
		refused                string         // one that the registry has as read-only, or ""
		restart                int            // status of a reset
	}{
		"dell": {
			system: "/redfish/v1/Systems/System.Embedded.1", bios: "/redfish/v1/Systems/System.Embedded.1/Bios",
			settings: "/redfish/v1/Systems/System.Embedded.1/Bios/Settings",
			stage:    map[string]any{"LogicalProc": "Disabled"}, refused: "SystemModelName", restart: 204,
		},
		"hpe": {
			system: "/redfish/v1/Systems/1", bios: "/redfish/v1/systems/1/bios/", settings: "/redfish/v1/systems/1/bios/settings/",
			stage: map[string]any{"AcpiHpet": "Disabled"}, restart: 200,
		},
		"lenovo": {
			system: "/redfish/v1/Systems/1", bios: "/redfish/v1/Systems/1/Bios", settings: "/redfish/v1/Systems/1/Bios/Pending",
			stage: map[string]any{"Processors_HyperThreading": "Disabled"}, restart: 204,
		},
		"nvidia_viking": {
			system: "/redfish/v1/Systems/DGX", bios: "/redfish/v1/Systems/DGX/Bios", settings: "/redfish/v1/Systems/DGX/Bios/SD",
			stage: map[string]any{"AcpiSpcrConsoleRedirectionEnable": false}, restart: 202,
		},
		"supermicro": {
			system: "/redfish/v1/Systems/1", bios: "/redfish/v1/Systems/1/Bios", settings: "/redfish/v1/Systems/1/Bios/SD",
			stage: map[string]any{"ADDDCSparing_3C3F": "Disabled"}, restart: 200,
		},
	}
	folder := captures(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree, err := redfishtest.LoadTarGz(filepath.Join(folder, name+".tar.gz"))
			if err != nil {
				t.Fatal(err)
			}
			takesCurrentValues(t, tree, c.settings)
			r := start(t, "", redfishtest.Options{Tree: tree})
			st := r.State()
			if st.System != c.system || st.Power != "On" || len(st.BIOS) == 0 {
				t.Fatalf("system %s, power %s, %d attributes", st.System, st.Power, len(st.BIOS))
			}
			r.get(t, "/redfish/v1/").want(t, 200)
			if c.refused != "" {
				r.patch(t, c.settings, map[string]any{"Attributes": map[string]any{c.refused: "x"}}).want(t, 400, "PropertyNotWritable")
			}
			r.patch(t, c.settings, map[string]any{"Attributes": map[string]any{"NoSuchThing": 1}}).want(t, 400, "PropertyUnknown")
			stage := map[string]any{"Attributes": c.stage}
			if name == "dell" {
				stage = onReset(stage)
			}
			if a := r.patch(t, c.settings, stage); a.status >= 300 {
				t.Fatalf("stage: %d %s", a.status, a.raw)
			}
			r.patch(t, c.system, map[string]any{"Boot": map[string]any{
				"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe",
			}})
			target, _ := r.get(t, c.system).value("Actions", "#ComputerSystem.Reset", "target").(string)
			r.do(t, http.MethodPost, target, map[string]any{"ResetType": "ForceRestart"}).want(t, c.restart)
			for wanted := range r.events {
				if wanted == "boot Pxe" {
					break
				}
			}
			for attribute, want := range c.stage {
				if got := r.get(t, c.bios).value("Attributes", attribute); got != want {
					t.Errorf("%s is %v, want %v", attribute, got, want)
				}
			}
		})
	}
}

// takesCurrentValues: every attribute that a machine shows must be accepted with
// the value that it has, unless it is read-only: else the check is stricter
// than the machine.
func takesCurrentValues(t *testing.T, tree redfishtest.Tree, settings string) {
	t.Helper()
	// Current values of the DGX H100 that its own registry does not allow.
	odd := map[string]string{"RouterMac2": "PropertyValueFormatError", "PrmSgxSize": "PropertyValueNotInList"}
	r := start(t, "", redfishtest.Options{Tree: tree})
	taken, readOnly := 0, 0
	for attribute, value := range r.State().BIOS {
		if value == nil {
			continue // a string that was never set: nothing to send back
		}
		a := r.patch(t, settings, map[string]any{"Attributes": map[string]any{attribute: value}})
		switch {
		case a.status < 300:
			taken++
		case a.status == 400 && containsID(a, "PropertyNotWritable"):
			readOnly++
		case odd[attribute] != "" && containsID(a, odd[attribute]):
		default:
			t.Errorf("%s = %v: %d %s", attribute, value, a.status, a.raw)
		}
	}
	t.Logf("%d taken, %d read-only", taken, readOnly)
	if taken == 0 {
		t.Error("nothing can be set")
	}
}
