package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// memoryStress asks whether memory gave back what was written into it while a load
// wrote, copied and compared most of it.
var memoryStress = Check{
	Name:   "memory.stress",
	Title:  "Memory under load gives back what was written",
	Probes: []string{MemoryStress.Spec.Name, StressNGMemory.Spec.Name},
	Judge:  judgeMemoryStress,
}

// MemoryStress is the output of stressapptest, which the load memory-stress runs.
var MemoryStress = Probe[MemoryStressLog]{
	Spec:  ProbeSpec{Name: "memory-stress", Tool: "stressapptest"},
	Parse: parseMemoryStress,
}

// MemoryStressLog is what stressapptest said.
type MemoryStressLog struct {
	Status    string       // "PASS", "FAIL"; "" = it did not come to its end
	Reason    string       // behind the status
	Incidents Opt[float64] // of the hardware
	Errors    Opt[float64] // of the program
	Tested    Opt[float64] // MiB of memory
	Copied    Opt[float64] // MB/s
	Faults    []MemoryFault
}

// MemoryFault is one place that did not give back what was written.
type MemoryFault struct {
	CPU, Address, DIMM string // DIMM is "" where the program does not know the board
	Text               string
}

var (
	satStatus = regexp.MustCompile(`^Status: (\w+)(?: - (.*))?$`)
	satSize   = regexp.MustCompile(`^Stats: Starting SAT, (\d+)M, \d+ seconds`)
	satDone   = regexp.MustCompile(`^Stats: Completed: .* with (\d+) hardware incidents, (\d+) errors`)
	satCopy   = regexp.MustCompile(`^Stats: Memory Copy: .* at ([0-9.]+)MB/s`)
	// "Hardware Error: miscompare on CPU 1(0x2) at 0x7fed1e9aeb60(0xaa907e:DIMM Unknown): read:…"
	satFault = regexp.MustCompile(`^Hardware Error: \w+ on CPU (\d+)\S* at \S*\((0x[0-9a-f]+):([^)]*)\)`)
	// Newer versions put the time before each line.
	satStamp = regexp.MustCompile(`^\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d\([^)]*\) `)
)

func parseMemoryStress(e *Evidence) (MemoryStressLog, error) {
	body, _ := e.Body()
	var l MemoryStressLog
	known := false
	for line := range strings.Lines(string(body)) {
		line = satStamp.ReplaceAllString(strings.TrimSpace(line), "")
		known = l.line(line) || known
	}
	if !known {
		return l, errors.New("memory-stress: this is no output of stressapptest")
	}
	return l, nil
}

// line reads one line and reports whether only this program prints it.
func (l *MemoryStressLog) line(line string) bool {
	if m := satStatus.FindStringSubmatch(line); m != nil {
		if l.Status != "FAIL" { // the worse of two
			l.Status, l.Reason = m[1], m[2]
		}
		return true
	}
	if m := satSize.FindStringSubmatch(line); m != nil {
		l.Tested = optCount(m[1])
		return true
	}
	if m := satDone.FindStringSubmatch(line); m != nil {
		l.Incidents, l.Errors = optCount(m[1]), optCount(m[2])
		return true
	}
	if m := satCopy.FindStringSubmatch(line); m != nil {
		if v, err := strconv.ParseFloat(m[1], 64); err == nil {
			l.Copied = Opt[float64]{V: v, Set: true, Text: m[1]}
		}
		return true
	}
	if strings.HasPrefix(line, "Hardware Error: ") {
		fault := MemoryFault{Text: line}
		if m := satFault.FindStringSubmatch(line); m != nil {
			fault.CPU, fault.Address = m[1], m[2]
			if !strings.Contains(m[3], "Unknown") {
				fault.DIMM = m[3]
			}
		}
		l.Faults = append(l.Faults, fault)
		return true
	}
	return strings.HasPrefix(line, "Process Error: ") || strings.HasPrefix(line, "Log: Commandline - stressapptest")
}

func judgeMemoryStress(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "memory.stress"
	limit := p.Memory.StressErrors
	reading := Read(r, MemoryStress, PhaseLoad)
	f := About(check, "errors", memoryPart, reading.Ref)
	if reading.Evidence == nil || reading.Evidence.Ended == EndedNoTool {
		if other := Read(r, StressNGMemory, PhaseLoad); other.Evidence != nil && other.Evidence.Ended != EndedNoTool {
			return []Finding{stressNGFound(About(check, "errors", memoryPart, other.Ref), other, limit)}
		}
	}
	if !reading.OK() {
		return []Finding{f.absent(reading.Err, limit)}
	}
	l := &reading.Value
	found := float64(len(l.Faults))
	if l.Incidents.Set {
		found = max(found, l.Incidents.V)
	}
	if found > 0 {
		f = About(check, "errors", l.part(), reading.Ref).Number(found, profiles.Count, limit)
		return []Finding{f.Because("%s", l.words(found))}
	}
	switch {
	case l.Status == "":
		return []Finding{f.Missing(errors.New("the memory load did not come to its end: its last line is missing"))}
	case l.Status != "PASS" || !l.Incidents.Set || !l.Errors.Set || l.Errors.V > 0:
		return []Finding{f.Missing(fmt.Errorf("the memory load failed, and found no fault of memory: %s %s", l.Status, l.Reason))}
	}
	f = f.Number(0, profiles.Count, limit)
	if l.Tested.Set {
		f = f.Because("%.1f GiB written, copied and compared, no difference", l.Tested.V/1024)
	}
	speed := About(check, "copied", memoryPart, reading.Ref).number(l.Copied, profiles.MBPerSecond, nil)
	return []Finding{f, speed}
}

// stressNGFound judges what stress-ng compared, where it stands for stressapptest.
func stressNGFound(f Finding, reading Reading[StressNGLog], limit *profiles.Limit) Finding {
	if !reading.OK() {
		return f.absent(reading.Err, limit)
	}
	l := &reading.Value
	if wrong := l.mistakes(); len(wrong) > 0 {
		return f.Number(float64(len(wrong)), profiles.Count, limit).Because("memory did not give back what was written: %s", wrong[0])
	}
	if len(l.Failures) > 0 {
		return f.Missing(errors.New("stress-ng failed, and found no fault of memory: " + l.Failures[0]))
	}
	if err := l.Worked("vm"); err != nil {
		return f.Missing(err)
	}
	if exit := reading.Evidence.Exit; exit != nil && *exit != 0 {
		return f.Missing(fmt.Errorf("stress-ng says that all went well, and ended with exit status %d", *exit))
	}
	f = f.Number(0, profiles.Count, limit)
	if l.Memory.Set {
		return f.Because("%.1f GiB written and compared by stress-ng, no difference", l.Memory.V/1024)
	}
	return f.Because("memory written and compared by stress-ng, no difference")
}

// part is the DIMM where all faults are of one that the program names, else the memory.
func (l *MemoryStressLog) part() Part {
	name := ""
	for _, fault := range l.Faults {
		if fault.DIMM == "" || name != "" && name != fault.DIMM {
			return memoryPart
		}
		name = fault.DIMM
	}
	if name == "" {
		return memoryPart
	}
	return dimmPart(strings.TrimPrefix(name, "DIMM "), "")
}

func (l *MemoryStressLog) words(found float64) string {
	words := fmt.Sprintf("memory did not give back what was written, %.0f times", found)
	if len(l.Faults) > 0 && l.Faults[0].Address != "" {
		return words + fmt.Sprintf("; first at physical address %s, seen by CPU %s", l.Faults[0].Address, l.Faults[0].CPU)
	}
	return words
}

// fillRate is how fast memory is taken at least, in MiB/s: filling is not part of the
// time that stressapptest is given, so a share of it is set aside.
const fillRate = 4096

// memoryTaken sets seconds, and mb to the profile's share of the memory that is free, or
// to what can be filled in a quarter of the time, if that is less.
func memoryTaken(p *profiles.Profile, d time.Duration) string {
	return fmt.Sprintf(`seconds=%d
mb=$(while read -r name kb _; do [ "$name" = MemAvailable: ] && echo $((kb / 1024 * %d / 100)); done </proc/meminfo)
most=$((seconds * %d))
[ "$mb" -gt "$most" ] && mb=$most`, seconds(d), int(p.Load.MemoryShare.Number(profiles.Percent)), fillRate/4)
}

// stressMemory writes, copies and compares memory to the end of the time.
func stressMemory(p *profiles.Profile, d time.Duration) string {
	return memoryTaken(p, d) + fmt.Sprintf(`
exec stressapptest -W -M "$mb" -s $((seconds - mb / %d))`, fillRate)
}
