package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// mostShown bounds how many findings the text for one machine spells out; the
// rest is counted, and is all in the report.
const mostShown = 6

// Text writes the lines of one machine for a terminal or a ticket: a first line
// that is enough on its own, then part, what was seen, what to do.
func Text(w io.Writer, j *burnin.Judgement) error {
	var b strings.Builder
	b.WriteString(j.Line + "\n")
	worst := j.Worst()
	for i, f := range worst {
		if i == mostShown {
			fmt.Fprintf(&b, "     …    %d more findings in the report\n", len(worst)-i)
			break
		}
		writeFinding(&b, j.Machine.Name, f, i == 0)
	}
	writeWarnings(&b, j)
	writeOpen(&b, j)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeFinding(b *strings.Builder, machine string, f burnin.Finding, first bool) {
	if !first {
		fmt.Fprintf(b, "     also  %s\n", f.Sentence())
	}
	if id := PartID(f); id != "" {
		fmt.Fprintf(b, "     part  %s\n", id)
	}
	seen := f.Check + " " + strings.ReplaceAll(f.Quantity, "_", " ")
	if f.Limit != nil {
		seen += fmt.Sprintf(": %v, limit %v %s", f.Measured, f.Limit, f.Unit)
	}
	fmt.Fprintf(b, "     seen  %s (evidence %s)\n", strings.TrimSpace(seen), strings.Join(f.Evidence, ", "))
	if do := Ladder(machine, f.Advice); do != "" {
		fmt.Fprintf(b, "     do    %s\n", do)
	}
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

// Ladder puts the rungs of an advice ladder on one line, each with its minutes and
// who may do it.
func Ladder(machine string, rungs []burnin.Advice) string {
	parts := make([]string, 0, len(rungs))
	for i, r := range rungs {
		s := fmt.Sprintf("%d %s", i+1, r.Do)
		if i == 0 {
			s += fmt.Sprintf(", `rackproof retest %s`", machine)
		}
		if r.Minutes > 0 {
			s += fmt.Sprintf(" (%d min, %s)", r.Minutes, r.Who)
		} else {
			s += " (" + r.Who + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "   ")
}

func writeWarnings(b *strings.Builder, j *burnin.Judgement) {
	for _, f := range j.Findings {
		if f.Verdict == burnin.Warn && f.Scope != profiles.OutOfScope {
			fmt.Fprintf(b, "     note  %s\n", f.Sentence())
		}
		if f.Waived != "" {
			fmt.Fprintf(b, "     agreed %s: %s\n", f.Sentence(), f.Waived)
		}
	}
}

func writeOpen(b *strings.Builder, j *burnin.Judgement) {
	shown, more := 0, 0
	for _, n := range j.NotRun {
		if n.Scope != profiles.Required {
			continue
		}
		if shown == mostShown {
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
