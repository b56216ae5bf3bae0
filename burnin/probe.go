package burnin

import (
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Probe owns one command and the parser of its output, so that each output is
// parsed in one place. Parse is pure, knows every version of the tool, and
// recognises the form itself (XML, text, JSON). It returns an error when the
// output does not prove what the type says; it never turns "could not read" into
// a zero.
type Probe[T any] struct {
	Spec  ProbeSpec
	Parse func(*Evidence) (T, error)
}

// ProbeSpec is what the collector needs to know of a probe.
type ProbeSpec struct {
	Name     string                         // public name: nvidia-smi, pci-sysfs …
	Command  func(*profiles.Profile) string // POSIX shell; "" = not run on this profile
	Phases   []Phase                        // when the collector runs it: before, load, after
	Sampled  bool                           // also repeated by the sampler while loads run (SampleCommand)
	Sample   func(*profiles.Profile) string // cheap command for one sample; "" = Command
	Family   string                         // probes of one family never run at once (nvidia-smi)
	Tool     string                         // program that must be on the node; "" = shell only
	Version  string                         // command that prints the tool's version, "" = none
	Deadline time.Duration                  // per command
	Root     bool                           // gives less or nothing without root
	AnyExit  bool                           // its exit status carries findings, or says nothing of the output: the parser decides
	// Instances is for a probe run once per device (nvme-smart@nvme0): a shell
	// line printing one instance name a line; Command then sees it as "$1".
	Instances string
}
