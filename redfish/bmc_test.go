package redfish_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const (
	user     = "ADMIN"
	password = "pl4nted-tag-Passw0rd"
)

// trees keeps what was loaded: a simulated BMC does not write to its tree.
var trees = struct {
	mu     sync.Mutex
	byName map[string]redfishtest.Tree
}{byName: map[string]redfishtest.Tree{}}

// captured loads a captured tree, or skips where the captures are not at hand.
func captured(tb testing.TB, name string) redfishtest.Tree {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "..", "shared", "redfish", name+".tar.gz")
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("captured trees are not at hand: %v", err)
	}
	trees.mu.Lock()
	defer trees.mu.Unlock()
	if tree, ok := trees.byName[name]; ok {
		return tree
	}
	tree, err := redfishtest.LoadTarGz(path)
	if err != nil {
		tb.Fatal(err)
	}
	trees.byName[name] = tree
	return tree
}

// serve starts a simulated BMC for the life of the test.
func serve(tb testing.TB, opts redfishtest.Options) *redfishtest.BMC {
	tb.Helper()
	opts.User, opts.Password = user, password
	bmc, err := redfishtest.Start(context.WithoutCancel(tb.Context()), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = bmc.Close() })
	return bmc
}

// config is for a simulated BMC: nothing waits longer than it must.
func config(bmc *redfishtest.BMC) redfish.Config {
	return redfish.Config{
		Addr: bmc.Addr(), User: user, Password: password,
		Timeout: 10 * time.Second, Poll: 5 * time.Millisecond,
		GracefulWait: 10 * time.Second, PowerWait: 10 * time.Second,
	}
}

// open opens a client that the test closes.
func open(t *testing.T, bmc *redfishtest.BMC) *redfish.Client {
	t.Helper()
	c, err := redfish.Open(t.Context(), config(bmc))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// start serves a captured tree and opens a client on it.
func start(t *testing.T, tree string, faults ...string) (*redfish.Client, *redfishtest.BMC) {
	t.Helper()
	bmc := serve(t, redfishtest.Options{Tree: captured(t, tree)})
	c := open(t, bmc)
	for _, f := range faults {
		if err := bmc.SetFault(f, true); err != nil {
			t.Fatal(err)
		}
	}
	return c, bmc
}

// within bounds a test's calls.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// pins is a PinStore in memory.
type pins struct {
	mu    sync.Mutex
	byKey map[string]string
	known string // certificate of a BMC that is known by its identity
}

func (p *pins) Pin(key string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum, ok := p.byKey[key]
	return sum, ok
}

func (p *pins) Known(sum string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return sum != "" && p.known == sum
}

func (p *pins) SetPin(key, sum string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey == nil {
		p.byKey = map[string]string{}
	}
	p.byKey[key] = sum
	return nil
}
