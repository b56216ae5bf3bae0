package burnin

import (
	"encoding/json"
	"time"
)

// EvidenceSchema names the format on disk.
const EvidenceSchema = "rackproof/evidence/1"

// Coverage says what a record can prove at all.
type Coverage string

// Coverages. Full is a run with BMC evidence; Host is burnin, capture or judge of
// a folder without BMC evidence, whose BMC checks are printed as out of scope;
// Partial is a handful of loose files, which never pass.
const (
	CoverFull    Coverage = "full"
	CoverHost    Coverage = "host"
	CoverPartial Coverage = "partial"
)

// Record is all that is known of one attempt at one machine: the folder
// <run>/<machine>/<attempt>/ in memory.
type Record struct {
	Meta     Meta
	Profile  []byte // resolved profile, as judged with; empty in a bare capture
	Spec     []byte
	Machine  Machine
	Manifest []byte // SHA256SUMS as it lies beside the evidence; empty when it was not sealed
	Evidence []*Evidence
	Earlier  []*Evidence // of spans that were interrupted, see Meta.Spans
}

// Meta is evidence.json.
type Meta struct {
	Schema     string      `json:"schema"` // EvidenceSchema
	Run        string      `json:"run,omitempty"`
	Machine    string      `json:"machine"`
	Attempt    int         `json:"attempt"`
	Coverage   Coverage    `json:"coverage"`
	Started    time.Time   `json:"started,omitzero"`
	Ended      time.Time   `json:"ended,omitzero"`
	Rackproof  string      `json:"rackproof,omitempty"` // version that collected it
	Simulated  bool        `json:"simulated,omitempty"`
	Restarts   []Restart   `json:"restarts,omitempty"`
	Boots      []Boot      `json:"boots,omitempty"`      // reboot cycles, in their order
	Reboots    int         `json:"reboots,omitempty"`    // how many are to follow the load; provision asks its spec
	Restarting *Restarting `json:"restarting,omitempty"` // the restart that is under way, or was last
	Spans      []Span      `json:"spans,omitempty"`      // under load, in their order
	Dropped    []Drop      `json:"dropped,omitempty"`    // GPUs that were lost under load
	Carried    *Carried    `json:"carried,omitempty"`    // hours of the attempts before
	Notes      []string    `json:"notes,omitempty"`      // what happened on the way: reconnects, clock jumps
}

// Restart is a new boot of the machine since the attempt began, after which all was
// measured again. What was measured under load before it is kept, see Span.
type Restart struct {
	Seen time.Time `json:"seen"`
	From string    `json:"from"` // boot ids
	To   string    `json:"to"`
}

// Machine is machine.json: what provision knows of the machine, as plain data.
type Machine struct {
	Name     string            `json:"name"`
	Rack     string            `json:"rack,omitempty"`
	U        int               `json:"u,omitempty"`
	Customer string            `json:"customer,omitempty"`
	Order    string            `json:"order,omitempty"`
	Stage    string            `json:"stage,omitempty"`
	Wanted   WantedIdentity    `json:"wanted,omitzero"`  // as the batch states it
	Cables   map[string]string `json:"cables,omitempty"` // plan of the batch: switch and its port by network port
	Steps    []StepTime        `json:"steps,omitempty"`
	Waivers  []Waiver          `json:"waivers,omitempty"`
	BIOS     []BIOSLine        `json:"bios,omitempty"`
	Image    string            `json:"image,omitempty"`
	BootID   string            `json:"boot_id,omitempty"`
	Proof    string            `json:"proof,omitempty"` // how host and BMC were proven one machine; "" = not
	Guessed  bool              `json:"profile_guessed,omitempty"`
	Insecure bool              `json:"tls_insecure,omitempty"`
	Facts    map[string]string `json:"facts,omitempty"`
	Repaired []Repair          `json:"repaired,omitempty"`
	// Replacements are the serial numbers of parts that came into the machine since its
	// first attempt: whatever was ordered, what replaces a part is new.
	Replacements []string `json:"replacements,omitempty"`
	Kept         *Kept    `json:"kept,omitempty"`        // what an earlier attempt has proven and this one does not measure
	Wipe         *Wiping  `json:"wipe,omitempty"`        // disks that are to be erased
	HandedOver   string   `json:"handed_over,omitempty"` // state at handover
}

// WantedIdentity is what the batch says about which machine this is.
type WantedIdentity struct {
	Serial string `json:"serial,omitempty"` // may match any member of the identity set
	UUID   string `json:"uuid,omitempty"`
	MAC    string `json:"mac,omitempty"`
}

// StepTime is one step of the workflow as it went.
type StepTime struct {
	Step    string    `json:"step"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Tries   int       `json:"tries,omitempty"`
}

// Waiver accepts one deviation. It names who agreed and until when.
type Waiver struct {
	Finding string    `json:"finding"` // finding id, or a check name for all of it
	Reason  string    `json:"reason"`
	By      string    `json:"by"`
	Until   time.Time `json:"until,omitzero"`
}

// BIOSLine is one BIOS attribute before, as wanted, and after.
type BIOSLine struct {
	Attribute string `json:"attribute"`
	Found     any    `json:"found"`
	Wanted    any    `json:"wanted"`
	Now       any    `json:"now"`
}

// Repair is something people did between two attempts.
type Repair struct {
	At   time.Time `json:"at"`
	Part string    `json:"part,omitempty"`
	Note string    `json:"note"`
	Said string    `json:"said,omitempty"` // what the retest behind it showed of parts that were moved

	// Of an exchanged board or BMC: who said so, and by what the machine was known before
	// and is known since.
	By  string    `json:"by,omitempty"`
	Was *Identity `json:"was,omitempty"`
	Is  *Identity `json:"is,omitempty"`
}

// find returns the evidence of a probe in a phase ("" instance matches only ""),
// or nil.
func (r *Record) find(phase Phase, probe, instance string) *Evidence {
	for _, e := range r.Evidence {
		if e.Phase == phase && e.Probe == probe && e.Instance == instance {
			return e
		}
	}
	return nil
}

// JSON encodes v the way every file of a record is written: indented, with a
// final newline, so that hashes are stable.
func JSON(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
