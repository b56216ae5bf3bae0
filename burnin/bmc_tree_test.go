package burnin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

func all(string) bool { return true }

func TestDumpTrees(t *testing.T) {
	for _, v := range []string{"dell", "hpe", "lenovo", "nvidia_viking", "supermicro"} {
		out := capturedBodies(t, v, func(u string) bool { return strings.Contains(u, "/Chassis/") || strings.Contains(u, "LogServices") })
		rec := &Record{Meta: Meta{Coverage: CoverFull, Started: time.Now()}}
		for _, ph := range []Phase{PhaseBefore, PhaseLoad, PhaseAfter} {
			rec.Evidence = append(rec.Evidence, &Evidence{Probe: "bmc-sensors", Phase: ph, Source: FromBMC, Ended: EndedExit, Out: out})
		}
		for _, ph := range []Phase{PhaseBMC, PhaseAfter} {
			rec.Evidence = append(rec.Evidence, &Evidence{Probe: "bmc-sel", Phase: ph, Source: FromBMC, Ended: EndedExit, Out: out})
		}
		p := gpuProfile(t, "hgx-h100-8")
		s, _ := profiles.Open().Spec("standard")
		r := NewReadings(rec)
		for _, f := range append(judgeBMCSensors(r, p, s), judgeBMCSEL(r, p, s)...) {
			fmt.Println(v, f.ID, f.Verdict, f.Measured, f.Limit, f.Why, "NOTRUN", f.NotRun)
		}
		// alone
		rec2 := &Record{Meta: Meta{Coverage: CoverPartial}, Evidence: rec.Evidence[4:5]}
		for _, f := range judgeBMCSEL(NewReadings(rec2), p, s) {
			fmt.Println(v, "ALONE", f.ID, f.Verdict, f.Measured, f.Limit, f.Why, "NOTRUN", f.NotRun)
		}
	}
}
