package redfishtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestRefusals: what was refused when the tree was captured is refused again.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	for path, body := range map[string]string{
		"redfish/v1/index.json":                `{"Id":"root","Systems":{"@odata.id":"/redfish/v1/Systems"}}`,
		"redfish/v1/Systems/index.json":        `{"Members":[{"@odata.id":"/redfish/v1/Systems/1"}]}`,
		"redfish/v1/Systems/1/index.json":      `{"Id":"1","Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/1/Reset"}}}`,
		"redfish/v1/Systems/1/Gone/error.txt":  "HTTP 503\n\n{\"error\":{\"code\":\"x\"}}",
		"redfish/v1/Systems/1/Empty/error.txt": "HTTP 405\n\n",
	} {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := redfishtest.LoadCapture(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, "", redfishtest.Options{Tree: c.Tree, Refused: c.Refused})
	if a := r.get(t, "/redfish/v1/Systems/1/Gone"); a.status != 503 || string(a.raw) != `{"error":{"code":"x"}}` {
		t.Errorf("%d %s, want the 503 with its body", a.status, a.raw)
	}
	if a := r.get(t, "/redfish/v1/Systems/1/Empty/"); a.status != 405 || len(a.raw) != 0 {
		t.Errorf("%d %s, want an empty 405", a.status, a.raw)
	}
	r.get(t, "/redfish/v1/Systems/1/Other").want(t, 404, "ResourceMissingAtURI")
}
