package burnin

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

const gpuNCCLName = "gpu.nccl" // also of the load that measures for it

// gpuNCCL asks whether all GPUs add up their data together, rightly and as fast as the
// fabric allows. Only the bus bandwidth at the profile's size is judged: the average
// that the program prints over a sweep means nothing (nccl-tests issue 115).
var gpuNCCL = Check{
	Name:   gpuNCCLName,
	Title:  "All GPUs exchange data together rightly, and as fast as they should",
	Probes: []string{NCCLPerf.Spec.Name},
	Judge:  judgeGPUNCCL,
}

func judgeGPUNCCL(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = gpuNCCLName
	if none := noGPUs(check, p); none != nil {
		return none
	}
	part := fleetPart(p)
	if n, _ := wantedGPUs(p); n == 1 {
		return []Finding{About(check, "all", part).NotHere("there is one GPU only")}
	}
	reading := Read(r, NCCLPerf, PhaseLoad)
	if !reading.OK() {
		return []Finding{About(check, "all", part, reading.Ref).Missing(reading.Err)}
	}
	l, want := &reading.Value, p.GPU.NCCL
	about := func(quantity string) Finding { return About(check, quantity, part, reading.Ref) }
	wrong := about("wrong").number(l.wrong(), profiles.Count, want.Wrong)
	switch {
	case l.Rejected && wrong.Verdict != Fail:
		wrong = wrong.Judged(Fail, "the program says FAILED of its results")
	case wrong.Verdict == Fail:
		wrong = wrong.Because("%.0f results of the GPUs together were wrong", l.wrong().V)
	case !l.Ended:
		return []Finding{about("all").Missing(l.why())}
	}
	if !l.Ended {
		return []Finding{wrong}
	}
	ranks := about("ranks").Number(float64(l.Ranks), profiles.Count, p.GPU.Count)
	if ranks.Verdict == Fail {
		ranks = ranks.Because("%d GPUs took part, the profile wants %s", l.Ranks, p.GPU.Count)
	}
	return []Finding{ranks, wrong, ncclBus(about("bus"), l, &want)}
}

// ncclBus judges the bus bandwidth at the size of the profile; where it states none, that
// at the largest is noted.
func ncclBus(f Finding, l *NCCLLog, want *profiles.NCCL) Finding {
	var row *NCCLRow
	switch {
	case want.Size.Set():
		row = l.At(want.Size.Number(profiles.Byte))
	case len(l.Rows) > 0:
		row = &l.Rows[len(l.Rows)-1]
	}
	if row == nil {
		return f.absent(fmt.Errorf("the size of the profile, %s, was not measured", firstWord(want.Size.String(), "any")), want.Bus)
	}
	f = f.number(row.BusBandwidth(), profiles.GBPerSecond, want.Bus)
	if f.Verdict == Fail {
		return f.Because("%.4g GB/s of bus bandwidth at %s, the profile wants %s", row.BusBandwidth().V, want.Size, want.Bus)
	}
	return f
}
