package provision

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

func TestInrushIsStaggered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		i := NewInrush(&Batch{Limits: Limits{Stagger: Duration(2 * time.Second)}})
		for _, c := range []struct {
			machine Machine
			want    time.Duration
		}{
			{onPDUs("a", 0, "A1", "B1"), 0},
			{machine("b", "R1", 0), 2 * time.Second}, // of the same rack
			{Machine{Rack: "R2"}, 0},
			{Machine{Rack: "R3", PDUs: []string{"B1"}}, 2 * time.Second}, // of the same PDU
			{Machine{Rack: "R2", PDUs: []string{"B1"}}, 4 * time.Second},
			{Machine{}, 0},
			{Machine{}, 2 * time.Second}, // no rack is one rack
		} {
			if got := i.turn(c.machine).Sub(began); got != c.want {
				t.Errorf("%+v starts after %s, want %s", c.machine, got, c.want)
			}
		}
		if err := i.Wait(t.Context(), machine("d", "R1", 0)); err != nil || time.Since(began) != 4*time.Second {
			t.Errorf("waited until %s (%v), want 4 s", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := i.Wait(ctx, machine("e", "R1", 0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait that was cut: %v", err)
		}
		var none *Inrush
		if err := none.Wait(t.Context(), machine("a", "R1", 0)); err != nil {
			t.Error(err)
		}
	})
	if got := NewInrush(&Batch{}).pause; got != defaultStagger {
		t.Errorf("without a word of the batch %s", got)
	}
}

// Every act that switches a machine on or resets it waits for its turn; one that switches
// it off does not.
func TestActsWaitForTheirTurn(t *testing.T) {
	c := newFakeBMC()
	e, _ := stepEnv(t, c, Machine{})
	for name, act := range map[string]Act{
		"reset": e.resetAct(c, "x", nil), "on": e.switchAct(c, "x", redfish.PowerOn, redfish.On), "AC cycle": e.acAct(c, noMains{}, "x"),
	} {
		if !act.Inrush {
			t.Errorf("%s does not wait", name)
		}
	}
	if e.switchAct(c, "x", redfish.ForceOff, redfish.Off).Inrush {
		t.Error("switching off waits")
	}
	e.inrush = NewInrush(e.Batch)
	e.inrush.turn(e.Machine)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Act(ctx, e.switchAct(c, "x", redfish.PowerOn, redfish.On)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of a wait", err)
	}
	if len(e.intents) != 0 {
		t.Errorf("intents %v of an act that still waited", e.intents)
	}
}

type noMains struct{}

func (noMains) ACOffered(context.Context) error { return redfish.ErrUnsupported }
func (noMains) ACCycle(context.Context) error   { return redfish.ErrUnsupported }
