package provision

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
)

// Label is a line of the user's list: which machine has this BMC. What the list does
// not say is "" or 0.
type Label struct {
	MAC    string `json:"mac,omitempty"` // of the BMC
	Serial string `json:"serial,omitempty"`
	Name   string `json:"name,omitempty"`
	Rack   string `json:"rack,omitempty"`
	U      int    `json:"u,omitempty"`

	Pos profiles.Position `json:"-"`
}

// labelColumns are those of a list with a line of column names.
var labelColumns = []string{"mac", "serial", "name", "rack", "u"}

// ParseLabels reads a list of BMCs: a line each with MAC or serial, and after that, as
// far as it is known, the machine's name, rack and rack unit; or a table whose first
// line names its columns (mac, serial, name, rack, u). Commas, semicolons, tabs or
// blanks stand between; "#" begins a comment. Every mistake is told at once: the error
// is profiles.Problems.
func ParseLabels(file string, text []byte) ([]Label, error) {
	l := &labelReader{file: file, first: true}
	lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	for i, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		f := splitCells(line)
		if f == nil {
			continue
		}
		if l.first && slices.Contains(labelColumns, strings.ToLower(f[0])) {
			l.table(i, lines)
			break
		}
		l.first = false
		l.line(i+1, f)
	}
	l.unique()
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, func(a, b profiles.Problem) int { return cmp.Compare(a.Pos.Line, b.Pos.Line) })
		return nil, l.problems
	}
	return l.labels, nil
}

// splitCells cuts a line at its separator, where empty cells stay; blanks alone are one each.
// An empty line is nil.
func splitCells(line string) []string {
	line = strings.TrimRight(line, "\r")
	for _, sep := range []string{",", ";", "\t"} {
		if !strings.Contains(line, sep) {
			continue
		}
		f := strings.Split(line, sep)
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		for len(f) > 0 && f[len(f)-1] == "" {
			f = f[:len(f)-1]
		}
		if len(f) == 0 {
			return nil
		}
		return f
	}
	if f := strings.Fields(line); len(f) > 0 {
		return f
	}
	return nil
}

type labelReader struct {
	file     string
	first    bool
	labels   []Label
	problems profiles.Problems
}

func (l *labelReader) problem(pos profiles.Position, format string, args ...any) {
	l.problems = append(l.problems, profiles.Problem{Pos: pos, Text: fmt.Sprintf(format, args...)})
}

// line reads "KEY [NAME [RACK [U]]]".
func (l *labelReader) line(n int, f []string) {
	pos := profiles.Position{File: l.file, Line: n, Column: 1}
	if len(f) > 4 {
		l.problem(pos, "%d words: want MAC or serial, name, rack, unit", len(f))
		return
	}
	f = append(f, "", "", "")
	row := map[string]string{"name": f[1], "rack": f[2], "u": f[3]}
	// Twelve hexadecimal digits may be either; whichever fits counts.
	if redfish.CleanMAC(f[0]) != "" {
		row["mac"] = f[0]
	}
	if row["mac"] == "" || !strings.ContainsAny(f[0], ":-.") {
		row["serial"] = f[0]
	}
	l.take(pos, row)
}

// table reads a list whose line at head names the columns.
func (l *labelReader) table(head int, lines []string) {
	rows := csv.NewReader(strings.NewReader(strings.Join(lines[head:], "\n")))
	rows.TrimLeadingSpace, rows.Comment, rows.FieldsPerRecord = true, '#', 0
	for _, comma := range ";\t" {
		if strings.ContainsRune(lines[head], comma) {
			rows.Comma = comma
		}
	}
	var names []string
	for {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			pos := profiles.Position{File: l.file, Line: head + 1}
			if pe, ok := errors.AsType[*csv.ParseError](err); ok {
				pos.Line, pos.Column, err = head+pe.Line, pe.Column, pe.Err
			}
			l.problem(pos, "%v", err)
			return
		}
		line, _ := rows.FieldPos(0)
		pos := profiles.Position{File: l.file, Line: head + line, Column: 1}
		if names == nil {
			names = l.columns(pos, cells)
			continue
		}
		row := map[string]string{}
		for i, cell := range cells {
			row[names[i]] = strings.TrimSpace(cell)
		}
		if strings.Join(cells, "") != "" {
			l.take(pos, row)
		}
	}
}

func (l *labelReader) columns(pos profiles.Position, cells []string) []string {
	names := make([]string, len(cells))
	for i, cell := range cells {
		names[i] = strings.ToLower(strings.TrimSpace(cell))
		if !slices.Contains(labelColumns, names[i]) {
			l.problem(pos, "unknown column %.40q%s: there is %s", cell, didYouMean(names[i], labelColumns), strings.Join(labelColumns, ", "))
		}
	}
	return names
}

func (l *labelReader) take(pos profiles.Position, row map[string]string) {
	label := Label{MAC: redfish.CleanMAC(row["mac"]), Serial: row["serial"], Name: row["name"], Rack: row["rack"], Pos: pos}
	if row["mac"] != "" && label.MAC == "" {
		l.problem(pos, "%.40q is no MAC: write it like 7c:c2:55:00:00:07", row["mac"])
	}
	if label.MAC == "" && label.Serial == "" && row["mac"] == "" {
		l.problem(pos, "neither MAC nor serial: nothing says which BMC this is")
	}
	if strings.Count(label.Serial, ":") == 5 {
		l.problem(pos, "%.40q is neither a MAC nor a serial", label.Serial)
	}
	if label.Name != "" && !fileSafe.MatchString(label.Name) {
		l.problem(pos, "machine name %.80q: use letters, digits, '.', '-' and '_', at most 64; it names a folder", label.Name)
	}
	if u := row["u"]; u != "" {
		n, err := strconv.Atoi(strings.TrimLeft(u, "Uu"))
		if err != nil || n < 1 || n > 60 {
			l.problem(pos, "u %.20q: want the number of the lowest rack unit", u)
		}
		label.U = n
	}
	l.labels = append(l.labels, label)
}

// unique reports what two lines claim.
func (l *labelReader) unique() {
	for _, claim := range []struct {
		what string
		of   func(Label) string
	}{
		{"MAC", func(b Label) string { return b.MAC }},
		{"serial", func(b Label) string { return strings.ToUpper(b.Serial) }},
		{"name", func(b Label) string { return b.Name }},
	} {
		first := map[string]int{}
		for _, b := range l.labels {
			v := claim.of(b)
			if v == "" {
				continue
			}
			if line, taken := first[v]; taken {
				l.problem(b.Pos, "%s %s stands in line %d already", claim.what, v, line)
				continue
			}
			first[v] = b.Pos.Line
		}
	}
}
