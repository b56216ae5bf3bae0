package burnin

import "github.com/rackproof/rackproof/profiles"

// Check is one question. Judge is pure: no clock, no network, no limit of its
// own. It returns a finding for every quantity of every part that the profile
// expects, with Missing where the quantity could not be measured; it returns
// nothing only when the profile does not have such parts at all, and then one
// NotApplicable finding says so.
type Check struct {
	Name   string
	Title  string   // one line for people
	Probes []string // names of the probes it reads, for `explain` and scope
	AtBoot []string // quantities that every boot of the reboot cycles must prove again, by its evidence alone; nil = no boot is asked
	Same   bool     // and as much of them as any other boot
	BMC    bool     // needs BMC evidence: out of scope when a record has none
	Judge  func(*Readings, *profiles.Profile, *profiles.Spec) []Finding
}
