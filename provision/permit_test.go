package provision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/shell"
	"github.com/rackproof/rackproof/profiles"
)

// burnerSpy keeps what it was asked for, as the Burner of real nodes would take it.
type burnerSpy struct{ got []BurnIn }

func (s *burnerSpy) Burn(_ context.Context, b BurnIn) error {
	if err := b.unpermitted(); err != nil {
		return err
	}
	s.got = append(s.got, b)
	return nil
}

// hostTools puts tools that a host of ours has before those of this computer.
func hostTools(t *testing.T, bmcMAC string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"ipmitool": "echo 'MAC Address             : " + bmcMAC + "'", "dmidecode": "exit 1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// destroyingEnv is a machine on which every step that destroys has something to destroy,
// proven by its BMC's MAC.
func destroyingEnv(t *testing.T) (*Env, *burnerSpy) {
	t.Helper()
	m := Machine{BMC: "10.0.0.1", WriteDisks: []string{"S1"}, Wipe: &burnin.Wiping{Disks: []string{"S1"}, Level: burnin.WipePurge}}
	e, _ := stepEnv(t, newFakeBMC(), m)
	spy := &burnerSpy{}
	e.Burner, e.Spec.Loads.NVMe = spy, profiles.NVMeWrite
	e.open.node = func(context.Context, Machine, Facts) (burnin.Shell, error) { return shell.Local{}, nil }
	e.Facts = Facts{FactBMCMAC: "02:00:00:00:00:01", FactBoot: string(BootNone)}
	e.Facts[FactProof], e.Facts[factProofFor] = "the host's own BMC has that MAC", e.proofFor()
	return e, spy
}

// Every step that destroys something goes through the proof of BMC and host: without one, with
// that of another run, machine, attempt or plan, and on a host that was exchanged since, it
// touches nothing.
func TestStepsThatDestroyNeedTheProof(t *testing.T) {
	const own, other = "02:00:00:00:00:01", "02:00:00:00:00:99"
	for _, c := range []struct {
		name, mac string
		spoil     func(*Env)
		says      string // "" = it may
	}{
		{"proven", own, func(*Env) {}, ""},
		{"no proof", own, func(e *Env) { delete(e.Facts, FactProof) }, "nothing proves that the host which answers is the machine behind BMC 10.0.0.1"},
		{"of another run", own, func(e *Env) { e.Run = "later" }, "for another job (run job, machine m1, attempt 1, "},
		{"of another machine", own, func(e *Env) { e.Machine.Name = "m2" }, "this (run job, machine m2, "},
		{"of another attempt", own, func(e *Env) { e.Attempt = 2 }, "attempt 2"},
		{"for other disks", own, func(e *Env) { e.Machine.WriteDisks = []string{"S1", "S9"} }, "for another job"},
		{"not bound", own, func(e *Env) { delete(e.Facts, factProofFor) }, "(not told)"},
		{"host exchanged", other, func(*Env) {}, "does not prove any more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hostTools(t, c.mac)
			found := 0
			for _, info := range Steps() {
				s, ok := info.Step.(destroyer)
				if !ok {
					continue
				}
				found++
				e, spy := destroyingEnv(t)
				c.spoil(e)
				if len(s.Destroys(e)) == 0 {
					t.Fatalf("%s: the test has nothing for it to destroy", s.Name())
				}
				_, err := s.Do(t.Context(), e)
				touched, refused := false, ""
				if err != nil {
					refused = err.Error()
				}
				for _, b := range spy.got {
					touched = touched || b.Wipe != nil || b.Consent.Refused == "" && len(b.Consent.Disks) > 0
					refused += b.Consent.Refused
				}
				if touched != (c.says == "") || !strings.Contains(refused, c.says) {
					t.Errorf("%s: touched %v, refused with %q, want %q", s.Name(), touched, refused, c.says)
				}
			}
			if found < 2 {
				t.Errorf("%d steps that destroy, want burn-in and wipe at least", found)
			}
		})
	}
}

// What a Burner is given for destruction is what its Permit names, or nothing happens.
func TestBurnerRefusesWithoutPermit(t *testing.T) {
	permit := &Permit{run: "job", machine: "m1", attempt: 1, what: []string{"disk S1"}}
	ask := func(p *Permit, run RunID, disks ...string) BurnIn {
		return BurnIn{Run: run, Attempt: 1, Record: burnin.Machine{Name: "m1"}, Permit: p, Wipe: &Wipe{Wiping: burnin.Wiping{Disks: disks}}}
	}
	for name, c := range map[string]struct {
		b    BurnIn
		well bool
	}{
		"named":       {ask(permit, "job", "S1"), true},
		"none":        {ask(nil, "job", "S1"), false},
		"another run": {ask(permit, "other", "S1"), false},
		"more disks":  {ask(permit, "job", "S1", "S2"), false},
		"MIG":         {BurnIn{Run: "job", Attempt: 1, Record: burnin.Machine{Name: "m1"}, Permit: permit, Consent: burnin.Consent{MIG: true}}, false},
		"refused":     {BurnIn{Consent: burnin.Consent{Disks: []string{"S1"}, Refused: "no proof"}}, true},
		"nothing":     {BurnIn{}, true},
	} {
		err := c.b.unpermitted()
		if _, broken := errors.AsType[*BrokenError](err); broken == c.well {
			t.Errorf("%s: %v", name, err)
		}
	}
}
