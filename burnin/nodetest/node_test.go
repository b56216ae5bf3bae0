package nodetest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/shell"
	"github.com/rackproof/rackproof/profiles"
)

// bootNode boots m on loopback and returns a shell on it.
func bootNode(t *testing.T, m *Machine) (*Node, burnin.Shell) {
	t.Helper()
	hostKey, userKey := newSigner(t), newSigner(t)
	n := NewNode(m, freeAddr(t), nil)
	t.Cleanup(n.Down)
	err := n.Boot(t.Context(), Boot{
		HostKey: hostKey, AuthorizedKey: userKey.PublicKey(), BootID: "11111111-2222-4333-a444-555555555555",
		Cmdline: "initrd=initrd rackproof.token=abc quiet",
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, dial(t, n, hostKey, userKey)
}

func dial(t *testing.T, n *Node, hostKey, userKey ssh.Signer) burnin.Shell {
	t.Helper()
	sh, err := shell.DialSSH(t.Context(), shell.SSHConfig{
		Addr: "root@" + n.Addr(), ConfigFile: "none", NoAgent: true,
		Signers: []ssh.Signer{userKey}, HostKeys: []ssh.PublicKey{hostKey.PublicKey()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sh.Close() })
	return sh
}

func newSigner(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func newMachine(t *testing.T, model, fault string) *Machine {
	t.Helper()
	m, err := New(model, "r12u07", 7)
	if err != nil {
		t.Fatal(err)
	}
	if fault != "" {
		if err := m.Break(fault); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// quickProbes are burnin's, with deadlines for a node on the same machine.
func quickProbes() []burnin.ProbeSpec {
	probes := burnin.Probes()
	for i := range probes {
		probes[i].Deadline = 2 * time.Second
	}
	return probes
}

// burnedIn burns a machine in over SSH and returns what was judged.
func burnedIn(t *testing.T, m *Machine) (burnin.Judgement, *burnin.Record) {
	t.Helper()
	_, sh := bootNode(t, m)
	lib := profiles.Open()
	p, err := lib.Profile(m.Profile)
	if err != nil {
		t.Fatal(err)
	}
	drives, dimms := len(m.Drives), len(m.DIMMs)
	p, err = p.WithExpect(profiles.Expect{Drives: &drives, DIMMs: &dimms}, profiles.Position{File: "test"})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := lib.Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	store, err := burnin.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	err = burnin.Burn(ctx, burnin.BurnOptions{
		Node:  &burnin.Node{Shell: sh, Origin: burnin.FromSSH, Probes: quickProbes(), Profile: p},
		Store: store, Machine: burnin.Machine{Name: m.Name}, Run: "test", Attempt: 1, Owner: "test@here",
		Duration: 5 * time.Second, Loads: burnin.Loads(),
	})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := store.Record()
	if err != nil {
		t.Fatal(err)
	}
	return burnin.Judge(rec, p, spec), rec
}

func describe(j burnin.Judgement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", j.Result, j.Line)
	for _, f := range j.Findings {
		if f.Verdict != burnin.Pass && f.Verdict != burnin.NotApplicable {
			fmt.Fprintf(&b, "  %-8s %s: measured %v, limit %v %s: %s\n", f.Verdict, f.ID, f.Measured, f.Limit, f.Scope, f.Why)
		}
	}
	for _, n := range j.NotRun {
		fmt.Fprintf(&b, "  not run  %s/%s/%s (%s): %s\n", n.Check, n.Quantity, n.Part, n.Scope, n.Why)
	}
	return b.String()
}

// A machine without a fault passes with nothing to remark and nothing unproven.
func TestHealthyPasses(t *testing.T) {
	for _, model := range Models() {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			j, rec := burnedIn(t, newMachine(t, model, ""))
			if j.Result != burnin.Passed {
				t.Errorf("a healthy machine did not pass:\n%s", describe(j))
			}
			for _, f := range j.Findings {
				if f.Waived != "" || f.Verdict == burnin.Warn || f.Verdict == burnin.Fail {
					t.Errorf("remark on a healthy machine: %s %v", f.ID, f.Why)
				}
			}
			if !rec.Meta.Simulated && !slices.ContainsFunc(rec.Evidence, func(e *burnin.Evidence) bool { return strings.Contains(string(e.Out), "simulated") }) {
				t.Error("nothing in the record says that it is simulated")
			}
		})
	}
}

// Each fault is found by its check, at its part, and by no other check that it
// cannot disturb.
func TestFaultsAreFound(t *testing.T) {
	m := newMachine(t, "hgx-h100-8", "")
	cases := []struct {
		fault, check, part, serial string
		also                       []string // checks that see the same damage
	}{
		{"gpu-x8", "pcie.link", "GPU " + m.GPUs[5].Label, m.GPUs[5].Serial, []string{"gpu.copy"}},
		{"nvlink-down", "gpu.nvlink", "GPU " + m.GPUs[2].Label, m.GPUs[2].Serial, []string{"gpu.topology", "gpu.nvlink_errors"}},
		{"dimm-missing", "memory.population", "", "", nil},
		{"ecc-uncorrected", "gpu.ecc", "GPU " + m.GPUs[4].Label, m.GPUs[4].Serial, []string{"gpu.xid"}},
		{"xid79", "gpu.xid", "GPU " + m.GPUs[6].Label, m.GPUs[6].Serial, []string{"gpu.count", "pcie.link", "gpu.memory", "gpu.ecc", "gpu.remap", "gpu.nvlink", "gpu.nvlink_errors", "gpu.topology", "gpu.mig", "gpu.fabric", "gpu.driver", "pcie.errors", "gpu.compute"}},
		{"nvme-worn", "nvme.health", "", m.Drives[3].Serial, nil},
		{"gds-compat", "gds.support", "", "", nil},
		{"driver-mismatch", "gpu.driver", "", "", nil},
	}
	for _, c := range cases {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			j, _ := burnedIn(t, newMachine(t, "hgx-h100-8", c.fault))
			if j.Result != burnin.Failed {
				t.Fatalf("not failed:\n%s", describe(j))
			}
			found := false
			for _, f := range j.Findings {
				if f.Verdict != burnin.Fail {
					continue
				}
				if f.Check == c.check && (c.part == "" || f.Part == c.part) && (c.serial == "" || f.Serial == c.serial) {
					found = true
					if len(f.Advice) == 0 {
						t.Errorf("%s: no ladder", f.ID)
					}
				}
				if f.Check != c.check && !slices.Contains(c.also, f.Check) {
					t.Errorf("%s fails too: %s", f.ID, f.Why)
				}
			}
			if !found {
				t.Errorf("%s did not fail at %q:\n%s", c.check, c.part, describe(j))
			}
		})
	}
}

// A tool that hangs is not measured, and not a pass.
func TestHungToolIsIncomplete(t *testing.T) {
	j, rec := burnedIn(t, newMachine(t, "hgx-h100-8", "hung-nvidia-smi"))
	if j.Result != burnin.Incomplete && j.Result != burnin.Failed {
		t.Errorf("want incomplete or failed:\n%s", describe(j))
	}
	for _, e := range rec.Evidence {
		if e.Probe == "nvidia-smi" && e.Phase == burnin.PhaseBefore && e.Ended != burnin.EndedTimeout {
			t.Errorf("nvidia-smi ended by %s", e.Ended)
		}
	}
}
