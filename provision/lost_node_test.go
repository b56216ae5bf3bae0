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

// What is said of a host that went silent is what its BMC says of it.
func TestLostNode(t *testing.T) {
	silent := fmt.Errorf("%w, tried for 5m0s", burnin.ErrNodeLost)
	for _, c := range []struct {
		name  string
		power redfish.PowerState
		open  error
		err   error
		want  string // in Why; "" = the error stays as it is
	}{
		{"off", redfish.Off, nil, &Stuck{Why: "silent", cause: silent}, "went off under test"},
		{"on", redfish.On, nil, &Stuck{Why: "silent", cause: silent}, "BMC says that its power is On"},
		{"no BMC", redfish.On, errors.New("no route"), &Stuck{Why: "silent", cause: silent}, "host and BMC went silent under test: silent; BMC: no route"},
		{"held", redfish.On, nil, &Stuck{Why: "the node is held"}, ""},
		{"a fault", redfish.On, nil, &Fault{}, ""},
	} {
		f := newFakeBMC()
		f.power = c.power
		e, _ := stepEnv(t, f, Machine{BMC: "127.0.0.1:1"})
		e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, c.open }
		err := e.lost(t.Context(), c.err, nil)
		stuck, ok := errors.AsType[*Stuck](err)
		if c.want == "" {
			if !errors.Is(err, c.err) || ok && stuck.Next != "" {
				t.Errorf("%s: %+v", c.name, err)
			}
			continue
		}
		if !ok || !strings.Contains(stuck.Why, c.want) || stuck.Next != "rackproof retest "+e.Machine.Name || !stuck.Suspect || stuck.Do == "" {
			t.Errorf("%s: %+v, want %q", c.name, err, c.want)
		}
	}
}

// A kernel that died on the console is a fault of the machine, and waits for nobody.
func TestKernelDiedOnConsole(t *testing.T) {
	e, _ := stepEnv(t, newFakeBMC(), Machine{BMC: "127.0.0.1:1"})
	console := []byte("node login: \r\n[  301.000000][  T811] Kernel panic - not syncing: Fatal machine check\r\n")
	silent := &Stuck{Why: "silent", cause: burnin.ErrNodeLost}
	fault, ok := errors.AsType[*Fault](e.lost(t.Context(), silent, console))
	if want := "the kernel died under test: Kernel panic - not syncing: Fatal machine check"; !ok || fault.Line != want {
		t.Errorf("%+v, want %q", fault, want)
	}
	if _, ok := errors.AsType[*Stuck](e.lost(t.Context(), silent, []byte("node login: \r\n"))); !ok {
		t.Error("a quiet console is no fault")
	}
}
