package burnin_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/profiles"
)

// restartable is a machine that its system restarts: a minute later it answers from
// another boot. dies ends the asker's world at an order, before the answer comes.
type restartable struct {
	machine *nodetest.Machine
	boot    int
	shell   burnin.Shell
	up      time.Time
	dies    map[int]func() // by order, from 1
	orders  int
}

func (r *restartable) id() string { return fmt.Sprintf("%08d-1111-4222-a333-444444444444", r.boot) }

func (r *restartable) start() {
	r.boot++
	r.shell = nodetest.Wire(r.machine, nodetest.Boot{BootID: r.id(), Cmdline: "quiet"})
}

func (r *restartable) Run(ctx context.Context, c burnin.Command) (burnin.Output, error) {
	lost := burnin.Output{Ended: burnin.EndedLost, Started: time.Now()}
	if time.Now().Before(r.up) {
		return lost, errors.New("connection refused")
	}
	verb, args, ok := burnin.NodeCall(c.Line)
	if !ok || verb != "reboot" || args[0] != r.id() {
		return r.shell.Run(ctx, c)
	}
	r.orders++
	r.start()
	r.up = time.Now().Add(time.Minute)
	if die := r.dies[r.orders]; die != nil {
		die()
		return lost, ctx.Err()
	}
	return lost, errors.New("connection reset")
}

func (r *restartable) Close() error { return nil }

// A machine is restarted by its own system as often as was asked, also where rackproof is
// killed right behind an order, and what is there behind each start is on record.
func TestReboots(t *testing.T) {
	m, err := nodetest.New("hgx-h100-8", "bench", 11)
	if err != nil {
		t.Fatal(err)
	}
	to := judgedAs(t, m)
	asked := *to.spec
	asked.Reboots = profiles.Reboots{Count: 3, Kind: profiles.Warm}
	dir := storeFolder(t)
	synctest.Test(t, func(t *testing.T) {
		store, err := burnin.OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		ctx, kill := context.WithCancel(t.Context())
		r := &restartable{machine: m, dies: map[int]func(){2: kill}}
		r.start()
		o := burnin.BurnOptions{
			Node:  &burnin.Node{Shell: r, Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: to.profile},
			Store: store, Run: "test", Attempt: 1, Owner: "test@here", Reboots: 3, Resume: true, Machine: burnin.Machine{Name: m.Name},
		}
		if err := burnin.Burn(ctx, o); err != nil {
			t.Fatal(err)
		}
		if err := burnin.Reboots(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("killed: %v", err)
		}
		if err := burnin.Reboots(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if r.orders != 3 {
			t.Errorf("%d restarts, want 3", r.orders)
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
	j := burnin.Judge(rec, to.profile, &asked)
	if len(j.Boots) != 3 || j.Boots[2].BootID != "00000004-1111-4222-a333-444444444444" || j.Boots[1].Kind != profiles.Warm || j.Boots[1].Up.Sub(j.Boots[1].Down) < time.Minute {
		t.Errorf("boots %v", j.Boots)
	}
	for _, n := range j.NotRun {
		if n.Check == "reboots" {
			t.Errorf("%v", n)
		}
	}
}

// Nothing is restarted under somebody's work.
func TestRebootsRefuse(t *testing.T) {
	m, err := nodetest.New("hgx-h100-8", "bench", 11)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		store, err := burnin.OpenStore(storeFolder(t))
		if err != nil {
			t.Fatal(err)
		}
		r := &restartable{machine: m}
		r.start()
		o := burnin.BurnOptions{
			Node:  &burnin.Node{Shell: r, Origin: burnin.FromSSH, Probes: burnin.Probes()},
			Store: store, Run: "mine", Attempt: 1, Owner: "test@here", Reboots: 1, Resume: true, Machine: burnin.Machine{Name: m.Name},
		}
		if err := burnin.Burn(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := burnin.Idle(t.Context(), r, burnin.Claim{Run: "mine", Attempt: 1, Owner: "test@here"}); err != nil {
			t.Errorf("an idle machine: %v", err)
		}
		acquire := "set -- '' 'other-1' 'somebody@there' 'other' '1' '120' #rackproof acquire\n"
		if out, err := r.Run(t.Context(), burnin.Command{Line: acquire}); err != nil || len(out.Out) == 0 {
			t.Fatal(err)
		}
		held := &burnin.HeldError{}
		if err := burnin.Reboots(t.Context(), o); !errors.As(err, &held) || held.Owner != "somebody@there" || r.orders != 0 {
			t.Errorf("%v, %d restarts", err, r.orders)
		}
	})
}
