package profiles

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	want := []string{
		"a100-pcie-4", "a40-4", "as-4124go-a100", "as-8125gs-h100", "as-8125gs-h200", "dgx-a100", "dgx-b200", "dgx-h100", "dgx-h200",
		"h100-nvl-4", "h100-pcie-4", "h200-nvl-8", "hgx-a100-40gb-8", "hgx-a100-8", "hgx-b200-8", "hgx-b300-8", "hgx-h100-8", "hgx-h200-8",
		"l40s-8", "lab-vm", "r750xa-a100-4", "r750xa-a40-4", "r760xa-h100-nvl-4", "r760xa-l40s-4", "rtx-pro-6000-8",
		"sr675-v3-h200-nvl-8", "sr675-v3-rtx-pro-8", "sr680a-v3-b200", "sr680a-v3-h100", "sr680a-v3-h200", "sys-421ge-l40s-8",
		"sys-821ge-h100", "sys-821ge-h200", "xd685-b200", "xd685-b300", "xd685-h200", "xe9680-h100", "xe9680-h200",
	}
	if got := Open().ProfileNames(); !slices.Equal(got, want) {
		t.Errorf("profiles %v, want %v", got, want)
	}
	for _, part := range []string{"cpu/epyc-9005-1p", "gpu/gb200", "nic/rails-8-ndr", "part/server", "storage/nvme-gen5"} {
		if !slices.Contains(Open().PartNames(), part) {
			t.Errorf("parts %v, want %s among them", Open().PartNames(), part)
		}
	}
	if got, want := Open().SpecNames(), []string{"erasure", "goods-in", "lab", "site", "standard", "strict"}; !slices.Equal(got, want) {
		t.Errorf("specs %v, want %v", got, want)
	}
}

// Every limit of every profile that ships says who states it.
func TestEveryLimitHasAGround(t *testing.T) {
	lib := Open()
	for _, name := range lib.names(profileKind) {
		p, err := lib.Profile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Title == "" {
			t.Errorf("%s has no title", name)
		}
		limits := 0
		for path, l := range p.Limits() {
			limits++
			if l.Provenance == "" || l.Source == "" {
				t.Errorf("%s: %s at %s has no ground", name, path, l.Pos)
			}
		}
		if limits == 0 {
			t.Errorf("%s has no limits", name)
		}
	}
}

func TestLimitsInOrder(t *testing.T) {
	p, err := Open().Profile("cpu/epyc-9005-2p")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for path, l := range p.Limits() {
		got = append(got, path+" "+string(l.Relation)+" "+l.String())
	}
	if want := []string{"cpu.sockets equal 2", "cpu.model one_of AMD EPYC 9??5*", "memory.error_correction one_of Multi-bit ECC or Single-bit ECC"}; !slices.Equal(got[:3], want) || got[len(got)-1] != "load.silence max 60 s" {
		t.Errorf("limits %q, want those of the CPUs first, then %q, those of the load last", got, want[2])
	}
	for range p.Limits() {
		break // a range may end early
	}
}

func TestValuesOfProfiles(t *testing.T) {
	for _, test := range []struct {
		name                       string
		gpus, memory, lanes, speed float64
		id, form                   string
		links, rate                float64 // NaN where NVLink is none or an option
		mig, nvlink, fabric        string  // not applicable where it says so
	}{
		{name: "hgx-h100-8", gpus: 8, memory: 81559, lanes: 16, speed: 32, id: "10de:2330", form: "sxm", links: 18, rate: 26.562, mig: "Disabled"},
		{name: "hgx-h200-8", gpus: 8, memory: 142940, lanes: 16, speed: 32, id: "10de:2335", form: "sxm", links: 18, rate: 26.562, mig: "Disabled"},
		{name: "hgx-a100-8", gpus: 8, memory: 81000, lanes: 16, speed: 16, id: "10de:20b2", form: "sxm", links: 12, rate: 25, mig: "Disabled", fabric: "not"},
		{name: "hgx-a100-40gb-8", gpus: 8, memory: 40536, lanes: 16, speed: 16, id: "10de:20b0", form: "sxm", links: 12, rate: 25, mig: "Disabled", fabric: "not"},
		{name: "hgx-b200-8", gpus: 8, memory: 183359, lanes: 16, speed: 32, id: "10de:2901", form: "sxm", links: 18, rate: 53.125, mig: "Disabled"},
		{name: "hgx-b300-8", gpus: 8, memory: 275040, lanes: 16, speed: 32, id: "10de:3182", form: "sxm", links: 18, rate: 53.125, mig: "Disabled"},
		{name: "gpu/gb200", id: "10de:2941", form: "sxm", links: 18, rate: 53.125, mig: "Disabled"},
		{name: "h100-nvl-4", gpus: 4, memory: 95830, lanes: 16, speed: 32, id: "10de:2321", form: "pcie", mig: "Disabled", fabric: "not"},
		{name: "h200-nvl-8", gpus: 8, memory: 142940, lanes: 16, speed: 32, id: "10de:233b", form: "pcie", mig: "Disabled", fabric: "not"},
		{name: "a100-pcie-4", gpus: 4, memory: 81000, lanes: 16, speed: 16, id: "10de:20b5", form: "pcie", mig: "Disabled", fabric: "not"},
		{name: "rtx-pro-6000-8", gpus: 8, memory: 97887, lanes: 16, speed: 32, id: "10de:2bb5", form: "pcie", mig: "Disabled", nvlink: "not", fabric: "not"},
		{name: "dgx-h100", gpus: 8, memory: 81559, lanes: 16, speed: 32, id: "10de:2330", form: "sxm", links: 18, rate: 26.562, mig: "Disabled"},
		{name: "r760xa-l40s-4", gpus: 4, memory: 46068, lanes: 16, speed: 16, id: "10de:26b9", form: "pcie", nvlink: "not", fabric: "not"},
		{name: "h100-pcie-4", gpus: 4, memory: 81559, lanes: 16, speed: 32, id: "10de:2331", form: "pcie", mig: "Disabled", fabric: "not"},
		{name: "l40s-8", gpus: 8, memory: 46068, lanes: 16, speed: 16, id: "10de:26b9", form: "pcie", nvlink: "not", fabric: "not"},
		{name: "a40-4", gpus: 4, memory: 46068, lanes: 16, speed: 16, id: "10de:2235", form: "pcie", fabric: "not"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := Open().Profile(test.name)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []struct {
				what  string
				limit *Limit
				unit  Unit
				want  float64
			}{
				{"GPUs", p.GPU.Count, Count, test.gpus},
				{"memory", p.GPU.Memory, MiB, test.memory},
				{"width", p.PCIe.GPU.Width, Lanes, test.lanes},
				{"speed", p.PCIe.GPU.Speed, GTPerSecond, test.speed},
				{"uplink speed", p.PCIe.GPU.UplinkSpeed, GTPerSecond, test.speed},
				{"links", p.NVLink.Links, Count, test.links},
				{"rate", p.NVLink.Rate, GBPerSecond, test.rate},
			} {
				if n.want == 0 && n.limit.Set() || n.want != 0 && n.limit.Number(n.unit) != n.want {
					t.Errorf("%s %v, want %v", n.what, n.limit, n.want)
				}
			}
			if p.GPU.PCIID.String() != test.id || p.GPU.Form != test.form || p.GPU.MIG.String() != test.mig {
				t.Errorf("id %s, form %s, MIG %s", p.GPU.PCIID, p.GPU.Form, p.GPU.MIG)
			}
			if (p.Checks["gpu.nvlink"].NotApplicable != "") != (test.nvlink != "") || (p.Checks["gpu.fabric"].NotApplicable != "") != (test.fabric != "") {
				t.Errorf("not applicable: %v", p.Checks)
			}
			if !p.NVLink.Fabric.State.Set() && test.fabric == "" {
				t.Error("a fabric without a limit is not declared as not applicable")
			}
		})
	}
}

// Errors of every NVLink have limits, of bridged cards too: an order that states links has them judged.
func TestNVLinkErrorsHaveLimits(t *testing.T) {
	lib := Open()
	for _, name := range lib.PartNames() {
		if !strings.HasPrefix(name, "gpu/") {
			continue
		}
		p, err := lib.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !p.NVLink.Links.Set() && !strings.Contains(p.NVLink.Headline, "bridge") {
			continue
		}
		fifth := p.NVLink.Rate.Set() && p.NVLink.Rate.Number(GBPerSecond) > 50 // counts no replays
		if p.NVLink.ReplayErrors.Set() == fifth || !p.NVLink.RecoveryErrors.Set() || !p.NVLink.CRCErrors.Set() {
			t.Errorf("%s: replay %v, recovery %v, CRC or effective %v", name, p.NVLink.ReplayErrors, p.NVLink.RecoveryErrors, p.NVLink.CRCErrors)
		}
	}
}

// A module is never reseated in the field, and every ladder ends where hands end.
func TestAdvice(t *testing.T) {
	c, err := Open().Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"machine", "cpu", "sxm-gpu", "pcie-gpu", "nvlink", "fabric", "dimm", "nvme", "nic", "psu", "fan", "driver", "image", "cable"} {
		if len(c.Advice[class]) == 0 {
			t.Errorf("no advice for %s", class)
		}
		for i, rung := range c.Advice[class] {
			if rung.Retest == "" {
				t.Errorf("%s, step %d: what must the retest show?", class, i+1)
			}
		}
	}
	for _, rung := range c.Advice["sxm-gpu"] {
		if strings.Contains(strings.ToLower(rung.Do), "reseat") {
			t.Errorf("an SXM module is to be reseated: %s", rung.Do)
		}
	}
}

func TestXIDs(t *testing.T) {
	p, err := Open().Profile("hgx-h100-8")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []int{
		8, 13, 31, 32, 38, 43, 45, 48, 54, 56, 57, 58, 61, 62, 63, 64, 68, 69, 74, 79, 92, 94, 95, 109, 110, 119, 120,
		121, 122, 123, 136, 137, 140, 143, 144, 145, 146, 147, 148, 149, 150, 154,
	} {
		if _, ok := p.XIDOf(code); !ok {
			t.Errorf("XID %d is missing", code)
		}
	}
	for code, verdict := range map[int]string{79: "fail", 48: "fail", 64: "fail", 94: "fail", 119: "fail", 74: "fail", 63: "warn", 31: "warn", 154: "fail", 4711: "unknown"} {
		entry, _ := p.XIDOf(code)
		if got := p.XIDVerdicts[entry.Class]; got != verdict {
			t.Errorf("XID %d (%s) is judged %q, want %q", code, entry.Class, got, verdict)
		}
	}
	for line, want := range map[string]XIDClass{
		"Xid (PCI:0000:61:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)":   XIDInfo,
		"Xid (PCI:0000:61:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)": XIDReset,
		"": XIDReset,
	} {
		if entry, ok := p.XIDIn(154, line); !ok || entry.Class != want {
			t.Errorf("%q is %s, want %s", line, entry.Class, want)
		}
	}
	for code, entry := range p.XID {
		if p.XIDVerdicts[entry.Class] == "" {
			t.Errorf("XID %d: class %q has no verdict", code, entry.Class)
		}
	}
}

// The standard spec names every check there is, so that a report can print what was not tested.
func TestStandardNamesEveryCheck(t *testing.T) {
	lib := Open()
	c, err := lib.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lib.SpecNames() {
		s, err := lib.Spec(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, check := range c.CheckNames() {
			if _, ok := s.Checks[check]; !ok && s.Default == "" {
				t.Errorf("%s does not name %s", name, check)
			}
		}
		if again, err := ParseResolvedSpec(s.Bytes()); err != nil || again.SHA256() != s.SHA256() {
			t.Errorf("%s does not read back: %v", name, err)
		}
	}
}

func TestScopeOf(t *testing.T) {
	s := &Spec{Checks: map[string]Scope{"pcie.link": Required, "pcie.link/speed": Recorded, "raid": OutOfScope}}
	for _, test := range []struct {
		check, quantity string
		want            Scope
	}{
		{"pcie.link", "speed", Recorded},
		{"pcie.link", "width", Required},
		{"pcie.link", "", Required},
		{"raid", "state", OutOfScope},
		{"unheard.of", "", Required},
	} {
		if got := s.ScopeOf(test.check, test.quantity); got != test.want {
			t.Errorf("%s/%s is %s, want %s", test.check, test.quantity, got, test.want)
		}
	}
	s.Default = Recorded
	if got := s.ScopeOf("unheard.of", "x"); got != Recorded {
		t.Errorf("the default is %s", got)
	}
}

func TestLibraryErrors(t *testing.T) {
	lib := library(t, map[string]string{"mine.yaml": profile("yours", "")})
	for _, test := range []struct{ name, want string }{
		{"hgx-h10-8", `unknown profile "hgx-h10-8", did you mean "hgx-h100-8"?`},
		{"../specs/standard", `unknown profile "../specs/standard"; known: `},
		{"mine", `mine.yaml: the file is found as "mine" but its name is "yours"; make them the same`},
	} {
		_, err := lib.Profile(test.name)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	if _, err := lib.Profile("nowhere/p.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that is none: %v", err)
	}
	var unknown *UnknownError
	if _, err := lib.Spec("standrd"); !errors.As(err, &unknown) || unknown.Noun != "spec" {
		t.Errorf("an unknown spec: %v", err)
	}
}

func TestOwnFolderGoesFirst(t *testing.T) {
	lib := library(t, map[string]string{
		"l40s-8.yaml":        profile("l40s-8", "", "psu=2"),
		"specs/ours.yaml":    "schema: rackproof/spec/1\nname: ours\nextends: [standard]\nchecks: {gds.support: out_of_scope}\n",
		"catalog/codes.yaml": "schema: rackproof/catalogue/1\nxid: {999: {class: info, text: t, meaning: m, source: s}}\n",
	})
	p, err := lib.Profile("l40s-8")
	if err != nil {
		t.Fatal(err)
	}
	if p.PSU.Count.Number(Count) != 2 || p.GPU.Count.Set() {
		t.Error("the shipped profile was taken instead of the folder's")
	}
	if _, ok := p.XIDOf(999); !ok {
		t.Error("the folder's catalogue was not laid over the shipped one")
	}
	s, err := lib.Spec("ours")
	if err != nil {
		t.Fatal(err)
	}
	if s.ScopeOf("gds.support", "mode") != OutOfScope || s.ScopeOf("gpu.count", "count") != Required {
		t.Errorf("scopes %v", s.Checks)
	}
}

// What a GPU's reasons for slower clocks mean, and an NVSwitch's codes, say who states it.
func TestTablesOfGPUs(t *testing.T) {
	c, err := Open().Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	bits := 0
	for name, rule := range c.ClockReasons {
		bits |= rule.Bit
		if rule.Source == "" || c.Checks[rule.Check] == "" {
			t.Errorf("clock reason %s: %+v", name, rule)
		}
		for _, other := range rule.Unless {
			if _, ok := c.ClockReasons[other]; !ok {
				t.Errorf("clock reason %s is not counted beside %s, which is none", name, other)
			}
		}
	}
	if bits != 0x1ff {
		t.Errorf("the reasons have bits %#x", bits)
	}
	for code, fatal := range map[int]bool{12028: false, 20034: true, 22003: true, 11012: false, 10004: true} {
		if entry, ok := c.SXID[code]; !ok || entry.Fatal != fatal || entry.Source == "" {
			t.Errorf("SXid %d: %+v", code, entry)
		}
	}
}
