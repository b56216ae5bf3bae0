package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin/report"
	"github.com/rackproof/rackproof/provision"
)

// tableWidth is that of the live table: it fits every terminal. pipeWidth is that
// of a table that no terminal shows.
const (
	tableWidth = 80
	pipeWidth  = 120
)

// header says what is under way: batch, spec, power of the budget, end.
func header(r *provision.Run) string {
	if r.Finished() {
		return fit(strings.Join([]string{string(r.ID), "spec " + specs(r), "finished"}, " · "), tableWidth) + "\n"
	}
	kw, budget := r.Loaded()
	power := fmt.Sprintf("%.1f kW, no budget stated", kw)
	if budget > 0 {
		power = fmt.Sprintf("%.1f of %.0f kW", kw, budget)
	}
	ends := "end not known"
	if t := lastEnd(r); !t.IsZero() {
		ends = "load ends " + t.Local().Format("Mon 15:04")
	}
	if !r.Until.IsZero() {
		ends = "until " + provision.UntilText(r.Until.Local(), time.Now()) + " · " + ends
	}
	return fit(strings.Join([]string{string(r.ID), "spec " + specs(r), power, ends}, " · "), tableWidth) + "\n"
}

// specs names the spec of the machines, or says that there are several.
func specs(r *provision.Run) string {
	name := ""
	for i := range r.Machines {
		switch s := r.Machines[i].Machine.Spec; {
		case name == "":
			name = s
		case name != s:
			return "several"
		}
	}
	return name
}

// lastEnd is when the last load that is under way ends.
func lastEnd(r *provision.Run) time.Time {
	var last time.Time
	for i := range r.Machines {
		if m := &r.Machines[i]; m.State == provision.StateRun && m.Until.After(last) {
			last = m.Until
		}
	}
	return last
}

// columns of the table with the widest that each may be; what matters has the rest.
var columns = []struct {
	title string
	most  int
}{{"U", 8}, {"MACHINE", 12}, {"STATE", 10}, {"STEP", 10}, {"LEFT", 6}}

// tableStyle is how a table is drawn.
type tableStyle struct {
	width int
	idle  bool // nobody carries the run: what could go on does not
}

// tableOf is the table of machines, you first. Columns are as wide as what stands
// in them, so that most of a line is left for what matters.
func tableOf(r *provision.Run, sel provision.Selector, style tableStyle) string {
	rows := [][]string{{}}
	for _, c := range columns {
		rows[0] = append(rows[0], c.title)
	}
	rows[0] = append(rows[0], "WHAT MATTERS")
	for _, m := range r.Sorted(sel) {
		rows = append(rows, []string{place(m), m.Machine.Name, style.state(m), m.Step, left(m, time.Now()), m.Line()})
	}
	widths := make([]int, len(columns))
	for _, cells := range rows {
		for i, c := range columns {
			widths[i] = min(max(widths[i], len([]rune(cells[i]))), c.most)
		}
	}
	var b strings.Builder
	for _, cells := range rows {
		b.WriteString(row(widths, cells, style.width) + "\n")
	}
	return b.String()
}

func row(widths []int, cells []string, width int) string {
	var b strings.Builder
	used := 0
	for i, w := range widths {
		fmt.Fprintf(&b, "%s ", pad(fit(cells[i], w), w))
		used += w + 1
	}
	return strings.TrimRight(b.String()+fit(cells[len(widths)], width-used), " ")
}

func place(m *provision.MachineRun) string {
	if m.Machine.U == 0 {
		return m.Machine.Rack
	}
	return strings.TrimSpace(fmt.Sprintf("%s U%02d", m.Machine.Rack, m.Machine.U))
}

// state is that of a machine as people read it.
func (s tableStyle) state(m *provision.MachineRun) string {
	if m.Stopped || s.idle && m.Runnable() {
		return "STOPPED"
	}
	return short(m.State)
}

// short is the state in ten letters.
func short(s provision.State) string {
	if s == provision.StateDeviations {
		return "DEVIATIONS"
	}
	return string(s)
}

// left is the time until a state ends, where that is known.
func left(m *provision.MachineRun, now time.Time) string {
	d := m.Until.Sub(now)
	switch {
	case m.Until.IsZero() || m.Over():
		return ""
	case d <= 0:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%dh%02d", int(d.Hours()), int(d.Minutes())%60)
	}
}

// fit cuts s to a width, and shows that it did.
func fit(s string, width int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) <= width {
		return string(r)
	}
	return string(r[:width-1]) + "…"
}

func pad(s string, width int) string {
	if n := width - len([]rune(s)); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// finalTable is the table of a run that has come to rest, and below it what each
// machine that is not well needs.
func finalTable(read *judgements, run *provision.Run, sel provision.Selector, width int) string {
	var b bytes.Buffer
	style := tableStyle{width: width, idle: true}
	b.WriteString(tableOf(run, sel, style) + "\n")
	told := false
	for _, m := range run.Sorted(sel) {
		was := before(m)
		if was == "" && (m.State == provision.StatePassed || m.Runnable()) { // the table says all
			continue
		}
		told = true
		j := read.of(m)
		switch {
		case m.State == provision.StatePassed:
			fmt.Fprintf(&b, "%s: %s in attempt %d\n", placed(m), m.State, m.Attempt)
		case j != nil:
			_ = report.Text(&b, j)
		default:
			fmt.Fprintf(&b, "%s %s %s\n", style.state(m), placed(m), m.Line())
			if m.Do != "" {
				fmt.Fprintf(&b, "     do    %s\n", m.Do)
			}
			if m.Next != "" {
				fmt.Fprintf(&b, "     next  %s\n", m.Next)
			}
		}
		b.WriteString(was)
	}
	if told {
		b.WriteString("\n")
	}
	return b.String()
}

// before tells what a machine was in the attempts before this one, what a swap of
// parts showed, and what it was judged before.
func before(m *provision.MachineRun) string {
	var b strings.Builder
	for _, e := range m.Earlier {
		fmt.Fprintf(&b, "     was   attempt %d: %s\n", e.Attempt, strings.TrimSpace(string(e.State)+" "+e.Line))
	}
	if n := len(m.Repairs); n > 0 && len(m.Earlier) > 0 && m.Repairs[n-1].Note != "" {
		fmt.Fprintf(&b, "     done  %s\n", m.Repairs[n-1].Note)
	}
	if swap := m.Facts[provision.FactSwap]; swap != "" {
		fmt.Fprintf(&b, "     swap  %s\n", swap)
	}
	if judged := m.Facts[provision.FactJudged]; judged != "" {
		fmt.Fprintf(&b, "     judged again, nothing burned in: %s\n", judged)
	}
	return b.String()
}

// placed is a machine with its place: "r12u07 (R12 U07)".
func placed(m *provision.MachineRun) string {
	if p := place(m); p != "" {
		return m.Machine.Name + " (" + p + ")"
	}
	return m.Machine.Name
}
