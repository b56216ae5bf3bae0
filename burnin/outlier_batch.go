package burnin

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Compare is by what rule siblings were compared, as the profile of the judgement says.
type Compare struct {
	Parts   float64 `json:"parts"`   // as many at least
	Spreads float64 `json:"spreads"` // how many spreads from the median one may be
}

// OddMachine is a machine that stands out among those of its batch and model in one
// quantity, though all its parts may be alike.
type OddMachine struct {
	Machine  string  `json:"machine"`
	Quantity string  `json:"quantity"` // "gpu.power.draw"
	Part     string  `json:"part"`     // "GPUs"
	Measured float64 `json:"measured"` // median of its parts
	Median   float64 `json:"median"`   // of the machines
	Machines int     `json:"machines"`
	Unit     string  `json:"unit"`
	Why      string  `json:"why"`
}

// OddMachines compares the machines of a batch with those of the same profile, by the
// medians that the check outlier found in each. It is pure, and needs as many machines as
// that check needs parts. The machines that it returns are remarks; no result changes.
func OddMachines(js []Judgement) []OddMachine {
	type member struct {
		name         string
		value, least float64
	}
	groups := map[string][]member{}
	rules := map[string]Compare{}
	label := map[string]Finding{}
	for i := range js {
		j := &js[i]
		if j.Compare == nil {
			continue
		}
		for _, f := range j.Findings {
			value, ok1 := f.Measured.(float64)
			least, ok2 := f.Limit.(float64)
			if f.Check != "outlier" || f.Verdict != Pass || !ok1 || !ok2 {
				continue
			}
			key := j.Profile.Name + "\x00" + f.ID
			groups[key] = append(groups[key], member{j.Machine.Name, value, least})
			rules[key], label[key] = *j.Compare, f
		}
	}
	var out []OddMachine
	for _, key := range sortedKeys(groups) {
		group, rule, f := groups[key], rules[key], label[key]
		if len(group) < int(rule.Parts) || rule.Parts < 2 {
			continue
		}
		values, least := make([]float64, len(group)), make([]float64, len(group))
		for i, m := range group {
			values[i], least[i] = m.value, m.least
		}
		middle := median(values)
		// What parts of one machine may differ by, machines may too.
		reach := math.Max(rule.Spreads*spread(values, middle), median(least))
		for _, m := range group {
			if math.Abs(m.value-middle) <= reach {
				continue
			}
			out = append(out, OddMachine{
				Machine: m.name, Quantity: f.Quantity, Part: f.Part, Measured: m.value, Median: middle, Machines: len(group), Unit: f.Unit,
				Why: fmt.Sprintf("%s of its %s: %.4g %s, the median of %d machines is %.4g %s", f.Quantity, f.Part, m.value, f.Unit, len(group), middle, f.Unit),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b OddMachine) int { return cmp.Compare(a.Machine, b.Machine) })
	return out
}
