package nodetest

import (
	"fmt"
	"regexp"
	"strings"
)

// MIGFault is what goes wrong on the last GPU of a machine when its instances are made.
type MIGFault string

// The faults.
const (
	MIGRefused MIGFault = "refused" // an instance is not made
	MIGMissing MIGFault = "missing" // one that was made is not listed
	MIGBlocked MIGFault = "blocked" // somebody holds the GPU: MIG is not switched on
	MIGStays   MIGFault = "stays"   // somebody holds the GPU: MIG is not switched off
)

// migTrialMark is in the command of a trial, and nowhere else.
const migTrialMark = "#mig-trial "

var (
	migWant  = regexp.MustCompile(`want='\\''([^']*)'\\''`)
	migLeave = regexp.MustCompile(` leave=(\w+)`)
)

// migTrial prints what burnin's trial of a MIG layout does.
func (s *system) migTrial(command string) string {
	want, leave := migWant.FindStringSubmatch(command), migLeave.FindStringSubmatch(command)
	if want == nil || leave == nil {
		return migTrialMark + "refused " + command + "\n"
	}
	t := &migTrial{s: s, want: strings.Split(want[1], ","), left: leave[1] == "left", mode: map[string]string{}, made: map[string][]string{}}
	for i := range s.M.GPUs {
		t.mode[s.M.GPUs[i].UUID] = "Disabled, Disabled"
	}
	t.step("all", "work", "")
	t.step("all", "before-modes", t.modes())
	for i := range s.M.GPUs {
		fault := MIGFault("")
		if i == len(s.M.GPUs)-1 {
			fault = s.M.MIGFault
		}
		t.try(&s.M.GPUs[i], fault)
	}
	t.step("all", "after-modes", t.modes())
	t.step("all", "after-list", t.list())
	return t.out.String() + migTrialMark + "end\n" + endLine(0)
}

type migTrial struct {
	s    *system
	out  strings.Builder
	want []string
	left bool
	mode map[string]string   // by UUID: current and pending
	made map[string][]string // by UUID: names of instances
}

func (t *migTrial) step(gpu, name, out string) {
	fmt.Fprintf(&t.out, "#mig-trial run %s %s (simulated)\n%s\n#mig-trial rc 0\n", gpu, name, out)
}

func (t *migTrial) modes() string {
	var b strings.Builder
	for i, g := range t.s.M.GPUs {
		fmt.Fprintf(&b, "%d, %s, %s, %s\n", i, g.UUID, longAddress(g.Address), t.mode[g.UUID])
	}
	return b.String()
}

func (t *migTrial) list() string {
	var b strings.Builder
	for i, g := range t.s.M.GPUs {
		fmt.Fprintf(&b, "GPU %d: %s (UUID: %s)\n", i, t.s.M.GPUKind.Product, g.UUID)
		for k, name := range t.made[g.UUID] {
			fmt.Fprintf(&b, "  MIG %-11s Device %2d: (UUID: MIG-%s-%d)\n", name, k, g.UUID, k)
		}
	}
	return b.String()
}

// to switches MIG, or leaves it pending where somebody holds the GPU.
func (t *migTrial) to(g *GPU, on, held bool) bool {
	name, word, now := "mode-0", "Disabled", "Enabled"
	if on {
		name, word, now = "mode-1", "Enabled", "Disabled"
	}
	if !held {
		t.mode[g.UUID] = word + ", " + word
		t.step(g.UUID, name, word+" MIG Mode for GPU "+longAddress(g.Address)+"\nAll done.\n")
		t.step(g.UUID, "mode", t.mode[g.UUID]+"\n")
		return true
	}
	t.mode[g.UUID] = now + ", " + word
	state := strings.ToLower(strings.TrimSuffix(word, "d"))
	t.step(g.UUID, name, "Warning: MIG mode is in pending "+state+" state for GPU "+longAddress(g.Address)+":In use by another client\nAll done.\n")
	t.step(g.UUID, "mode", t.mode[g.UUID]+"\n")
	t.step(g.UUID, "reset", "GPU "+longAddress(g.Address)+" is currently in use by another process.\n")
	t.out.WriteString("#mig-trial holder " + g.UUID + " 2180 nv-hostengine\n")
	return false
}

func (t *migTrial) try(g *GPU, fault MIGFault) {
	good := false
	if t.to(g, true, fault == MIGBlocked) {
		good = t.make(g, fault)
		for k, name := range t.made[g.UUID] {
			t.step(g.UUID, fmt.Sprintf("cuda@MIG-%s-%d", g.UUID, k), styled(map[string]any{"nvbandwidth": map[string]any{
				"version":         "v0.8",
				"GPU Device list": []string{fmt.Sprintf("0: %s MIG %s (%s): (%s)", t.s.M.GPUKind.Product, name, strings.TrimSuffix(longAddress(g.Address), ".0"), t.s.hostname())},
				"testcases":       []map[string]any{{"name": "device_local_copy", "status": "Passed", "bandwidth_matrix": [][]string{{"312.5"}}}},
			}}))
		}
	}
	if good && t.left {
		return
	}
	t.made[g.UUID] = nil
	t.step(g.UUID, "destroy-compute", "Successfully destroyed compute instance ID  0 from GPU  "+itoa(g.Index)+" GPU instance ID  1\n")
	t.step(g.UUID, "destroy", "Successfully destroyed GPU instance ID  1 from GPU  "+itoa(g.Index)+"\n")
	t.to(g, false, fault == MIGStays)
}

// make makes the instances and lists them; it reports whether all are there.
func (t *migTrial) make(g *GPU, fault MIGFault) bool {
	var said strings.Builder
	made := t.want
	for k, name := range t.want {
		if fault == MIGRefused && k == len(t.want)-1 {
			fmt.Fprintf(&said, "Unable to create a GPU instance on GPU  %d using profile %s: Insufficient Resources\n", g.Index, name)
			made = t.want[:k]
			break
		}
		fmt.Fprintf(&said, "Successfully created GPU instance ID  %d on GPU  %d using profile MIG %s (ID  9)\n", k+1, g.Index, name)
	}
	if fault == MIGMissing {
		made = t.want[:len(t.want)-1]
	}
	t.step(g.UUID, "create", said.String())
	t.made[g.UUID] = made
	t.step(g.UUID, "list", t.list())
	return len(made) == len(t.want)
}
