package burnin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// gpuLoad is one GPU as the samples under load show it. What holds a GPU back counts
// only while it works: an idle one is slow, and cool, for good reasons.
type gpuLoad struct {
	part gpuPart
	busy []busyGPU
	none error // why there is no busy sample, or nil
	ref  string
}

type busyGPU struct {
	*NvidiaGPU
	at time.Time
}

// gpusUnderLoad returns every GPU that some evidence shows; open are those that are
// only expected.
func gpusUnderLoad(r *Readings, p *profiles.Profile, check string) (loads []gpuLoad, open []Finding) {
	samples, err := Samples(r, NvidiaSMI)
	shown, open := shownGPUs(r, p, check)
	for _, part := range shown {
		l := gpuLoad{part: part, none: err, ref: loadRef(NvidiaSMI)}
		if err != nil {
			l.ref = ""
		}
		total := 0
		for i := range samples {
			g := samples[i].Value.find(part)
			if samples[i].Err != nil || g == nil || g.Lost != "" {
				continue
			}
			total++
			if isBusy(g, &p.PCIe.GPU) {
				l.busy = append(l.busy, busyGPU{g, samples[i].At})
			}
		}
		if len(l.busy) == 0 && err == nil {
			l.none = notBusy(total, &p.PCIe.GPU)
		}
		loads = append(loads, l)
	}
	return loads, open
}

// notBusy is why no sample counts.
func notBusy(total int, class *profiles.PCIeClass) error {
	if !class.BusyUtilisation.Set() && !class.BusyBytes.Set() {
		return errors.New("the profile does not say when a GPU is busy")
	}
	return fmt.Errorf("it was not busy in any of %d samples under load", total)
}

// about begins a finding about the GPU that rests on the samples.
func (l *gpuLoad) about(check, quantity string) Finding {
	return About(check, quantity, l.part.Part, l.ref)
}

// values are what busy samples show of a quantity, and the place of each among them.
func (l *gpuLoad) values(of func(*NvidiaGPU) Opt[float64]) (values []float64, at []time.Time) {
	for _, b := range l.busy {
		if v := of(b.NvidiaGPU); v.Set {
			values, at = append(values, v.V), append(at, b.at)
		}
	}
	return values, at
}

// absent says why the busy samples do not show a quantity.
func (l *gpuLoad) absent(what string, of func(*NvidiaGPU) Opt[float64]) error {
	if len(l.busy) == 0 {
		return l.none
	}
	return of(l.busy[len(l.busy)-1].NvidiaGPU).Absent(what)
}

// recorded puts the mean of a quantity under load into the record, with its range.
func (l *gpuLoad) recorded(f Finding, unit profiles.Unit, of func(*NvidiaGPU) Opt[float64]) Finding {
	values, _ := l.values(of)
	if len(values) == 0 {
		return f.absent(l.absent(f.Quantity, of), nil)
	}
	f.Samples = stats(values)
	return f.Number(tenths(f.Samples.Mean), unit, nil)
}

// reasons judges why the GPU ran slower than it could, by what the profile's table says
// of each reason that belongs to the check. Each that was seen has an answer of its own.
func (l *gpuLoad) reasons(check string, p *profiles.Profile) []Finding {
	var out []Finding
	if len(p.ClockReasons) == 0 {
		why := errors.New("the profile has no table of the reasons for slower clocks; it is of an older rackproof")
		return []Finding{l.about(check, "reasons").Missing(why)}
	}
	for _, name := range sortedKeys(p.ClockReasons) {
		if rule := p.ClockReasons[name]; rule.Check == check && rule.Verdict != Pass.String() {
			out = append(out, l.reason(l.about(check, name), rule, p.ClockReasons))
		}
	}
	return out
}

// reason judges one reason by the share of busy samples that show it.
func (l *gpuLoad) reason(f Finding, rule profiles.ClockReasonRule, table map[string]profiles.ClockReasonRule) Finding {
	bit, others := uint64(rule.Bit), uint64(0)
	for _, name := range rule.Unless {
		others |= uint64(table[name].Bit)
	}
	read, seen, first := 0, 0, time.Time{}
	for _, b := range l.busy {
		if !b.Reasons.Set || b.ReasonsOpen&bit != 0 {
			continue
		}
		read++
		if b.Reasons.V&bit != 0 && b.Reasons.V&others == 0 {
			if seen++; seen == 1 {
				first = b.at
			}
		}
	}
	switch {
	case len(l.busy) == 0:
		return f.Missing(l.none)
	case read == 0:
		return f.Missing(l.busy[0].Reasons.Absent("why it may run slower"))
	}
	f.Measured, f.Unit = tenths(100*float64(seen)/float64(read)), string(profiles.Percent)
	f.Provenance = &Provenance{Kind: string(profiles.FromVendor), Source: rule.Source}
	if seen == 0 {
		return f.Judged(Pass, fmt.Sprintf("not in any of %d samples while it was busy", read))
	}
	verdict := Unknown
	if err := verdict.UnmarshalText([]byte(rule.Verdict)); err != nil {
		return f.Missing(fmt.Errorf("the profile's verdict of %s: %w", f.Quantity, err))
	}
	if rule.Advice != "" {
		f.Class = Class(rule.Advice)
	}
	return f.Judged(verdict, fmt.Sprintf("%s: in %d of %d samples while it was busy%s", rule.Meaning, seen, read, since(first)))
}

// reasonShares tells every reason that was seen with its share, for the record.
func (l *gpuLoad) reasonShares(f Finding, table map[string]profiles.ClockReasonRule) Finding {
	count, read := map[string]int{}, 0
	for _, b := range l.busy {
		if !b.Reasons.Set {
			continue
		}
		read++
		names := reasonNames(b.Reasons.V, table)
		if len(names) == 0 {
			names = []string{"none"}
		}
		for _, name := range names {
			count[name]++
		}
	}
	if read == 0 {
		return f.NotHere("no sample while it was busy tells why it may run slower")
	}
	names := sortedKeys(count)
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = fmt.Sprintf("%s %.0f %%", name, 100*float64(count[name])/float64(read))
	}
	f.Measured = strings.Join(words, ", ")
	return f.recorded()
}

// grew judges a time that the driver counts from its start: what grew over the run was
// there, also between two samples. A driver that does not count it takes nothing away.
func (l *gpuLoad) grew(f Finding, r *Readings, rule profiles.ClockReasonRule, of func(*NvidiaGPU) Opt[float64]) []Finding {
	readings := phaseReadings(r, NvidiaSMI)
	before, ok1 := inPhase(readings, PhaseBefore)
	after, ok2 := inPhase(readings, PhaseAfter)
	if !ok1 || !ok2 || !before.OK() || !after.OK() {
		return nil
	}
	old, now := before.Value.find(l.part), after.Value.find(l.part)
	if old == nil || now == nil || !of(old).Set || !of(now).Set || of(now).V <= of(old).V {
		return nil
	}
	verdict := Unknown
	if err := verdict.UnmarshalText([]byte(rule.Verdict)); err != nil || verdict < Warn {
		return nil
	}
	f.Evidence = []string{before.Ref, after.Ref}
	f.Measured, f.Unit = (of(now).V-of(old).V)/1e6, string(profiles.Seconds)
	f.Provenance = &Provenance{Kind: string(profiles.FromVendor), Source: rule.Source}
	if rule.Advice != "" {
		f.Class = Class(rule.Advice)
	}
	return []Finding{f.Judged(verdict, fmt.Sprintf("%s: for %.3g s of the run, by the driver's own count", rule.Meaning, f.Measured))}
}

// since is the moment in a sentence; a capture without a clock has none.
func since(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return ", first at " + clock(at)
}

// tenths rounds what is only told, so that a mean of many samples can be read.
func tenths(v float64) float64 { return math.Round(v*10) / 10 }
