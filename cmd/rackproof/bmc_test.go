package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const (
	bmcUser     = "ADMIN"
	bmcPassword = "pl4nted-tag-Passw0rd"
)

// bmcMachine is a machine of our own with one DIMM and a BIOS of one attribute.
func bmcMachine() redfishtest.Tree {
	return redfishtest.Tree{
		"/redfish/v1": []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"},"Links":{"Sessions":{"@odata.id":"/redfish/v1/SessionService/Sessions"}},
			"Registries":{"@odata.id":"/redfish/v1/Registries"},"UpdateService":{"@odata.id":"/redfish/v1/UpdateService"},"AccountService":{"@odata.id":"/redfish/v1/AccountService"}}`),
		"/redfish/v1/AccountService":                      []byte(`{"MinPasswordLength":13,"Accounts":{"@odata.id":"/redfish/v1/AccountService/Accounts"}}`),
		"/redfish/v1/AccountService/Accounts":             []byte(`{"Members":[{"@odata.id":"/redfish/v1/AccountService/Accounts/ADMIN"}]}`),
		"/redfish/v1/Managers/1":                          []byte(`{"Id":"1","NetworkProtocol":{"@odata.id":"/redfish/v1/Managers/1/NetworkProtocol"}}`),
		"/redfish/v1/Managers/1/NetworkProtocol":          []byte(`{"IPMI":{"ProtocolEnabled":false}}`),
		"/redfish/v1/SessionService":                      []byte(`{"Sessions":{"@odata.id":"/redfish/v1/SessionService/Sessions"}}`),
		"/redfish/v1/SessionService/Sessions":             []byte(`{"Members":[]}`),
		"/redfish/v1/Registries":                          []byte(`{"Members":[]}`),
		"/redfish/v1/UpdateService":                       []byte(`{"MultipartHttpPushUri":"/redfish/v1/UpdateService/upload","FirmwareInventory":{"@odata.id":"/redfish/v1/UpdateService/FirmwareInventory"}}`),
		"/redfish/v1/UpdateService/FirmwareInventory":     []byte(`{"Members":[{"@odata.id":"/redfish/v1/UpdateService/FirmwareInventory/BMC"}]}`),
		"/redfish/v1/UpdateService/FirmwareInventory/BMC": []byte(`{"Name":"BMC","Version":"1.02"}`),
		"/redfish/v1/Systems":                             []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"}]}`),
		"/redfish/v1/Systems/a": []byte(`{"Id":"a","@odata.id":"/redfish/v1/Systems/a","Model":"Box 8","SerialNumber":"S1","PowerState":"On","IndicatorLED":"Off",
			"VirtualMedia":{"@odata.id":"/redfish/v1/Systems/a/VirtualMedia"},"Links":{"ManagedBy":[{"@odata.id":"/redfish/v1/Managers/1"}]},
			"Boot":{"BootSourceOverrideTarget":"None","BootSourceOverrideEnabled":"Disabled","BootSourceOverrideMode":"UEFI","HttpBootUri":null},
			"Bios":{"@odata.id":"/redfish/v1/Systems/a/Bios"},"Memory":{"@odata.id":"/redfish/v1/Systems/a/Memory"},
			"Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/a/Actions/ComputerSystem.Reset","ResetType@Redfish.AllowableValues":["On","ForceOff"]}}}`),
		"/redfish/v1/Systems/a/Bios":         []byte(`{"Attributes":{"Smt":"Enabled"},"@Redfish.Settings":{"SettingsObject":{"@odata.id":"/redfish/v1/Systems/a/Bios/SD"}}}`),
		"/redfish/v1/Systems/a/Bios/SD":      []byte(`{"Attributes":{}}`),
		"/redfish/v1/Systems/a/Memory":       []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a/Memory/1"}]}`),
		"/redfish/v1/Systems/a/VirtualMedia": []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a/VirtualMedia/CD1"}]}`),
		"/redfish/v1/Systems/a/VirtualMedia/CD1": []byte(`{"Id":"CD1","MediaTypes":["CD","DVD"],"Inserted":false,"Image":null,"ConnectedVia":"NotConnected",
			"Actions":{"#VirtualMedia.InsertMedia":{"target":"/redfish/v1/Systems/a/VirtualMedia/CD1/Actions/VirtualMedia.InsertMedia"}}}`),
		"/redfish/v1/Systems/a/Memory/1": []byte(`{"Name":"m","DeviceLocator":"P1-DIMMA1","CapacityMiB":65536,"SerialNumber":"D1"}`),
	}
}

// bmc runs `rackproof bmc` in memory.
func bmc(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	root := a.rootCommand()
	if cmd, _, err := root.Find([]string{"bmc"}); err != nil || cmd.Name() != "bmc" {
		root.AddCommand(bmcCommand(a))
	}
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(append([]string{"bmc"}, args...))
	code = a.report(root.ExecuteContext(t.Context()))
	return code, out.String(), errs.String()
}

func TestBMCVerbs(t *testing.T) {
	dir := t.TempDir()
	sim, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{
		Tree: bmcMachine(), User: bmcUser, Password: bmcPassword,
		Images: map[string]redfishtest.Image{"bmc.bin": {Component: "/redfish/v1/UpdateService/FirmwareInventory/BMC", Version: "2.0"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Close() })
	newer := filepath.Join(dir, "fw", "hgx-h100-8", "BMC", "2.0")
	if err := os.MkdirAll(newer, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(newer, "bmc.bin"), filepath.Join(dir, "bmc.bin")} {
		if err := os.WriteFile(path, []byte("firmware"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(bmcPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(dir, "wrong")
	if err := os.WriteFile(wrong, []byte("wr0ng-one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BMC_USER", bmcUser)
	t.Setenv("BMC_PASSWORD", "")
	login := []string{"--state", filepath.Join(dir, "state"), "--password", "file:" + secret}
	for _, c := range []struct {
		args   string
		code   int
		stdout string // part of it
		stderr string // part of it
	}{
		{"ADDR power", 0, "On\n", ""},
		{"ADDR power off", 0, "Off\n", ""},
		{"ADDR --json power", 0, `"power": "Off"`, ""},
		{"ADDR power ac-cycle", 1, "", "pull the cords"},
		{"ADDR power sideways", 2, "", "invalid argument"},
		{"ADDR boot", 0, "None/Disabled/UEFI\n", ""},
		{"ADDR boot http --uri http://192.0.2.1/x", 0, "UefiHttp/Once/UEFI\nfrom http://192.0.2.1/x\n", ""},
		{"ADDR boot none --json", 0, `"enabled": "Disabled"`, ""},
		{"ADDR media", 0, "CD1  CD,DVD  empty\n", ""},
		{"ADDR media insert http://192.0.2.1/a.iso", 0, "CD1  CD,DVD  http://192.0.2.1/a.iso\n", ""},
		{"ADDR media insert http://192.0.2.1/a.iso?x=1", 2, "", "no query"},
		{"ADDR media --json", 0, `"inserted": true`, ""},
		{"ADDR media eject CD7", 2, "", "there is CD1"},
		{"ADDR media eject", 0, "CD1  CD,DVD  empty\n", ""},
		{"ADDR bios", 0, "Smt=Enabled\n", ""},
		{"ADDR bios get Nps", 2, "", `no BIOS attribute "Nps"`},
		{"ADDR bios plan Smt=Disabled", 0, "Smt  Enabled -> Disabled", ""},
		{"ADDR bios plan Smt=Enabled", 0, "nothing to change\n", ""},
		{"ADDR bios plan Smtt=Enabled", 2, "", "nearest are Smt"},
		{"ADDR bios plan --intent smt=off", 2, "", "no rule for smt"},
		{"ADDR bios set", 2, "", "name what to set"},
		{"ADDR bios set Smt=Disabled --restart --json", 0, `"applied": true`, "restarting"},
		{"ADDR bios get Smt", 0, "Smt=Disabled\n", ""},
		{"ADDR inventory", 0, "DIMM  P1-DIMMA1    65536 MiB  S/N D1", ""},
		{"ADDR inventory --json", 0, `"label": "P1-DIMMA1"`, ""},
		{"ADDR firmware", 0, "BMC  BMC  1.02\n", ""},
		{"ADDR firmware --compare hgx-h100-8", 0, "BMC  BMC  1.02    not stated\n", ""},
		{"ADDR firmware --compare hgx-h100-8 --folder " + filepath.Join(dir, "fw"), 3, "min 2.0  older\n", ""},
		{"ADDR firmware --compare hgx-h100-8 --json --folder " + filepath.Join(dir, "fw"), 3, `"result": "older"`, ""},
		{"ADDR firmware --folder fw", 2, "", "--compare"},
		{"ADDR firmware update nothing.bin", 2, "", "no such file"},
		{"ADDR firmware update " + secret + " --target BIOS", 2, "", "the BMC lists BMC"},
		{"ADDR firmware update " + filepath.Join(dir, "bmc.bin") + " --dry-run", 0, "nothing was sent", ""},
		{"ADDR firmware update " + filepath.Join(dir, "bmc.bin"), 0, "the BMC says that it is installed\n", ""},
		{"ADDR firmware --json", 0, `"version": "2.0"`, ""},
		{"ADDR locate on", 0, "on\n", ""},
		{"ADDR locate --json", 0, `"locator": true`, ""},
		{"ADDR --system b power", 2, "", "nothing was done"},
		{"ADDR --tls insecure power", 0, "On\n", "not checked"},
		{"ADDR --password file:" + wrong + " power", 5, "", "one try, I stop here"},
		{"ADDR --password env:BMC_PASSWORD power", 2, "", "not set"},
		{"ADDR --password " + bmcPassword + " power", 2, "", "must be a reference"},
		{"ADDR forget-pin", 0, "forgot ", ""},
		{"ADDR forget-pin --json", 0, `"forgotten": []`, ""},
		{"ADDR password", 2, "", "password rotate"},
		{"ADDR password rotate", 2, "", "kept nowhere"},
		{"ADDR password rotate --store command:x", 2, "", "--store-set"},
		{"ADDR password rotate --store file:" + secret, 0, "proven over redfish", ""},
		{"ADDR password rotate --json --store file:" + secret, 0, `"rotated": true`, ""},
		{"ADDR --tls-legacy power", 0, "On\n", ""},
		{"ADDR --tls maybe power", 2, "", "use pin, ca:FILE or insecure"},
		{"ADDR", 2, "", "what shall the BMC do?"},
		{"ADDR dance", 2, "", "unknown command"},
		{"ADDR power --help", 0, "rackproof bmc ADDR power", ""},
		{"10.0.12.7:99999 power", 2, "", "no port"},
		{"10.0.12.7/24 power", 2, "", "neither an IP address nor a name"},
		{"127.0.0.1:1 power", 5, "", "switched off, or not this VLAN"},
	} {
		args := append([]string{}, login...)
		for arg := range strings.FieldsSeq(c.args) {
			args = append(args, strings.ReplaceAll(arg, "ADDR", sim.Addr()))
		}
		code, stdout, stderr := bmc(t, args...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("bmc %s: exit %d, want %d\nstdout %s\nstderr %s", c.args, code, c.code, stdout, stderr)
		}
		if strings.Contains(stdout+stderr, bmcPassword) {
			t.Errorf("bmc %s prints the password", c.args)
		}
		if strings.Contains(c.args, "--json") && !json.Valid([]byte(stdout)) {
			t.Errorf("bmc %s: stdout is not one JSON object: %s", c.args, stdout)
		}
	}
	if n := sim.Unauthorized(); n != 1 {
		t.Errorf("%d refused logins, want the one that was asked for", n)
	}
	if acts := sim.Acts(); acts["session.create"] != acts["session.delete"] {
		t.Errorf("sessions left open: %v", acts)
	}
}
