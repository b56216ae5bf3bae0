package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// jobMachine is bmcMachine with one job of its BMC, and one network port in its boot
// options.
func jobMachine(state string) redfishtest.Tree {
	tree := bmcMachine()
	root := bytes.Replace(tree["/redfish/v1"], []byte(`"Links":`), []byte(`"Tasks":{"@odata.id":"/redfish/v1/TaskService"},"Links":`), 1)
	system := bytes.Replace(tree["/redfish/v1/Systems/a"], []byte(`"HttpBootUri":null`),
		[]byte(`"HttpBootUri":null,"BootNext":null,"BootOrder":["Boot0001"],"BootOptions":{"@odata.id":"/redfish/v1/Systems/a/BootOptions"},"BootSourceOverrideTarget@Redfish.AllowableValues":["None","Pxe","UefiHttp","UefiBootNext"]`), 1)
	maps.Copy(tree, redfishtest.Tree{
		"/redfish/v1":                         root,
		"/redfish/v1/Systems/a":               system,
		"/redfish/v1/Systems/a/BootOptions":   []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a/BootOptions/1"}]}`),
		"/redfish/v1/Systems/a/BootOptions/1": []byte(`{"BootOptionReference":"Boot0001","DisplayName":"UEFI PXE IPv4 NIC - 7CC255000007","UefiDevicePath":"PciRoot(0x0)/MAC(7CC255000007,0x1)/IPv4(0.0.0.0)"}`),
		"/redfish/v1/TaskService":             []byte(`{"Tasks":{"@odata.id":"/redfish/v1/TaskService/Tasks"}}`),
		"/redfish/v1/TaskService/Tasks":       []byte(`{"Members":[{"@odata.id":"/redfish/v1/TaskService/Tasks/7"}]}`),
		"/redfish/v1/TaskService/Tasks/7":     []byte(`{"Id":"7","Name":"Firmware Update","TaskState":"` + state + `","TaskStatus":"OK"}`),
	})
	return tree
}

// TestBMCLooksFirst: a job that runs stops what it would spoil or what would cut it,
// before anything is changed; a person may go on anyway, and what does not stop is told.
func TestBMCLooksFirst(t *testing.T) {
	dir := t.TempDir()
	image := filepath.Join(dir, "bmc.bin")
	if err := os.WriteFile(image, []byte("firmware"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BMC_USER", bmcUser)
	t.Setenv("BMC_PASSWORD", bmcPassword)
	for _, c := range []struct {
		job    string
		args   string
		code   int
		says   string // on stderr or stdout
		acts   string // what was changed besides the session
		absent string // on either
	}{
		{"Running", "power off", 5, "wait until it has ended, or go on with --anyway", "", ""},
		{"Running", "power force-off --anyway", 0, "in the way: 7 Firmware Update is Running", "power.off", ""},
		{"Running", "power on", 0, "On\n", "", "in the way"},
		{"Running", "power", 0, "On\n", "", "in the way"},
		{"Running", "boot pxe", 5, "7 Firmware Update is Running; nothing was changed", "", ""},
		{"Running", "boot", 0, "None", "", "in the way"},
		{"Running", "bios set Smt=Disabled", 5, "nothing was changed", "", ""},
		{"Running", "firmware update " + image, 5, "nothing was changed", "", ""},
		{"Running", "media insert http://192.0.2.1/a.iso", 0, "in the way", "media.insert", ""},
		{"Completed", "boot pxe", 0, "Pxe/Once", "boot.set", "in the way"},
		{"Completed", "boot pxe --mac 7c-c2-55-00-00-07", 0, "UefiBootNext", "boot.set", ""},
		{"Completed", "boot pxe --mac 7c:c2:55:00:00:99", 1, "no boot option for the network port", "", ""},
		{"Completed", "boot pxe --mac seven", 2, "want an Ethernet address", "", ""},
		{"Completed", "boot disk --mac 7c:c2:55:00:00:07", 2, "--mac goes with pxe or http", "", ""},
		{"Completed", "bios set Smt=Disabled", 0, "Enabled -> Disabled", "bios.stage", ""},
		{"Completed", "bios discard", 0, "nothing waits", "", ""},
	} {
		sim, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: jobMachine(c.job), User: bmcUser, Password: bmcPassword})
		if err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := bmc(t, append([]string{"--state", filepath.Join(dir, "state"), "--tls", "insecure", sim.Addr()}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) || c.absent != "" && strings.Contains(stdout+stderr, c.absent) {
			t.Errorf("%s, %s: exit %d, want %d\nstdout %s\nstderr %s", c.job, c.args, code, c.code, stdout, stderr)
		}
		acts := sim.Acts()
		delete(acts, "session.create")
		delete(acts, "session.delete")
		if c.acts == "" && len(acts) > 0 || c.acts != "" && acts[c.acts] != 1 {
			t.Errorf("%s, %s: acts %v, want %q", c.job, c.args, acts, c.acts)
		}
		if err := sim.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBIOSDiscard takes back what somebody staged.
func TestBIOSDiscard(t *testing.T) {
	t.Setenv("BMC_USER", bmcUser)
	t.Setenv("BMC_PASSWORD", bmcPassword)
	sim, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: bmcMachine(), User: bmcUser, Password: bmcPassword})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sim.Close() }()
	state := filepath.Join(t.TempDir(), "state")
	for _, c := range []struct{ args, says string }{
		{"bios set Smt=Disabled", "Enabled -> Disabled"},
		{"power force-off", "in the way: BIOS values wait for a reset: Smt"},
		{"bios discard", "Smt stays Enabled; Disabled was to come"},
		{"bios", "Smt=Enabled\n"},
		{"bios discard --json", `"discarded": []`},
	} {
		code, stdout, stderr := bmc(t, append([]string{"--state", state, "--tls", "insecure", sim.Addr()}, strings.Fields(c.args)...)...)
		if code != 0 || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s: exit %d\nstdout %s\nstderr %s", c.args, code, stdout, stderr)
		}
	}
	if p := sim.State().Pending; p["Smt"] == "Disabled" {
		t.Errorf("still waits: %v", p)
	}
}
