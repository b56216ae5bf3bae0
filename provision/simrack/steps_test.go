package simrack_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
	"github.com/rackproof/rackproof/provision/simrack"
)

// The steps around a test, by processes that end right behind what they did: each acts
// once, the LED goes off again, and no password is in anything that was written.
func TestStepsAround(t *testing.T) {
	rack, batch := flowRack(t, `{name: around, steps: [preflight, verify-bmc, credentials, locate, {step: hands, say: plug the cables}, locate-off, power-off, report]}`,
		simrack.MachineSpec{Name: "good"})
	const fresh = "fr3sh-Passw0rd-9"
	t.Setenv("NEW", fresh)
	batch.Machines[0].Login.New = "env:NEW"
	state := t.TempDir()
	for _, act := range []string{"account.password", "locator.set"} {
		carryIn(t, state, batch, func() bool { return rack.Acts()["good"][act] > 0 })
	}
	m := carryIn(t, state, batch, nil).Find("good")
	if m.State != provision.StateHands || m.Why != "plug the cables" {
		t.Fatalf("%s: %s", m.State, m.Why)
	}
	m = carryWord(t, state, batch, "good", provision.Repaired{Note: "plugged"}).Find("good")
	acts := rack.Acts()["good"]
	if !m.Over() || m.Facts[provision.FactPassword] != "new" || m.Facts[provision.FactHandover] != "powered off" {
		t.Errorf("%s: %s, facts %v", m.State, m.Why, m.Facts)
	}
	for act, n := range map[string]int{"account.password": 1, "locator.set": 2, "power.off": 1, "power.on": 0} {
		if acts[act] != n {
			t.Errorf("%s happened %d times, want %d: %v", act, acts[act], n, acts)
		}
	}
	noneIn(t, state, fresh, rack.Login().Password)
}

// carryWord says done of a machine and carries the run on.
func carryWord(t *testing.T, state string, batch *provision.Batch, machine string, rep provision.Repaired) *provision.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	engine, err := journal.Open(ctx, state, journal.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	word, err := provision.NewEvent(provision.RunID(batch.Name), machine, provision.HandsDone, rep)
	if err == nil {
		err = engine.Tell(ctx, word)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	return carryIn(t, state, batch, nil)
}

// noneIn searches every byte below dir for secrets.
func noneIn(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		for _, s := range secrets {
			if i := bytes.Index(b, []byte(s)); i >= 0 {
				t.Errorf("%s holds a secret behind %q", path, b[max(0, i-60):i])
			}
		}
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files searched, %v", files, err)
	}
}
