package provision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

func TestNamedSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets.yaml")
	if err := os.WriteFile(file, []byte("bmc-user: admin\nbmc-password: \"pl#nted: x\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := Machine{Login: BMCLogin{User: "secret:bmc-user", Password: "secret:bmc-password"}, SSH: SSH{Key: "csv:keys.csv#key"}}.WithSecrets(file)
	for ref, want := range map[Ref]string{m.Login.User: "admin", m.Login.Password: "pl#nted: x"} {
		if got, err := ref.Resolve(t.Context()); err != nil || got != want {
			t.Errorf("%s is %q, %v", ref, got, err)
		}
	}
	if m.SSH.Key != "csv:keys.csv#key" {
		t.Errorf("the key became %s", m.SSH.Key)
	}
	for ref, want := range map[Ref]string{
		"secret:bmc-user":                      "--engine temporal",
		Ref("secret:" + file + "#ipmi"):        "has no ipmi; add a line",
		Ref("secret:" + file + ".absent#ipmi"): "no such file",
	} {
		if _, err := ref.Resolve(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ref, err, want)
		}
	}
	if err := os.WriteFile(file, []byte("bmc-user: planted-secret\n- no\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Login.User.Resolve(t.Context()); err == nil || strings.Contains(err.Error(), "planted-secret") {
		t.Errorf("a file that is no YAML: %v", err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Login.User.Resolve(t.Context()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
}

// A batch for workers elsewhere has no credential of this machine, by default neither.
func TestLoadRemoteBatch(t *testing.T) {
	good := "name: a\nprofile: a40-4\ndefaults: {bmc: {user: \"secret:user\", password: \"csv:pw.csv#password\"}}\nmachines:\n- {name: m, bmc: 192.0.2.7}\n"
	for name, c := range map[string]struct{ batch, want string }{
		"good":    {good, ""},
		"env":     {strings.Replace(good, "secret:user", "env:BMC_USER", 1), "batch.yaml:5:3: bmc user of m: credential env:BMC_USER is of this machine"},
		"command": {strings.Replace(good, "csv:pw.csv#password", "command:pass bmc", 1), "batch.yaml:5:3: bmc password of m: credential command:pass bmc is of this machine"},
		"default": {strings.Replace(good, ", password: \"csv:pw.csv#password\"", "", 1), "batch.yaml:5:3: bmc password of m: credential env:BMC_PASSWORD is of this machine"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "batch.yaml")
			if err := os.WriteFile(file, []byte(c.batch), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := LoadRemoteBatch(file, profiles.Open())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
