package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// discoverable is a BMC that tells its tag to everybody, in the shape of an iDRAC.
func discoverable(t *testing.T) *redfishtest.BMC {
	t.Helper()
	bmc, err := redfishtest.Start(t.Context(), redfishtest.Options{Tree: redfishtest.Tree{
		"/redfish/v1": json.RawMessage(`{"@odata.id":"/redfish/v1","RedfishVersion":"1.13.1","Vendor":"Dell","Systems":{"@odata.id":"/redfish/v1/Systems"},
			"SessionService":{"@odata.id":"/redfish/v1/SessionService"},"Links":{"Sessions":{"@odata.id":"/redfish/v1/SessionService/Sessions"}},
			"Oem":{"Dell":{"ServiceTag":"TAG0007","ManagerMACAddress":"b0:7b:25:00:00:07"}}}`),
		"/redfish/v1/SessionService": json.RawMessage(`{"SessionTimeout":300}`),
		"/redfish/v1/Systems":        json.RawMessage(`{"Members":[{"@odata.id":"/redfish/v1/Systems/1"}]}`),
		"/redfish/v1/Systems/1":      json.RawMessage(`{"Id":"1","PowerState":"On","Boot":{},"Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"}}}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bmc.Close() })
	return bmc
}

func TestDiscoverVerb(t *testing.T) {
	bmc := discoverable(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := func(args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		code = Main(t.Context(), append([]string{"discover", "--state", filepath.Join(dir, "state")}, args...), strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	macs := file("macs", "tag0007 r12u07 R12 7\n")
	list := filepath.Join(dir, "rack12.yaml")
	code, out, errs := run(bmc.Addr(), "--macs", macs, "--out", list)
	if code != exitPassed || !strings.Contains(out, "r12u07  R12 U07  "+bmc.Addr()+"  b0:7b:25:00:00:07  dell  S/N TAG0007  Redfish 1.13.1  cert "+bmc.CertSHA256()[:16]) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	b, err := os.ReadFile(list)
	if err != nil || !strings.Contains(string(b), `sha256: "`+bmc.CertSHA256()+`"`) {
		t.Errorf("%v\n%s", err, b)
	}
	if bmc.Acts()["session.create"] != 0 || bmc.Unauthorized() != 0 {
		t.Error("a login was tried")
	}

	code, out, _ = run(bmc.Addr(), "--macs", file("more", "tag0007 r12u07\n7c:c2:55:00:00:09 r12u09\n"), "--json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitNotFinished || len(lines) != 3 || !strings.HasPrefix(lines[1], `{"missing":{"mac":"7c:c2:55:00:00:09","name":"r12u09"}`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	for _, line := range lines {
		var one map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &one); err != nil || len(one) != 1 {
			t.Errorf("line %q: %v", line, err)
		}
	}

	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "where shall it look?"},
		{[]string{bmc.Addr(), "--macs", file("wrong", "\n7c:c2:55:00:00:0g r12u09\n")}, filepath.Join(dir, "wrong") + `:2:1: "7c:c2:55:00:00:0g" is neither a MAC nor a serial`},
		{[]string{"--leases", file("leases", "# none\nx\n")}, filepath.Join(dir, "leases") + ":2:1: no lease"},
		{[]string{"--leases", filepath.Join(dir, "absent")}, "no such file"},
		{[]string{bmc.Addr(), "--out", list}, "there is such a file"},
		{[]string{"10.0.0.0/8"}, "network 10.0.0.0/8 has more than"},
		{[]string{bmc.Addr(), "--oui", "7c"}, `--oui: "7c" is no OUI`},
		{[]string{bmc.Addr(), "--rate", "0"}, "--rate 0"},
		{[]string{"--interface", "no-such-interface"}, "interface no-such-interface"},
	} {
		if code, out, errs := run(c.args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d\n%s%s", c.args, code, out, errs)
		}
	}
}
