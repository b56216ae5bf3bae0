package burnin

import (
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// lineWidth is the longest first line: it must fit a ticket's subject and one row
// of a terminal (PEOPLE.md).
const lineWidth = 100

// Word returns the result as people read it.
func (r Result) Word() string {
	switch r {
	case Passed:
		return "PASSED"
	case PassedWithDeviations:
		return "PASSED WITH DEVIATIONS"
	case Failed:
		return "FAILED"
	default:
		return "INCOMPLETE"
	}
}

// Place names a machine and where it stands: "r12u07 (R12 U07)".
func (m MachineLine) Place() string {
	switch {
	case m.Rack != "" && m.U > 0:
		return fmt.Sprintf("%s (%s U%02d)", m.Name, m.Rack, m.U)
	case m.Rack != "":
		return fmt.Sprintf("%s (%s)", m.Name, m.Rack)
	default:
		return m.Name
	}
}

// firstLine is the line that must be enough on its own.
func (j *Judgement) firstLine() string {
	word := j.Result.Word()
	if j.Result == Failed {
		word = "FAIL"
	}
	return OneLine(word + " " + j.Machine.Place() + " " + j.Reason())
}

// Reason says why the result is what it is, without naming it or the machine.
func (j *Judgement) Reason() string {
	worst := j.Worst()
	switch {
	case (j.Result == Failed || j.Result == Incomplete) && len(worst) > 0:
		return worst[0].Sentence()
	case j.Result == Incomplete && j.Coverage == CoverPartial:
		return j.noFault()
	case j.Result == Incomplete:
		return j.whyIncomplete()
	default:
		return j.proven()
	}
}

// proven counts what stands behind a pass, and what is remarked all the same.
func (j *Judgement) proven() string {
	checks, remarks, waived, n := map[string]bool{}, 0, 0, 0
	for _, f := range j.Findings {
		switch {
		case f.Waived != "":
			waived++
		case f.Verdict == Warn:
			remarks++
		case f.Verdict == Pass && f.Scope == profiles.Required:
			checks[f.Check] = true
			n++
		}
	}
	s := fmt.Sprintf("%d checks proven by %d findings", len(checks), n)
	if waived > 0 {
		s += fmt.Sprintf(", %d deviations agreed", waived)
	}
	if remarks > 0 {
		s += fmt.Sprintf(", %d remarks", remarks)
	}
	return s
}

func (j *Judgement) whyIncomplete() string {
	var open []NotRun
	for _, n := range j.NotRun {
		if n.Scope == profiles.Required {
			open = append(open, n)
		}
	}
	if len(open) == 0 {
		return "nothing required was measured"
	}
	n := open[0]
	more := ""
	if len(open) > 1 {
		more = fmt.Sprintf(" (+%d more)", len(open)-1)
	}
	return "not proven: " + n.Check + more + ": " + n.Why
}

// noFault is all that loose files can say of a machine.
func (j *Judgement) noFault() string {
	passed := 0
	for _, f := range j.Findings {
		if f.Verdict == Pass {
			passed++
		}
	}
	if passed == 0 {
		return "no fault in what was given, and nothing in it proves anything"
	}
	return fmt.Sprintf("no fault in what was given (%d findings pass); loose files never pass a machine", passed)
}

// Sentence says what was seen of which part, in one line.
func (f Finding) Sentence() string {
	why := f.Why
	if why == "" {
		why = f.comparison()
	}
	if strings.Contains(why, f.Part) {
		return why
	}
	return f.Part + " " + why
}

func (f Finding) comparison() string {
	unit := ""
	if f.Unit != "" && f.Unit != string(profiles.Count) {
		unit = " " + f.Unit
	}
	s := fmt.Sprintf("%s %v%s", strings.ReplaceAll(f.Quantity, "_", " "), f.Measured, unit)
	if f.Limit == nil {
		return s
	}
	word := map[string]string{"min": "at least ", "max": "at most ", "equal": "", "one_of": ""}[f.Relation]
	return fmt.Sprintf("%s, profile wants %s%v%s", s, word, f.Limit, unit)
}

// OneLine folds s into one line of at most 100 characters, the longest that fits a
// ticket's subject and a row of a terminal.
func OneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	r := []rune(s)
	if len(r) <= lineWidth {
		return s
	}
	return string(r[:lineWidth-1]) + "…"
}
