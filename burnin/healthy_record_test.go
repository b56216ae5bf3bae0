package burnin_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/profiles"
)

// judged is what a record is judged against.
type judged struct {
	profile *profiles.Profile
	spec    *profiles.Spec
}

func (j judged) of(rec *burnin.Record) burnin.Judgement { return burnin.Judge(rec, j.profile, j.spec) }

// healthyRecord burns in a simulated machine of a model, a few seconds under load by a
// clock that runs ahead, and adds what its BMC would say.
func healthyRecord(t *testing.T, model string, loads []burnin.Load, change func(*nodetest.Machine)) (*burnin.Record, judged) {
	t.Helper()
	m, err := nodetest.New(model, "bench", 11)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(m)
	}
	to := judgedAs(t, m)
	return burnRecord(t, m, to.profile, loads), to
}

// burnRecord is healthyRecord of a machine that is there already.
func burnRecord(t *testing.T, m *nodetest.Machine, p *profiles.Profile, loads []burnin.Load) *burnin.Record {
	t.Helper()
	dir := storeFolder(t)
	synctest.Test(t, func(t *testing.T) {
		store, err := burnin.OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		err = burnInto(t.Context(), store, m, p, loads)
		if err != nil {
			t.Fatal(err)
		}
	})
	store, err := burnin.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := store.Record()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// burnInto burns a machine in and stores what it and its BMC say.
func burnInto(ctx context.Context, store *burnin.Store, m *nodetest.Machine, p *profiles.Profile, loads []burnin.Load) error {
	bmc := &simBMC{m: m}
	boot := nodetest.Boot{BootID: "0e3c1c2e-7d0f-4b8e-9a53-6a4f8a5d2f10", Cmdline: "quiet"}
	node := &burnin.Node{Shell: nodetest.Wire(m, boot), Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: p}
	err := burnin.Burn(ctx, burnin.BurnOptions{
		Node: node, Store: store, Run: "test", Attempt: 1, Owner: "test@here", Duration: 8 * time.Second, Loads: loads,
		Machine:  burnin.Machine{Name: m.Name, Wanted: burnin.WantedIdentity{Serial: m.SystemSerial}},
		Coverage: burnin.CoverFull, Sources: []burnin.Source{bmc},
	})
	if err != nil {
		return err
	}
	return errors.Join(store.Add(bmcEvidence(m)), store.Add(bmcReading("bmc-sel", burnin.PhaseBMC, bmc.log(false))))
}

// shippedLibrary is one library for all tests: it reads the catalogue, which is long, once.
var shippedLibrary = sync.OnceValue(func() *profiles.Library { return profiles.Open() })

// storeFolder is a folder in memory where the system has one: a store waits for the disk with every file, and what
// survives a loss of power is no matter here.
func storeFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "burnin")
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// judgedAs is the profile of a machine's model, with the counts of its own order.
func judgedAs(tb testing.TB, m *nodetest.Machine) judged {
	tb.Helper()
	lib := shippedLibrary()
	p, err := lib.Profile(m.Profile)
	if err != nil {
		tb.Fatal(err)
	}
	dimms, drives, nics := len(m.DIMMs), len(m.Drives), len(m.NICs)
	p, err = p.WithExpect(profiles.Expect{DIMMs: &dimms, Drives: &drives, NICs: &nics}, profiles.Position{File: "batch"})
	if err != nil {
		tb.Fatal(err)
	}
	s, err := lib.Spec("standard")
	if err != nil {
		tb.Fatal(err)
	}
	return judged{p, s}
}

// bmcEvidence is the least that a BMC says of itself.
func bmcEvidence(m *nodetest.Machine) *burnin.Evidence {
	zero := 0
	out := fmt.Sprintf(`{"/redfish/v1/Systems/1":{"@odata.type":"#ComputerSystem.v1_13_0.ComputerSystem","UUID":%q,"SerialNumber":%q,`+
		`"Actions":{},"Boot":{}},"/redfish/v1/Managers/1/EthernetInterfaces/1":{"@odata.type":"#EthernetInterface.v1_8_0.EthernetInterface","MACAddress":%q}}`,
		m.UUID, m.SystemSerial, m.BMCMAC)
	return &burnin.Evidence{
		Probe: burnin.BMCInventory.Spec.Name, Phase: burnin.PhaseBMC, Source: burnin.FromBMC, Started: time.Now(),
		Exit: &zero, Ended: burnin.EndedExit, Simulated: true, Out: []byte(out),
	}
}

// healthyHGX is one healthy record of an HGX H100 for all tests; they change copies.
func healthyHGX(t *testing.T) (*burnin.Record, judged) {
	t.Helper()
	hgxOnce.Do(func() {
		hgxRecord, hgxJudged = healthyRecord(t, "hgx-h100-8", burnin.Loads(), nil)
		hgxJudged.spec = withChecks(hgxJudged.spec, "gpu.nccl", "gpu.dcgm")
	})
	if hgxRecord == nil {
		t.Fatal("the healthy record could not be made")
	}
	return copyRecord(hgxRecord), hgxJudged
}

// withChecks is a spec that asks for checks beside its own.
func withChecks(s *profiles.Spec, names ...string) *profiles.Spec {
	more := *s
	more.Checks = maps.Clone(s.Checks)
	for _, name := range names {
		more.Checks[name] = profiles.Required
	}
	return &more
}

var (
	hgxOnce   sync.Once
	hgxRecord *burnin.Record
	hgxJudged judged
)

// copyRecord copies what tests change.
func copyRecord(rec *burnin.Record) *burnin.Record {
	c := *rec
	c.Evidence = make([]*burnin.Evidence, len(rec.Evidence))
	for i, e := range rec.Evidence {
		one := *e
		one.Samples = slices.Clone(e.Samples)
		c.Evidence[i] = &one
	}
	return &c
}

func evidenceOf(t *testing.T, rec *burnin.Record, ref string) *burnin.Evidence {
	t.Helper()
	for _, e := range rec.Evidence {
		if e.Ref() == ref {
			return e
		}
	}
	t.Fatalf("the record has no %s", ref)
	return nil
}

// describe lists what is not right in a judgement.
func describe(j burnin.Judgement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", j.Result, j.Line)
	for _, f := range j.Findings {
		if f.Verdict != burnin.Pass && f.Verdict != burnin.NotApplicable {
			fmt.Fprintf(&b, "  %-8s %s: measured %v, limit %v: %s\n", f.Verdict, f.ID, f.Measured, f.Limit, f.Why)
		}
	}
	for _, n := range j.NotRun {
		fmt.Fprintf(&b, "  not run  %s/%s/%s (%s): %s\n", n.Check, n.Quantity, n.Part, n.Scope, n.Why)
	}
	return b.String()
}
