package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// raid asks whether every disk array has all its members. Whether there must be
// arrays, and how many, the profile says; one that is there and degraded is a fault
// on any machine.
var raid = Check{
	Name:   "raid",
	Title:  "Disk arrays have all their members",
	Probes: []string{RAIDStatus.Spec.Name},
	Judge:  judgeRAID,
}

var arraysPart = Part{Class: ClassMachine, Name: "disk arrays"}

func judgeRAID(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	readings := phaseReadings(r, RAIDStatus)
	count := About("raid", "arrays", arraysPart, refsOf(readings)...)
	if len(readings) == 0 {
		if !p.RAID.Arrays.Set() {
			return []Finding{count.NotHere("the profile names no disk array")}
		}
		return []Finding{count.Missing(fmt.Errorf("raid: %w", ErrNotRun))}
	}
	out := []Finding{worstOf(readings, count, func(f Finding, v RAIDReport) Finding { return v.count(f, p.RAID.Arrays) })}
	for _, name := range raidNames(readings) {
		f := About("raid", "state", Part{Class: ClassNVMe, Name: "disk array " + name}, refsOf(readings)...)
		out = append(out, worstOf(readings, f, func(f Finding, v RAIDReport) Finding { return v.state(f, name) }))
	}
	return append(out, raidParts(readings)...)
}

// raidNames are the arrays that any reading shows.
func raidNames(readings []Reading[RAIDReport]) []string {
	var names []string
	for _, reading := range readings {
		for _, a := range reading.Value.Arrays {
			names = append(names, a.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// count judges how many arrays there are. A tool that failed may have hidden some.
func (v *RAIDReport) count(f Finding, limit *profiles.Limit) Finding {
	have := float64(len(v.Arrays))
	switch {
	case limit.Set():
	case !v.Complete && (!v.Alone || len(v.Failed) > 0):
		return f.Missing(errors.New("not every array may be shown: the list is not known to be whole"))
	case have == 0 && len(v.Failed) == 0:
		return f.NotHere("no disk array is shown, and the profile names none")
	default:
		return f.Number(have, profiles.Count, nil)
	}
	f = f.Number(have, profiles.Count, limit)
	if len(v.Failed) > 0 || f.Verdict == Fail && !v.Complete {
		return f.Missing(errors.New("not every array may be shown: " + or(strings.Join(v.Failed, "; "), "the list is not known to be whole")))
	}
	if f.Verdict == Fail && len(v.Asked) == 0 {
		return f.Missing(errors.New("no array is shown: the kernel has no md driver loaded, and no tool of a controller is on the node"))
	}
	if f.Verdict == Fail && len(v.unasked()) > 0 {
		return f.Missing(fmt.Errorf("%d arrays are shown, and no tool asked the controller at %s", len(v.Arrays), v.unasked()[0].Address))
	}
	return f
}

// state judges one array.
func (v *RAIDReport) state(f Finding, name string) Finding {
	i := slices.IndexFunc(v.Arrays, func(a RAIDArray) bool { return a.Name == name })
	if i < 0 {
		if v.Complete && len(v.Failed) == 0 {
			return f.Judged(Fail, "the array was there, and is gone")
		}
		return f.Missing(errors.New("the array is not shown in every reading"))
	}
	a := v.Arrays[i]
	f.Measured = string(a.State)
	members := ""
	if len(a.Members) > 0 {
		members = "; failed: " + strings.Join(a.Members, ", ")
	}
	switch a.State {
	case RAIDGood:
		return f.Judged(Pass, strings.TrimSpace(a.Level+" "+a.Words))
	case RAIDDegraded, RAIDFailed:
		return f.Judged(Fail, fmt.Sprintf("the array is %s: %s%s", a.State, a.Words, members))
	case RAIDSyncing:
		return f.Missing(fmt.Errorf("the members are still being made alike (%s): wait for its end, and test again", a.Words))
	case RAIDUnknown:
	}
	return f.Missing(fmt.Errorf("what its state means is not known: %q", a.Words))
}

// raidParts are drives that a controller complains of, and what nobody could ask.
func raidParts(readings []Reading[RAIDReport]) []Finding {
	var out []Finding
	seen := map[string]bool{}
	add := func(f Finding) {
		if !seen[f.ID] {
			seen[f.ID] = true
			out = append(out, f)
		}
	}
	for _, reading := range readings {
		for _, d := range reading.Value.Drives {
			f := About("raid", "drive", Part{Class: ClassNVMe, Name: "drive, " + d.Name}, reading.Ref)
			f.Measured = d.Words
			if d.Failed {
				add(f.Judged(Fail, "the controller says of the drive: "+d.Words))
			} else {
				add(f.Judged(Warn, "the controller says of the drive: "+d.Words))
			}
		}
		for _, c := range reading.Value.unasked() {
			f := About("raid", "controller", Part{Class: ClassMachine, Name: "RAID controller " + c.Address, Address: c.Address}, reading.Ref)
			f.Scope = profiles.Recorded
			add(f.Missing(errors.New("its arrays were not asked for: neither storcli64, perccli64 nor ssacli (of the controller's maker) is on the node, or gives an answer")))
		}
	}
	return out
}

// passing are the drivers of devices of this class that only pass drives on; their
// arrays are the kernel's.
var passing = []string{"vmd", "ahci"}

// unasked are the controllers of which no tool could tell.
func (v *RAIDReport) unasked() []RAIDController {
	if slices.Contains(v.Asked, "storcli") || slices.Contains(v.Asked, "ssacli") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.Controllers), func(c RAIDController) bool { return slices.Contains(passing, c.Driver) })
}
