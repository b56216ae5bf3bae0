package simrack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/simrack"
)

// pairLibrary has a profile with InfiniBand rails and a spec that asks for what they carry.
func pairLibrary(t *testing.T) *profiles.Library {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"railed.yaml":       "schema: rackproof/profile/1\nname: railed\ntitle: HGX H100 with rails\nextends: [hgx-h100-8, nic/rails-8-ndr]\n",
		"specs/paired.yaml": "schema: rackproof/spec/1\nname: paired\ntitle: With pairs\nextends: [standard]\nchecks:\n  ib.bandwidth: required\n",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return profiles.Open(dir)
}

// pairEvidence are the findings about pairs, by the port that measured.
func pairEvidence(t *testing.T, state string, run *provision.Run, machine string) map[string]burnin.Finding {
	t.Helper()
	rec, err := burnin.LoadRecord(provision.AttemptDir(state, run.ID, machine, 1))
	if err != nil {
		t.Fatal(err)
	}
	p, s := run.Find(machine).Machine.ProfileSHA256, run.Find(machine).Machine.SpecSHA256
	profile, err := profiles.ParseResolved(run.Batch.Resolved[p])
	if err != nil {
		t.Fatal(err)
	}
	spec, err := profiles.ParseResolvedSpec(run.Batch.Resolved[s])
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]burnin.Finding{}
	for _, f := range burnin.Judge(rec, profile, spec).Findings {
		if f.Check == "ib.bandwidth" {
			out[f.Part] = f
		}
	}
	return out
}

// Three machines whose spec asks for pairs, worked on one at a time and loaded one at a
// time: two measure with each other, and the third says why it did not.
func TestRunInPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole run takes a minute")
	}
	rack, err := simrack.Start(t.Context(), simrack.Options{Seed: 5, Machines: []simrack.MachineSpec{{Name: "a"}, {Name: "b"}, {Name: "c"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rack.Close() }()
	for name, value := range rack.Credentials() {
		t.Setenv(name, value)
	}
	text := strings.NewReplacer(
		"profile: hgx-h100-8", "profile: railed", "spec: standard", "spec: paired", "parallel: 16", "parallel: 1",
	).Replace(string(rack.BatchYAML("po5"))) + "network: {wait: 20 s}\n"
	batch, err := provision.ParseBatch("batch.yaml", []byte(text), pairLibrary(t))
	if err != nil {
		t.Fatal(err)
	}
	for name := range batch.Racks {
		batch.Racks[name] = provision.Rack{KW: 11} // for one of them
	}
	state := t.TempDir()
	run := carryIn(t, state, batch)
	peers := map[string]string{}
	for _, m := range run.Machines {
		name := m.Machine.Name
		for port, f := range pairEvidence(t, state, run, name) {
			t.Logf("%s %s: %s %s %s with %q", name, port, f.Verdict, f.Why, f.NotRun, f.Peer)
			switch peer, _, _ := strings.Cut(f.Peer, " "); {
			case peer != "" && f.Verdict != burnin.Pass:
				t.Errorf("%s %s is %s: %s%s", name, port, f.Verdict, f.Why, f.NotRun)
			case peer != "":
				peers[name] = peer
			case !strings.Contains(f.NotRun, "no partner: no other machine") || !strings.Contains(f.NotRun, "rackproof burnin -H"):
				t.Errorf("%s %s does not say why and what to do: %q", name, port, f.NotRun)
			}
		}
		want := provision.StateIncomplete
		if peers[name] != "" {
			want = provision.StatePassed
		}
		if m.State != want {
			t.Errorf("%s is %s, want %s: %s", name, m.State, want, m.Facts[provision.FactLine])
		}
	}
	if len(peers) != 2 {
		t.Fatalf("paired are %v, want two", peers)
	}
	for name, peer := range peers {
		if peers[peer] != name {
			t.Errorf("%s was measured with %s, and that with %q", name, peer, peers[peer])
		}
	}
}
