package burnin

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// standIns answer for the node's programs: two GPUs whose state is in $STAND, with the
// fault that is named there. Their words are those of the driver.
var standIns = map[string]string{
	"id": "echo 0\n",
	"nvidia-smi": `cd "$STAND" || exit 9
fault=$(cat fault)
mode() { cat "mode.$1"; }
name() { case $1 in GPU-aaaa) echo 0 ;; *) echo 1 ;; esac; }
bus() { case $1 in GPU-aaaa) echo 00000000:19:00.0 ;; *) echo 00000000:3B:00.0 ;; esac; }
case "$*" in
--query-compute-apps*) [ "$fault" != work ] || echo "4711, python3" ;;
--query-gpu=index*) for g in GPU-aaaa GPU-bbbb; do echo "$(name $g), $g, $(bus $g), $(mode $g)"; done ;;
"-i "*" --query-gpu=mig.mode"*) mode "$2" ;;
"-i "*" -mig 1")
	case $fault-$2 in
	pending-* | blocked-GPU-bbbb)
		echo "Disabled, Enabled" >"mode.$2"
		echo "Warning: MIG mode is in pending enable state for GPU $(bus "$2"):In use by another client" ;;
	*) echo "Enabled, Enabled" >"mode.$2"; echo "Enabled MIG Mode for GPU $(bus "$2")" ;;
	esac
	echo "All done." ;;
"-i "*" -mig 0")
	case $fault-$2 in
	stuck-GPU-bbbb) echo "Enabled, Disabled" >"mode.$2"
		echo "Warning: MIG mode is in pending disable state for GPU $(bus "$2"):In use by another client" ;;
	*) echo "Disabled, Disabled" >"mode.$2"; echo "Disabled MIG Mode for GPU $(bus "$2")" ;;
	esac
	echo "All done." ;;
"--gpu-reset -i "*)
	case $fault in
	pending) m=$(mode "$3"); echo "${m#*, }, ${m#*, }" >"mode.$3"; echo "GPU $(bus "$3") was successfully reset." ;;
	*) echo "GPU $(bus "$3") is currently in use by another process."; exit 255 ;;
	esac ;;
"mig -i "*" -cgi "*)
	[ "$(mode "$3")" = "Enabled, Enabled" ] || { echo "No MIG-enabled devices found."; exit 6; }
	n=0
	for p in $(echo "$5" | tr , ' '); do
		case $fault-$3-$n in
		create-GPU-bbbb-1) echo "Unable to create a GPU instance on GPU  1 using profile $p: Insufficient Resources"
			echo "Failed to create GPU instances: Insufficient Resources"; exit 4 ;;
		busy-GPU-bbbb-0) echo "Unable to create a GPU instance on GPU  1 using profile $p: In use by another client"; exit 4 ;;
		missing-GPU-bbbb-2) continue ;;
		esac
		echo "Successfully created GPU instance ID  $n on GPU  $(name "$3") using profile MIG $p (ID  9)"
		echo "Successfully created compute instance ID  0 on GPU  $(name "$3") GPU instance ID  $n using profile MIG $p (ID  0)"
		echo "  MIG $p     Device  $n: (UUID: MIG-$3-$n)" >>"inst.$3"
		n=$((n + 1))
	done ;;
"mig -i "*" -dci") [ -s "inst.$3" ] || { echo "No compute instances found: Not Found"; exit 6; }; echo "Successfully destroyed compute instance ID  0 from GPU  $(name "$3") GPU instance ID  0" ;;
"mig -i "*" -dgi") [ -s "inst.$3" ] || { echo "No GPU instances found: Not Found"; exit 6; }; : >"inst.$3"; echo "Successfully destroyed GPU instance ID  0 from GPU  $(name "$3")" ;;
-L) for g in GPU-aaaa GPU-bbbb; do echo "GPU $(name $g): NVIDIA H100 80GB HBM3 (UUID: $g)"; cat "inst.$g"; done ;;
*) echo "Invalid combination of input arguments: $*"; exit 2 ;;
esac
`,
	"nvbandwidth": `fault=$(cat "$STAND/fault") m=$CUDA_VISIBLE_DEVICES
touch "$STAND/began"
while [ "$fault" = wait ] && [ ! -e "$STAND/go" ]; do sleep 0.02; done
case $fault-$m in cuda-MIG-GPU-bbbb-1) echo '{"nvbandwidth": {"version": "v0.8", "error": "[CUDA_ERROR_NO_DEVICE] no CUDA-capable device is detected in expression cuInit(0)"}}'; exit 1 ;; esac
case $m in *aaaa*) bus=00000000:19:00 ;; *) bus=00000000:3B:00 ;; esac
p=$(grep -h -F "$m)" "$STAND"/inst.*) && p=${p#*MIG } && p=${p%% *} || exit 1
[ "$fault" != whole ] || p="" bus=$bus
printf '{"nvbandwidth": {"version": "v0.8", "GPU Device list": ["0: NVIDIA H100 80GB HBM3 MIG %s (%s): (node)"], "testcases": [{"name": "device_local_copy", "status": "Passed", "bandwidth_matrix": [["312.5"]]}]}}\n' "$p" "$bus"
`,
}

// migNode is a node of two GPUs for the script of the trial.
type migNode struct{ root string }

func newMIGNode(t *testing.T, fault string, without ...string) *migNode {
	t.Helper()
	n := &migNode{root: t.TempDir()}
	for name, script := range standIns {
		n.put(t, "bin/"+name, "#!/bin/sh\n"+script)
	}
	for _, name := range without {
		if err := os.Remove(filepath.Join(n.root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	n.put(t, "fault", fault)
	for _, g := range []string{"GPU-aaaa", "GPU-bbbb"} {
		n.put(t, "mode."+g, "Disabled, Disabled\n")
		n.put(t, "inst."+g, "")
	}
	return n
}

func (n *migNode) put(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join(n.root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func (n *migNode) state() string { return filepath.Join(n.root, "state") }

// found reports whether both GPUs are as they were at first.
func (n *migNode) found(t *testing.T) bool {
	t.Helper()
	for _, g := range []string{"GPU-aaaa", "GPU-bbbb"} {
		mode, err := os.ReadFile(filepath.Join(n.root, "mode."+g))
		inst, err2 := os.ReadFile(filepath.Join(n.root, "inst."+g))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if string(mode) != "Disabled, Disabled\n" || len(inst) > 0 {
			return false
		}
	}
	return true
}

func (n *migNode) command(t *testing.T, leave profiles.MIGLeave) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "sh", "-c", migTrialCommand(n.state(), []string{"3g.40gb", "1g.10gb", "1g.10gb"}, leave, time.Minute))
	cmd.Env = append(os.Environ(), "LC_ALL=C", "STAND="+n.root, "PATH="+n.root+"/bin:"+os.Getenv("PATH"))
	var out strings.Builder
	cmd.Stdout = &out
	return cmd, &out
}

func (n *migNode) trial(t *testing.T, leave profiles.MIGLeave) string {
	t.Helper()
	cmd, out := n.command(t, leave)
	_ = cmd.Run()
	return out.String()
}

func migTrialProfile(leave profiles.MIGLeave) *profiles.Profile {
	word := func(s string) *profiles.Limit { return &profiles.Limit{Relation: profiles.Equal, Text: []string{s}} }
	return &profiles.Profile{GPU: profiles.GPU{Count: countLimit(profiles.Equal, 2), MIG: word("Disabled"), MIGLayout: word("1x 3g.40gb, 2x 1g.10gb"), MIGLeave: leave}}
}

// migTrialRecord is a record of two GPUs with MIG off, and the log of a trial.
func migTrialRecord(out string) *Record {
	log := strings.ReplaceAll(migLog("Licensed"), ": Enabled", ": Disabled")
	rec := phases("nvidia-smi", log, log)
	if out != "" {
		zero := 0
		rec.Evidence = append(rec.Evidence, &Evidence{Probe: migTrialName, Phase: PhaseAfter, Source: FromSSH, Ended: EndedExit, Exit: &zero, Out: []byte(out)})
	}
	return rec
}

// The script runs for real, with stand-ins of the driver's programs. What it prints is
// judged, and the GPUs are put back but where the driver refuses that.
func TestMIGTrial(t *testing.T) {
	t.Parallel()
	a := func(quantity string) string { return "gpu.mig/" + quantity + "/GPU 0000:19:00.0" }
	b := func(quantity string) string { return "gpu.mig/" + quantity + "/GPU 0000:3b:00.0" }
	all := "gpu.mig/trial/GPUs"
	for _, c := range []struct {
		fault   string
		leave   profiles.MIGLeave
		without []string
		want    map[string]string
		why     string // of the worst
		found   bool   // the GPUs are as before
	}{
		{"", profiles.MIGRemoved, nil, map[string]string{}, "", true},
		{"", profiles.MIGLeft, nil, map[string]string{}, "", false},
		{"pending", profiles.MIGRemoved, nil, map[string]string{}, "", true},
		{"create", profiles.MIGRemoved, nil, map[string]string{b("instances"): "fail", b("cuda"): "not_run"}, "has the instances 1x 3g.40gb when 1x 3g.40gb, 2x 1g.10gb were made: Unable to create", true},
		{"create", profiles.MIGLeft, nil, map[string]string{b("instances"): "fail", b("cuda"): "not_run", b("left"): "fail"}, "was not left with the layout", false},
		{"busy", profiles.MIGRemoved, nil, map[string]string{b("instances"): "not_run", b("cuda"): "not_run"}, "In use by another client", true},
		{"missing", profiles.MIGRemoved, nil, map[string]string{b("instances"): "fail", b("cuda"): "not_run"}, "2 of 3 instances are proven", true},
		{"blocked", profiles.MIGRemoved, nil, map[string]string{b("instances"): "not_run", b("cuda"): "not_run"}, "MIG could not be switched on: Warning: MIG mode is in pending enable state", true},
		{"stuck", profiles.MIGRemoved, nil, map[string]string{b("left"): "fail"}, "MIG is Enabled (Disabled after the next reset), instances none. to put it back type: nvidia-smi mig -i GPU-bbbb -dci;", false},
		{"cuda", profiles.MIGRemoved, nil, map[string]string{b("cuda"): "not_run"}, "2 of 3 instances are proven: MIG-GPU-bbbb-1: nvbandwidth ended with 1", true},
		{"whole", profiles.MIGRemoved, nil, map[string]string{a("cuda"): "not_run", b("cuda"): "not_run"}, "does not show it as its one device", true},
		{"", profiles.MIGRemoved, []string{"nvbandwidth"}, map[string]string{a("cuda"): "not_run", b("cuda"): "not_run"}, "nvbandwidth (github.com/NVIDIA/nvbandwidth", true},
		{"work", profiles.MIGRemoved, nil, map[string]string{all: "not_run"}, "somebody works on the GPUs: 4711, python3", true},
	} {
		t.Run(c.fault+" "+string(c.leave), func(t *testing.T) {
			t.Parallel()
			n := newMIGNode(t, c.fault, c.without...)
			out := n.trial(t, c.leave)
			want := map[string]string{}
			for _, q := range []string{"instances", "cuda", "left"} {
				want[a(q)], want[b(q)] = "pass", "pass"
			}
			if _, none := c.want[all]; none {
				want = map[string]string{}
			}
			maps.Copy(want, c.want)
			got := judged(t, migTrialRecord(out), migTrialProfile(c.leave), newGPUParts, gpuMIG)
			var said strings.Builder
			for id, f := range got {
				said.WriteString(f.Why + f.NotRun + "\n")
				if w, asked := want[id]; asked && gpuAnswer(f) != w || !asked && gpuAnswer(f) != "pass" {
					t.Errorf("%s is %s (%s%s), want %s", id, gpuAnswer(f), f.Why, f.NotRun, w)
				}
			}
			for id := range want {
				if got[id].ID == "" {
					t.Errorf("%s is not judged", id)
				}
			}
			if !strings.Contains(said.String(), c.why) {
				t.Errorf("nothing says %q: %s", c.why, &said)
			}
			if n.found(t) != c.found {
				t.Errorf("as found: %v, want %v", !c.found, c.found)
			}
			if _, err := os.Stat(n.state()); (err == nil) != (c.fault == "stuck") {
				t.Errorf("what is changed is remembered: %v", err == nil)
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// A trial that is ended in the middle puts the GPU back: by a word (TERM), and when all
// that waits for it is killed.
func TestMIGTrialCut(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			n := newMIGNode(t, "wait")
			cmd, out := n.command(t, profiles.MIGLeft)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			cmd.WaitDelay = 20 * time.Second // the trial writes on
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "an instance is used", func() bool { _, err := os.Stat(filepath.Join(n.root, "began")); return err == nil })
			if n.found(t) {
				t.Error("nothing was changed")
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			n.put(t, "go", "")
			_ = cmd.Wait()
			until(t, "the GPUs are put back", func() bool { _, err := os.Stat(n.state()); return os.IsNotExist(err) })
			if !n.found(t) {
				t.Errorf("not put back: %s", out)
			}
			got := judged(t, migTrialRecord(out.String()), migTrialProfile(profiles.MIGRemoved), newGPUParts, gpuMIG)
			if f := got["gpu.mig/instances/GPU 0000:3b:00.0"]; gpuAnswer(f) != "not_run" || !strings.Contains(f.NotRun, "the trial was ended before this GPU") {
				t.Errorf("the second GPU: %s %s", gpuAnswer(f), f.NotRun)
			}
			if f := got["gpu.mig/left/GPU 0000:19:00.0"]; gpuAnswer(f) != "pass" {
				t.Errorf("the first GPU is left %s %s%s", gpuAnswer(f), f.Why, f.NotRun)
			}
		})
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatal("in 30 s not: " + what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// What a killed trial has left, the next one puts back before it begins; MIG that somebody
// else switched on is left alone.
func TestMIGTrialAfterAnother(t *testing.T) {
	t.Parallel()
	n := newMIGNode(t, "")
	n.put(t, "mode.GPU-bbbb", "Enabled, Enabled\n")
	n.put(t, "inst.GPU-bbbb", "  MIG 7g.80gb     Device  0: (UUID: MIG-x)\n")
	out := n.trial(t, profiles.MIGRemoved)
	if l, err := parseMIGTrial(&Evidence{Out: []byte(out)}); err != nil || !strings.Contains(l.Refused, "MIG of GPU 1 (GPU-bbbb) is Enabled") {
		t.Errorf("refused %q, %v", l.Refused, err)
	}
	if inst, err := os.ReadFile(filepath.Join(n.root, "inst.GPU-bbbb")); err != nil || len(inst) == 0 {
		t.Error("somebody's instances are gone")
	}
	n.put(t, "state/owner", "1 1\n")
	n.put(t, "state/changed", "GPU-bbbb\n")
	out = n.trial(t, profiles.MIGRemoved)
	for id, f := range judged(t, migTrialRecord(out), migTrialProfile(profiles.MIGRemoved), newGPUParts, gpuMIG) {
		if gpuAnswer(f) != "pass" {
			t.Errorf("%s is %s (%s%s)", id, gpuAnswer(f), f.Why, f.NotRun)
		}
	}
	if !strings.Contains(out, "#mig-trial earlier trial left changed: GPU-bbbb") || !n.found(t) {
		t.Errorf("not put back: %s", out)
	}
}

// Whatever is lost of the log, and whatever a field of it says, nothing passes that does
// not in the whole.
func TestMIGTrialSpoiled(t *testing.T) {
	t.Parallel()
	whole := newMIGNode(t, "").trial(t, profiles.MIGRemoved)
	p := migTrialProfile(profiles.MIGRemoved)
	passes := func(out string) int {
		n := 0
		for id, f := range judged(t, migTrialRecord(out), p, newGPUParts, gpuMIG) {
			switch {
			case strings.Contains(id, "/mode"):
			case gpuAnswer(f) == "pass":
				n++
			case gpuAnswer(f) == "fail":
				return -1
			}
		}
		return n
	}
	if got := passes(whole); got != 6 {
		t.Fatalf("%d pass of a whole log", got)
	}
	for i := 0; i < len(whole); i += 29 {
		if got := passes(whole[:i]); got < 0 || got > 4 {
			t.Errorf("cut at %d: %d pass", i, got)
		}
	}
	for _, c := range [][2]string{
		{"\n#mig-trial rc 0", "\n#mig-trial rc 1"},
		{"#mig-trial end\n", ""},
		{"Disabled, Disabled", "[N/A], [N/A]"},
		{"Passed", "Waived"},
		{"312.5", "N/A"},
		{"312.5", "0"},
		{"MIG 1g.10gb (", "("},
		{"(00000000:19:00)", "(00000000:3B:00)"},
		{"UUID: GPU-bbbb", "UUID: GPU-cccc"},
	} {
		if got := passes(strings.ReplaceAll(whole, c[0], c[1])); got < 0 || got >= 6 {
			t.Errorf("with %q for %q: %d pass", c[1], c[0], got)
		}
	}
}

// Only the profile and a person together have a setting changed, and that is said before.
func TestMIGConsent(t *testing.T) {
	t.Parallel()
	f := &Facts{GPUs: 2, CPUs: 4, tools: map[string]bool{"nvidia-smi": true, "gpu_burn": true}}
	spec := &profiles.Spec{}
	asks, not := migTrialProfile(profiles.MIGRemoved), migTrialProfile("")
	for _, c := range []struct {
		name, notice string
		consent      Consent
		profile      *profiles.Profile
	}{
		{"both", "CHANGES a setting: at the end MIG is switched on and 1x 3g.40gb, 2x 1g.10gb made on each of 2 GPUs, one after the other, if nothing works on them; then all is put back. Leaves nothing.", Consent{MIG: true}, asks},
		{"left", "made on each of 2 GPUs, one after the other, if nothing works on them; that stays.", Consent{MIG: true}, migTrialProfile(profiles.MIGLeft)},
		{"the profile alone", "Changes no setting. Leaves nothing.", Consent{}, asks},
		{"a person alone", "Changes no setting. Leaves nothing.", Consent{MIG: true}, not},
	} {
		if got := Notice(f, LoadsFor(Loads(), spec, c.consent), c.profile, time.Minute, ""); !strings.Contains(got, c.notice) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	for want, c := range map[string]struct {
		consent Consent
		profile *profiles.Profile
	}{
		"#mig-trial refused nobody has agreed to it;":                        {Consent{}, asks},
		"#mig-trial refused another machine;":                                {Consent{MIG: true, Refused: "another machine"}, asks},
		"#mig-trial refused the profile does not say how the GPUs are to be": {Consent{MIG: true}, not},
		"#mig-trial refused the profile wants no layout":                     {Consent{MIG: true}, &profiles.Profile{}},
	} {
		if got := migTrial(c.consent)(c.profile, time.Minute); !strings.HasPrefix(got, "{ echo '"+want) || strings.Contains(got, "nvidia-smi -i") {
			t.Errorf("want %s: %s", want, got)
		}
	}
	if got := judged(t, migTrialRecord(""), asks, newGPUParts, gpuMIG)["gpu.mig/trial/GPUs"]; gpuAnswer(got) != "not_run" || !strings.Contains(got.NotRun, "--mig-test") {
		t.Errorf("without consent: %s %s", gpuAnswer(got), got.NotRun)
	}
}
