package profiles

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// library writes files into a folder of its own and opens it.
func library(t *testing.T, files map[string]string) *Library {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Open(dir)
}

// profile is a small profile that counts NICs, PSUs and drives.
func profile(name, extends string, counts ...string) string {
	text := "schema: rackproof/profile/1\nname: " + name + "\nextends: [" + extends + "]\n"
	for _, c := range counts {
		key, n, _ := strings.Cut(c, "=")
		text += key + ": {count: {equal: " + n + ", provenance: agreed, source: " + name + "}}\n"
	}
	return text
}

func TestExtends(t *testing.T) {
	lib := library(t, map[string]string{
		"base.yaml":  profile("base", "", "nic=1", "psu=1", "nvme=1"),
		"left.yaml":  profile("left", "base", "nic=2", "psu=2"),
		"right.yaml": profile("right", "base", "psu=3"),
		"own.yaml":   profile("own", "left, right", "nvme=4"),
	})
	p, err := lib.Profile("own")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what   string
		limit  *Limit
		want   float64
		source string
	}{
		{"left changed it, right only inherited the base's", p.NIC.Count, 2, "left"},
		{"both changed it, the later wins", p.PSU.Count, 3, "right"},
		{"its own keys win over all", p.NVMe.Count, 4, "own"},
	} {
		if got := test.limit.Number(Count); got != test.want || test.limit.Source != test.source {
			t.Errorf("%s: %v from %s, want %v from %s", test.what, got, test.limit.Source, test.want, test.source)
		}
	}
	if want := []string{"base", "left", "right", "own"}; !slices.Equal(p.Lineage, want) {
		t.Errorf("lineage %v, want %v", p.Lineage, want)
	}
	if p.NVMe.Count.Pos.Line != 4 || filepath.Base(p.NVMe.Count.Pos.File) != "own.yaml" {
		t.Errorf("the limit stands at %s", p.NVMe.Count.Pos)
	}
}

func TestALimitIsReplacedWhole(t *testing.T) {
	lib := library(t, map[string]string{
		"base.yaml": schemaLine + "name: base\ngpu: {product: {one_of: [A, B], provenance: vendor, source: base}}\n",
		"own.yaml":  schemaLine + "name: own\nextends: [base]\ngpu: {product: {equal: C, provenance: agreed, source: own}}\n",
	})
	p, err := lib.Profile("own")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.GPU.Product; got.Relation != Equal || got.String() != "C" || got.Provenance != FromAgreed || got.Source != "own" {
		t.Errorf("product is %+v", got)
	}
}

func TestNeverInherited(t *testing.T) {
	lib := library(t, map[string]string{
		"base.yaml": schemaLine + "name: base\ntitle: The base\nmatch: {board: [X1]}\n",
		"own.yaml":  schemaLine + "name: own\nextends: [base]\n",
	})
	p, err := lib.Profile("own")
	if err != nil {
		t.Fatal(err)
	}
	if p.Title != "" || len(p.Match.Board) > 0 {
		t.Errorf("inherited title %q and match %v", p.Title, p.Match)
	}
}

func TestCycle(t *testing.T) {
	lib := library(t, map[string]string{
		"a.yaml": profile("a", "b"),
		"b.yaml": profile("b", "c"),
		"c.yaml": profile("c", "b"),
	})
	_, err := lib.Profile("a")
	if err == nil || !strings.HasSuffix(err.Error(), "c.yaml:3:11: b extends itself: b → c → b") {
		t.Errorf("got %v", err)
	}
	if _, err := ParseProfile("self.yaml", []byte(profile("a", "a")), lib); err == nil {
		t.Error("a profile that extends its own name in the library, which is in a cycle, loads")
	}
}

// The mistakes of a parent are told at their own place, together with those of the child.
func TestMistakesOfParents(t *testing.T) {
	lib := library(t, map[string]string{"base.yaml": profile("base", "") + "psuu: {}\n"})
	_, err := ParseProfile("own.yaml", []byte(profile("own", "base")+"nicc: {}\n"), lib)
	if err == nil {
		t.Fatal("loads")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "base.yaml:4:1: unknown key") || !strings.Contains(lines[1], "own.yaml:4:1: unknown key") {
		t.Errorf("got %s", err)
	}
}

func TestResolvedIsSelfContained(t *testing.T) {
	p, err := Open().Profile("hgx-h100-8")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseResolved(p.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if again.SHA256() != p.SHA256() || len(p.SHA256()) != 64 {
		t.Errorf("hashes %s and %s", p.SHA256(), again.SHA256())
	}
	if entry, ok := again.XIDOf(79); !ok || entry.Class != XIDDamage || again.XIDVerdicts[entry.Class] != "fail" {
		t.Errorf("XID 79 is %+v in the resolved profile", entry)
	}
	if len(again.Advice["sxm-gpu"]) == 0 {
		t.Error("the resolved profile has no ladder for SXM GPUs")
	}
	// A library that has changed since must not reach into stored evidence.
	changed := library(t, map[string]string{"catalog/z.yaml": "schema: rackproof/catalogue/1\nxid: {79: {class: info}, 999: {class: info, text: t, meaning: m, source: s}}\n"})
	stored, err := ParseProfile("profile.yaml", p.Bytes(), changed)
	if err != nil {
		t.Fatal(err)
	}
	if stored.SHA256() != p.SHA256() {
		t.Error("a resolved profile changed with the library it is read with")
	}
	if _, err := ParseResolved([]byte(profile("own", "hgx-h100-8"))); err == nil {
		t.Error("a profile that extends another reads as resolved")
	}
}

func TestProfileMayChangeOneWordOfTheCatalogue(t *testing.T) {
	p, err := ParseProfile("own.yaml", []byte(profile("own", "")+"xid: {63: {class: damage}}\n"), Open())
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := p.XIDOf(63)
	if entry.Class != XIDDamage || entry.Text != "GPU memory remapping event" {
		t.Errorf("XID 63 is %+v", entry)
	}
}

// An entry of a shared table keeps what a profile does not change.
func TestOneWordOfAKernelMessage(t *testing.T) {
	shipped, err := Open().Profile("hgx-h100-8")
	if err != nil {
		t.Fatal(err)
	}
	lab, err := Open().Profile("lab-vm")
	if err != nil {
		t.Fatal(err)
	}
	rule, changed := shipped.Kernel["lockup"], lab.Kernel["lockup"]
	if rule.During != "fail" || changed.During != "warn" || changed.Pattern != rule.Pattern || !slices.Equal(changed.Words, rule.Words) {
		t.Errorf("%+v became %+v", rule, changed)
	}
	lib := library(t, map[string]string{"odd.yaml": "schema: rackproof/profile/1\nname: odd\nextends: [part/server]\nkernel: {panic: {pattern: \"(\"}, x: {words: [x], before: pass, during: never, advice: nothing, meaning: m, source: s}}\n"})
	_, err = lib.Profile("odd")
	for _, want := range []string{"missing closing )", `"never"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}
