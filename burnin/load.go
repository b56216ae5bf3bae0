package burnin

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Load is a stress program that keeps parts of a node busy while telemetry is
// sampled. Its output is evidence of the phase load under its name.
type Load struct {
	Name string
	Busy []Class  // classes of part that it keeps busy
	Tool string   // program that must be on the node; "" = shell only
	Bad  []string // words in its output that mean failure, whatever its exit status
	// Alone is how long at most a load may take that measures: it runs before those
	// that keep parts busy and beside nothing else, and ends when it has measured.
	// Zero is a load that goes on for as long as the parts are to be busy.
	Alone  time.Duration
	Behind bool     // it is no load: it changes a setting when all is measured, see tryMIG
	Check  string   // the check that a load which runs alone measures for; see LoadsFor
	Disks  []string // serial numbers of the disks that it writes to; see Consent
	// Command returns the POSIX shell line; it ends by itself after d with exit
	// status 0. It writes to no disk but Disks and changes no setting; its working
	// folder is in memory and removed afterwards.
	Command func(p *profiles.Profile, d time.Duration) string
}

// Loads is the ordered list of what can measure a part or keep it busy. What runs alone
// comes first, one after the other. Of the others that name the same first class, the
// first whose tool is there is run; a profile may prefer another order (load.order).
func Loads() []Load {
	return []Load{
		{Name: "nvbandwidth", Busy: gpuClasses, Tool: "nvbandwidth", Alone: 15 * time.Minute, Check: gpuCopyName, Command: nvbandwidth},
		{Name: "nccl", Busy: gpuClasses, Tool: "all_reduce_perf", Alone: 10 * time.Minute, Check: gpuNCCLName, Command: allReduce},
		{Name: "dcgm", Busy: gpuClasses, Tool: "dcgmi", Alone: 90 * time.Minute, Check: gpuDCGMName, Command: dcgmDiag},
		{Name: "stream", Busy: []Class{ClassDIMM}, Tool: "stream", Alone: 5 * time.Minute, Check: memoryBandwidthName, Command: streamAll},
		{Name: "gdsio", Busy: gpuClasses, Tool: "/usr/local/cuda/gds/tools/gdsio", Alone: 5 * time.Minute, Check: gdsThroughputName, Command: gdsRead},
		{Name: nvmeWriteName, Busy: []Class{ClassNVMe}, Tool: "fio", Alone: 30 * time.Minute, Check: "nvme.throughput", Command: nvmeWrite(Consent{})},
		{Name: "stress-ng", Busy: []Class{ClassCPU}, Tool: "stress-ng", Command: stressNG, Bad: []string{"stress-ng: fail:"}},
		{Name: "cpu-loop", Busy: []Class{ClassCPU}, Command: cpuLoop},
		{Name: "memory-stress", Busy: []Class{ClassDIMM}, Tool: "stressapptest", Command: stressMemory, Bad: []string{"Status: FAIL", "Hardware Error:"}},
		{Name: "stress-ng-memory", Busy: []Class{ClassDIMM}, Tool: "stress-ng", Command: stressNGMemory, Bad: []string{"stress-ng: fail:"}},
		{Name: "fio", Busy: []Class{ClassNVMe}, Tool: "fio", Command: fioRead},
		{Name: "nvme-read", Busy: []Class{ClassNVMe}, Command: nvmeRead},
		{Name: "gpu-burn", Busy: gpuClasses, Tool: "gpu_burn", Command: gpuBurn, Bad: gpuBurnBad},
		{Name: "gpu-fryer", Busy: gpuClasses, Tool: "gpu-fryer", Command: gpuFryer, Bad: gpuFryerBad},
		{Name: "dcgm-load", Busy: gpuClasses, Tool: "dcgmproftester12", Command: dcgmLoad},
		{Name: "nvbandwidth-load", Busy: gpuClasses, Tool: "nvbandwidth", Command: nvbandwidthLoop},
		{Name: migTrialName, Busy: gpuClasses, Tool: "nvidia-smi", Behind: true, Check: "gpu.mig", Command: migTrial(Consent{})},
	}
}

// gpuBurnBad are what gpu_burn prints of a GPU that miscounted or left, and of one
// that it could not use; it ends with 0 after each (wilicc/gpu-burn issues 12 and 14).
var gpuBurnBad = []string{"FAULTY", "DIED!", "No clients are alive", "Couldn't init"}

// gpuClasses are all classes of GPU.
var gpuClasses = []Class{ClassSXM, ClassPCIeGPU}

// choose picks the loads for a node and says what stays idle or is not measured because
// no tool is there. A load without a first choice on the node is returned in missing, so
// that the record says which program was not found.
func choose(loads []Load, f *Facts, p *profiles.Profile) (chosen, missing []Load) {
	loads = slices.DeleteFunc(ordered(loads, p.Load.Order), func(l Load) bool { return l.Behind })
	served := map[Class]bool{}
	for _, l := range loads {
		class := l.Busy[0]
		switch {
		case l.Name == nvmeWriteName && len(l.Disks) == 0: // nobody has agreed to it: see LoadsFor
		case !hasClass(class, f, p) || served[class] && l.Alone == 0:
		case f.Has(l.Tool):
			served[class] = served[class] || l.Alone == 0
			chosen = append(chosen, l)
		case l.Alone > 0:
			missing = append(missing, l)
		}
	}
	for _, l := range loads {
		class := l.Busy[0]
		if l.Alone == 0 && !served[class] && hasClass(class, f, p) {
			served[class] = true
			missing = append(missing, l)
		}
	}
	return chosen, missing
}

// ordered puts what the profile names before what it does not. What runs alone stays in
// front.
func ordered(loads []Load, order []string) []Load {
	rank := func(l Load) int {
		switch i := slices.Index(order, l.Name); {
		case l.Alone > 0:
			return -1
		case i >= 0:
			return i
		}
		return len(order)
	}
	return slices.SortedStableFunc(slices.Values(loads), func(a, b Load) int { return rank(a) - rank(b) })
}

// hasClass reports whether the node has, or should have, such parts.
func hasClass(c Class, f *Facts, p *profiles.Profile) bool {
	switch {
	case isGPU(c):
		return f.GPUs > 0 || p.GPU.Count.Set()
	case c == ClassNVMe:
		return f.NVMes > 0
	case c == ClassDIMM:
		return p.Load.MemoryShare.Set() // how much may be taken, the profile says
	}
	return true
}

// isLoad reports whether evidence of the phase load is what a load printed.
func isLoad(probe string) bool {
	return probe == loadsProbe || slices.Contains(loadNames(), probe)
}

// loadNames are the names of Loads: every output is asked whether it is of one of them.
var loadNames = sync.OnceValue(func() []string {
	var names []string
	for _, l := range Loads() {
		names = append(names, l.Name)
	}
	return names
})

func isGPU(c Class) bool { return c == ClassSXM || c == ClassPCIeGPU }

// Notice says before anything runs what will be loaded, what a fatal fault under load does,
// and what is written and left behind. onFail is the spec's, see BurnOptions.
func Notice(f *Facts, loads []Load, p *profiles.Profile, d time.Duration, onFail profiles.OnFail) string {
	if p == nil {
		p = &profiles.Profile{}
	}
	chosen, missing := choose(loads, f, p)
	var parts, measures []string
	for _, l := range chosen {
		switch class := l.Busy[0]; {
		case l.Alone > 0:
			measures = append(measures, l.Tool)
		case isGPU(class):
			parts = append(parts, l.by(plural(f.GPUs, "GPU")))
		case class == ClassNVMe:
			parts = append(parts, l.by(plural(f.NVMes, "NVMe drive"))+" (reads only)")
		case class == ClassCPU:
			parts = append(parts, l.by(plural(f.CPUs, "CPU thread")))
		case class == ClassDIMM:
			parts = append(parts, l.by(fmt.Sprintf("%.0f %% of the free memory", p.Load.MemoryShare.Number(profiles.Percent))))
		}
	}
	if len(parts) == 0 || d <= 0 {
		return "Will only look, load nothing. Writes to no disk. Changes no setting. Leaves nothing."
	}
	var s strings.Builder
	s.WriteString("Will ")
	if len(measures) > 0 {
		fmt.Fprintf(&s, "first measure with %s, then ", list(measures))
	}
	fmt.Fprintf(&s, "load %s for %s. %s %s", list(parts), span(d), faultNotice(onFail), migNotice(writesTo(chosen), f, loads, p))
	for _, l := range missing {
		s.WriteString(" " + l.missed())
	}
	return s.String()
}

// writesTo says what is written, and what of it stays.
func writesTo(chosen []Load) string {
	var disks []string
	for _, l := range chosen {
		disks = append(disks, l.Disks...)
	}
	if len(disks) == 0 {
		return "Writes to no disk. Changes no setting. Leaves nothing."
	}
	return fmt.Sprintf("WRITES to %s (%s) if found empty, and leaves what it wrote there. Changes no setting.", plural(len(disks), "disk"), strings.Join(disks, ", "))
}

// by says what loads a part.
func (l *Load) by(part string) string {
	if l.Tool == "" {
		return part
	}
	return part + " with " + l.Tool
}

// missed says what is not done because a load's program is not on the node, and where
// the program comes from.
func (l *Load) missed() string {
	if l.Alone > 0 {
		return fmt.Sprintf("No %s: %s.", l.Check, notThere(l.Tool))
	}
	return fmt.Sprintf("No %s load: %s, so what needs one is not run.", className(l.Busy[0]), notThere(l.Tool))
}

func className(c Class) string {
	switch {
	case isGPU(c):
		return "GPU"
	case c == ClassNVMe:
		return "NVMe"
	case c == ClassDIMM:
		return "memory"
	}
	return strings.ToUpper(string(c))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func list(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// span is a duration as people say it.
func span(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d >= time.Hour:
		return d.Round(time.Minute).String()
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}

func seconds(d time.Duration) int { return max(int(d.Seconds()), 1) }

func stressNG(_ *profiles.Profile, d time.Duration) string {
	return fmt.Sprintf("exec stress-ng --cpu 0 --verify --metrics-brief --timeout %ds", seconds(d))
}

// background runs a line in as many copies as n says and ends them after d.
func background(n, line string, d time.Duration) string {
	return fmt.Sprintf(`pids=
for i in %s; do
	( %s ) & pids="$pids $!"
done
[ -n "$pids" ] || { echo "nothing to load"; exit 0; }
trap 'kill $pids 2>/dev/null; exit 143' TERM INT
sleep %d
dead=0
for p in $pids; do kill "$p" 2>/dev/null || dead=$((dead + 1)); done
echo "ended early: $dead"
[ "$dead" = 0 ]`, n, line, seconds(d))
}

func cpuLoop(_ *profiles.Profile, d time.Duration) string {
	return background(`$(n=$(getconf _NPROCESSORS_ONLN); while [ "$n" -gt 0 ]; do echo "$n"; n=$((n - 1)); done)`, `while :; do :; done`, d)
}

// nvmeRead reads every namespace past the page cache, so that its link is busy.
func nvmeRead(_ *profiles.Profile, d time.Duration) string {
	return background(`$(for b in /sys/block/nvme*n*; do case ${b##*/} in *c[0-9]*) ;; nvme[0-9]*) [ -r "/dev/${b##*/}" ] && echo "${b##*/}" ;; esac; done)`,
		`while dd if="/dev/$i" of=/dev/null bs=1M iflag=direct 2>/dev/null; do :; done; echo "$i: read failed"`, d)
}

func dcgmLoad(_ *profiles.Profile, d time.Duration) string {
	return fmt.Sprintf("exec dcgmproftester12 --no-dcgm-validation -t 1004 -d %d", seconds(d))
}
