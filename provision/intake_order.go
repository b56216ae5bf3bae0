package provision

import (
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rackproof/rackproof/profiles"
)

// Order is what was ordered, as a table from whoever ordered it: a line a machine.
type Order struct {
	Lines   []OrderLine
	Ignored []string // columns that are compared with nothing, as the file names them
	Comma   rune     // between the file's cells
}

// OrderLine is one machine as ordered. What the table does not say is "", 0 or nil.
type OrderLine struct {
	Serial string
	Name   string
	Rack   string
	U      int
	Model  string
	BMC    string // address, where it is known beforehand
	Parts  []OrderedPart

	// Strange are statements about parts that are not understood: nothing proves them.
	Strange []OrderedPart

	// Also are further serial numbers of it, and Factory what a record of it has, where
	// that is compared instead of an order.
	Also    []string
	Factory *Factory

	Pos profiles.Position
}

// Addresses reports whether the order says of a machine where its BMC is.
func (o *Order) Addresses() bool {
	return slices.ContainsFunc(o.Lines, func(l OrderLine) bool { return l.BMC != "" })
}

// Where is the place as people say it, or "".
func (l OrderLine) Where() string { return place(l.Rack, l.U) }

// PartKind is a kind of part that a BMC lists.
type PartKind string

// The kinds of part that an order may state.
const (
	KindCPU    PartKind = "CPU"
	KindGPU    PartKind = "GPU"
	KindDIMM   PartKind = "DIMM"
	KindMemory PartKind = "memory" // all modules together
	KindDrive  PartKind = "drive"
	KindNIC    PartKind = "NIC"
	KindPSU    PartKind = "PSU"
)

// partKinds are the kinds in the order in which they are told.
var partKinds = []PartKind{KindCPU, KindGPU, KindDIMM, KindMemory, KindDrive, KindNIC, KindPSU}

// OrderedPart is so many parts of one kind and make.
type OrderedPart struct {
	Kind  PartKind `json:"kind"`
	Count int      `json:"count"`           // -1 = not stated
	Model string   `json:"model,omitempty"` // words of it
	Size  float64  `json:"size,omitempty"`  // GiB of a DIMM or of all memory, bytes of a drive, W of a PSU; 0 = not stated
	Said  string   `json:"said"`            // as the table says it
}

// orderField is what a column says.
type orderField struct {
	line func(*orderReader, *OrderLine, string) // of the machine itself
	kind PartKind                               // of parts
	size float64                                // a bare number is a size, in this unit; 0 = a count

	strange bool // it is about these parts, and what of them is not understood
}

// orderColumns are the headings that are understood, in lower case with letters and
// digits only.
var orderColumns = orderTable()

func orderTable() map[string]orderField {
	t := map[string]orderField{}
	put := func(f orderField, names string) {
		for name := range strings.FieldsSeq(names) {
			t[name] = f
		}
	}
	words := func(names string, to func(*OrderLine) *string) {
		put(orderField{line: func(_ *orderReader, l *OrderLine, cell string) { *to(l) = cell }}, names)
	}
	words("serial serialnumber serialno sn servicetag tag seriennummer", func(l *OrderLine) *string { return &l.Serial })
	words("name machine machinename host hostname server", func(l *OrderLine) *string { return &l.Name })
	words("rack", func(l *OrderLine) *string { return &l.Rack })
	words("model servermodel product machinemodel modell", func(l *OrderLine) *string { return &l.Model })
	words("bmc bmcip bmcaddress bmcaddr ipmi", func(l *OrderLine) *string { return &l.BMC })
	put(orderField{line: (*orderReader).unit}, "u unit rackunit he")
	for kind, names := range map[PartKind]string{
		KindCPU: "cpu cpus processor processors prozessoren", KindGPU: "gpu gpus accelerator accelerators",
		KindDIMM: "dimm dimms memorymodule memorymodules rammodule rammodules", KindDrive: "drive drives disk disks ssd ssds nvme festplatten",
		KindNIC: "nic nics networkadapter networkadapters networkcard networkcards netzwerkkarten", KindPSU: "psu psus powersupply powersupplies netzteile",
	} {
		for name := range strings.FieldsSeq(names) {
			for _, more := range []string{"", "count", "qty", "quantity", "number", "anzahl", "model", "type", "modell"} {
				t[name+more] = orderField{kind: kind}
			}
			t["anzahl"+name] = orderField{kind: kind}
		}
	}
	sized := func(kind PartKind, unit float64, names string) { put(orderField{kind: kind, size: unit}, names) }
	sized(KindDIMM, 1, "dimmgib dimmgb dimmsize dimmsizegib dimmsizegb gbperdimm gibperdimm")
	sized(KindMemory, 1, "memory memorygib memorygb ram ramgib ramgb totalmemory totalmemorygib totalmemorygb arbeitsspeicher")
	sized(KindMemory, 1024, "memorytb memorytib ramtb ramtib")
	sized(KindDrive, 1e12, "drivetb disktb ssdtb nvmetb drivesizetb")
	sized(KindDrive, 1e9, "drivegb diskgb ssdgb nvmegb drivesizegb")
	sized(KindPSU, 1, "psuw psuwatt psuwatts psupower")
	return t
}

// strangeColumn is a column whose name begins as that of a part.
func strangeColumn(name string) orderField {
	for _, kind := range partKinds {
		for _, word := range strangeWords[kind] {
			if strings.HasPrefix(name, word) {
				return orderField{kind: kind, strange: true}
			}
		}
	}
	return orderField{}
}

var strangeWords = map[PartKind][]string{
	KindCPU: {"cpu", "processor"}, KindGPU: {"gpu", "accelerator"}, KindDIMM: {"dimm"}, KindMemory: {"memory", "ram"},
	KindDrive: {"drive", "disk", "ssd", "nvme"}, KindNIC: {"nic", "network"}, KindPSU: {"psu", "powersupp"},
}

// heading reduces the name of a column to what counts of it.
func heading(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// ParseOrder reads an order: UTF-8 or UTF-16, with or without a mark at its beginning;
// the first line names the columns; commas, semicolons or tabs stand between. A column
// serial is needed. Every mistake is told at once: the error is profiles.Problems.
func ParseOrder(file string, raw []byte) (*Order, error) {
	r := &orderReader{file: file, order: &Order{Comma: ','}}
	text, err := decodeText(raw)
	if err != nil {
		r.problem(1, 1, "%v", err)
		return nil, r.problems
	}
	if !utf8.ValidString(text) {
		good, _, _ := strings.Cut(strings.ToValidUTF8(text, "\x00"), "\x00")
		r.problem(1+strings.Count(good, "\n"), 1, "the text is neither UTF-8 nor UTF-16: save it as \"CSV UTF-8\"")
		return nil, r.problems
	}
	r.read(text)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return r.order, nil
}

// decodeText gives a file's text without a byte order mark.
func decodeText(raw []byte) (string, error) {
	order := byteOrder(raw)
	if order == nil {
		return strings.TrimPrefix(string(raw), mark), nil
	}
	if len(raw)%2 != 0 {
		return "", errors.New("UTF-16 with an odd number of bytes: the file was cut")
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = order.Uint16(raw[2*i:])
	}
	return strings.TrimPrefix(string(utf16.Decode(units)), mark), nil
}

// mark is what may stand before a text and tells its encoding.
const mark = "\ufeff"

// byteOrder is that of a text in UTF-16, by its mark or by the zero byte of its first
// letter; nil for any other text.
func byteOrder(raw []byte) binary.ByteOrder {
	if len(raw) < 2 {
		return nil
	}
	switch first, second := raw[0], raw[1]; {
	case first == 0xff && second == 0xfe, first != 0 && second == 0:
		return binary.LittleEndian
	case first == 0xfe && second == 0xff, first == 0 && second != 0:
		return binary.BigEndian
	}
	return nil
}

type orderReader struct {
	file     string
	order    *Order
	line     int
	columns  []orderField
	names    []string
	problems profiles.Problems
}

func (r *orderReader) problem(line, column int, format string, args ...any) {
	pos := profiles.Position{File: r.file, Line: line, Column: column}
	r.problems = append(r.problems, profiles.Problem{Pos: pos, Text: fmt.Sprintf(format, args...)})
}

func (r *orderReader) read(text string) {
	above := 0 // lines before the headings
	if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(strings.ToLower(first), "sep=") {
		text, above = rest, 1 // a hint for spreadsheets
	}
	head, _, _ := strings.Cut(text, "\n")
	for _, comma := range []rune{',', '\t', ';'} { // the last that is there, as "a, b; c" has both
		if strings.ContainsRune(head, comma) {
			r.order.Comma = comma
		}
	}
	rows := csv.NewReader(strings.NewReader(text))
	rows.Comma, rows.TrimLeadingSpace, rows.FieldsPerRecord = r.order.Comma, true, -1
	seen := map[string]int{}
	for {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line, column := 1, 1
			if pe, ok := errors.AsType[*csv.ParseError](err); ok {
				line, column, err = pe.Line, pe.Column, pe.Err
			}
			r.problem(above+line, column, "%v", err)
			return
		}
		if strings.TrimSpace(strings.Join(cells, "")) == "" {
			continue
		}
		line, _ := rows.FieldPos(0)
		r.line = above + line
		if r.columns == nil {
			if !r.head(cells) {
				return
			}
			continue
		}
		r.row(cells, seen)
	}
	if len(r.order.Lines) == 0 && len(r.problems) == 0 {
		r.problem(max(r.line, 1), 1, "no machine in it: the first line names the columns, each line below is one machine")
	}
}

// head takes the names of the columns. Without serials no machine is found.
func (r *orderReader) head(cells []string) bool {
	r.names = cells
	has := false
	for _, name := range cells {
		f, known := orderColumns[heading(name)]
		if !known {
			f = strangeColumn(heading(name))
		}
		if !known && !f.strange && strings.TrimSpace(name) != "" {
			r.order.Ignored = append(r.order.Ignored, strings.TrimSpace(name))
		}
		r.columns = append(r.columns, f)
		switch heading(name) {
		case "serial", "serialnumber", "serialno", "sn", "servicetag", "tag", "seriennummer":
			has = true
		}
	}
	if !has {
		r.problem(r.line, 1, "no column serial (or service tag): the machines are found by it; columns are %.200s", strings.Join(cells, ", "))
	}
	return has
}

func (r *orderReader) row(cells []string, seen map[string]int) {
	l := OrderLine{Pos: profiles.Position{File: r.file, Line: r.line, Column: 1}}
	stated := map[PartKind][]OrderedPart{}
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		if cell == "" {
			continue
		}
		if i >= len(r.columns) {
			r.problem(r.line, 1, "%d cells, and the headings name %d columns", len(cells), len(r.columns))
			return
		}
		switch f := r.columns[i]; {
		case f.line != nil:
			f.line(r, &l, cell)
		case f.strange:
			l.Strange = append(l.Strange, OrderedPart{Kind: f.kind, Count: -1, Said: strings.TrimSpace(r.names[i]) + ": " + cell})
		case f.kind != "":
			r.parts(f, strings.TrimSpace(r.names[i]), cell, stated)
		}
	}
	if l.Serial == "" {
		r.problem(r.line, 1, "no serial: nothing says which machine this is")
		return
	}
	if before, taken := seen[strings.ToUpper(l.Serial)]; taken {
		r.problem(r.line, 1, "serial %s stands in line %d already", l.Serial, before)
		return
	}
	seen[strings.ToUpper(l.Serial)] = r.line
	for _, kind := range partKinds {
		l.Parts = append(l.Parts, stated[kind]...)
	}
	r.order.Lines = append(r.order.Lines, l)
}

func (r *orderReader) unit(l *OrderLine, cell string) {
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimLeft(cell, "Uu")))
	if err != nil || n < 1 || n > 60 {
		r.problem(r.line, 1, "u %.20q: want the number of the lowest rack unit", cell)
	}
	l.U = n
}
