package burnin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// judgeRestart judges whether the machine stayed up. Nothing in a burn-in restarts a
// machine: one that is another boot behind the load went down under it. An attempt
// that was measured anew in another boot is only noted; why that one ended, a crash
// record or the console tells.
func judgeRestart(r *Readings) Finding {
	boots := bootsByPhase(r.rec)
	f := About("kernel.log", "restart", machinePart)
	unknown := bootUntold(r, boots)
	var prior Phase
	for _, phase := range machinePhases {
		if len(boots[phase]) == 0 {
			continue
		}
		if prior != "" && !slices.ContainsFunc(boots[prior], func(id string) bool { return slices.Contains(boots[phase], id) }) {
			f.Measured = boots[phase][0]
			return f.Judged(Fail, fmt.Sprintf("the machine restarted between the phases %s and %s (boot %.8s, then %.8s): find out why before anything else",
				prior, phase, boots[prior][0], boots[phase][0]))
		}
		prior = phase
	}
	if b := restartedItself(r.rec.Meta.Boots); b != nil {
		f.Measured = b.From
		return f.Judged(Fail, fmt.Sprintf("the machine restarted by itself between boot %d and %s: find out why before anything else", b.Boot-1, b.when()))
	}
	switch n := len(r.rec.Meta.Restarts); {
	case unknown != nil:
		return f.Missing(unknown)
	case prior == "":
		return f.NotHere("the evidence does not tell of which boot it is")
	case n > 0:
		f.Measured = float64(n)
		return f.Judged(Warn, fmt.Sprintf("the machine was booted anew since the attempt began, at %s; all was measured again",
			r.rec.Meta.Restarts[n-1].Seen.UTC().Format("2006-01-02 15:04 UTC")))
	}
	f.Measured = 0.0
	return f.Judged(Pass, "one boot from the first page to the last")
}

// restartedItself is the first of the reboot cycles that was not ordered in the boot before
// it: nobody ordered the one in between.
func restartedItself(boots []Boot) *Boot {
	for i := 1; i < len(boots); i++ {
		if boots[i].From != boots[i-1].BootID {
			return &boots[i]
		}
	}
	return nil
}

// bootUntold says why it is not known that the machine stayed up: a phase at either end
// of the load whose evidence does not tell of which boot it is. Loose files never tell.
func bootUntold(r *Readings, boots map[Phase][]string) error {
	if r.Coverage() == CoverPartial {
		return nil
	}
	for _, phase := range []Phase{PhaseBefore, PhaseAfter} {
		shown := slices.ContainsFunc(r.rec.Evidence, func(e *Evidence) bool { return e.Phase == phase && e.Source != FromBMC })
		if shown && len(boots[phase]) == 0 {
			return fmt.Errorf("the evidence of the phase %s does not tell of which boot it is", phase)
		}
	}
	return nil
}

// bootsByPhase are the boot ids of the evidence of each phase, those of most pages first.
func bootsByPhase(rec *Record) map[Phase][]string {
	pages := map[Phase]map[string]int{}
	for _, e := range rec.Evidence {
		if e.BootID == "" || !slices.Contains(machinePhases, e.Phase) {
			continue
		}
		if pages[e.Phase] == nil {
			pages[e.Phase] = map[string]int{}
		}
		pages[e.Phase][e.BootID]++
	}
	out := map[Phase][]string{}
	for phase, count := range pages {
		out[phase] = slices.SortedFunc(maps.Keys(count), func(a, b string) int { return count[b] - count[a] })
	}
	return out
}

// judgeCrashes judges what earlier boots left behind: the records that the kernel
// writes into non-volatile memory when it dies, and what the BMC saw on the serial
// console during the attempt. A record from before the attempt is a remark.
func judgeCrashes(r *Readings, rules kernelRules, p *profiles.Profile) []Finding {
	var out []Finding
	for _, record := range crashRecords(r) {
		rule, text := record.crash(rules, p)
		if rule == "" {
			continue
		}
		f := About("kernel.log", "crash", Part{Class: Class(p.Kernel[rule].Advice), Name: "machine, " + record.Name}, record.ref)
		f.Measured = text
		f.Provenance = &Provenance{Kind: string(profiles.FromVendor), Source: p.Kernel[rule].Source}
		verdict, when := Fail, "during the test"
		if !record.live && (record.At.IsZero() || record.At.Before(r.rec.Meta.Started)) {
			verdict, when = Warn, "at a time that is not known"
			if !record.At.IsZero() {
				when = "on " + record.At.UTC().Format("2006-01-02 15:04 UTC") + ", before this attempt"
			}
		}
		out = append(out, f.Judged(verdict, fmt.Sprintf("%s %s: %s", p.Kernel[rule].Meaning, when, text)))
	}
	return out
}

// foundRecord is what was left behind of one crash, and where it was found.
type foundRecord struct {
	CrashRecord
	ref  string
	live bool // seen while the attempt ran
}

func crashRecords(r *Readings) []foundRecord {
	var out []foundRecord
	seen := map[string]bool{}
	for _, reading := range phaseReadings(r, Pstore) {
		for _, c := range reading.Value {
			if !seen[c.Name] {
				seen[c.Name] = true
				out = append(out, foundRecord{CrashRecord: c, ref: reading.Ref})
			}
		}
	}
	for _, phase := range append([]Phase{PhaseBMC}, machinePhases...) {
		consoles := ReadAll(r, Console, phase)
		for _, step := range sortedKeys(consoles) {
			console := consoles[step]
			if console.Evidence == nil || len(console.Evidence.Out) == 0 {
				continue
			}
			// A session that was lost, as when the BMC restarts, has shown what it has shown.
			record, err := parseConsole(console.Evidence)
			if err != nil {
				continue
			}
			record.Name = strings.TrimSpace("console " + step)
			out = append(out, foundRecord{CrashRecord: record, ref: console.Ref, live: true})
		}
	}
	return out
}

// ConsoleCrash is the line with which the kernel died on a serial console; "" where it
// did not, or nothing knows such lines.
func ConsoleCrash(console []byte, p *profiles.Profile) string {
	rules, err := newKernelRules(p)
	if err != nil {
		return ""
	}
	record, err := parseConsole(&Evidence{Out: console})
	if err != nil {
		return ""
	}
	_, text := record.crash(rules, p)
	return text
}

// crash returns the first line that tells of a crash, and its rule: one that fails
// whenever it comes and that no other check judges.
func (c CrashRecord) crash(rules kernelRules, p *profiles.Profile) (rule, text string) {
	for _, line := range c.Lines {
		name, _, ok := rules.of(line.Text)
		if entry := p.Kernel[name]; ok && entry.Check == "" && entry.Before == Fail.String() {
			return name, strings.TrimSpace(line.Text)
		}
	}
	return "", ""
}
