package provision

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
)

// receivedColumns are those of the table for whoever ordered.
var receivedColumns = []string{"line", "serial", "state", "name", "rack", "u", "bmc", "serial_is", "model", "uuid", "differs", "unknown", "note"}

// CSV is a delivery as a table, a line a machine, with the cells that the order has
// between them.
func (g Goods) CSV(comma rune) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma = comma
	kinds := []string{"model"}
	for _, k := range partKinds {
		kinds = append(kinds, string(k))
	}
	head := slices.Clone(receivedColumns)
	for _, k := range kinds {
		head = append(head, "here_"+strings.ToLower(k))
	}
	_ = w.Write(head) // into memory
	for _, m := range g.Machines {
		row := []string{
			figure(m.Line), m.Serial, string(m.State), m.Name, m.Rack, figure(m.U), m.BMC, m.SerialIs, m.Model, m.UUID,
			m.texts(Differs), m.texts(NotTold), m.Why,
		}
		for _, k := range kinds {
			row = append(row, m.here(k))
		}
		for i, cell := range row {
			row[i] = harmless(plain(cell))
		}
		_ = w.Write(row)
	}
	w.Flush()
	return b.Bytes()
}

func (r Received) texts(of Delivered) string {
	var all []string
	for _, c := range r.Compared {
		if c.Verdict == of {
			all = append(all, c.Text)
		}
	}
	return strings.Join(all, "; ")
}

// here is what the BMC lists of a part that was ordered.
func (r Received) here(part string) string {
	for _, c := range r.Compared {
		if c.Part == part {
			return c.Here
		}
	}
	return ""
}

func figure(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// harmless keeps a spreadsheet from taking for a formula what a BMC says.
func harmless(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
