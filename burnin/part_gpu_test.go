package burnin

import (
	"slices"
	"testing"
)

func TestNormalAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"00000000:A8:00.0": "0000:a8:00.0",
		"0000:a8:00.0":     "0000:a8:00.0",
		"a8:00.0":          "0000:a8:00.0",
		"PCI:0000:a8:00":   "0000:a8:00.0",
		"0000:61:00":       "0000:61:00.0",
		"00000001:00:00.0": "0001:00:00.0",
		"10000:01:00.0":    "10000:01:00.0",
		" 0A:1f.7 ":        "0000:0a:1f.7",
		"":                 "",
		"N/A":              "",
		"a8:00.9":          "",
		"0000:a8:00.0 x":   "",
	} {
		if got := normalAddress(in); got != want {
			t.Errorf("normalAddress(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPCIID(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0x233010DE": "10de:2330", "233010DE": "10de:2330", "N/A": "", "": "", "2330": "", "0xzz3010DE": "",
	} {
		if got := pciID(in); got != want {
			t.Errorf("pciID(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestGPUNames(t *testing.T) {
	t.Parallel()
	bus := func(d ...PCIDevice) *PCITree { return &PCITree{Devices: d, Complete: true} }
	card := PCIDevice{Address: "0000:1b:00.0", Class: pciGPU, Vendor: vendorNV, Device: "2330", Parent: "0000:1a:00.0"}
	bridge := PCIDevice{Address: "0000:1a:00.0", Class: pciBridge}
	rows := []struct {
		name, profile string
		bmc           *BMCTree
		dmi           *DMITable
		tree          *PCITree
		want          []string
	}{
		{name: "module, and a GPU that nothing shows", profile: "one-h100", want: []string{"GPU SXM3", "GPU SXM1"}},
		{
			name: "the BMC's label goes before the module", profile: "two-h100",
			bmc:  &BMCTree{GPUs: []BMCPart{{Label: "SXM5", Serial: "1650100000012"}, {Label: "SXM6", Serial: "1650100000011"}}},
			want: []string{"GPU SXM6", "GPU SXM5"},
		},
		{
			name: "the BMC names the one that is missing", profile: "hgx-h100-8",
			bmc:  &BMCTree{GPUs: []BMCPart{{Label: "SXM1", Serial: "1650100000012"}, {Label: "SXM3", Serial: "1650100000011"}, {Label: "SXM7", Serial: "9"}}},
			want: []string{"GPU SXM3", "GPU SXM1", "GPU SXM7", "GPU 4 of 8", "GPU 5 of 8", "GPU 6 of 8", "GPU 7 of 8", "GPU 8 of 8"},
		},
		{
			name: "a BMC without serials names none as missing", profile: "hgx-h100-8",
			bmc: &BMCTree{GPUs: []BMCPart{
				{Label: "slot 1"},
				{Label: "slot 2"},
				{Label: "slot 3"},
				{Label: "slot 4"},
				{Label: "slot 5"},
				{Label: "slot 6"},
				{Label: "slot 7"},
				{Label: "slot 8"},
			}},
			want: []string{"GPU SXM3", "GPU SXM1", "GPU 3 of 8", "GPU 4 of 8", "GPU 5 of 8", "GPU 6 of 8", "GPU 7 of 8", "GPU 8 of 8"},
		},
		{name: "a card without slot by its address", profile: "one-l40s", want: []string{"GPU 0000:1b:00.0", "GPU 0000:a8:00.0"}},
		{
			name: "a card by the slot below its bridge", profile: "one-l40s", tree: bus(bridge, card),
			dmi:  &DMITable{Slots: []DMISlot{{"SLOT 4", "0000:1a:00.0"}}},
			want: []string{"GPU SLOT 4", "GPU 0000:a8:00.0"},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			rec := gpuFolder(t, "gpu-two-h100")
			r := NewReadings(rec)
			plantReading(r, BMCInventory.Spec.Name, PhaseBMC, row.bmc != nil, func() any { return *row.bmc })
			plantReading(r, Dmidecode.Spec.Name, PhaseBefore, row.dmi != nil, func() any { return *row.dmi })
			plantReading(r, PCISysfs.Spec.Name, PhaseBefore, row.tree != nil, func() any { return row.tree })
			var got []string
			for _, part := range gpuParts(r, gpuProfile(t, row.profile)) {
				got = append(got, part.Name)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// plantReading gives readings the value that a probe would have parsed.
func plantReading(r *Readings, probe string, phase Phase, want bool, value func() any) {
	if !want {
		return
	}
	e := &Evidence{Probe: probe, Phase: phase, Ended: EndedExit, Out: []byte("planted")}
	r.rec.Evidence = append(r.rec.Evidence, e)
	r.index(e)
	r.cache[e] = parsed{value: value(), ref: e.Ref()}
}

// A missing GPU that the BMC lists is a fault in its own name.
func TestGPUCountNamesTheMissing(t *testing.T) {
	t.Parallel()
	rec := gpuFolder(t, "gpu-two-h100")
	r := NewReadings(rec)
	tree := BMCTree{GPUs: []BMCPart{{Label: "SXM1", Serial: "1650100000012"}, {Label: "SXM3", Serial: "1650100000011"}, {Label: "SXM7", Serial: "1650100000077"}}}
	plantReading(r, BMCInventory.Spec.Name, PhaseBMC, true, func() any { return tree })
	for _, f := range judgeGPUCount(r, gpuProfile(t, "hgx-h100-8"), newGPUParts) {
		if f.Quantity == "present" && f.Part == "GPU SXM7" {
			if f.Verdict != Fail || f.Serial != "1650100000077" {
				t.Errorf("GPU SXM7 is %s: %+v", gpuAnswer(f), f)
			}
			return
		}
	}
	t.Error("GPU SXM7 is not told")
}
