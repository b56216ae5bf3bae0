// Package burnin measures one booted machine, keeps what it measured as
// evidence, and judges that evidence against a hardware profile.
//
// The pipeline is one of nouns: a Probe is run through a Shell and its raw
// output becomes Evidence; a Record holds all evidence of one attempt; Readings
// parse it, each output once; a Check asks one question and answers with
// Findings; Judge collects them into a Judgement. Judging is a pure function of
// (Record, Profile, Spec): no clock, no network, no constants that decide a
// verdict, so that somebody who does not trust us can judge the same folder
// again.
//
// A probe is one file named after the probe (nvidia_smi.go), a check is one file
// named after the check (gpu_ecc.go); Checks in checks.go lists the checks and
// Probes in probes.go the probes. burnin never talks to a BMC: what a BMC
// measured arrives as evidence like everything else.
package burnin
