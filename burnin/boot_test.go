package burnin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/profiles"
)

// bootsOf adds a start of the machine for each change; nil is a healthy one.
func bootsOf(t *testing.T, rec *burnin.Record, p *profiles.Profile, changes ...func(*nodetest.Machine)) {
	t.Helper()
	for i, change := range changes {
		m, err := nodetest.New(p.Name, "bench", 11)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(m)
		}
		up := time.Date(2026, 11, 30, 12, i, 0, 0, time.UTC)
		b := burnin.Boot{Boot: i + 1, Kind: profiles.Cold, From: fmt.Sprintf("%08d-1111-4222-a333-444444444444", i), BootID: fmt.Sprintf("%08d-1111-4222-a333-444444444444", i+1), Down: up.Add(-time.Minute), Up: up}
		node := &burnin.Node{Shell: nodetest.Wire(m, nodetest.Boot{BootID: b.BootID, Cmdline: "quiet"}), Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: p}
		got, err := node.Collect(t.Context(), b.Phase())
		if err != nil {
			t.Fatal(err)
		}
		rec.Evidence = append(rec.Evidence, got...)
		rec.Meta.Boots = append(rec.Meta.Boots, b)
	}
}

func breaks(name string) func(*nodetest.Machine) {
	return func(m *nodetest.Machine) {
		if err := m.Break(name); err != nil {
			panic(err)
		}
	}
}

// withoutGPU takes a GPU off the board: nothing shows it.
func withoutGPU(i int) func(*nodetest.Machine) {
	return func(m *nodetest.Machine) {
		gone := m.GPUs[i].Address
		m.GPUs = slices.Delete(m.GPUs, i, i+1)
		m.PCI = slices.DeleteFunc(m.PCI, func(d nodetest.PCIDevice) bool { return d.Address == gone })
	}
}

// Each start is judged as the machine itself is: the worst counts, and is named.
func TestBoots(t *testing.T) {
	rec, to := healthyHGX(t)
	asked := *to.spec
	asked.Reboots = profiles.Reboots{Count: 3, Kind: profiles.Cold}
	to.spec = &asked
	for _, c := range []struct {
		name string
		boot func(*nodetest.Machine) // the second of three
		want map[string]string       // finding → words in it
	}{
		{"healthy", nil, nil},
		{"a link that came up narrow", breaks("gpu-x8"), map[string]string{"pcie.link/width/": "trained at x8"}},
		{"an NVLink that stayed down", breaks("nvlink-down"), map[string]string{"gpu.nvlink/links/": "NVLink 7 down, 17 of"}},
		{"a module that was not there", breaks("dimm-missing"), map[string]string{"memory.population/count/": "DIMMs are there"}},
		{"a GPU that was not there", withoutGPU(3), map[string]string{"gpu.count/present/": "missing", "gpu.count/count/GPUs": "7 of"}},
		{"a GPU that fell off the bus at once", breaks("ecc-uncorrected"), map[string]string{"gpu.xid/xid/": "XID 94"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := copyRecord(rec)
			bootsOf(t, rec, to.profile, nil, c.boot, nil)
			j := to.of(rec)
			if len(c.want) == 0 {
				if j.Result != burnin.Passed || len(j.Boots) != 3 {
					t.Errorf("%d boots, %s", len(j.Boots), describe(j))
				}
				return
			}
			if j.Result != burnin.Failed {
				t.Fatal(describe(j))
			}
			for id, words := range c.want {
				i := slices.IndexFunc(j.Findings, func(f burnin.Finding) bool { return f.Verdict == burnin.Fail && strings.HasPrefix(f.ID, id) })
				if i < 0 {
					t.Errorf("no fault %s: %s", id, describe(j))
					continue
				}
				f := j.Findings[i]
				if !strings.Contains(f.Why, words) || !strings.Contains(f.Why, "in boot 2 (2026-11-30 12:01 UTC); good in 2 of 3 boots") {
					t.Errorf("%s: %q, want %q and which start it was", f.ID, f.Why, words)
				}
				if !slices.ContainsFunc(f.Evidence, func(ref string) bool { return strings.HasPrefix(ref, "boot-02/") }) || len(f.Advice) == 0 {
					t.Errorf("%s cites %v and advises %v", f.ID, f.Evidence, f.Advice)
				}
			}
		})
	}
}

// A restart that nobody ordered is a fault of the machine.
func TestBootsByItself(t *testing.T) {
	rec, to := healthyHGX(t)
	bootsOf(t, rec, to.profile, nil, nil)
	rec.Meta.Boots[1].From = "99999999-1111-4222-a333-444444444444"
	j := to.of(rec)
	i := slices.IndexFunc(j.Findings, func(f burnin.Finding) bool { return f.ID == "kernel.log/restart/machine" })
	if i < 0 || j.Findings[i].Verdict != burnin.Fail || !strings.Contains(j.Findings[i].Why, "restarted by itself between boot 1 and boot 2 (2026-11-30 12:01 UTC)") {
		t.Error(describe(j))
	}
}

// What a boot does not prove is open, and so are starts that are owed.
func TestBootsOpen(t *testing.T) {
	healthy, to := healthyHGX(t)
	asked := *to.spec
	asked.Reboots = profiles.Reboots{Count: 2, Kind: profiles.Cold}
	to.spec = &asked
	for _, c := range []struct {
		name   string
		change func(*burnin.Record)
		want   string // words of what is not run
	}{
		{"none at all", func(rec *burnin.Record) { rec.Meta.Boots = nil }, "looked at in 0 of the 2 cold boots"},
		{"one too few", func(rec *burnin.Record) { rec.Meta.Boots = rec.Meta.Boots[:1] }, "looked at in 1 of the 2"},
		{"warm instead of cold", func(rec *burnin.Record) { rec.Meta.Boots[1].Kind = profiles.Warm }, "looked at in 1 of the 2"},
		{"one start told twice", func(rec *burnin.Record) {
			rec.Meta.Boots[1].BootID = rec.Meta.Boots[0].BootID
			for _, e := range rec.Evidence {
				if e.Phase == "boot-02" {
					e.BootID = rec.Meta.Boots[0].BootID
				}
			}
		}, "looked at in 1 of the 2"},
		{"nvidia-smi hung", func(rec *burnin.Record) {
			for _, e := range rec.Evidence {
				if e.Ref() == "boot-02/nvidia-smi" {
					e.Ended, e.Exit, e.Out = burnin.EndedTimeout, nil, nil
				}
			}
		}, "in boot 2 (2026-11-30 12:01 UTC): nvidia-smi did not answer"},
		{"the log was cut", func(rec *burnin.Record) {
			for _, e := range rec.Evidence {
				if e.Ref() == "boot-02/kernel-log" {
					e.Out = e.Out[:len(e.Out)/2]
				}
			}
		}, "in boot 2 (2026-11-30 12:01 UTC): the kernel log is not known to be whole"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := copyRecord(healthy)
			bootsOf(t, rec, to.profile, nil, nil)
			c.change(rec)
			j := to.of(rec)
			if j.Result != burnin.Incomplete {
				t.Error(describe(j))
			}
			if !slices.ContainsFunc(j.NotRun, func(n burnin.NotRun) bool { return strings.Contains(n.Why, c.want) }) {
				t.Errorf("want %q in %s", c.want, describe(j))
			}
		})
	}
}
