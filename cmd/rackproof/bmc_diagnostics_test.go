package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

func TestBMCDiagnostics(t *testing.T) {
	dir := t.TempDir()
	tree := bmcMachine()
	const dump = "/redfish/v1/Managers/1/LogServices/Dump"
	tree["/redfish/v1/Managers/1"] = []byte(`{"Id":"1","LogServices":{"@odata.id":"/redfish/v1/Managers/1/LogServices"}}`)
	tree["/redfish/v1/Managers"] = []byte(`{"Members":[{"@odata.id":"/redfish/v1/Managers/1"}]}`)
	tree["/redfish/v1/Managers/1/LogServices"] = []byte(`{"Members":[{"@odata.id":"` + dump + `"}]}`)
	tree[dump] = []byte(`{"@odata.id":"` + dump + `","Id":"Dump","Entries":{"@odata.id":"` + dump + `/Entries"},"Actions":{"#LogService.CollectDiagnosticData":{"target":"` + dump + `/Collect"}}}`)
	tree[dump+"/Entries"] = []byte(`{"Members":[]}`)
	root := map[string]any{}
	if err := json.Unmarshal(tree["/redfish/v1"], &root); err != nil {
		t.Fatal(err)
	}
	root["Managers"] = map[string]any{"@odata.id": "/redfish/v1/Managers"}
	tree["/redfish/v1"], _ = json.Marshal(root)
	served, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: tree, User: bmcUser, Password: bmcPassword})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	t.Setenv("BMC_USER", bmcUser)
	t.Setenv("BMC_PASSWORD", bmcPassword)
	line := func(args ...string) (int, string, string) {
		return bmc(t, append([]string{"--state", filepath.Join(dir, "state"), served.Addr()}, args...)...)
	}
	if code, stdout, stderr := line("diagnostics"); code != exitPassed || !strings.HasPrefix(stdout, "manager-1  usual  seen") {
		t.Errorf("list: exit %d, %q %q", code, stdout, stderr)
	}
	out := filepath.Join(dir, "case")
	code, stdout, stderr := line("--json", "diagnostics", "collect", "--out", out)
	var told struct {
		Files []struct {
			Path  string `json:"path"`
			Name  string `json:"name"`
			Bytes int    `json:"bytes"`
		} `json:"files"`
	}
	if err := json.Unmarshal([]byte(stdout), &told); err != nil || code != exitPassed || len(told.Files) != 1 || told.Files[0].Name != "manager-1" {
		t.Fatalf("collect: exit %d, %v, %q %q", code, err, stdout, stderr)
	}
	raw, err := os.ReadFile(told.Files[0].Path)
	if err != nil || string(raw) != "collected: Manager" || told.Files[0].Bytes != len(raw) || filepath.Dir(told.Files[0].Path) != out {
		t.Errorf("%v, %q in %s", err, raw, told.Files[0].Path)
	}
	if code, _, stderr := line("diagnostics", "collect", "tsr"); code != exitUsage || !strings.Contains(stderr, "manager-1") {
		t.Errorf("an unknown one: exit %d, %q", code, stderr)
	}
	if err := served.SetFault("diagnostics-licence=DCMS", true); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := line("diagnostics", "collect", "--out", out); code != exitFailed || !strings.Contains(stderr, "DCMS") {
		t.Errorf("without a licence: exit %d, %q", code, stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(out, ".rackproof-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if code, _, stderr := line("screen", "--out", filepath.Join(dir, "s.png")); code != exitFailed || !strings.Contains(stderr, "picture") {
		t.Errorf("screen: exit %d, %q", code, stderr)
	}
	if n := served.OpenSessions(); n != 0 {
		t.Errorf("%d sessions left", n)
	}
}
