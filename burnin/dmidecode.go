package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Dmidecode is the firmware's own description of the machine: what it is, its
// slots and its memory modules. It is what the firmware claims, not a measurement
// of the part; sizes and speeds are what the memory training set up.
var Dmidecode = Probe[DMITable]{
	Spec: ProbeSpec{
		Name:     "dmidecode",
		Command:  always("dmidecode"),
		Phases:   []Phase{PhaseBefore},
		Tool:     "dmidecode",
		Version:  "dmidecode --version",
		Deadline: 30 * time.Second,
		Root:     true,
	},
	Parse: parseDmidecode,
}

// DMITable is what dmidecode printed. A type that was not asked for is empty:
// HasMemory says whether memory modules were shown at all.
type DMITable struct {
	BIOSVendor, BIOSVersion, BIOSDate string

	System, Board, Chassis DMIUnit
	SKU, UUID              string

	Sockets   int // populated processor sockets
	Slots     []DMISlot
	Arrays    []DMIArray
	Modules   []DMIModule // system memory only: the firmware's flash chips are listed too, and are none
	HasMemory bool
}

// DMIUnit names one unit of the machine; junk of the firmware is blank.
type DMIUnit struct{ Manufacturer, Product, Serial, AssetTag string }

// DMISlot is a slot for a card.
type DMISlot struct{ Designation, Address string }

// DMIArray is a set of memory sockets.
type DMIArray struct {
	Handle, Use, ErrorCorrection string
	Devices                      int
}

// DMIModule is a memory socket, and the module in it where there is one.
type DMIModule struct {
	Locator, Bank, Type              string
	Manufacturer, Serial, PartNumber string
	Empty                            bool         // "No Module Installed"
	Size                             Opt[float64] // MiB
	TotalWidth, DataWidth            Opt[float64] // bits
	Speed                            Opt[float64] // MT/s it is rated for
	Configured                       Opt[float64] // MT/s it runs at
	array                            string
}

// dmiHead begins a structure: "Handle 0x0025, DMI type 17, 84 bytes".
var dmiHead = regexp.MustCompile(`^Handle (0x[0-9A-Fa-f]+), DMI type (\d+)`)

func parseDmidecode(e *Evidence) (DMITable, error) {
	body, _ := e.Body()
	var t DMITable
	found := false
	end := false
	for _, s := range dmiStructures(string(body)) {
		found = true
		end = end || s.kind == dmiEnd
		t.add(s)
	}
	if !found {
		return DMITable{}, dmiFailure(string(body) + "\n" + string(e.Err))
	}
	if e.wrapped() && !end && e.doubt(false) != nil {
		return DMITable{}, errors.New("dmidecode: the table was cut short, so it does not show what is missing")
	}
	t.dropOtherMemory()
	return t, nil
}

// dmiEnd is the type of the structure that ends a table (SMBIOS specification, type 127).
const dmiEnd = 127

// dmiFailure says why there is no table; dmidecode exits 0 in some of the cases.
func dmiFailure(text string) error {
	switch low := strings.ToLower(text); {
	case strings.Contains(low, "permission denied"):
		return errors.New("dmidecode: no permission to read the firmware's tables; run as root")
	case strings.Contains(low, "no smbios nor dmi entry point"), strings.Contains(low, "/dev/mem"):
		return errors.New("dmidecode: the kernel shows no SMBIOS tables; use an image whose kernel has /sys/firmware/dmi")
	default:
		return errors.New("dmidecode: the output holds no structure")
	}
}

// dmiStructure is one structure: its type and fields in the order printed.
type dmiStructure struct {
	handle string
	kind   int
	fields map[string]string
}

func dmiStructures(text string) []dmiStructure {
	var out []dmiStructure
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if m := dmiHead.FindStringSubmatch(line); m != nil {
			kind, err := strconv.Atoi(m[2])
			if err != nil {
				kind = -1
			}
			out = append(out, dmiStructure{handle: m[1], kind: kind, fields: map[string]string{}})
			continue
		}
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || len(out) == 0 {
			continue
		}
		fields := out[len(out)-1].fields
		if _, twice := fields[name]; !twice {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return out
}

func (t *DMITable) add(s dmiStructure) {
	switch s.kind {
	case 0:
		t.BIOSVendor, t.BIOSVersion, t.BIOSDate = s.fields["Vendor"], s.fields["Version"], s.fields["Release Date"]
	case 1:
		t.System = s.unit()
		t.SKU, t.UUID = plainIdentity(s.fields["SKU Number"]), plainUUID(s.fields["UUID"])
	case 2:
		if t.Board == (DMIUnit{}) { // blades list several; the first hosts the processors
			t.Board = s.unit()
		}
	case 3:
		if t.Chassis == (DMIUnit{}) {
			t.Chassis = s.unit()
		}
	case 4:
		if strings.HasPrefix(s.fields["Status"], "Populated") {
			t.Sockets++
		}
	case 9:
		t.Slots = append(t.Slots, DMISlot{
			Designation: plainIdentity(s.fields["Designation"]), Address: normalAddress(s.fields["Bus Address"]),
		})
	case 16:
		t.Arrays = append(t.Arrays, DMIArray{
			Handle: s.handle, Use: s.fields["Use"], ErrorCorrection: s.fields["Error Correction Type"],
			Devices: atoi(s.fields["Number Of Devices"]),
		})
	case 17:
		t.HasMemory = true
		t.Modules = append(t.Modules, s.module())
	}
}

func (s dmiStructure) unit() DMIUnit {
	return DMIUnit{
		Manufacturer: plainIdentity(s.fields["Manufacturer"]),
		Product:      plainIdentity(s.fields["Product Name"]),
		Serial:       plainIdentity(s.fields["Serial Number"]),
		AssetTag:     plainIdentity(s.fields["Asset Tag"]),
	}
}

func (s dmiStructure) module() DMIModule {
	configured, ok := s.fields["Configured Memory Speed"]
	if !ok {
		configured = s.fields["Configured Clock Speed"] // dmidecode up to 3.1
	}
	size := s.fields["Size"]
	return DMIModule{
		Locator: plainIdentity(s.fields["Locator"]), Bank: plainIdentity(s.fields["Bank Locator"]),
		Type:         s.fields["Type"],
		Manufacturer: plainIdentity(s.fields["Manufacturer"]),
		Serial:       plainIdentity(s.fields["Serial Number"]),
		PartNumber:   plainIdentity(s.fields["Part Number"]),
		Empty:        strings.EqualFold(size, "No Module Installed") || strings.EqualFold(size, "Not Installed"),
		Size:         dmiSize(size),
		TotalWidth:   dmiNumber(s.fields["Total Width"], "bits"),
		DataWidth:    dmiNumber(s.fields["Data Width"], "bits"),
		// The table holds transfers; dmidecode up to 3.0 called the same number MHz.
		Speed:      dmiNumber(s.fields["Speed"], "MT/s", "MHz"),
		Configured: dmiNumber(configured, "MT/s", "MHz"),
		array:      s.fields["Array Handle"],
	}
}

// dropOtherMemory keeps the modules of arrays of system memory.
func (t *DMITable) dropOtherMemory() {
	other := map[string]bool{}
	for _, a := range t.Arrays {
		other[a.Handle] = a.Use != "" && a.Use != "System Memory"
	}
	kept := t.Modules[:0]
	for _, m := range t.Modules {
		if flash := containsAny(strings.ToLower(m.Type), []string{"flash", "rom", "feprom"}); !flash && !other[m.array] {
			kept = append(kept, m)
		}
	}
	t.Modules = kept
}

// dmiNumber reads a number with one of the units; "Unknown" is no number.
func dmiNumber(text string, units ...string) Opt[float64] {
	for _, u := range units {
		number, ok := strings.CutSuffix(text, " "+u)
		if v, err := strconv.ParseUint(number, 10, 32); ok && err == nil && v > 0 {
			return Opt[float64]{V: float64(v), Set: true, Text: text}
		}
	}
	return Opt[float64]{Text: text}
}

// dmiSizes are the units of a module's size; dmidecode counts in powers of 1024.
var dmiSizes = []struct {
	unit string
	mib  float64
}{{"kB", 1.0 / 1024}, {"MB", 1}, {"GB", 1024}, {"TB", 1024 * 1024}}

func dmiSize(text string) Opt[float64] {
	for _, u := range dmiSizes {
		if n := dmiNumber(text, u.unit); n.Set {
			n.V *= u.mib
			return n
		}
	}
	return Opt[float64]{Text: text}
}

// Populated returns the memory modules that are there.
func (t *DMITable) Populated() []DMIModule { return t.modules(false) }

// EmptySockets returns the memory sockets without a module.
func (t *DMITable) EmptySockets() []DMIModule { return t.modules(true) }

func (t *DMITable) modules(empty bool) []DMIModule {
	var out []DMIModule
	for _, m := range t.Modules {
		if m.Empty == empty {
			out = append(out, m)
		}
	}
	return out
}

// Label is what the board prints beside the socket: "P1-DIMMA1". Where the locator
// alone does not tell sockets apart ("DIMM 0" under "P0 CHANNEL A"), the bank is put before it.
func (m *DMIModule) Label(all []DMIModule) string {
	same := 0
	for _, o := range all {
		if o.Locator == m.Locator {
			same++
		}
	}
	if same > 1 && m.Bank != "" {
		return strings.TrimSpace(fmt.Sprintf("%s %s", m.Bank, m.Locator))
	}
	return m.Locator
}
