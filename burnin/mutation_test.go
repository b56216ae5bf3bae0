package burnin_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
)

// spoils are the ways in which evidence gets lost on its way: the tool hung, died, is
// not there; the connection broke; the output was cut.
var spoils = []struct {
	name string
	do   func(*burnin.Evidence)
}{
	{"nothing printed", func(e *burnin.Evidence) { e.Out = nil }},
	{"cut in the middle", func(e *burnin.Evidence) { e.Out = e.Out[:len(e.Out)/2] }},
	{"end mark gone", func(e *burnin.Evidence) { e.Out = bytes.TrimSuffix(e.Out, []byte("\n#rackproof-end 0\n")) }},
	{"exit status 2", func(e *burnin.Evidence) {
		e.Exit = new(int)
		*e.Exit = 2
		e.Out = bytes.Replace(e.Out, []byte("\n#rackproof-end 0\n"), []byte("\n#rackproof-end 2\n"), 1)
	}},
	{"timeout", func(e *burnin.Evidence) { e.Exit, e.Ended = nil, burnin.EndedTimeout }},
	{"connection lost", func(e *burnin.Evidence) { e.Exit, e.Ended, e.Out = nil, burnin.EndedLost, e.Out[:len(e.Out)*9/10] }},
	{"tool missing", func(e *burnin.Evidence) { e.Exit, e.Ended, e.Out = nil, burnin.EndedNoTool, nil }},
	{"another boot", func(e *burnin.Evidence) { e.BootID = "9d0d3f0a-0000-4000-8000-000000000000" }},
}

// spare are probes that no verdict of a healthy machine rests on alone: another one
// answers the same question, or they are only printed. Losing one loses nothing.
var spare = []string{
	"lspci", "nvme-list", "nvme-smart", "smartctl", "os", "lscpu", "ras", "block-devices", "bmc-lan", "fabric-manager", "loads", "pstore",
	"ethtool", "lldp", "stream", "gdsio", // what they measure is recorded, or not asked for
	"ib-status",     // the profile names no InfiniBand
	"kernel-follow", // the log of a boot that ended before it could be read whole
}

// read are the loads of which every word counts.
var read = []string{"nvbandwidth", "nccl", "dcgm", "gpu-burn"}

// harmless reports whether a spoil takes nothing away that the verdict needs.
func harmless(e *burnin.Evidence, spoil string) bool {
	switch {
	case spoil == "another boot":
		return e.Phase == burnin.PhaseBMC // a BMC has no boot of the host
	case slices.Contains(spare, e.Probe), e.Probe == "edac" && e.Phase == burnin.PhaseLoad: // whose samples only tell when errors came
		return true
	case spoil == "end mark gone" && e.Source == burnin.FromBMC:
		return true // it never had one
	case e.Phase == burnin.PhaseBMC:
		return false
	case e.Phase != burnin.PhaseLoad:
		return false
	case slices.Contains(read, e.Probe):
		return spoil == "end mark gone" // it has none
	}
	// What counts of a load is how it ended, of a sampled probe its samples.
	return spoil == "nothing printed" || spoil == "cut in the middle" || spoil == "end mark gone" ||
		len(e.Out) == 0 && spoil == "exit status 2"
}

// Evidence that is lost, cut or failed never passes a machine, and never fails one
// either: nobody replaces a part for a broken connection. The one exception is an
// nvidia-smi that hangs, which is how a stuck GPU shows.
func TestSpoiledEvidence(t *testing.T) {
	base, to := healthyHGX(t)
	if j := to.of(base); j.Result != burnin.Passed {
		t.Fatal(describe(j))
	}
	sampled := 4 // of this many combinations one is judged
	if os.Getenv("RACKPROOF_PROVE") != "" {
		sampled = 1
	}
	for i, e := range base.Evidence {
		if e.Instance != "" && e.Instance != "nvme3" {
			continue
		}
		t.Run(strings.ReplaceAll(e.Ref(), "/", "_"), func(t *testing.T) {
			t.Parallel()
			for k, spoil := range spoils {
				if (i+k)%sampled != 0 {
					continue
				}
				rec := copyRecord(base)
				spoil.do(rec.Evidence[i])
				j := to.of(rec)
				hung := e.Probe == "nvidia-smi" && spoil.name == "timeout" && e.Phase != burnin.PhaseLoad
				switch {
				case j.Result == burnin.Passed && !harmless(e, spoil.name):
					t.Errorf("%s: the machine passes", spoil.name)
				case j.Result == burnin.Failed && !hung:
					t.Errorf("%s: the machine fails: %s", spoil.name, describe(j))
				case j.Result != burnin.Passed && slices.Contains(spare, e.Probe) && spoil.name == "tool missing":
					t.Errorf("%s is not spare: %s", e.Probe, j.Line)
				}
			}
		})
	}
}

// Evidence that is not in the record at all proves nothing, in one phase as in all.
func TestMissingEvidence(t *testing.T) {
	t.Parallel()
	base, to := healthyHGX(t)
	for _, phase := range []burnin.Phase{"", burnin.PhaseBefore, burnin.PhaseLoad, burnin.PhaseAfter} {
		for _, probe := range []string{
			"nvidia-smi", "nvlink", "nvlink-errors", "gpu-topology", "pci-sysfs", "dmidecode", "edac", "kernel-log", "gdscheck",
			"gpu-burn", "nvbandwidth", "nccl", "dcgm", "stress-ng", "nvme-read", "bmc-inventory", "bmc-sel", "bmc-sensors",
		} {
			rec := copyRecord(base)
			rec.Evidence = slices.DeleteFunc(rec.Evidence, func(e *burnin.Evidence) bool {
				return e.Probe == probe && (phase == "" || e.Phase == phase)
			})
			spare := probe == "edac" && phase == "" || // rasdaemon shows the same counters
				probe == "edac" && phase == burnin.PhaseLoad || // its samples tell when errors came, and no more
				probe == "bmc-sensors" && phase == burnin.PhaseLoad // this load is shorter than the time between two readings
			if len(rec.Evidence) == len(base.Evidence) || spare {
				continue
			}
			if j := to.of(rec); j.Result != burnin.Incomplete {
				t.Errorf("without %s (phase %q): %s", probe, phase, describe(j))
			}
		}
	}
	rec := copyRecord(base)
	rec.Evidence = slices.DeleteFunc(rec.Evidence, func(e *burnin.Evidence) bool { return e.Probe == "smartctl" || e.Probe == "nvme-smart" })
	if j := to.of(rec); j.Result != burnin.Incomplete {
		t.Errorf("without any health log of drives: %s", j.Line)
	}
}
