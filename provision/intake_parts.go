package provision

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	manyOf   = regexp.MustCompile(`^(\d+)\s*[xX×*]\s*(.+)$`)
	nextMany = regexp.MustCompile(`\+\s*\d+\s*[xX×*]`)
	sizeWord = regexp.MustCompile(`(?i)(?:^|\s)(\d+(?:[.,]\d+)?)\s*(GiB|GB|TiB|TB|kW|Watts?|W)(?:$|[\s,;])`)
	bare     = regexp.MustCompile(`^\d+(?:[.,]\d+)?$`)
)

// sizeUnits are units by kind of part. A module of 64 GB has 64 GiB; a drive of 3.84 TB
// has powers of ten.
var sizeUnits = map[PartKind]map[string]float64{
	KindDIMM:   {"gib": 1, "gb": 1, "tib": 1024, "tb": 1024},
	KindMemory: {"gib": 1, "gb": 1, "tib": 1024, "tb": 1024},
	KindDrive:  {"gib": 1 << 30, "gb": 1e9, "tib": 1 << 40, "tb": 1e12},
	KindPSU:    {"w": 1, "watt": 1, "watts": 1, "kw": 1000},
}

// parts reads a cell of a column about parts: "8", "H100 SXM5", "32 x 64 GB DDR5",
// "8 x 3.84 TB + 2 x 960 GB". Cells of several columns about the same parts make one
// statement.
func (r *orderReader) parts(f orderField, column, cell string, stated map[PartKind][]OrderedPart) {
	var list []OrderedPart
	for _, words := range splitMany(cell) {
		p, ok := f.part(words)
		if !ok {
			r.problem(r.line, 1, "column %s says %.40q: want how many, such as 8 or 8 x 3.84 TB", column, cell)
			return
		}
		list = append(list, p)
	}
	had := stated[f.kind]
	if len(had) == 0 {
		stated[f.kind] = list
		return
	}
	if len(had) > 1 || len(list) > 1 {
		r.problem(r.line, 1, "column %s says %.60q, and another column says %.60q of the same parts: state them in one cell", column, cell, had[0].Said)
		return
	}
	a, b := &had[0], list[0]
	if a.Count >= 0 && b.Count >= 0 && a.Count != b.Count || a.Size != 0 && b.Size != 0 && a.Size != b.Size {
		r.problem(r.line, 1, "column %s says %.60q, and another column says %.60q of the same parts", column, cell, a.Said)
		return
	}
	a.Count, a.Size = max(a.Count, b.Count), max(a.Size, b.Size)
	a.Model = strings.TrimSpace(a.Model + " " + b.Model)
	a.Said += ", " + b.Said
}

// part reads one statement; false where it is a number that counts nothing.
func (f orderField) part(words string) (OrderedPart, bool) {
	p := OrderedPart{Kind: f.kind, Count: -1, Said: words}
	if m := manyOf.FindStringSubmatch(words); m != nil {
		p.Count, _ = strconv.Atoi(m[1])
		words = m[2]
	}
	if bare.MatchString(words) {
		switch {
		case f.size != 0:
			p.Size, words = decimal(words)*f.size, ""
		case p.Count < 0:
			n, err := strconv.Atoi(words)
			if err != nil {
				return p, false
			}
			p.Count, words = n, ""
		}
	}
	if m := sizeWord.FindStringSubmatch(words); m != nil {
		if unit := sizeUnits[f.kind][strings.ToLower(m[2])]; unit != 0 {
			p.Size = decimal(m[1]) * unit
			words = strings.Replace(words, m[0], " ", 1)
		}
	}
	p.Model = strings.Join(strings.Fields(words), " ")
	return p, true
}

// splitMany cuts "8 x A + 2 x B" into its statements.
func splitMany(cell string) []string {
	var out []string
	from := 0
	for _, at := range nextMany.FindAllStringIndex(cell, -1) {
		out = append(out, strings.TrimSpace(cell[from:at[0]]))
		from = at[0] + 1
	}
	return append(out, strings.TrimSpace(cell[from:]))
}

// decimal reads a number with a point or a comma.
func decimal(s string) float64 {
	f, _ := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64) // the pattern holds numbers alone
	return f
}
