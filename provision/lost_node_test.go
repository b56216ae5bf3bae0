package provision

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// silent is how a burn-in ends whose node did not come back, as its burner tells it.
func silent() error {
	return burnWaits(fmt.Errorf("before: %w, tried for 5m0s: no route", burnin.ErrNodeLost))
}

// What is said of a host that went silent is what its BMC says of it.
func TestLostNode(t *testing.T) {
	for _, c := range []struct {
		name  string
		power redfish.PowerState
		open  error
		err   error
		why   string // "" = the error stays as it is
		do    string
	}{
		{"off", redfish.Off, nil, silent(), "the host went off under test", "`rackproof bmc 127.0.0.1:1 sel`"},
		{"on", redfish.On, nil, silent(), "BMC says that its power is On", "`rackproof bmc 127.0.0.1:1 console`"},
		{"no BMC", redfish.On, errors.New("refused"), silent(), "host and BMC went silent under test: before: the node does not come back, tried for 5m0s: no route; BMC: refused", "power"},
		{"held", redfish.On, nil, burnWaits(&burnin.HeldError{}), "", ""},
		{"a fault", redfish.On, nil, &Fault{}, "", ""},
	} {
		f := newFakeBMC()
		f.power = c.power
		e, _ := stepEnv(t, f, Machine{BMC: "127.0.0.1:1"})
		e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, c.open }
		err := e.lost(t.Context(), c.err, nil)
		stuck, ok := errors.AsType[*Stuck](err)
		if c.why == "" {
			if !errors.Is(err, c.err) || ok && stuck.Next != "" {
				t.Errorf("%s: %+v", c.name, err)
			}
			continue
		}
		if !ok || !strings.Contains(stuck.Why, c.why) || stuck.Next != "rackproof retest "+e.Machine.Name || !stuck.Suspect || !strings.Contains(stuck.Do, c.do) {
			t.Errorf("%s: %+v, want %q", c.name, stuck, c.why)
		}
	}
}

// A kernel that died on the console is a fault of the machine, and waits for nobody.
func TestKernelDiedOnConsole(t *testing.T) {
	e, _ := stepEnv(t, newFakeBMC(), Machine{BMC: "127.0.0.1:1"})
	console := []byte("node login: \r\n[  301.000000][  T811] Kernel panic - not syncing: Fatal machine check\r\n")
	fault, ok := errors.AsType[*Fault](e.lost(t.Context(), silent(), console))
	if want := "the kernel died under test: Kernel panic - not syncing: Fatal machine check"; !ok || fault.Line != want {
		t.Errorf("%+v, want %q", fault, want)
	}
	if _, ok := errors.AsType[*Stuck](e.lost(t.Context(), silent(), []byte("node login: \r\n"))); !ok {
		t.Error("a quiet console is no fault")
	}
}
