package burnin_test

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/profiles"
)

// A DGX H100 has two more adapters of its rails' model, for storage, whose ports are slower.
func TestRailsBesideStorage(t *testing.T) {
	t.Parallel()
	m, err := nodetest.New("dgx-h100", "bench", 11)
	if err != nil {
		t.Fatal(err)
	}
	for i := 8; i < len(m.NICs); i++ {
		m.NICs[i].Gbps = 200
	}
	text := "schema: rackproof/profile/1\nname: ours\nextends: [dgx-h100, nic/rails-8-ndr]\n"
	p, err := profiles.ParseProfile("ours.yaml", []byte(text), shippedLibrary())
	if err != nil {
		t.Fatal(err)
	}
	spec, err := shippedLibrary().Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	rec := burnRecord(t, m, p, burnin.Loads())
	if j := burnin.Judge(rec, p, spec); j.Result != burnin.Passed {
		t.Error(describe(j))
	}
	noneSpoiled(t, rec, p, spec)
	var counts []string
	for _, f := range burnin.Judge(rec, p, spec).Findings {
		if f.Check == "nic.link" && f.Quantity == "count" {
			counts = append(counts, f.Verdict.String())
			if n, _ := f.Measured.(float64); n < 9 {
				t.Errorf("%v adapters of the rails' model: the machine has none for storage", f.Measured)
			}
		}
	}
	if got := strings.Join(counts, " "); got != "pass" {
		t.Errorf("count is %q", got)
	}
}

// noneSpoiled spoils what the ports of rails rest on: a machine neither passes by it nor fails.
func noneSpoiled(t *testing.T, base *burnin.Record, p *profiles.Profile, spec *profiles.Spec) {
	t.Helper()
	for i, e := range base.Evidence {
		if e.Probe != "ib-status" {
			continue
		}
		for _, spoil := range spoils {
			rec := copyRecord(base)
			spoil.do(rec.Evidence[i])
			if j := burnin.Judge(rec, p, spec); j.Result != burnin.Incomplete {
				t.Errorf("%s, %s: %s", e.Ref(), spoil.name, describe(j))
			}
		}
	}
}

// A rail that finds nobody at its other end is a fault, and the port is named.
func TestRailWithoutLink(t *testing.T) {
	t.Parallel()
	m, err := nodetest.New("dgx-h100", "bench", 11)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.NICs {
		m.NICs[i].Polling = i >= 7
	}
	p, err := profiles.ParseProfile("ours.yaml", []byte("schema: rackproof/profile/1\nname: ours\nextends: [dgx-h100, nic/rails-8-ndr]\n"), shippedLibrary())
	if err != nil {
		t.Fatal(err)
	}
	spec, err := shippedLibrary().Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	j := burnin.Judge(burnRecord(t, m, p, burnin.Loads()), p, spec)
	if j.Result != burnin.Failed {
		t.Fatal(describe(j))
	}
	var failed []string
	for _, f := range j.Findings {
		if f.Verdict == burnin.Fail {
			failed = append(failed, f.ID)
		}
	}
	want := "ib.link/ports/InfiniBand ports ib.link/state/InfiniBand port mlx5_7"
	if got := strings.Join(failed, " "); !strings.HasPrefix(got, want) {
		t.Errorf("failed: %s, want first %s", got, want)
	}
}

// A profile that names no InfiniBand asks nothing of ports that are there all the same.
func TestPortsOfNoProfile(t *testing.T) {
	t.Parallel()
	base, to := healthyHGX(t)
	for i, e := range base.Evidence {
		if e.Probe != "ib-status" {
			continue
		}
		for _, spoil := range spoils {
			if spoil.name == "another boot" {
				continue
			}
			rec := copyRecord(base)
			spoil.do(rec.Evidence[i])
			if j := to.of(rec); j.Result != burnin.Passed {
				t.Errorf("%s, %s: %s", e.Ref(), spoil.name, describe(j))
			}
		}
	}
}
