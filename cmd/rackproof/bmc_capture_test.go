package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestBMCCapture: what capture writes, sim serves.
func TestBMCCapture(t *testing.T) {
	dir := t.TempDir()
	served, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: bmcMachine(), User: bmcUser, Password: bmcPassword})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	t.Setenv("BMC_USER", bmcUser)
	t.Setenv("BMC_PASSWORD", bmcPassword)
	state, file := filepath.Join(dir, "state"), filepath.Join(dir, "box.tar.gz")
	line := []string{"--state", state, served.Addr(), "capture", "--out", file}

	code, stdout, stderr := bmc(t, append([]string{"--json"}, line...)...)
	var told struct {
		File      string `json:"file"`
		Schema    string `json:"schema"`
		Resources int    `json:"resources"`
	}
	if err := json.Unmarshal([]byte(stdout), &told); err != nil || code != exitPassed || told.File != file || told.Schema != redfish.CaptureSchema || told.Resources < 15 {
		t.Fatalf("exit %d, %v, %q %q", code, err, stdout, stderr)
	}
	if n := served.OpenSessions(); n != 0 {
		t.Errorf("%d sessions left", n)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".rackproof-capture-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, want a file for its owner alone", info, err)
	}
	if code, _, stderr := bmc(t, line...); code != exitUsage || !strings.Contains(stderr, "is there already") {
		t.Errorf("a second time: exit %d, %q; want that the file is kept", code, stderr)
	}
	if code, _, stderr := bmc(t, "--state", state, served.Addr(), "capture", "--out", filepath.Join(dir, "no", "x.tar.gz")); code != exitUsage {
		t.Errorf("no folder: exit %d, %q", code, stderr)
	}
	if code, _, _ := bmc(t, "--state", state, served.Addr(), "capture", "--out", filepath.Join(dir, "x.zip")); code != exitUsage {
		t.Errorf("no .tar.gz: exit %d", code)
	}
	again := sim(t, "--tree", file)
	t.Setenv("BMC_USER", again.Credentials["BMC_USER"])
	t.Setenv("BMC_PASSWORD", again.Credentials["BMC_PASSWORD"])
	code, stdout, stderr = bmc(t, "--state", state, again.BMCs[0], "inventory")
	if code != exitPassed || !strings.Contains(stdout, "P1-DIMMA1") || !strings.Contains(stdout, "Box 8") {
		t.Errorf("inventory of what sim serves: exit %d, %q %q", code, stdout, stderr)
	}
}
