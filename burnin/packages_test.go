package burnin

import (
	"strings"
	"testing"
)

// Whoever lacks a program is told where it comes from, whichever probe or load needs it.
func TestEveryToolHasAPackage(t *testing.T) {
	needed := map[string]bool{}
	for _, p := range Probes() {
		needed[p.Tool] = true
	}
	for _, l := range Loads() {
		needed[l.Tool] = true
	}
	delete(needed, "")
	for tool := range needed {
		if packages[tool] == "" {
			t.Errorf("nothing says what brings %s", tool)
		}
	}
}

// The reason in not_run names program and package, not the name of our probe.
func TestMissingToolNamesItsPackage(t *testing.T) {
	for name, want := range map[string]string{
		"nvme-smart":    "nvme (package nvme-cli) is not on the node",
		"memory-stress": "stressapptest (package stressapptest, on RHEL of EPEL) is not on the node",
		"gdsio":         "/usr/local/cuda/gds/tools/gdsio (NVIDIA's package gds-tools) is not on the node",
		"unknown":       "unknown is not on the node",
	} {
		e := Evidence{Probe: name, Phase: PhaseBefore, Ended: EndedNoTool}
		if err := e.Usable(); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	rec := Record{Evidence: []*Evidence{{Probe: "block-devices", Phase: PhaseBefore, Ended: EndedNoTool}}}
	if got := Read(NewReadings(&rec), BlockDevices, PhaseBefore); got.Err == nil || !strings.Contains(got.Err.Error(), "lsblk (package util-linux)") {
		t.Errorf("the reading says %v", got.Err)
	}
}
