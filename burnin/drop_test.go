package burnin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/burnin/shell"
	"github.com/rackproof/rackproof/profiles"
)

// lostUnderLoad is what a burn-in of two minutes leaves in which GPUs fall off the bus.
func lostUnderLoad(t *testing.T, m *nodetest.Machine, to judged, onFail profiles.OnFail) *burnin.Record {
	t.Helper()
	dir := storeFolder(t)
	var rec *burnin.Record
	synctest.Test(t, func(t *testing.T) {
		store, err := burnin.OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		shell := nodetest.Wire(m, nodetest.Boot{BootID: "0e3c1c2e-7d0f-4b8e-9a53-6a4f8a5d2f10"})
		err = burnin.Burn(t.Context(), burnin.BurnOptions{
			Node:  &burnin.Node{Shell: shell, Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: to.profile},
			Store: store, Run: "test", Attempt: 1, Owner: "test@here", Duration: 2 * time.Minute, OnFail: onFail, Soak: to.spec.Soak,
			Loads: burnin.LoadsFor(burnin.Loads(), to.spec, burnin.Consent{}), Machine: burnin.Machine{Name: "bench"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if rec, err = store.Record(); err != nil {
			t.Fatal(err)
		}
	})
	return rec
}

// verdicts of a quantity, by the address of the part.
func verdictsOf(j burnin.Judgement, check, quantity string) map[string]string {
	out := map[string]string{}
	for _, f := range j.Findings {
		if f.Check == check && f.Quantity == quantity {
			out[f.Address] = f.Verdict.String()
		}
	}
	return out
}

// TestLostGPUIsDropped: where a GPU falls off the bus under load, the load goes on on the
// others as the spec wants it, begun again where it died; the lost one fails, none of its
// time counts, and nobody else is blamed.
func TestLostGPUIsDropped(t *testing.T) {
	soak := profiles.Soak{Hours: (2 * time.Minute).Hours(), Mode: profiles.Accumulated, Restarts: 5}
	for _, row := range []struct {
		name   string
		lost   []int
		dies   bool // the load with it
		onFail profiles.OnFail
		soak   profiles.Soak
		pieces int
		loaded [2]float64 // seconds of each other GPU, at least and at most
		errors string     // gpu.compute of the others
	}{
		{"the load dies", []int{6}, true, profiles.DropPartAndContinue, profiles.Soak{}, 2, [2]float64{105, 122}, "pass"},
		{"the load dies, in a soak", []int{6}, true, "", soak, 2, [2]float64{105, 122}, "pass"},
		{"the load dies of two", []int{2, 6}, true, profiles.DropPartAndContinue, profiles.Soak{}, 2, [2]float64{105, 122}, "pass"},
		{"the load goes on itself", []int{6}, false, profiles.DropPartAndContinue, profiles.Soak{}, 1, [2]float64{119, 122}, "pass"},
		{"all stops", []int{6}, true, profiles.StopMachine, soak, 1, [2]float64{1, 10}, ""},
		{"nothing is begun again", []int{6}, true, profiles.Continue, soak, 1, [2]float64{1, 10}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := benchMachine(t)
			lost := map[string]bool{}
			for _, i := range row.lost {
				m.GPUs[i].FallsUnderLoad, m.GPUs[i].TakesLoadDown = true, row.dies
				lost[m.GPUs[i].Address] = true
			}
			to := judgedAs(t, m)
			spec := *to.spec
			spec.Soak = row.soak
			rec := lostUnderLoad(t, m, judged{to.profile, &spec}, row.onFail)
			var left, dropped []string
			for _, g := range m.GPUs {
				if !lost[g.Address] {
					left = append(left, g.UUID)
				}
			}
			for _, d := range rec.Meta.Dropped {
				if !lost[d.Address] || d.Serial == "" || !strings.Contains(d.Why, "XID 79") {
					t.Errorf("dropped %+v", d)
				}
				dropped = append(dropped, d.Address)
			}
			if len(dropped) != len(lost) {
				t.Errorf("dropped %v, want %v", dropped, lost)
			}
			pieces := 0
			for _, e := range rec.Evidence {
				if e.Probe != "gpu-burn" {
					continue
				}
				pieces++
				if only := strings.Contains(e.Command, "export CUDA_VISIBLE_DEVICES="+strings.Join(left, ",")+"\n"); only != (e.Instance == "2") {
					t.Errorf("%s: %q", e.Ref(), e.Command)
				}
			}
			if pieces != row.pieces || len(rec.Meta.Spans) != 1 {
				t.Errorf("%d pieces in %d spans, want %d in 1", pieces, len(rec.Meta.Spans), row.pieces)
			}
			j := burnin.Judge(rec, to.profile, &spec)
			if j.Result != burnin.Failed {
				t.Errorf("result %s", j.Result)
			}
			errs, hours := verdictsOf(j, "gpu.compute", "errors"), map[string]float64{}
			for _, f := range j.Findings {
				if f.Check == "gpu.compute" && f.Quantity == "loaded" {
					hours[f.Address], _ = f.Measured.(float64)
				}
				if f.Verdict == burnin.Fail && isGPUFinding(m, f) && !lost[f.Address] {
					t.Errorf("%s is blamed: %s", f.ID, f.Why)
				}
			}
			for _, g := range m.GPUs {
				if lost[g.Address] {
					if errs[g.Address] != "fail" || hours[g.Address] != 0 || verdictsOf(j, "gpu.compute", "loaded")[g.Address] != "fail" {
						t.Errorf("lost %s: %q, loaded for %v h", g.Address, errs[g.Address], hours[g.Address])
					}
					continue
				}
				if s := loadedSeconds(rec, g.UUID); errs[g.Address] != row.errors || s < row.loaded[0] || s > row.loaded[1] {
					t.Errorf("%s: %q, want %q; loaded for %.0f s, want %v", g.Address, errs[g.Address], row.errors, s, row.loaded)
				}
			}
			if why := soakWhy(j); strings.HasPrefix(why, "pass") {
				t.Errorf("hours of a lost GPU count: %s", why)
			}
		})
	}
}

// TestLostGPUPickedUp: another process that picks the load up knows what was dropped, and
// what goes on.
func TestLostGPUPickedUp(t *testing.T) {
	m := benchMachine(t)
	m.GPUs[6].FallsUnderLoad, m.GPUs[6].TakesLoadDown = true, true
	to, dir := judgedAs(t, m), storeFolder(t)
	var rec *burnin.Record
	synctest.Test(t, func(t *testing.T) {
		store, err := burnin.OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancelCause(t.Context())
		shell := newBoots(m, event{40 * time.Second, func(*boots) { leave(burnin.ErrDetach) }})
		options := burnin.BurnOptions{
			Node:  &burnin.Node{Shell: shell, Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: to.profile},
			Store: store, Run: "test", Attempt: 1, Owner: "test@here", Duration: 2 * time.Minute, Resume: true,
			Loads: burnin.LoadsFor(burnin.Loads(), to.spec, burnin.Consent{}), Machine: burnin.Machine{Name: "bench"},
		}
		if err := burnin.Burn(ctx, options); !errors.Is(err, burnin.ErrDetach) {
			t.Fatal(err)
		}
		if err := burnin.Burn(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		if rec, err = store.Record(); err != nil {
			t.Fatal(err)
		}
	})
	errs := verdictsOf(burnin.Judge(rec, to.profile, to.spec), "gpu.compute", "errors")
	for i, g := range m.GPUs {
		s, want := loadedSeconds(rec, g.UUID), "pass"
		if i == 6 {
			want = "fail"
		}
		if errs[g.Address] != want || i != 6 && (s < 105 || s > 122) {
			t.Errorf("%s: %q, want %q; loaded for %.0f s", g.Address, errs[g.Address], want, s)
		}
	}
	if len(rec.Meta.Dropped) != 1 || len(rec.Meta.Spans) != 1 {
		t.Errorf("dropped %+v in %d spans", rec.Meta.Dropped, len(rec.Meta.Spans))
	}
}

// isGPUFinding reports whether a finding is about one GPU of a machine.
func isGPUFinding(m *nodetest.Machine, f burnin.Finding) bool {
	return slices.ContainsFunc(m.GPUs, func(g nodetest.GPU) bool { return g.Address == f.Address })
}

// loadedSeconds is how long gpu_burn ran for a GPU.
func loadedSeconds(rec *burnin.Record, uuid string) float64 {
	total := 0.0
	for _, e := range rec.Evidence {
		if e.Probe == "gpu-burn" && (!strings.Contains(e.Command, "CUDA_VISIBLE") || strings.Contains(e.Command, uuid)) {
			total += e.Seconds
		}
	}
	return total
}

// TestLostGPUOnANode: the same over the node's own half, with stand-ins for gpu_burn, which
// dies of a GPU, for the kernel's log and for nvidia-smi: each of them can tell of it.
func TestLostGPUOnANode(t *testing.T) {
	if _, err := os.Stat("/usr/bin/setsid"); err != nil || os.Geteuid() != 0 {
		t.Skip("the node's half needs Linux with setsid, and root, so that sudo does not hide the stand-ins: ", err)
	}
	for _, row := range []struct {
		name, dies string // what gpu_burn does first, of GPU 3
	}{
		{"the kernel tells", `echo "[99999999.000000] NVRM: Xid (PCI:ADDRESS): 79, pid=1, GPU has fallen off the bus." >>log`},
		{"nvidia-smi tells", `mv without page`},
		{"gpu_burn tells", `echo "10.0%  proc'd: 5 (50000 Gflop/s) - 5 (50000 Gflop/s) - 5 (50000 Gflop/s) - -1 (0 Gflop/s)   errors: 0 - 0 - 0 - -1  (DIED!)  temps: 50 C - 50 C - 50 C - -- "`},
	} {
		t.Run(row.name, func(t *testing.T) { lostOnANode(t, row.dies) })
	}
}

func lostOnANode(t *testing.T, dies string) {
	t.Helper()
	m := benchMachine(t)
	to := judgedAs(t, m)
	tools := t.TempDir()
	pages := map[string]string{"page": "", "without": ""}
	for name := range pages {
		out, err := nodetest.Wire(m, nodetest.Boot{}).Run(t.Context(), burnin.Command{Line: "nvidia-smi -q -x", Deadline: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(out.Out)
	}
	from := strings.Index(pages["page"], "<gpu id=\""+strings.ToUpper("0000"+m.GPUs[3].Address))
	to4 := strings.Index(pages["page"], "<gpu id=\""+strings.ToUpper("0000"+m.GPUs[4].Address))
	pages["without"] = pages["page"][:from] + pages["page"][to4:]
	var list, left strings.Builder
	for i, g := range m.GPUs {
		fmt.Fprintf(&list, "GPU %d: NVIDIA (UUID: %s)\n", i, g.UUID)
		if i != 3 {
			left.WriteString("," + g.UUID)
		}
	}
	log := filepath.Join(tools, "log")
	for name, text := range map[string]string{
		"page": pages["page"], "without": pages["without"], "list": list.String(), "log": "[    1.000000] Linux version 6.8\n",
		"nvidia-smi": "#!/bin/sh\ncase \"$*\" in *-q*-x*) cat " + tools + "/page ;; esac\n",
		"dmesg":      "#!/bin/sh\ncase $1 in --help) echo ' -w, --follow' ;; --follow) exec tail -n +1 -f " + log + " ;; *) cat " + log + " ;; esac\n",
		"gpu_burn": `#!/bin/sh
cd ` + tools + ` && cat list
if [ -z "${CUDA_VISIBLE_DEVICES:-}" ]; then
	` + strings.Replace(dies, "ADDRESS", strings.TrimSuffix(m.GPUs[3].Address, ".0"), 1) + `
	kill -SEGV $$
fi
row() { n=$(echo "$CUDA_VISIBLE_DEVICES" | tr , '\n' | wc -l); out=$1; while [ "$n" -gt 1 ]; do out="$out - $1"; n=$((n - 1)); done; echo "$out"; }
for share in 10 50 100; do
	echo "$share.0%  proc'd: $(row "$share (50000 Gflop/s)")   errors: $(row 0)   temps: $(row '50 C') "
done
n=$(echo "$CUDA_VISIBLE_DEVICES" | tr , '\n' | wc -l)
printf '\nTested %d GPUs:\n' "$n"
i=0
while [ "$i" -lt "$n" ]; do printf '\tGPU %d: OK\n' "$i"; i=$((i + 1)); done
`,
	} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	store, err := burnin.OpenStore(storeFolder(t))
	if err != nil {
		t.Fatal(err)
	}
	probes := slices.DeleteFunc(burnin.Probes(), func(p burnin.ProbeSpec) bool {
		return !slices.Contains([]string{"os", "kernel-log", "nvidia-smi"}, p.Name)
	})
	err = burnin.Burn(t.Context(), burnin.BurnOptions{
		Node:  &burnin.Node{Shell: shell.Local{}, Origin: burnin.FromLocal, Probes: probes, Profile: to.profile},
		Store: store, Run: "drop", Attempt: 1, Owner: "test@here", Duration: 4 * time.Minute, Root: filepath.Join(t.TempDir(), "rackproof"),
		Loads: slices.DeleteFunc(burnin.Loads(), func(l burnin.Load) bool { return l.Name != "gpu-burn" }), Machine: burnin.Machine{Name: "bench"},
	})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := store.Record()
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Meta.Dropped) != 1 || rec.Meta.Dropped[0].UUID != m.GPUs[3].UUID {
		t.Errorf("dropped %+v\nnotes %s", rec.Meta.Dropped, strings.Join(rec.Meta.Notes, "\n"))
	}
	i := slices.IndexFunc(rec.Evidence, func(e *burnin.Evidence) bool { return e.Ref() == "load/gpu-burn@2" })
	if i < 0 || !strings.Contains(rec.Evidence[i].Command, "CUDA_VISIBLE_DEVICES="+left.String()[1:]+"\n") || !strings.Contains(string(rec.Evidence[i].Out), "Tested 7 GPUs") {
		t.Fatalf("the load was not begun again on the others: %s", strings.Join(rec.Meta.Notes, "\n"))
	}
	errs := verdictsOf(burnin.Judge(rec, to.profile, to.spec), "gpu.compute", "errors")
	for i, g := range m.GPUs {
		if want := map[bool]string{true: "fail", false: "pass"}[i == 3]; errs[g.Address] != want {
			t.Errorf("gpu.compute/errors of %s: %q, want %q", g.Address, errs[g.Address], want)
		}
	}
}
