package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision/simrack"
	"github.com/rackproof/rackproof/redfish"
)

// sim runs the verb until the test ends, and returns what it printed first.
func sim(t *testing.T, args ...string) simulated {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		done <- Main(ctx, append([]string{"sim", "--json"}, args...), strings.NewReader(""), w, &stderr)
		_ = w.Close()
	}()
	t.Cleanup(func() {
		stop()
		go func() { _, _ = io.Copy(io.Discard, r) }()
		if code := <-done; code != exitPassed {
			t.Errorf("sim ended with %d: %s", code, stderr.String())
		}
	})
	var s simulated
	if err := json.NewDecoder(r).Decode(&s); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return s
}

func TestSimRack(t *testing.T) {
	out := t.TempDir()
	s := sim(t, "--machines", "2", "--fault", "r12u09=gpu-x8", "--fault", "slow=1ms", "--out", out)
	if len(s.Machines) != 2 || s.Machines[0].Fault != "slow=1ms" || s.Machines[1].Fault != "gpu-x8" {
		t.Fatalf("machines %+v", s.Machines)
	}
	c, err := redfish.Open(t.Context(), redfish.Config{
		Addr: s.Machines[1].BMC, User: s.Credentials[simrack.EnvUser], Password: s.Credentials[simrack.EnvPassword],
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	id, err := c.Identity(t.Context())
	if err != nil || id.SystemSerial != s.Machines[1].Serial {
		t.Errorf("identity %+v, %v", id, err)
	}
	env, err := os.ReadFile(filepath.Join(out, "credentials.env"))
	if err != nil || !strings.Contains(string(env), "export "+simrack.EnvPassword+"='sim-") {
		t.Errorf("credentials: %v", err)
	}
	if batch, err := os.ReadFile(filepath.Join(out, "batch.yaml")); err != nil || string(batch) != s.Batch {
		t.Errorf("batch: %v", err)
	}
}

// A captured tree becomes as many BMCs as asked for, which behave.
func TestSimTree(t *testing.T) {
	tree, err := filepath.Abs("../../../shared/redfish/supermicro.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tree); err != nil {
		t.Skipf("no captured tree: %v", err)
	}
	s := sim(t, "--tree", tree, "--machines", "2")
	if len(s.BMCs) != 2 {
		t.Fatalf("BMCs %v", s.BMCs)
	}
	c, err := redfish.Open(t.Context(), redfish.Config{
		Addr: s.BMCs[1], User: s.Credentials["BMC_USER"], Password: s.Credentials["BMC_PASSWORD"], Poll: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetPower(t.Context(), redfish.ForceOff); err != nil {
		t.Error(err)
	}
	if p, err := c.Power(t.Context()); err != nil || p != redfish.Off {
		t.Errorf("power %s, %v", p, err)
	}
}

func TestSimBadInput(t *testing.T) {
	for _, args := range [][]string{
		{"--machines", "0"},
		{"--fault", "gremlin"},
		{"--model", "toaster"},
		{"--tree", "/nowhere"},
		{"--fault", "gpu-x8", "--fault", "xid79"},
		{"--listen", "0.0.0.0:0"},
	} {
		var out, errs bytes.Buffer
		if code := Main(t.Context(), append([]string{"sim"}, args...), strings.NewReader(""), &out, &errs); code != exitUsage || errs.Len() == 0 {
			t.Errorf("%v: exit %d, %s", args, code, errs.String())
		}
	}
}
