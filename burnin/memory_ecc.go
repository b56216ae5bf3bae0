package burnin

import (
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// memoryECC asks whether memory errors are corrected, module by module, and whether
// the modules run at the speed that was ordered.
var memoryECC = Check{
	Name:   "memory.ecc",
	Title:  "Memory corrects errors and runs at its speed",
	Probes: []string{"dmidecode"},
	Judge:  judgeMemoryECC,
}

func judgeMemoryECC(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	dmi := ReadAny(r, Dmidecode, PhaseBefore, PhaseAfter)
	about := func(quantity string, part Part) Finding { return About("memory.ecc", quantity, part, dmi.Ref) }
	if !dmi.OK() || len(dmi.Value.Populated()) == 0 {
		err := dmi.Err
		if err == nil {
			err = fmt.Errorf("dmidecode shows no memory module (type 17)")
		}
		return []Finding{
			about("error_correction", memoryPart).absent(err, p.Memory.ErrorCorrection),
			about("ecc_width", memoryPart).absent(err, p.Memory.ErrorCorrection),
			about("speed", memoryPart).absent(err, p.Memory.Speed),
		}
	}
	out := []Finding{errorCorrection(about("error_correction", memoryPart), &dmi.Value, p)}
	shared := sharedChannels(dmi.Value.Populated())
	for _, m := range dmi.Value.Populated() {
		part := dimmPart(m.Label(dmi.Value.Modules), m.Serial)
		out = append(out,
			eccWidth(about("ecc_width", part), &m, p),
			moduleSpeed(about("speed", part), &m, shared[m.Locator+m.Bank], p))
	}
	return append(out, modulesAlike(about, dmi.Value.Populated(), p)...)
}

// errorCorrection judges what the firmware says of the memory arrays; of several,
// the worst.
func errorCorrection(f Finding, t *DMITable, p *profiles.Profile) Finding {
	found := false
	worst := f
	for _, a := range t.Arrays {
		if a.Use != "" && a.Use != "System Memory" {
			continue
		}
		one := f.word(optWord(a.ErrorCorrection), p.Memory.ErrorCorrection)
		if strings.EqualFold(a.ErrorCorrection, "None") { // a statement here, and no missing value
			one = f.Word(a.ErrorCorrection, p.Memory.ErrorCorrection)
		}
		if !found || one.Verdict > worst.Verdict {
			worst, found = one, true
		}
	}
	if !found {
		return f.absent(fmt.Errorf("dmidecode shows no memory array (type 16)"), p.Memory.ErrorCorrection)
	}
	return worst
}

// eccWidth judges a module by its width: bits beyond the data are what errors are
// corrected with (72 of DDR4, 80 of DDR5, over 64).
func eccWidth(f Finding, m *DMIModule, p *profiles.Profile) Finding {
	want := p.Memory.ErrorCorrection
	if !m.TotalWidth.Set || !m.DataWidth.Set {
		return f.absent(fmt.Errorf("its width reads %q, of data %q", m.TotalWidth.Text, m.DataWidth.Text), want)
	}
	f.Measured, f.Unit = m.TotalWidth.V-m.DataWidth.V, "bits"
	if !want.Set() {
		return f.recorded()
	}
	f = f.against(want)
	f.Relation, f.Limit = string(profiles.Min), 1
	f = f.decide(m.TotalWidth.V > m.DataWidth.V)
	return f.Because("%g bits wide for %g bits of data", m.TotalWidth.V, m.DataWidth.V)
}
