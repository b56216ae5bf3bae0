package profiles

import "fmt"

// Position is a place in a YAML file. Line and Column count from 1; a zero Line means that only the file is known.
type Position struct {
	File   string
	Line   int
	Column int
}

// String gives file:line:column, which editors and terminals turn into a link.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}
