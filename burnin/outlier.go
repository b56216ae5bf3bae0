package burnin

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rackproof/rackproof/profiles"
)

// outlier compares parts of one kind with each other: one that does its work at another
// temperature, power or rate than its siblings is worth a look though it keeps every
// limit. It is a remark and fails no machine.
var outlier = Check{
	Name:   "outlier",
	Title:  "No part stands out among its siblings in what is measured under load",
	Probes: []string{NvidiaSMI.Spec.Name, NVBandwidth.Spec.Name, GPUBurn.Spec.Name, EDAC.Spec.Name, Fio.Spec.Name, NVMeSmart.Spec.Name, Smartctl.Spec.Name},
	Judge:  judgeOutlier,
}

// compared are the quantities that siblings are compared by. Of some only one side is a
// bad sign: no GPU is too cool.
var compared = []struct {
	check, quantity string
	unit            profiles.Unit
	high, low       bool // which side stands out
	least           func(*profiles.Outlier) *profiles.Limit
	judge           func(*Readings, *profiles.Profile, *profiles.Spec) []Finding
}{
	{"gpu.thermal", "margin", profiles.Celsius, false, true, leastTemperature, answerOf(gpuThermal)},
	{"gpu.thermal", "temperature", profiles.Celsius, true, false, leastTemperature, answerOf(gpuThermal)},
	{"gpu.thermal", "memory_temperature", profiles.Celsius, true, false, leastTemperature, answerOf(gpuThermal)},
	{"gpu.power", "draw", profiles.Watt, true, true, func(o *profiles.Outlier) *profiles.Limit { return o.Power }, answerOf(gpuPower)},
	{"gpu.clocks", "sm", profiles.MHz, false, true, func(o *profiles.Outlier) *profiles.Limit { return o.Clock }, answerOf(gpuClocks)},
	{gpuCopyName, "host_to_device", profiles.GBPerSecond, false, true, leastRate, answerOf(gpuCopy)},
	{gpuCopyName, "device_to_host", profiles.GBPerSecond, false, true, leastRate, answerOf(gpuCopy)},
	{gpuCopyName, "peer", profiles.GBPerSecond, false, true, leastRate, answerOf(gpuCopy)},
	{gpuCopyName, "local", profiles.GBPerSecond, false, true, leastRate, answerOf(gpuCopy)},
	{"gpu.compute", "rate", profiles.GFLOPS, false, true, leastRate, answerOf(gpuCompute)},
	{"nvme.health", "temperature_under_load", profiles.Celsius, true, false, leastTemperature, answerOf(nvmeHealth)},
	{"nvme.throughput", "read", profiles.MBPerSecond, false, true, leastRate, answerOf(nvmeThroughput)},
	{"memory.errors", "counted", profiles.Count, true, false, func(o *profiles.Outlier) *profiles.Limit { return o.Errors }, countedErrors},
}

// answerOf asks a check that the judgement asks too.
func answerOf(c Check) func(*Readings, *profiles.Profile, *profiles.Spec) []Finding {
	return func(r *Readings, p *profiles.Profile, s *profiles.Spec) []Finding {
		return r.answer(c.Name, p, s, c.Judge)
	}
}

func leastTemperature(o *profiles.Outlier) *profiles.Limit { return o.Temperature }

func leastRate(o *profiles.Outlier) *profiles.Limit { return o.Rate }

func judgeOutlier(r *Readings, p *profiles.Profile, s *profiles.Spec) []Finding {
	o := &p.Outlier
	machine := About("outlier", "all", machinePart)
	if !o.Parts.Set() || !o.Spreads.Set() {
		return []Finding{machine.NotHere("the profile does not say when a part stands out")}
	}
	models := driveModels(r)
	var out, last []Finding
	for i, c := range compared {
		if i == 0 || c.check != compared[i-1].check {
			last = c.judge(r, p, s)
		}
		groups := map[string][]Finding{}
		for _, f := range last {
			if _, number := f.Measured.(float64); number && f.NotRun == "" && f.Check == c.check && f.Quantity == c.quantity {
				groups[models[f.Address]] = append(groups[models[f.Address]], f)
			}
		}
		for _, model := range sortedKeys(groups) {
			if least := c.least(o); least.Set() && len(groups[model]) >= int(o.Parts.Number(profiles.Count)) {
				out = append(out, compareSiblings(groups[model], model, c.unit, least, o, c.high, c.low)...)
			}
		}
	}
	if len(out) == 0 {
		return []Finding{machine.NotHere(fmt.Sprintf("no quantity was measured of %.0f parts of one kind", o.Parts.Number(profiles.Count)))}
	}
	return out
}

// compareOf is the rule of a profile; nil where it has none.
func compareOf(p *profiles.Profile) *Compare {
	if !p.Outlier.Parts.Set() || !p.Outlier.Spreads.Set() {
		return nil
	}
	return &Compare{Parts: p.Outlier.Parts.Number(profiles.Count), Spreads: p.Outlier.Spreads.Number(profiles.Count)}
}

// compareSiblings tells the group as a whole, its median and how far a part may be from
// it, and then each part that is further.
func compareSiblings(group []Finding, model string, unit profiles.Unit, least *profiles.Limit, o *profiles.Outlier, high, low bool) []Finding {
	values := make([]float64, len(group))
	var refs []string
	for i, f := range group {
		values[i], _ = f.Measured.(float64)
		refs = append(refs, f.Evidence...)
	}
	slices.Sort(refs)
	quantity := group[0].Check + "." + group[0].Quantity
	all := About("outlier", quantity, Part{Class: group[0].Class, Name: siblingsName(group[0].Class, model)}, slices.Compact(refs)...)
	band := newBand(values, least, unit, o.Spreads.Number(profiles.Count))
	if math.IsNaN(band.reach) {
		return []Finding{all.Missing(errors.New("the profile's least difference of siblings is of another kind"))}
	}
	all.Measured, all.Unit, all.Samples = band.median, string(unit), stats(values)
	all.Limit, all.Relation = tenths(band.reach), ""
	all.Provenance = &Provenance{Kind: string(o.Spreads.Provenance), Source: o.Spreads.Source}
	out := []Finding{all.Judged(Pass, fmt.Sprintf("%d parts, median %.4g %s", len(values), band.median, unit))}
	for i, f := range group {
		away := values[i] - band.median
		if away > band.reach && high || -away > band.reach && low {
			odd := f
			odd.ID, odd.Check, odd.Quantity = "outlier/"+quantity+"/"+f.Part, "outlier", quantity
			odd.Scope, odd.Limit, odd.Relation, odd.Provenance, odd.Advice = "", band.median, "", all.Provenance, nil
			out = append(out, odd.Judged(Warn, fmt.Sprintf("%.4g %s, the median of %d siblings is %.4g %s: it stands out",
				values[i], unit, len(values), band.median, unit)))
		}
	}
	if len(out) > 1 {
		out[0].Why += fmt.Sprintf(", %d stand out", len(out)-1)
	}
	return out
}

// siblingsName is what parts of a class are called together.
func siblingsName(class Class, model string) string {
	switch {
	case isGPU(class):
		return "GPUs"
	case class == ClassNVMe && model != "":
		return "NVMe drives " + model
	case class == ClassNVMe:
		return "NVMe drives"
	case class == ClassDIMM:
		return memoryPart.Name
	}
	return "parts"
}

// driveModels are the models of drives by address: one drive is compared only with others
// of its model.
func driveModels(r *Readings) map[string]string {
	models := map[string]string{}
	for _, tree := range pciTrees(r) {
		for i := range tree.Value.Devices {
			for _, d := range tree.Value.Devices[i].Drives {
				models[tree.Value.Devices[i].Address] = firstWord(models[tree.Value.Devices[i].Address], d.Model)
			}
		}
	}
	return models
}

// countedErrors are the corrected errors that each module counted, zeros too.
func countedErrors(r *Readings, _ *profiles.Profile, _ *profiles.Spec) []Finding {
	readings := counterReadings(r, rasReadings(r))
	if len(readings) == 0 || readings[len(readings)-1].err != nil {
		return nil
	}
	last := readings[len(readings)-1]
	var out []Finding
	for _, place := range last.places {
		if part := placePart(place); place.Corrected.Set && part.Class == ClassDIMM {
			f := About("memory.errors", "counted", part, last.ref)
			f.Measured = place.Corrected.V
			out = append(out, f)
		}
	}
	return out
}

// band is where siblings are: around their median.
type band struct{ median, reach float64 }

// newBand takes the spread by the median deviation, which one odd part cannot move, and
// never less than the least difference that matters, in unit or in per cent of the median.
func newBand(values []float64, least *profiles.Limit, unit profiles.Unit, spreads float64) band {
	b := band{median: median(values)}
	smallest := least.Number(unit)
	if share := least.Number(profiles.Percent); !math.IsNaN(share) {
		smallest = share / 100 * math.Abs(b.median)
	}
	b.reach = math.Max(spreads*spread(values, b.median), smallest)
	return b
}

// spread is the standard deviation of values around their median, by the median deviation:
// for data that are normal, 1.4826 times it.
func spread(values []float64, middle float64) float64 {
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - middle)
	}
	return 1.4826 * median(deviations)
}
