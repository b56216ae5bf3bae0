package profiles

import (
	"maps"
	"regexp"
	"slices"
)

// CatalogueSchema is the value of the schema key of every catalogue file.
const CatalogueSchema = "rackproof/catalogue/1"

// Catalogue is what all profiles share: advice ladders by class of part, and the meaning of NVIDIA's XID codes.
// Every resolved profile carries it whole; a profile may replace single entries.
type Catalogue struct {
	Schema      string                `yaml:"schema" required:"true"`
	Advice      map[string][]Rung     `yaml:"advice,omitempty"`
	XID         map[int]XIDEntry      `yaml:"xid,omitempty"`
	XIDDefault  XIDClass              `yaml:"xid_default,omitempty" enum:"damage,reset,wear,driver,application,info,unknown"`
	XIDVerdicts map[XIDClass]string   `yaml:"xid_verdicts,omitempty" keys:"damage,reset,wear,driver,application,info,unknown" enum:"pass,warn,unknown,fail"`
	SXID        map[int]SXIDEntry     `yaml:"sxid,omitempty"`
	Kernel      map[string]KernelRule `yaml:"kernel,omitempty"`
	Events      map[string]EventRule  `yaml:"events,omitempty"`                                                                    // what a BMC's event log says
	EventsElse  map[string]string     `yaml:"events_else,omitempty" keys:"critical,warning,ok,none" enum:"fail,warn,unknown,pass"` // by severity, for what no rule fits
	Checks      map[string]string     `yaml:"checks,omitempty"`                                                                    // every check name with its title

	ClockReasons map[string]ClockReasonRule `yaml:"clock_reasons,omitempty"`
}

// ClockReasonRule says what it means that a GPU names this reason for running slower while it is busy.
type ClockReasonRule struct {
	Bit     int      `yaml:"bit" required:"true" json:"bit"` // in NVML's mask of reasons
	Check   string   `yaml:"check" required:"true" json:"check"`
	Verdict string   `yaml:"verdict" required:"true" enum:"pass,warn,fail" json:"verdict"`
	Unless  []string `yaml:"unless,omitempty" json:"unless,omitempty"` // reasons that say the same more exactly: then theirs counts
	Advice  string   `yaml:"advice,omitempty" json:"advice,omitempty"` // class of ladder; empty is that of the GPU's form
	Meaning string   `yaml:"meaning" required:"true" json:"meaning"`
	Source  string   `yaml:"source" required:"true" json:"source"`
}

// SXIDEntry is what one SXid of an NVSwitch means. Where the driver's line itself says fatal or not, the line counts.
type SXIDEntry struct {
	Fatal   bool   `yaml:"fatal,omitempty" json:"fatal"`
	Text    string `yaml:"text" required:"true" json:"text"`
	Meaning string `yaml:"meaning" required:"true" json:"meaning"`
	Source  string `yaml:"source" required:"true" json:"source"`
}

// KernelRule says what one kind of message in the kernel's log means. A message is of the first rule, by name, that
// has one of Words in it, in any case, and whose Pattern matches.
type KernelRule struct {
	Words   []string `yaml:"words" required:"true" json:"words"`
	Pattern string   `yaml:"pattern,omitempty" json:"pattern,omitempty"`                         // RE2; its group "part" is the kernel's name of the part
	Check   string   `yaml:"check,omitempty" json:"check,omitempty"`                             // that judges it; "" is kernel.log
	Before  string   `yaml:"before" required:"true" enum:"pass,warn,unknown,fail" json:"before"` // verdict of one from before the test
	During  string   `yaml:"during" required:"true" enum:"pass,warn,unknown,fail" json:"during"` // of one since
	Advice  string   `yaml:"advice" required:"true" json:"advice"`                               // class of ladder
	Meaning string   `yaml:"meaning" required:"true" json:"meaning"`
	Source  string   `yaml:"source" required:"true" json:"source"`
}

// Rung is one step of an advice ladder, tried in order until a retest shows what Retest says.
type Rung struct {
	Do      string `yaml:"do" required:"true" json:"do"`
	Minutes int    `yaml:"minutes" required:"true" json:"minutes"`
	Who     Who    `yaml:"who" required:"true" enum:"hands,trained,vendor" json:"who"`
	Retest  string `yaml:"retest,omitempty" json:"retest,omitempty"`
}

// Who may take a rung.
type Who string

// Hands can be anyone on site, trained is somebody allowed to open the machine, vendor is a ticket.
const (
	Hands   Who = "hands"
	Trained Who = "trained"
	Vendor  Who = "vendor"
)

// XIDClass groups XID codes by what they say about the part.
type XIDClass string

// The classes of XID. Unknown is for codes that no public document explains.
const (
	XIDDamage      XIDClass = "damage"      // the part, its memory or a link is broken
	XIDReset       XIDClass = "reset"       // the GPU needs a reset; the part may be good
	XIDWear        XIDClass = "wear"        // corrected or remapped; gpu.ecc and gpu.remap judge the amount
	XIDDriver      XIDClass = "driver"      // driver or firmware, not the part
	XIDApplication XIDClass = "application" // the program that ran; suspicious under a load known to be good
	XIDInfo        XIDClass = "info"        // no fault
	XIDUnknown     XIDClass = "unknown"
)

// XIDEntry is what one XID code means.
type XIDEntry struct {
	Class   XIDClass  `yaml:"class" required:"true" enum:"damage,reset,wear,driver,application,info,unknown" json:"class"`
	Text    string    `yaml:"text" required:"true" json:"text"`         // NVIDIA's short name of the event
	Meaning string    `yaml:"meaning" required:"true" json:"meaning"`   // in our words, for a technician
	Advice  string    `yaml:"advice,omitempty" json:"advice,omitempty"` // class of ladder; empty is that of the GPU's form
	Source  string    `yaml:"source" required:"true" json:"source"`
	Lines   []XIDLine `yaml:"lines,omitempty" json:"lines,omitempty"` // kinds of the code that the line itself tells apart; the first that fits counts
}

// XIDLine is a kind of an XID that its line tells: then its class holds, not that of the code.
type XIDLine struct {
	Pattern string   `yaml:"pattern" required:"true" json:"pattern"` // RE2
	Class   XIDClass `yaml:"class" required:"true" enum:"damage,reset,wear,driver,application,info,unknown" json:"class"`
}

// XIDIn is XIDOf for a line of the kernel's log: where the entry knows the line's kind, it has its class.
func (p *Profile) XIDIn(n int, line string) (entry XIDEntry, ok bool) {
	entry, ok = p.XIDOf(n)
	for _, kind := range entry.Lines {
		if form, err := regexp.Compile(kind.Pattern); err == nil && form.MatchString(line) {
			entry.Class = kind.Class
			break
		}
	}
	return entry, ok
}

// XIDOf gives the entry of code n; for one that the catalogue does not hold it is an entry of the default class
// and ok is false.
func (p *Profile) XIDOf(n int) (entry XIDEntry, ok bool) {
	if entry, ok = p.XID[n]; ok {
		return entry, true
	}
	return XIDEntry{Class: p.XIDDefault, Text: "not in the catalogue"}, false
}

// clone copies the tables, so that entries of one can be laid over without the other's being changed.
func (c *Catalogue) clone() *Catalogue {
	own := *c
	own.Advice, own.XID, own.XIDVerdicts = maps.Clone(c.Advice), maps.Clone(c.XID), maps.Clone(c.XIDVerdicts)
	own.Kernel, own.Events, own.EventsElse = maps.Clone(c.Kernel), maps.Clone(c.Events), maps.Clone(c.EventsElse)
	own.SXID, own.ClockReasons = maps.Clone(c.SXID), maps.Clone(c.ClockReasons)
	own.Checks = maps.Clone(c.Checks)
	return &own
}

// CheckNames lists the checks that a spec may name, in order.
func (c *Catalogue) CheckNames() []string { return slices.Sorted(maps.Keys(c.Checks)) }
