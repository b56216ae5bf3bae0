package profiles

import "slices"

// SpecSchema is the value of the schema key of every acceptance spec that this package reads.
const SpecSchema = "rackproof/spec/1"

// Scope is what an acceptance does with a check.
type Scope string

// The scopes. Only what is required and not proven blocks.
const (
	Required   Scope = "required"
	Recorded   Scope = "recorded"     // measured and printed; does not block
	OutOfScope Scope = "out_of_scope" // printed as such
)

// Condition is the state of the parts as ordered. Lifetime limits hold for new parts only.
type Condition string

// The conditions.
const (
	New         Condition = "new"
	Refurbished Condition = "refurbished"
	InService   Condition = "in-service"
)

// OnFail is what a run does when a part fails.
type OnFail string

// The policies.
const (
	StopMachine         OnFail = "stop-machine"
	DropPartAndContinue OnFail = "drop-part-and-continue"
	Continue            OnFail = "continue"
)

// Clock is what a repair does to the soak hours already done.
type Clock string

// The clocks.
const (
	ClockRestart  Clock = "restart"  // the whole machine soaks again from zero
	ClockPart     Clock = "part"     // the replaced part soaks its hours, the rest keeps them
	ClockContinue Clock = "continue" // the hours already done count
)

// SoakMode says how soak hours add up.
type SoakMode string

// The modes.
const (
	Uninterrupted SoakMode = "uninterrupted"
	Accumulated   SoakMode = "accumulated"
)

// NVMeLoad is what a burn-in does to NVMe drives.
type NVMeLoad string

// What is done to NVMe drives. Even where it is write, only those disks are written that a person names by serial
// number, and that are proven empty.
const (
	NVMeRead  NVMeLoad = "read"
	NVMeWrite NVMeLoad = "write"
)

// SpecLoads is what a burn-in may do beyond reading.
type SpecLoads struct {
	NVMe NVMeLoad `yaml:"nvme,omitempty" enum:"read,write"`
}

// Spec is what was agreed to be proven.
type Spec struct {
	Schema           string           `yaml:"schema" required:"true"`
	Name             string           `yaml:"name" required:"true"`
	Title            string           `yaml:"title,omitempty"`
	Extends          []string         `yaml:"extends,omitempty"`
	Condition        Condition        `yaml:"condition,omitempty" enum:"new,refurbished,in-service"`
	OnFail           OnFail           `yaml:"on_fail,omitempty" enum:"stop-machine,drop-part-and-continue,continue"`
	Soak             Soak             `yaml:"soak,omitempty"`
	Reboots          Reboots          `yaml:"reboots,omitempty"`
	Loads            SpecLoads        `yaml:"loads,omitempty"`
	ClockAfterRepair map[string]Clock `yaml:"clock_after_repair,omitempty" enum:"restart,part,continue"`           // by class of part, as the advice ladders; "default" for the others
	Default          Scope            `yaml:"default,omitempty" enum:"required,recorded,out_of_scope"`             // of checks that Checks does not name
	Checks           map[string]Scope `yaml:"checks,omitempty" keys:"check" enum:"required,recorded,out_of_scope"` // by check, or check/quantity, which goes before

	bytes []byte
}

// Soak is how long a machine is kept under load.
type Soak struct {
	Hours    float64  `yaml:"hours,omitempty"`
	Mode     SoakMode `yaml:"mode,omitempty" enum:"uninterrupted,accumulated"`
	Restarts int      `yaml:"restarts,omitempty"` // allowed without starting again
	Pauses   int      `yaml:"pauses,omitempty"`   // allowed without starting again
}

// RebootKind is how a machine is restarted.
type RebootKind string

// The kinds. A cold start also trains every link anew from no power, so it stands for a warm one.
const (
	Warm RebootKind = "warm" // by its operating system
	Cold RebootKind = "cold" // off and on again by its BMC, which keeps its own power
)

// ClockOf is what the repair of a part does to the hours; a class that the spec does not name is as the default, and
// without one all begins again.
func (s *Spec) ClockOf(class string) Clock {
	for _, key := range []string{class, "default"} {
		if c := s.ClockAfterRepair[key]; c != "" {
			return c
		}
	}
	return ClockRestart
}

// Stricter is that of two clocks which counts less of the hours already done; "" counts all.
func (c Clock) Stricter(other Clock) Clock {
	order := []Clock{"", ClockContinue, ClockPart, ClockRestart}
	if slices.Index(order, other) > slices.Index(order, c) {
		return other
	}
	return c
}

// Reboots is how often a machine is restarted behind its load, and what is there looked at behind each start: some
// links and parts come up only sometimes.
type Reboots struct {
	Count int        `yaml:"count,omitempty"`
	Kind  RebootKind `yaml:"kind,omitempty" enum:"warm,cold"` // "" = warm
}

// Proves reports whether a restart of kind k is one that is asked for.
func (r Reboots) Proves(k RebootKind) bool { return k == Cold || k == Warm && r.Kind != Cold }

// ScopeOf gives the scope of one quantity of a check: the entry check/quantity, else that of the check, else the
// default. A spec that says nothing at all requires: silence must not make a machine pass.
func (s *Spec) ScopeOf(check, quantity string) Scope {
	if scope, ok := s.Checks[check+"/"+quantity]; ok && quantity != "" {
		return scope
	}
	if scope, ok := s.Checks[check]; ok {
		return scope
	}
	if s.Default != "" {
		return s.Default
	}
	return Required
}
