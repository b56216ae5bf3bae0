package burnin

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// NCCLPerf is the text of a program of nccl-tests. Which columns there are differs by
// version, so they are found by their heads.
var NCCLPerf = Probe[NCCLLog]{
	Spec:  ProbeSpec{Name: "nccl", Tool: "all_reduce_perf"},
	Parse: parseNCCL,
}

// NCCLLog is what the program said.
type NCCLLog struct {
	Ranks    int
	Rows     []NCCLRow
	Ended    bool     // its last lines are there
	Rejected bool     // it says FAILED of its results
	Messages []string // of NCCL, and errors
}

// NCCLRow is one size. Of two values the first is out of place, the second in place.
type NCCLRow struct {
	Size  float64 // bytes
	Bus   [2]Opt[float64]
	Wrong [2]Opt[float64]
}

var (
	ncclRank = regexp.MustCompile(`^#\s+Rank\s+\d+\s`)
	ncclEnd  = regexp.MustCompile(`^# (?:Out of bounds values|Collective test concluded)\b`)
	ncclSays = regexp.MustCompile(`NCCL (?:WARN|INFO|failure)|Test (?:NCCL|CUDA|failure|timeout)|^# error:|\bError\b`)
)

func parseNCCL(e *Evidence) (NCCLLog, error) {
	body, _ := e.Body()
	var l NCCLLog
	var head []string
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		fields := strings.Fields(strings.TrimPrefix(line, "#"))
		switch {
		case ncclRank.MatchString(line):
			l.Ranks++
		case strings.HasPrefix(line, "#") && slices.Contains(fields, "busbw"):
			head = fields
		case ncclEnd.MatchString(line):
			l.Ended = true
			l.Rejected = l.Rejected || strings.Contains(line, "FAILED")
		case ncclSays.MatchString(line):
			l.Messages = append(l.Messages, line)
		case len(head) > 0 && !strings.HasPrefix(line, "#"):
			l.row(head, fields)
		}
	}
	l.Messages = append(l.Messages, lines(e.Err)...)
	if err := e.hung(); err != nil { // nccl issues 257, 606 and 2079
		l.Messages = slices.Insert(l.Messages, 0, err.Error()+"; PCIe access control (ACS) or an IOMMU between GPUs is a common cause")
	}
	if l.Ranks == 0 && head == nil && len(l.Messages) == 0 {
		return l, fmt.Errorf("nccl: this is no output of nccl-tests%s", firstLine(bytes.TrimSpace(body)))
	}
	return l, nil
}

// row takes a line of figures. Heads are words without a space, so that each has its
// column. A line that is not as long as they are was cut, or written into by another.
func (l *NCCLLog) row(head, fields []string) {
	if len(fields) < len(head) || !optCount(fields[0]).Set {
		return
	}
	r := NCCLRow{Size: optCount(fields[0]).V}
	bus, wrong := 0, 0
	for i, name := range head {
		switch {
		case name == "busbw" && bus < 2:
			r.Bus[bus] = optQuantity(fields[i], profiles.GBPerSecond, profiles.GBPerSecond)
			bus++
		case (name == "#wrong" || name == "error") && wrong < 2:
			r.Wrong[wrong] = optQuantity(fields[i], profiles.Count, profiles.Count)
			if name == "error" && r.Wrong[wrong].Set {
				r.Wrong[wrong].V = 0 // the largest difference, healthy above zero; the last lines count what is out of bounds
			}
			wrong++
		}
	}
	l.Rows = append(l.Rows, r)
}

// BusBandwidth is that of a row as its floors are measured: the mean of both ways.
func (r *NCCLRow) BusBandwidth() Opt[float64] {
	a, b := r.Bus[0], r.Bus[1]
	switch {
	case a.Set && b.Set:
		return Opt[float64]{V: (a.V + b.V) / 2, Set: true, Text: a.Text}
	case a.Set:
		return a
	}
	return b
}

// At returns the row of a size, or nil.
func (l *NCCLLog) At(bytes float64) *NCCLRow {
	i := slices.IndexFunc(l.Rows, func(r NCCLRow) bool { return r.Size == bytes })
	if i < 0 {
		return nil
	}
	return &l.Rows[i]
}

// wrong is how many results were wrong over all rows; one that was not compared leaves
// it open, unless another was wrong.
func (l *NCCLLog) wrong() Opt[float64] {
	var parts []Opt[float64]
	for _, r := range l.Rows {
		parts = append(parts, r.Wrong[0], r.Wrong[1])
	}
	return optSum(parts...)
}

// why says what kept the program from its end.
func (l *NCCLLog) why() error {
	for _, m := range l.Messages {
		if !strings.Contains(m, "NCCL INFO") {
			return fmt.Errorf("all_reduce_perf did not come to its end: %s", m)
		}
	}
	return errors.New("all_reduce_perf did not come to its end: its last lines are missing")
}
