package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/lab"
)

// Limits of waiting: machines are emulated, on a computer that has other work.
const (
	bootLimit = 8 * time.Minute
	loadLimit = 15 * time.Minute
	offLimit  = 15 * time.Minute
)

// TestKilledThreeTimes kills rackproof while the machine boots, while it is loaded
// and while it is powered off. The same command ends as if nothing had been, and
// nothing was done twice.
func TestKilledThreeTimes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "--firmware", "bios")
	file := r.batch(lab.BatchOptions{Name: "killed", Protocol: provision.OverIPMI, Method: provision.BootPXE, Load: "20 s"})
	attempt := provision.AttemptDir(r.state, "killed", "lab1", 1)
	kills := []struct {
		when  string
		limit time.Duration
		seen  func() bool
	}{
		{"it boots", bootLimit, func() bool { return slices.ContainsFunc(r.chassis("lab1"), isPowerOn) }},
		{"it is loaded", loadLimit, func() bool { return hasFiles(filepath.Join(attempt, string(burnin.PhaseLoad))) }},
		{"it is powered off", offLimit, func() bool { return r.logged("killed", "step=handover", "act=") }},
	}
	for _, k := range kills {
		cmd := r.rackproof(file)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		ended := r.start(cmd)
		until(t, k.limit, k.when, func() bool {
			if isOver(ended) {
				t.Fatalf("rackproof ended before it was killed: %s", stderr.String())
			}
			return k.seen()
		})
		kill(t, cmd, ended)
		t.Logf("killed while %s", k.when)
	}
	o := r.run(file)
	r.wantPassed(o, "lab1")
	acts := slices.DeleteFunc(r.chassis("lab1"), func(s string) bool { return !strings.HasPrefix(s, "power ") && !strings.HasPrefix(s, "boot set ") })
	want := []string{"boot set pxe by=ipmi", "power on boot=pxe by=ipmi", "power button by=ipmi", "power off by=host reason=guest-shutdown"}
	if !slices.Equal(acts, want) {
		t.Errorf("done to the machine:\n%s\nwant:\n%s", strings.Join(acts, "\n"), strings.Join(want, "\n"))
	}
}

func isPowerOn(line string) bool { return strings.HasPrefix(line, "power on") }

func hasFiles(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// logged reports whether a line of the run's log has all words.
func (r *rig) logged(run string, words ...string) bool {
	b, _ := os.ReadFile(filepath.Join(provision.RunDir(r.state, provision.RunID(run)), "run.log"))
	for line := range strings.Lines(string(b)) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			return true
		}
	}
	return false
}

// wantPassed checks that a healthy machine passed without a waiver, with nothing
// said against it, and is off.
func (r *rig) wantPassed(o outcome, machine string) {
	r.t.Helper()
	j := o.machines[machine]
	if j.Result != burnin.Passed {
		r.t.Errorf("%s is %s, want passed: %s\n%s", machine, j.Result, told(j), o.stderr)
	}
	if !j.StandIn {
		r.t.Errorf("%s: the record does not say that stand-ins printed part of it", machine)
	}
	for _, f := range j.Findings {
		if f.Verdict != burnin.Pass && f.Verdict != burnin.NotApplicable && f.Scope == profiles.Required {
			r.t.Errorf("%s: %s %s is %s: %s", machine, f.ID, f.Part, f.Verdict, f.Why)
		}
	}
	for _, m := range r.machines() {
		if m.Name == machine && m.On {
			r.t.Errorf("%s is still on", machine)
		}
	}
}

// TestEveryWayUp carries a healthy machine over each protocol from each firmware.
func TestEveryWayUp(t *testing.T) {
	if os.Getenv("RACKPROOF_PROVE") == "" {
		t.Skip("the other tests go two of the four ways; make prove goes all")
	}
	for _, firmware := range []lab.Firmware{lab.BIOS, lab.UEFI} {
		for _, protocol := range []provision.Protocol{provision.OverIPMI, provision.OverRedfish} {
			t.Run(string(firmware)+" "+string(protocol), func(t *testing.T) {
				r := newRig(t, "--firmware", string(firmware))
				name := string(firmware) + "-" + string(protocol)
				o := r.run(r.batch(lab.BatchOptions{Name: name, Protocol: protocol, Load: "20 s"}))
				if o.code != 0 {
					t.Errorf("exit %d, want 0", o.code)
				}
				r.wantPassed(o, "lab1")
			})
		}
	}
}
