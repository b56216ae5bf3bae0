package simrack_test

import (
	"fmt"
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

// judgePairs judges a machine's evidence again.
func judgePairs(t *testing.T, state string, run *provision.Run, machine string) burnin.Judgement {
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
	return burnin.Judge(rec, profile, spec)
}

// clients counts how often a rail was measured.
func clients(rack *simrack.Rack, rail int) int {
	n := 0
	for _, acts := range rack.Acts() {
		n += acts[fmt.Sprintf("host.load.pair-client-%d", rail)]
	}
	return n
}

// Three machines whose spec asks for pairs, worked on one at a time and loaded one at a
// time: two measure with each other, though their process ends
// in the middle of it, and the third says why it did not.
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
	).Replace(string(rack.BatchYAML("po5"))) + "network: {wait: 90 s}\n"
	batch, err := provision.ParseBatch("batch.yaml", []byte(text), pairLibrary(t))
	if err != nil {
		t.Fatal(err)
	}
	for name := range batch.Racks {
		batch.Racks[name] = provision.Rack{KW: 11} // for one of them
	}
	state := t.TempDir()
	carryIn(t, state, batch, func() bool { // ended in mid-measurement, and carried on by another
		return clients(rack, 2) > 0
	})
	if clients(rack, 7) > 0 {
		t.Fatal("the first process was not ended in mid-measurement")
	}
	run := carryIn(t, state, batch, nil)
	if n := clients(rack, 7); n != 2 {
		t.Errorf("the last rail was measured %d times, want once each way", n)
	}
	peers := map[string]string{}
	for _, m := range run.Machines {
		name := m.Machine.Name
		j, passed := judgePairs(t, state, run, name), 0
		for _, f := range j.Findings {
			if peer, _, _ := strings.Cut(f.Peer, " "); f.Check == "ib.bandwidth" && f.Verdict == burnin.Pass {
				peers[name] = peer
				passed++
			}
		}
		for _, n := range j.NotRun {
			if n.Check != "ib.bandwidth" {
				continue
			}
			t.Logf("%s: %s", name, n.Why)
			if peers[name] != "" || !strings.Contains(n.Why, "no partner: no other machine") || !strings.Contains(n.Why, "rackproof burnin -H") {
				t.Errorf("%s, with %q: %s", name, peers[name], n.Why)
			}
		}
		if peers[name] != "" && passed != 8 {
			t.Errorf("%s passed %d rails of 8", name, passed)
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
