package burnin

import (
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// Class is a class of part; advice ladders are kept per class (profile key advice).
type Class string

// Classes of part.
const (
	ClassMachine  Class = "machine"
	ClassCPU      Class = "cpu"
	ClassSXM      Class = "sxm-gpu"
	ClassPCIeGPU  Class = "pcie-gpu"
	ClassNVLink   Class = "nvlink"
	ClassFabric   Class = "fabric"
	ClassDIMM     Class = "dimm"
	ClassNVMe     Class = "nvme"
	ClassNIC      Class = "nic"
	ClassPSU      Class = "psu"
	ClassFan      Class = "fan"
	ClassAir      Class = "air" // what the machine takes in
	ClassDriver   Class = "driver"
	ClassImage    Class = "image"
	ClassFirmware Class = "firmware"
	ClassCable    Class = "cable"
	ClassPair     Class = "bmc-host"    // BMC and host that belong to two machines
	ClassSetting  Class = "gpu-setting" // a mode that somebody set, no defect of the part
	ClassHeat     Class = "gpu-heat"    // a GPU that gets too hot, as often for the air around it as for itself
	ClassOrder    Class = "order"       // a good part that is not the one ordered
)

// Part is one part of the machine, named the way a technician finds it: by the
// label on the board or in the BMC, never by an index that moves.
type Part struct {
	Class   Class
	Name    string // "GPU SXM3", "DIMM P1-DIMMA1", "NVMe bay 4", "NIC port ens1f0"
	Serial  string
	Address string // PCI, dddd:bb:dd.f in lower case
	Index   *int   // the tool's own number, for display only
}

// Finding answers one question about one quantity of one part. Its JSON form is
// that of CLI.md.
type Finding struct {
	ID         string         `json:"id"` // check/quantity/part, stable
	Check      string         `json:"check"`
	Scope      profiles.Scope `json:"scope"`
	Relation   string         `json:"relation,omitempty"`
	Part       string         `json:"part"`
	Class      Class          `json:"class,omitempty"`
	Address    string         `json:"address,omitempty"`
	Index      *int           `json:"index,omitempty"`
	Serial     string         `json:"serial,omitempty"`
	Peer       string         `json:"peer,omitempty"`
	Quantity   string         `json:"quantity"`
	Measured   any            `json:"measured"` // number, string or nil
	Limit      any            `json:"limit"`
	Unit       string         `json:"unit,omitempty"`
	Samples    *Stats         `json:"samples,omitempty"`
	Verdict    Verdict        `json:"verdict"`
	Why        string         `json:"why,omitempty"` // one sentence for people: what was seen
	Advice     []Advice       `json:"advice,omitempty"`
	Provenance *Provenance    `json:"provenance,omitempty"`
	Evidence   []string       `json:"evidence"`
	Waived     string         `json:"waived,omitempty"`  // reason and by whom
	Attempt    int            `json:"attempt,omitempty"` // that proved it, where it is not the one judged; see Kept

	// NotRun is set instead of a verdict when the quantity was not measured: the
	// finding then goes to the list not_run.
	NotRun string `json:"-"`
}

// Stats condenses samples.
type Stats struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
	N    int     `json:"n"`
}

// Advice is one rung of the ladder of what to do, from the profile.
type Advice struct {
	Do      string `json:"do"`
	Minutes int    `json:"minutes"`
	Who     string `json:"who"`              // hands, trained, vendor
	Retest  string `json:"retest,omitempty"` // what the retest must show
}

// Provenance says where a limit comes from.
type Provenance struct {
	Kind   string `json:"kind"`
	Source string `json:"source"`
}

// NotRun is one quantity that was not measured, and why.
type NotRun struct {
	Check    string         `json:"check"`
	Quantity string         `json:"quantity,omitempty"`
	Part     string         `json:"part,omitempty"`
	Why      string         `json:"why"`
	Scope    profiles.Scope `json:"scope"`
}

// About starts a finding of check about quantity of part.
func About(check, quantity string, p Part, evidence ...string) Finding {
	return Finding{
		ID: check + "/" + quantity + "/" + p.Name, Check: check, Quantity: quantity,
		Part: p.Name, Class: p.Class, Address: p.Address, Index: p.Index, Serial: p.Serial,
		Evidence: withoutBlanks(evidence),
	}
}

// withClass gives what was found bad about quantities (all, when none is named)
// another ladder of advice than the part has.
func withClass(fs []Finding, class Class, quantities ...string) []Finding {
	for i := range fs {
		if fs[i].Verdict >= Warn && (len(quantities) == 0 || slices.Contains(quantities, fs[i].Quantity)) {
			fs[i].Class = class
		}
	}
	return fs
}

// Missing turns f into a quantity that was not measured because of why.
func (f Finding) Missing(why error) Finding {
	f.Verdict, f.NotRun = Unknown, strings.TrimSpace(why.Error())
	return f
}

func withoutBlanks(in []string) []string {
	out := make([]string, 0, len(in))
	for _, s := range in {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
