package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// kernelLog asks the kernel's log for what no other check reads in it: crashes,
// hangs, heat, disks that are no NVMe drives. Memory, links, GPUs and drives have
// checks of their own that read the same log, so that no part is blamed twice; this
// one only counts what they judge. It also asks whether the machine stayed up.
var kernelLog = Check{
	Name:   "kernel.log",
	Title:  "The kernel's log is whole and tells of no fault, and the machine stayed up",
	Probes: []string{KernelLog.Spec.Name, Pstore.Spec.Name, Console.Spec.Name},
	AtBoot: []string{"log"},
	Judge:  judgeKernelLog,
}

func judgeKernelLog(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	readings := phaseReadings(r, KernelLog)
	f := About("kernel.log", "log", machinePart, refsOf(readings)...)
	out := []Finding{judgeRestart(r)}
	rules, err := newKernelRules(p)
	if err != nil {
		return append(out, f.Missing(err))
	}
	messages := kernelMessages(readings, rules)
	out = append(out, judgeMessages(r, messages, p)...)
	out = append(out, judgeCrashes(r, rules, p)...)
	out = append(out, strayXIDs(readings, p)...)
	return append(out, judgeLog(f, readings, messages, p))
}

// judgeLog judges the log as a whole: it proves that nothing else happened only when
// it reaches from boot to its end.
func judgeLog(f Finding, readings []Reading[KernelLogData], messages []kernelMessage, p *profiles.Profile) Finding {
	if silence := kernelSilence(readings); silence != nil {
		return f.Missing(silence)
	}
	last := readings[len(readings)-1].Value
	f.Measured, f.Unit = float64(len(last.Lines)), string(profiles.Count)
	why := fmt.Sprintf("whole, %d lines since boot", len(last.Lines))
	if others := judgedElsewhere(readings, messages, p); others != "" {
		why += "; judged by other checks: " + others
	}
	return f.Judged(Pass, why)
}

// judgedElsewhere counts the lines that other checks judge: "gpu.xid 2, memory.errors 1".
func judgedElsewhere(readings []Reading[KernelLogData], messages []kernelMessage, p *profiles.Profile) string {
	count := map[string]int{}
	for _, line := range readings[len(readings)-1].Value.Lines {
		if line.Check != "" {
			count[line.Check]++
		}
	}
	for _, m := range messages {
		if check := p.Kernel[m.Rule].Check; check != "" {
			count[check]++
		}
	}
	var words []string
	for _, check := range sortedKeys(count) {
		words = append(words, fmt.Sprintf("%s %d", check, count[check]))
	}
	return strings.Join(words, ", ")
}

// judgeMessages makes one finding of all messages of one kind about one part.
func judgeMessages(r *Readings, messages []kernelMessage, p *profiles.Profile) []Finding {
	readings := phaseReadings(r, KernelLog)
	before, _ := inPhase(readings, PhaseBefore)
	open := before.Evidence == nil || !before.OK() // nothing tells what was there before
	groups := map[string][]kernelMessage{}
	for _, m := range messages {
		if p.Kernel[m.Rule].Check == "" {
			key := m.Rule + " " + m.Part
			groups[key] = append(groups[key], m)
		}
	}
	var out []Finding
	for _, key := range sortedKeys(groups) {
		if f, tell := judgeMessage(groups[key], open, p); tell {
			out = append(out, f)
		}
	}
	return out
}

// judgeMessage judges messages of one kind by the worst of them; tell is false where
// they mean nothing.
func judgeMessage(group []kernelMessage, open bool, p *profiles.Profile) (f Finding, tell bool) {
	rule := p.Kernel[group[0].Rule]
	verdict, worst := Pass, group[0]
	var refs []string
	for _, m := range group {
		refs = append(refs, m.Ref)
		if v := kernelVerdict(rule, m.During); v > verdict {
			verdict, worst = v, m
		}
	}
	if verdict == Pass {
		return f, false
	}
	f = About("kernel.log", worst.Rule, kernelPart(rule, worst.Part), slices.Compact(refs)...)
	f.Measured, f.Unit = float64(len(group)), string(profiles.Count)
	f.Provenance = &Provenance{Kind: string(profiles.FromVendor), Source: rule.Source}
	why := fmt.Sprintf("%s (%s): %s", rule.Meaning, worst.when(open), strings.TrimSpace(worst.Text))
	if len(group) > 1 {
		why += fmt.Sprintf(", %d messages in all", len(group))
	}
	if open && rule.Before != rule.During || verdict == Unknown {
		return f.Missing(errors.New(why)), true
	}
	return f.Judged(verdict, why), true
}

// when says in words when a message came.
func (m kernelMessage) when(open bool) string {
	switch {
	case open:
		return "before or during the test"
	case m.During:
		return "during the test"
	default:
		return "before the test"
	}
}

func kernelPart(rule profiles.KernelRule, name string) Part {
	part := Part{Class: Class(rule.Advice), Name: firstWord(name, machinePart.Name)}
	if anyAddress.MatchString(name) {
		part.Address = normalAddress(name)
		part.Name = "PCIe device " + part.Address
	}
	return part
}

// strayXIDs are errors of GPUs that the profile does not have, so that gpu.xid does
// not look for them.
func strayXIDs(readings []Reading[KernelLogData], p *profiles.Profile) []Finding {
	events := xidEvents(readings)
	if noGPUs("kernel.log", p) == nil || len(events) == 0 {
		return nil
	}
	f := About("kernel.log", "xid", Part{Class: ClassDriver, Name: "GPU " + events[0].Address, Address: events[0].Address}, refsOf(readings)...)
	f.Measured = float64(events[0].Code)
	return []Finding{f.Judged(Warn, "the driver reports an error of a GPU, and the profile has none: "+events[0].Text)}
}
