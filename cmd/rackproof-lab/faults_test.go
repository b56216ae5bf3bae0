package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/lab"
)

// plant is one fault and what must come of it.
type plant struct {
	on           string // machine; "" is lab2
	fault, value string
	check        string // that blames it; "" where no finding does
	part         string // in the name of the part that is blamed
	verdict      burnin.Verdict
	also         []string // "check" or "check part": what else may speak of it
	told         string   // of a fault that is tolerated, or stops the run: what the line says
	again        bool     // healed, and retested: it passes
}

func (p plant) machine() string { return cmp.Or(p.on, "lab2") }

// round is a run in which several faults are planted at different parts, or machines.
type round struct {
	name string
	cold []plant // before the machine is powered on
	hot  []plant // when its load has begun
	code int
}

func (r round) plants() []plant { return slices.Concat(r.cold, r.hot) }

func (r round) machines() []string {
	var out []string
	for _, p := range r.plants() {
		out = append(out, p.machine())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rounds hold every fault of the lab once. The first one runs always, the others
// with make prove.
func rounds() []round {
	return []round{
		{
			name: "first", code: 3,
			cold: []plant{
				{fault: "dimm-missing", value: "DIMM_C1", check: "memory.population", part: "DIMM_C1", verdict: burnin.Fail, also: []string{"memory.population"}},
				{fault: "dimm-slow", value: "DIMM_D1", check: "memory.ecc", part: "DIMM_D1", verdict: burnin.Fail, also: []string{"memory.ecc memory"}},
			},
			hot: []plant{
				{fault: "pcie-width", value: "gpu0=8", check: "pcie.link", part: "GPU0", verdict: burnin.Fail},
				{fault: "xid", value: "gpu1=79", check: "gpu.xid", part: "GPU1", verdict: burnin.Fail, also: []string{"kernel.log"}},
				{fault: "nvme-critical", check: "nvme.health", part: "NVMe", verdict: burnin.Fail},
				{fault: "cpu-hot", check: "bmc.sensors", part: "CPU0", verdict: burnin.Fail, also: []string{"bmc.sel"}},
				{fault: "fan-dead", check: "bmc.sensors", part: "FAN2", verdict: burnin.Fail, also: []string{"bmc.sel"}},
				{fault: "psu-lost", check: "bmc.sensors", part: "PSU2", verdict: burnin.Fail, also: []string{"bmc.sel"}},
				{fault: "link-flap", check: "nic.link", part: "NIC", verdict: burnin.Fail, also: []string{"kernel.log"}},
			},
		},
		{
			name: "second", code: 3,
			cold: []plant{{fault: "dimm-not-ecc", value: "DIMM_E1", check: "memory.ecc", part: "DIMM_E1", verdict: burnin.Fail, also: []string{"memory.ecc"}}},
			hot: []plant{
				{fault: "pcie-speed", value: "gpu0=3", check: "pcie.link", part: "GPU0", verdict: burnin.Fail},
				{fault: "gpu-off-bus", value: "gpu1", check: "gpu.count", part: "GPU", verdict: burnin.Fail, also: []string{"pcie.link GPU1", "gpu.", "pcie.errors"}},
				{fault: "nvme-medium-error", check: "nvme.health", part: "NVMe Bay 1", verdict: burnin.Fail, also: []string{"nvme.throughput", "kernel.log"}},
				{fault: "ecc-corrected", check: "memory.errors", part: "DIMM", verdict: burnin.Fail, also: []string{"bmc.sel", "kernel.log"}},
				{fault: "bmc-slow", told: ""},
			},
		},
		{
			name: "third", code: 3,
			hot: []plant{
				{fault: "nvme-slow", check: "nvme.throughput", part: "NVMe", verdict: burnin.Fail},
				{fault: "ecc-uncorrected", check: "memory.errors", part: "", verdict: burnin.Fail, also: []string{"bmc.sel", "kernel.log"}},
				{fault: "aer", value: "uncorrected", check: "pcie.errors", part: "GPU0", verdict: burnin.Fail, also: []string{"pcie.errors GPU0", "kernel.log"}},
				{fault: "mce", check: "memory.errors", part: "processors", verdict: burnin.Fail},
				{fault: "ssh-dies", value: "20", told: ""},
			},
		},
		{
			name: "fourth", code: 3,
			hot: []plant{
				{fault: "nvme-missing", check: "nvme.count", part: "NVMe", verdict: burnin.Fail, also: []string{"nvme.", "kernel.log", "pcie.link"}},
				{fault: "gpu-hot", value: "gpu0", check: "gpu.thermal", part: "GPU0", verdict: burnin.Fail, also: []string{"gpu.clocks GPU0"}},
				{fault: "gpu-power-low", value: "gpu1=500", check: "gpu.power", part: "GPU1", verdict: burnin.Fail},
			},
		},
		{
			name: "dead", code: 5,
			hot: []plant{
				{fault: "kernel-panic", check: "kernel.log", part: "console", verdict: burnin.Fail},
				{on: "lab3", fault: "power-loss", told: "the host went off under test", again: true},
				{on: "lab4", fault: "bmc-dies", told: "STUCK"},
			},
		},
		{name: "wrong", code: 3, cold: []plant{{fault: "wrong-machine", check: "identity", part: "", verdict: burnin.Fail}}},
	}
}

// TestFaults plants faults and wants each blamed on its part, and nothing else
// blamed; a healthy machine in the same batch passes.
func TestFaults(t *testing.T) {
	t.Parallel()
	prove := os.Getenv("RACKPROOF_PROVE") != ""
	machines := "2"
	if prove {
		machines = "4"
	}
	r := newRig(t, "--firmware", "uefi", "--machines", machines)
	var table []string
	for i, round := range rounds() {
		if i > 0 && !prove {
			t.Logf("round %s is left to make prove", round.name)
			continue
		}
		t.Run(round.name, func(t *testing.T) {
			r := *r
			r.t = t
			o := lab.BatchOptions{Name: round.name, Protocol: provision.OverRedfish, Load: "60 s", Machines: round.machines(), Console: true, Apart: i > 0}
			if i == 0 {
				o.Machines = append(o.Machines, "lab1")
			}
			got := r.runRound(round, o)
			table = append(table, r.judge(round, got)...)
			if i == 0 {
				r.wantPassed(got, "lab1")
			}
			for _, m := range round.machines() {
				r.fault(m, lab.NoFault, "")
			}
			for _, p := range round.plants() {
				if p.again {
					r.wantPassed(r.retest(round.name, p.machine()), p.machine())
				}
			}
		})
	}
	if prove && !t.Failed() {
		writeTable(t, table)
	}
}

// runRound carries the batch and plants the faults in their time.
func (r *rig) runRound(round round, o lab.BatchOptions) outcome {
	r.t.Helper()
	for _, p := range round.cold {
		r.fault(p.machine(), p.fault, p.value)
	}
	cmd := r.rackproof(r.batch(o))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ended := r.start(cmd)
	left := slices.Clone(round.hot)
	until(r.t, bootLimit+loadLimit, "all are loaded", func() bool {
		if len(left) > 0 && isOver(ended) {
			r.t.Fatalf("rackproof ended before %d of %d faults were planted: %s", len(left), len(round.hot), stderr.String())
		}
		left = slices.DeleteFunc(left, func(p plant) bool { // each in its time: one may be over when another begins
			load := filepath.Join(provision.AttemptDir(r.state, provision.RunID(o.Name), p.machine(), 1), string(burnin.PhaseLoad))
			if !hasFiles(load) {
				return false
			}
			r.fault(p.machine(), p.fault, p.value)
			return true
		})
		return len(left) == 0
	})
	return r.outcome(<-ended, stdout.Bytes(), stderr.String())
}

// judge compares what was found with what was planted, and returns lines of the
// table.
func (r *rig) judge(round round, o outcome) []string {
	r.t.Helper()
	if o.code != round.code {
		r.t.Errorf("exit %d, want %d\n%s", o.code, round.code, o.stderr)
	}
	var table []string
	for _, p := range round.plants() {
		table = append(table, fmt.Sprintf("| %s | %s | %d |", strings.TrimSpace(p.fault+" "+p.value), r.found(p, o.machines[p.machine()]), o.code))
	}
	for _, m := range round.machines() {
		r.wantNoOther(round, m, o.machines[m])
	}
	return table
}

// found is what was said of a plant, as columns of the table.
func (r *rig) found(p plant, j burnin.Judgement) string {
	r.t.Helper()
	if p.check == "" {
		if p.told != "" && !strings.Contains(j.Line, p.told) {
			r.t.Errorf("%s: %q does not say %q", p.fault, j.Line, p.told)
		}
		what := "tolerated: nothing is blamed on it, beside other faults"
		if p.told != "" {
			what = "said: " + p.told
		}
		if p.again {
			what += "; tolerated: healed and retested it passes, exit 0"
		}
		return what + " | | "
	}
	i := slices.IndexFunc(j.Findings, func(f burnin.Finding) bool { return p.blames(f) && f.Verdict == p.verdict })
	if i < 0 {
		r.t.Errorf("%s %s: no finding of %s about %q with verdict %s\n%s", p.fault, p.value, p.check, p.part, p.verdict, told(j))
		return "not found | | "
	}
	f := j.Findings[i]
	return fmt.Sprintf("%s | %s | %s", f.Check, f.Part, f.Verdict)
}

// wantNoOther checks that nothing is blamed on a machine beyond what was planted.
func (r *rig) wantNoOther(round round, machine string, j burnin.Judgement) {
	r.t.Helper()
	plants := slices.DeleteFunc(round.plants(), func(p plant) bool { return p.machine() != machine })
	for _, f := range j.Findings {
		if f.Verdict == burnin.Pass || f.Verdict == burnin.NotApplicable || f.Check == "bmc.sel" && strings.HasPrefix(f.Quantity, "earlier_") {
			continue // the last: what the BMC keeps of the round before
		}
		if !slices.ContainsFunc(plants, func(p plant) bool { return p.blames(f) || p.speaks(f) }) {
			r.t.Errorf("%s is blamed for nothing: %s %s %s: %s", machine, f.ID, f.Part, f.Verdict, f.Why)
		}
	}
}

func (p plant) blames(f burnin.Finding) bool {
	return p.check != "" && f.Check == p.check && strings.Contains(strings.ToLower(f.Part), strings.ToLower(p.part))
}

// speaks reports whether a finding may tell of the fault too.
func (p plant) speaks(f burnin.Finding) bool {
	return slices.ContainsFunc(p.also, func(also string) bool {
		check, part, _ := strings.Cut(also, " ")
		return strings.HasPrefix(f.Check, check) && strings.Contains(f.Part, part)
	})
}

// told are the findings that are no pass.
func told(j burnin.Judgement) string {
	var out []string
	for _, f := range j.Findings {
		if f.Verdict != burnin.Pass && f.Verdict != burnin.NotApplicable {
			out = append(out, fmt.Sprintf("%s | %s | %s | %s", f.ID, f.Part, f.Verdict, f.Why))
		}
	}
	for _, n := range j.NotRun {
		out = append(out, fmt.Sprintf("%s | not run | %s", n.Check, n.Why))
	}
	return j.Line + "\n" + strings.Join(out, "\n")
}

// writeTable keeps the rows in docs/faults.md, each fault's own in the order of the lab's
// list; faults of rounds that did not run keep theirs.
func writeTable(t *testing.T, rows []string) {
	t.Helper()
	const file = "../../docs/faults.md"
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, row := range append(strings.Split(string(before), "\n"), rows...) {
		if cells := strings.Fields(row); len(cells) > 1 {
			of[cells[1]] = row
		}
	}
	text := "# Faults of the lab and what rackproof says of them\n\n" +
		"Written by `make prove`: each fault is planted into an emulated machine (QEMU, Linux 6.1, real BMC protocols), over Redfish and UEFI.\n\n" +
		"| fault | check | part | verdict | exit |\n| --- | --- | --- | --- | --- |\n"
	for _, f := range lab.Faults() {
		text += cmp.Or(of[f.Name], "| "+f.Name+" | not run yet | | | |") + "\n"
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
