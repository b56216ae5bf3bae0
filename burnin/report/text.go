package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// The text of one machine is bounded; the rest is counted, and is all in the
// report.
const (
	mostParts = 4 // parts spelled out
	mostSeen  = 4 // things seen of one part
	mostOpen  = 4 // quantities not proven
)

// Text writes the lines of one machine for a terminal or a ticket: a first line
// that is enough on its own, then per part what was seen and what to do.
func Text(w io.Writer, j *burnin.Judgement) error {
	var b strings.Builder
	b.WriteString(j.Line + "\n")
	machine := j.Machine.Name
	if j.Run == "" {
		machine = "" // no run in which it could be retested by that name
	}
	parts := burnin.Stories(j.Worst())
	said := map[string]bool{}
	for i, fs := range parts {
		if i == mostParts {
			fmt.Fprintf(&b, "     …     %d more parts in the report\n", len(parts)-i)
			break
		}
		writePart(&b, machine, fs, i == 0, said, j.Excluded(fs))
	}
	writeErasures(&b, j.Erasures)
	writeRemarks(&b, j)
	writeStandIns(&b, j)
	if j.Coverage == burnin.CoverPartial {
		writeShown(&b, j)
	} else {
		writeOpen(&b, j)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeStandIns names what was not printed by the real tools.
func writeStandIns(b *strings.Builder, j *burnin.Judgement) {
	var names []string
	for _, e := range j.Evidence {
		name := e.Ref[strings.LastIndexByte(e.Ref, '/')+1:]
		if e.StandIn && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "     note  printed by stand-ins, and no proof of real hardware: %s\n", strings.Join(names, ", "))
	}
}

// writePart writes what is known of one part. The first part's first finding is
// the first line of the machine already. A ladder is spelled out once: said
// remembers which.
func writePart(b *strings.Builder, machine string, fs []burnin.Finding, first bool, said map[string]bool, excluded []string) {
	if !first {
		fmt.Fprintf(b, "     also  %s\n", fs[0].Sentence())
	}
	if id := PartID(fs[0]); id != "" {
		fmt.Fprintf(b, "     part  %s\n", id)
	}
	for i, f := range fs {
		if i == mostSeen {
			fmt.Fprintf(b, "           %d more findings of it in the report\n", len(fs)-i)
			break
		}
		head := "seen "
		if i > 0 {
			head = "     "
		}
		fmt.Fprintf(b, "     %s %s (%s; evidence %s)\n", head, seen(f, fs[0].Part), f.Check, strings.Join(f.Evidence, ", "))
	}
	if len(excluded) > 0 {
		fmt.Fprintf(b, "     not   %s: excluded\n", strings.Join(excluded, ", "))
	}
	rungs := Ladder(machine, fs[0].Advice)
	key := strings.Join(rungs, "\n")
	if said[key] {
		return
	}
	said[key] = true
	for i, rung := range rungs {
		head := "do   "
		if i > 0 {
			head = "     "
		}
		fmt.Fprintf(b, "     %s %s\n", head, rung)
	}
}

// seen says what was measured against which limit; of another part than the one that the
// story is told under, with its name.
func seen(f burnin.Finding, part string) string {
	why := f.Sentence()
	if f.Part == part {
		why = strings.TrimPrefix(strings.TrimPrefix(why, f.Part), " ")
	}
	if f.Limit == nil || f.Measured == nil {
		return why
	}
	return fmt.Sprintf("%s [%s %s, limit %s]", why, words(f.Quantity), value(f.Measured, f.Unit), limitText(f))
}

// PartID names the part of a finding by serial, PCI address and, last and in
// brackets, the tool's own index.
func PartID(f burnin.Finding) string {
	var ids []string
	if f.Serial != "" {
		ids = append(ids, "S/N "+f.Serial)
	}
	if f.Address != "" {
		ids = append(ids, "PCI "+strings.TrimPrefix(f.Address, "0000:"))
	}
	if f.Index != nil {
		ids = append(ids, fmt.Sprintf("(nvidia-smi %d)", *f.Index))
	}
	return strings.Join(ids, " · ")
}

// Ladder spells out the rungs of an advice ladder, each with its minutes and who
// may do it. The first names the command that tests machine again, unless machine is blank.
func Ladder(machine string, rungs []burnin.Advice) []string {
	lines := make([]string, 0, len(rungs))
	for i, r := range rungs {
		s := fmt.Sprintf("%d %s", i+1, r.Do)
		if i == 0 && machine != "" {
			s += fmt.Sprintf(", `rackproof done %s`", machine)
		}
		who := r.Who
		if r.Minutes > 0 {
			who = fmt.Sprintf("%d min, %s", r.Minutes, r.Who)
		}
		lines = append(lines, s+" ("+who+")")
	}
	return lines
}

// writeErasures says of every disk that was to be erased what became of it.
func writeErasures(b *strings.Builder, e *burnin.Erasures) {
	if e == nil {
		return
	}
	for _, d := range e.Disks {
		if d.Level == "" {
			fmt.Fprintf(b, "     disk  %s NOT erased: %s\n", d.Serial, d.Why)
			continue
		}
		fmt.Fprintf(b, "     disk  %s erased, level %s: %s (%s)\n", d.Serial, d.Level, d.Method, d.Verified)
	}
}

func writeRemarks(b *strings.Builder, j *burnin.Judgement) {
	for _, f := range j.Findings {
		if f.Verdict == burnin.Warn && f.Scope != profiles.OutOfScope {
			fmt.Fprintf(b, "     note  %s\n", f.Sentence())
		}
		if f.Waived != "" {
			fmt.Fprintf(b, "     agreed %s: %s\n", f.Sentence(), f.Waived)
		}
	}
}

// writeShown lists what loose files show, one line a quantity: there is no result
// to explain, and what other probes would show was not asked.
func writeShown(b *strings.Builder, j *burnin.Judgement) {
	for _, l := range WorstByQuantity(j.Findings) {
		if l.Verdict != burnin.Pass {
			continue
		}
		worst := l.Part
		if l.Parts > 1 {
			worst = fmt.Sprintf("worst of %d is %s", l.Parts, l.Part)
		}
		fmt.Fprintf(b, "     pass  %s %s: %s, limit %s (%s)\n", l.Check, words(l.Quantity), value(l.Measured, l.Unit), limitText(l.Finding), worst)
	}
	writeUnproven(b, j)
}

// writeUnproven lists what the files given could not prove of what they do speak
// of, like parts on one line.
func writeUnproven(b *strings.Builder, j *burnin.Judgement) {
	asked := map[string]bool{}
	for _, f := range j.Findings {
		asked[f.Check] = asked[f.Check] || f.Verdict != burnin.NotApplicable
	}
	var order []string
	parts := map[string][]string{}
	for _, n := range j.NotRun {
		if !asked[n.Check] || strings.Contains(n.Why, burnin.ErrNotRun.Error()) {
			continue
		}
		key := n.Check + " " + words(n.Quantity) + "\x00" + n.Why
		if parts[key] == nil {
			order = append(order, key)
		}
		parts[key] = append(parts[key], n.Part)
	}
	for _, key := range order {
		what, why, _ := strings.Cut(key, "\x00")
		of := parts[key]
		if len(of) > 3 {
			of = append(of[:3:3], fmt.Sprintf("%d more", len(of)-3))
		}
		fmt.Fprintf(b, "     open  %s of %s not proven: %s\n", what, strings.Join(of, ", "), why)
	}
}

func writeOpen(b *strings.Builder, j *burnin.Judgement) {
	shown, more := 0, 0
	for _, n := range j.NotRun {
		if n.Scope != profiles.Required {
			continue
		}
		if shown == mostOpen {
			more++
			continue
		}
		shown++
		what := n.Check
		if n.Quantity != "" {
			what += "/" + n.Quantity
		}
		if n.Part != "" && n.Part != "machine" {
			what += " of " + n.Part
		}
		fmt.Fprintf(b, "     open  %s not proven: %s\n", what, n.Why)
	}
	if more > 0 {
		fmt.Fprintf(b, "     open  %d more not proven, all in the report\n", more)
	}
}
