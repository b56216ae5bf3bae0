package burnin

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

func names(loads []Load) string {
	var out []string
	for _, l := range loads {
		out = append(out, l.Name)
	}
	return strings.Join(out, " ")
}

// What measures runs beside the choice of what keeps parts busy, and only where the spec
// asks for it.
func TestChooseLoads(t *testing.T) {
	p := gpuProfile(t, "hgx-h100-8")
	facts := func(tools ...string) *Facts {
		f := &Facts{GPUs: 8, CPUs: 64, tools: map[string]bool{}}
		for _, tool := range tools {
			f.tools[tool] = true
		}
		return f
	}
	standard, strict := &profiles.Spec{Name: "a", Default: profiles.OutOfScope, Checks: map[string]profiles.Scope{"gpu.copy": profiles.Required}}, &profiles.Spec{Name: "b"}
	for _, c := range []struct {
		name            string
		spec            *profiles.Spec
		facts           *Facts
		chosen, missing string
	}{
		{"all there", strict, facts("nvbandwidth", "all_reduce_perf", "dcgmi", "gpu_burn", "stress-ng", "stressapptest", "dcgmproftester12"), "nvbandwidth nccl dcgm stress-ng memory-stress gpu-burn", "stream gdsio"},
		{"copies only", standard, facts("nvbandwidth", "all_reduce_perf", "dcgmi", "gpu_burn", "stress-ng", "stressapptest"), "nvbandwidth stress-ng memory-stress gpu-burn", ""},
		{"nothing that computes", standard, facts("nvbandwidth", "stressapptest"), "nvbandwidth cpu-loop memory-stress nvbandwidth-load", ""},
		{"nothing that measures", strict, facts("gpu_burn", "stressapptest"), "cpu-loop memory-stress gpu-burn", "nvbandwidth nccl dcgm stream gdsio"},
		{"memory without stressapptest", standard, facts("gpu-fryer", "stress-ng"), "stress-ng stress-ng-memory gpu-fryer", "nvbandwidth"},
		{"nothing", standard, facts(), "cpu-loop", "nvbandwidth memory-stress gpu-burn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			loads := LoadsFor(Loads(), c.spec, Consent{})
			chosen, missing := choose(loads, c.facts, p)
			if names(chosen) != c.chosen || names(missing) != c.missing {
				t.Errorf("chosen %q, missing %q, want %q and %q", names(chosen), names(missing), c.chosen, c.missing)
			}
			if alone := aloneOf(chosen); slices.ContainsFunc(chosen[len(alone):], func(l Load) bool { return l.Alone > 0 }) {
				t.Errorf("what measures does not come first: %q", names(chosen))
			}
		})
	}
}

// The profile says which of several programs is preferred; what it does not name keeps
// its place behind, and what measures stays in front.
func TestOrderOfLoads(t *testing.T) {
	f := &Facts{GPUs: 8, NVMes: 2, CPUs: 64, tools: map[string]bool{"nvbandwidth": true, "gpu_burn": true, "gpu-fryer": true, "stress-ng": true, "stressapptest": true, "fio": true}}
	for _, c := range []struct {
		name  string
		order []string
		want  string
	}{
		{"none", nil, "nvbandwidth stress-ng memory-stress fio gpu-burn"},
		{"of GPUs", []string{"gpu-fryer", "gpu-burn"}, "nvbandwidth gpu-fryer stress-ng memory-stress fio"},
		{"of two classes", []string{"nvbandwidth-load", "stress-ng-memory"}, "nvbandwidth nvbandwidth-load stress-ng-memory stress-ng fio"},
		{"not on the node", []string{"dcgm-load", "gpu-fryer"}, "nvbandwidth gpu-fryer stress-ng memory-stress fio"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := *gpuProfile(t, "hgx-h100-8")
			p.Load.Order = c.order
			loads := slices.DeleteFunc(Loads(), func(l Load) bool { return l.Alone > 0 && l.Name != "nvbandwidth" })
			chosen, _ := choose(loads, f, &p)
			if names(chosen) != c.want {
				t.Errorf("chosen %q, want %q", names(chosen), c.want)
			}
			if c.order != nil && !strings.Contains(Notice(f, loads, &p, time.Minute, ""), " with "+chosen[1].Tool) {
				t.Errorf("the notice does not name %s: %s", chosen[1].Tool, Notice(f, loads, &p, time.Minute, ""))
			}
		})
	}
}

// A profile may name every load that keeps parts busy, and nothing else.
func TestOrderKnowsEveryLoad(t *testing.T) {
	field, _ := reflect.TypeFor[profiles.Load]().FieldByName("Order")
	var want []string
	for _, l := range Loads() {
		if l.Alone == 0 && !l.Behind {
			want = append(want, l.Name)
		}
	}
	if got := field.Tag.Get("enum"); got != strings.Join(want, ",") {
		t.Errorf("profiles know %s, there are %s", got, strings.Join(want, ","))
	}
}

func TestNotice(t *testing.T) {
	p := gpuProfile(t, "hgx-h100-8")
	f := &Facts{GPUs: 8, CPUs: 64, tools: map[string]bool{"nvbandwidth": true, "gpu_burn": true, "stress-ng": true, "stressapptest": true}}
	got := Notice(f, Loads(), p, 10*time.Minute, "")
	for _, want := range []string{
		"Will first measure with nvbandwidth, then load 64 CPU threads with stress-ng, ", "free memory with stressapptest and 8 GPUs with gpu_burn for 10 min. " +
			"At a fatal fault first keeps the kernel log, nvidia-smi -q and nvidia-bug-report.sh (10 min at most), then the loads on the other parts go on. " +
			"Writes to no disk. Changes no setting. Leaves nothing. ",
		"No gpu.nccl: all_reduce_perf (github.com/NVIDIA/nccl-tests) is not on the node.", "No gpu.dcgm: dcgmi (NVIDIA's package ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	if got := Notice(f, Loads(), p, 10*time.Minute, profiles.StopMachine); !strings.Contains(got, "(10 min at most), then all loads end. Writes to no disk.") {
		t.Errorf("where a fault stops the machine: %q", got)
	}
	if got := Notice(f, Loads(), p, 0, ""); !strings.HasPrefix(got, "Will only look") || strings.Contains(got, "fault") {
		t.Errorf("without a load: %q", got)
	}
}

// The commands carry what the profile says.
func TestMeasuringCommands(t *testing.T) {
	p := gpuProfile(t, "hgx-h100-8")
	for _, c := range []struct{ got, want string }{
		{nvbandwidth(p, time.Minute), "exec timeout -k 10 60 nvbandwidth -j -t host_to_device_memcpy_ce device_to_host_memcpy_ce device_to_device_memcpy_read_ce device_local_copy"},
		{allReduce(p, time.Minute), "exec timeout -k 10 60 all_reduce_perf -b 16384M -e 16384M -g 8 -c 1"},
		{dcgmDiag(p, time.Minute), `timeout -k 10 60 dcgmi diag "$@" -r 3 -j`},
	} {
		if !strings.HasSuffix(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// Reports that repeat are left out, and the program's exit status comes through.
func TestGPUBurnCommand(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\n" + `printf '10.0%%  proc'"'"'d: 5 (50000 Gflop/s)   errors: 0   temps: 50 C \r10.1%%  proc'"'"'d: 5 (50000 Gflop/s)   errors: 0   temps: 51 C \r90.0%%  proc'"'"'d: 9 (50100 Gflop/s)   errors: 0   temps: 52 C \ndone\n\nTested 1 GPUs:\n\tGPU 0: OK\n'
echo "for $1 s" >&2
exit 3
`
	if err := os.WriteFile(filepath.Join(dir, "gpu_burn"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", gpuBurn(nil, time.Minute))
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	if cmd.ProcessState.ExitCode() != 3 || errs.String() != "for 60 s\n" || strings.Count(out.String(), "proc'd") != 2 {
		t.Errorf("exit %d, printed %q and %q", cmd.ProcessState.ExitCode(), out.String(), errs.String())
	}
	exit := 3
	l, err := parseGPUBurn(&Evidence{Probe: "gpu-burn", Phase: PhaseLoad, Exit: &exit, Ended: EndedExit, Out: []byte(out.String())})
	if err != nil || len(l.GPUs) != 1 || l.GPUs[0].Reports != 2 || l.GPUs[0].Word != "OK" {
		t.Errorf("%+v, %v", l, err)
	}
}
