package provision

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// Step is one idempotent move. Done asks the machine, or the store of this run
// and attempt, never the journal; Do acts, through Env.Act wherever something
// changes. Done is asked again after Do, and must then be true.
type Step interface {
	Name() string
	Done(context.Context, *Env) (bool, error)
	Do(context.Context, *Env) (Facts, error)
}

// Planner is a Step that can say what it would change. Plan changes nothing.
type Planner interface {
	Plan(context.Context, *Env) ([]Change, error)
}

// Change is one thing that a run would change on a machine.
type Change struct {
	Step string `json:"step"`
	What string `json:"what"`
	Now  string `json:"now,omitempty"`
	Want string `json:"want,omitempty"`
}

// Facts are small public strings that the engine journals and gives to later
// steps: host address, boot id, result. Never a secret.
type Facts map[string]string

// Names of facts that more than one step uses.
const (
	FactUUID        = "bmc_uuid"      // SMBIOS UUID by the BMC
	FactBMCMAC      = "bmc_mac"       // of the BMC, by the BMC
	FactLogRead     = "bmc_log_read"  // when the BMC's log was first read, by our clock
	FactModel       = "model"         // by the BMC
	FactMember      = "serial_is"     // member of the identity set that the batch's serial equals
	FactSerial      = "serial_seen"   // serial number of the system, by the BMC
	FactPrint       = "bmc_sha256"    // certificate of the BMC; over IPMI the machine's UUID or the BMC's MAC
	FactInsecure    = "tls_insecure"  // "true" when no certificate was checked
	FactTransport   = "bmc_transport" // what protects the session with the BMC, where TLS does not
	FactBIOSFound   = "bios_found"    // JSON: attributes as they were before we changed them
	FactBIOSLines   = "bios_lines"    // JSON: []burnin.BIOSLine: found, wanted, in force
	FactDraw        = "load_watts"    // the most its BMC read under load, where that is what its rack and PDUs carry
	FactLoad        = "load"          // time under load, where it is not the spec's
	FactUnmapped    = "bios_unmapped" // wishes that the board has no attribute for
	FactBoot        = "boot_method"   // how the host was brought up
	FactCarried     = "boot_carried"  // step whose reset serves the ones behind it too, and boots the host; "" = none
	FactToken       = "token"         // one-time token of this boot; public once it was on the wire
	FactHostKey     = "host_key"      // SSH public key that we injected
	FactReset       = "last_reset"    // of the BMC, after our boot
	FactHost        = "host_address"  // where the booted host said its SSH answers
	FactBootID      = "boot_id"       // of the host
	FactProof       = "proof"         // how host and BMC were proven one machine; "" = not
	FactFault       = "fault"         // a step found the machine at fault
	FactFaultDo     = "fault_do"      // what to do about it
	FactResult      = "result"        // burnin.Result
	FactLine        = "line"          // first line for people
	FactLadder      = "hands"         // JSON: Hands of a failed machine
	FactHandover    = "handed_over"   // state at handover
	FactNote        = "note"          // remark for the report
	FactSwap        = "swap"          // what a retest says of parts that changed places
	FactBMCAddr     = "bmc_address"   // where the BMC is since its network was set
	FactBMCWas      = "bmc_was"       // where the batch has it then
	FactRenewed     = "bmc_renewed"   // the BMC made a new certificate with our firmware update
	FactDiagnostics = "diagnostics"   // what was collected for the vendor's support at a failure, and what was not
	FactJudged      = "judged_again"  // what the attempt was judged before, by which profile and spec
	FactPowerFound  = "power_found"   // redfish.PowerState of the host when its BMC was first proven
	FactLeftOut     = "left_out"      // steps that their condition left out, and why
	FactSecureBoot  = "secure_boot"   // "on" or "off", as step secure-boot has brought it about
	FactVolumes     = "raid_volumes"  // RAID volumes as the BMC lists them
	factTouched     = "touched"       // "yes": a step began to do something that reboots, loads or writes
	FactPassword    = "bmc_password"  // passwordNew: the BMC takes the batch's new password by now
)

// carried are the facts that outlive an attempt: what was found on arrival is
// found once, and a BMC stays where its network was set to.
var carried = []string{FactBIOSFound, FactPowerFound, FactBMCAddr, FactBMCWas, FactDraw, FactPassword, factLEDFound}

// Clone returns a copy that may be changed.
func (f Facts) Clone() Facts {
	if f == nil {
		return Facts{}
	}
	return maps.Clone(f)
}

// StepInfo is a step of a workflow, with what an engine must know of it.
type StepInfo struct {
	Step    Step
	Timeout time.Duration // of one try, waiting for the machine included
	Tries   int
	Always  bool // runs also after a fault, and when a machine is judged again: the report. It asks neither BMC nor host
	Loads   bool // draws full power: waits for the rack's budget
	Canary  bool // changes many machines alike: 1, then 3, then the rest, with a brake
	Planned bool // where the run holds to a plan file, it changes only what that says

	Backoff time.Duration // before the second try, doubling; 0 = the engine's
	When    *When         // the machines that it is for; nil = all
	With    Options       // what the workflow says of it, for steps that take something

	Gentle  bool          // neither reboots, loads nor writes: it may begin at any time before a run's deadline
	KeepBMC bool          // its BMC is not reset in its course: what it writes must not be cut short
	Takes   time.Duration // usually, at most; 0 = up to its timeout

	About    string   // what it does, in a few words
	Needs    []string // steps that must stand before it
	Anywhere bool     // keeps no order among the steps that it does not need
}

// Workflow is an ordered, named list of steps.
type Workflow struct {
	Name  string
	About string // what it is for, in a few words
	Steps []StepInfo
}

// Find returns the step called name.
func (w Workflow) Find(name string) (StepInfo, bool) {
	for _, s := range w.Steps {
		if s.Step.Name() == name {
			return s, true
		}
	}
	return StepInfo{}, false
}

// Plan is a workflow as data, which engines interpret and journal.
type Plan struct {
	Name    string     `json:"name"`
	Version int        `json:"version"`
	Steps   []PlanStep `json:"steps"`
}

// PlanVersion is the newest version of a plan that this rackproof knows. A worker
// that does not know a run's version refuses it. A plan has the lowest that reads it
// rightly: 2 is one with conditions, which a reader of 1 would pass over.
const PlanVersion = 2

// PlanStep is StepInfo without the code.
type PlanStep struct {
	Name    string        `json:"name"`
	Timeout time.Duration `json:"timeout_ns"`
	Tries   int           `json:"tries"`
	Always  bool          `json:"always,omitempty"`
	Loads   bool          `json:"loads,omitempty"`
	Canary  bool          `json:"canary,omitempty"`
	Backoff time.Duration `json:"backoff_ns,omitempty"`
	When    *When         `json:"when,omitempty"` // held to where events are folded: engines need not look
	With    Options       `json:"with,omitempty"`
}

// Plan returns the workflow as data.
func (w Workflow) Plan() Plan {
	p := Plan{Name: w.Name, Version: 1}
	for _, s := range w.Steps {
		p.Steps = append(p.Steps, PlanStep{
			Name: s.Step.Name(), Timeout: s.Timeout, Tries: max(s.Tries, 1),
			Always: s.Always, Loads: s.Loads, Canary: s.Canary, Backoff: s.Backoff, When: s.When, With: s.With,
		})
		if s.When != nil {
			p.Version = PlanVersion
		}
	}
	return p
}

// Pause is how long to wait behind a try that failed; base is the engine's own pause
// behind the first, for steps that state none. It doubles with each try.
func (s PlanStep) Pause(try int, base time.Duration) time.Duration {
	if s.Backoff > 0 {
		base = s.Backoff
	}
	return base << min(max(try, 1)-1, 6)
}

// Hands is the error by which a step waits for a person.
type Hands struct {
	Do     []burnin.Advice `json:"do"`               // what to do, in this order
	Where  string          `json:"where"`            // "R12 U07, GPU SXM3"
	Next   string          `json:"next"`             // the command that goes on
	Ladder string          `json:"ladder,omitempty"` // rung of the ladder: "1 of 3"
	Why    string          `json:"why"`
	Knows  string          `json:"knows,omitempty"` // how the tool knows that it was done
}

func (h *Hands) Error() string {
	return fmt.Sprintf("%s (waits for hands: %s)", h.Why, h.Next)
}

// Minutes is how long the first rung takes.
func (h *Hands) Minutes() int {
	if len(h.Do) == 0 {
		return 0
	}
	return h.Do[0].Minutes
}

// Stuck is the error by which a step says that infrastructure keeps it from
// going on: no address, wrong password, silent BMC. It is never hardware.
type Stuck struct {
	Why   string    `json:"why"`
	Do    string    `json:"do,omitempty"`    // what to look at or correct, for whoever stands there
	Next  string    `json:"next,omitempty"`  // the command that goes on; "" = resume the run
	Owner string    `json:"owner,omitempty"` // who can help; "" means hands
	Until time.Time `json:"until,omitzero"`
	// Anew says that what the step did has been in vain, so that the step acts anew
	// when a person resumes it. Otherwise it only asks whether it has worked since.
	Anew bool `json:"anew,omitempty"`
	// Looked says that only a person can tell whether the act happened: who resumes has
	// looked, and it is done anew where the machine still does not show it.
	Looked bool `json:"looked,omitempty"`
	// Suspect says that the machine itself did not do what it was told: its hardware may
	// be why, and its BMC's diagnostics may tell.
	Suspect bool `json:"suspect,omitempty"`

	cause error // for a step that can do something about it; may be nil
}

// Unwrap gives the cause, where a step may act on it.
func (s *Stuck) Unwrap() error { return s.cause }

func (s *Stuck) Error() string {
	text := s.Why
	for _, more := range []string{s.Do, s.Next} {
		if more != "" {
			text = strings.TrimRight(text, ".") + ". " + more
		}
	}
	return text
}

// Fault is the error by which a step says that the machine itself is at fault:
// no further step works on it but those that always run, and the report says why.
type Fault struct {
	Line string // at most 100 characters, without machine and place
	Why  string
	Do   []burnin.Advice
}

func (f *Fault) Error() string { return f.Why }
