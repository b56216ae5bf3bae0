package profiles

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a file, at its place.
type Problem struct {
	Pos  Position
	Text string
}

// String gives "file:line:column: text".
func (p Problem) String() string { return p.Pos.String() + ": " + p.Text }

// Problems is the error of a file that does not load: every mistake, not only the first.
type Problems []Problem

// Error gives one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

func (p *Problems) add(pos Position, format string, args ...any) {
	*p = append(*p, Problem{Pos: pos, Text: fmt.Sprintf(format, args...)})
}

// err gives the problems in the order of the file, or nil when there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return slices.Compact(p)
}
