package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rackproof runs the command line in memory.
func rackproof(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Main(t.Context(), args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

func TestProfileVerbs(t *testing.T) {
	dir := t.TempDir()
	bad, good := filepath.Join(dir, "bad.yaml"), filepath.Join(dir, "good.yaml")
	for file, text := range map[string]string{
		bad:  "schema: rackproof/profile/1\nname: bad\npcie: {gpu: {widht: {min: 8 lane}}}\npsu: {count: {equal: 6 W, provenance: spec}}\n",
		good: "schema: rackproof/spec/1\nname: good\nextends: [standard]\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		args   string
		code   int
		stdout string // part of it
		stderr string // part of it
	}{
		{"profile list", 0, "hgx-h100-8           HGX H100, eight H100 SXM5 80 GB\n", ""},
		{"profile list", 0, "standard  Acceptance of a new machine\n", ""},
		{"profile show hgx-h100-8", 0, "nvlink.rate                  min     26.562 GB/s                      measured  nvidia-smi", ""},
		{"profile show hgx-h100-8", 0, "18 x 26.562 GB/s = 478.1 GB/s a direction", ""},
		{"profile show l40s-8", 0, "not applicable: gpu.mig, the L40S has no MIG\n", ""},
		{"profile show --resolved l40s-8", 0, "xid_default: unknown\n", ""},
		{"profile show standard", 0, "gds.support/iommu: recorded\n", ""},
		{"profile show " + good, 0, "name: good\n", ""},
		{"profile show l40", 2, "", "unknown profile \"l40\", did you mean \"l40s-8\"?\n  next: rackproof profile list\n"},
		{"profile check " + good, 0, "good.yaml: spec good is valid, sha256 ", ""},
		{"profile check " + bad, 2, "", "bad.yaml:3:14: unknown key \"widht\", did you mean \"width\"?\n"},
		{"profile check " + bad, 2, "", "bad.yaml:4:22: count is a plain number: \"6 W\" measures power\n"},
		{"profile check " + filepath.Join(dir, "none.yaml"), 2, "", "no such file"},
		{"profile schema", 0, `"const": "rackproof/profile/1"`, ""},
		{"profile schema spec", 0, `"const": "rackproof/spec/1"`, ""},
		{"profile schema batch", 2, "", "invalid argument \"batch\""},
		{"profile check", 2, "", "accepts 1 arg(s)"},
		{"profile diff hgx-h100-8 dgx-h100", 0, "equal 10", ""},
		{"profile diff hgx-h100-8 l40s-8", 0, "not applicable", ""},
		{"profile diff hgx-h100-8 standard", 2, "", "standard is an acceptance spec"},
		{"profile diff --json l40s-8 l40s-8", 0, `"differences": []`, ""},
		{"profile learn --name x", 2, "", "requires at least 1 arg(s)"},
		{"profile learn --name x " + dir + "/none", 2, "", "none"},
	} {
		code, stdout, stderr := rackproof(t, strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
			t.Errorf("%s: exit %d, want %d\nstdout %s\nstderr %s", test.args, code, test.code, stdout, stderr)
		}
	}
}

func TestProfileVerbsInJSON(t *testing.T) {
	code, stdout, _ := rackproof(t, "profile", "list", "--json")
	var list struct {
		Profiles, Parts, Specs []struct{ Name, Title, SHA256 string }
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 {
		t.Fatalf("exit %d, %v", code, err)
	}
	if len(list.Profiles) != 38 || len(list.Parts) < 40 || len(list.Specs) != 6 || len(list.Profiles[0].SHA256) != 64 {
		t.Errorf("listed %+v", list)
	}

	_, stdout, _ = rackproof(t, "profile", "show", "hgx-h100-8", "--json")
	var shown struct {
		SHA256  string
		Profile struct {
			GPU struct {
				Count struct {
					Equal              int
					Provenance, Source string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil {
		t.Fatal(err)
	}
	if n := shown.Profile.GPU.Count; n.Equal != 8 || n.Provenance != "spec" || n.Source == "" {
		t.Errorf("GPU count %+v", n)
	}
}
