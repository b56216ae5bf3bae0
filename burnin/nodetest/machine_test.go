package nodetest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNewIsDeterministic(t *testing.T) {
	a, b := newMachine(t, "hgx-h100-8", ""), newMachine(t, "hgx-h100-8", "")
	if !reflect.DeepEqual(a, b) {
		t.Error("the same model, name and seed gave two machines")
	}
	c, err := New("hgx-h100-8", "r12u08", 7)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range []*Machine{a, c} {
		for _, s := range serials(m) {
			if seen[s] {
				t.Errorf("%q is there twice", s)
			}
			seen[s] = true
		}
	}
}

// serials are all numbers that must be unique in the world.
func serials(m *Machine) []string {
	all := []string{m.UUID, m.SystemSerial, m.ChassisSerial, m.BoardSerial, m.BMCMAC}
	for _, d := range m.DIMMs {
		all = append(all, d.Serial)
	}
	for _, g := range m.GPUs {
		all = append(all, g.Serial, g.UUID)
	}
	for _, d := range m.Drives {
		all = append(all, d.Serial)
	}
	for _, n := range m.NICs {
		all = append(append(all, n.Serial), n.MACs...)
	}
	for _, p := range m.PSUs {
		all = append(all, p.Serial)
	}
	return all
}

// An index must not name a place: nothing but the label does.
func TestIndexIsNotModule(t *testing.T) {
	m := newMachine(t, "hgx-h100-8", "")
	if slices.ContainsFunc(m.GPUs, func(g GPU) bool { return g.Index+1 == g.Module }) {
		t.Error("a GPU's index counts as its module")
	}
	if m.GPUs[5].Label != "SXM3" {
		t.Errorf("GPU 5 is %s, want SXM3", m.GPUs[5].Label)
	}
}

func TestModelsAndFaults(t *testing.T) {
	if _, err := New("toaster", "m1", 1); err == nil || !strings.Contains(err.Error(), "hgx-h100-8") {
		t.Errorf("unknown model: %v", err)
	}
	m := newMachine(t, "hgx-h100-8", "")
	if err := m.Break("gremlin"); err == nil || !strings.Contains(err.Error(), "gpu-x8") {
		t.Errorf("unknown fault: %v", err)
	}
	if err := newMachine(t, "l40s-8", "").Break("nvlink-down"); err == nil {
		t.Error("a link is down on a card that has none")
	}
	for _, f := range Faults {
		broken := newMachine(t, "hgx-h100-8", f.Name)
		if reflect.DeepEqual(m, broken) || !slices.Equal(broken.Faults(), []string{f.Name}) {
			t.Errorf("%s changed nothing", f.Name)
		}
		if f.Title == "" {
			t.Errorf("%s has no title", f.Name)
		}
	}
}

// Every page that has room for it says that it is simulated.
func TestPagesSayThatTheyAreSimulated(t *testing.T) {
	s := &system{M: newMachine(t, "hgx-h100-8", ""), Now: time.Now(), Booted: time.Now()}
	pages := map[string]string{
		"nvidia-smi": s.nvidiaSMI([]string{"-q", "-x"}).out, "dmidecode": s.dmidecode(), "lspci": s.lspci(), "lscpu": s.lscpu(), "os": s.osInfo(),
		"kernel-log": s.dmesg(), "gdscheck": s.gdscheck(), "smartctl": s.smartctl(&s.M.Drives[0]).out, "bmc-lan": s.ipmiLan(),
	}
	for name, text := range pages {
		if !strings.Contains(strings.ToLower(text), "simulated") {
			t.Errorf("%s does not say that it is simulated", name)
		}
		if strings.Contains(text, "template:") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestSplitWords(t *testing.T) {
	cases := map[string][]string{
		"lspci -D -vvv":               {"lspci", "-D", "-vvv"},
		`cat '/a b' "c"d`:             {"cat", "/a b", "cd"},
		"nvidia-smi -q; rm -rf /":     {"nvidia-smi", "-q"},
		"dmesg | head\nlscpu":         {"dmesg"},
		"  ":                          nil,
		`nvidia-smi '' --format=csv `: {"nvidia-smi", "", "--format=csv"},
	}
	for line, want := range cases {
		if got := splitWords(line); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{"a b", `'a"b' "c`, "a;b|c", "\x00 \t'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		total := 0
		for _, w := range splitWords(line) {
			total += len(w)
		}
		if total > 3*len(line) { // an invalid byte becomes three
			t.Errorf("%q grew to %d bytes", line, total)
		}
	})
}
