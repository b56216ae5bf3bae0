package provision

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// faulty is a step whose change fails on every machine.
type faulty struct{ err error }

func (faulty) Name() string                             { return "change" }
func (faulty) Done(context.Context, *Env) (bool, error) { return false, nil }
func (f faulty) Do(context.Context, *Env) (Facts, error) {
	return nil, f.err
}

// The brake of a run that is carried on in another process is on there too, until a
// person lets it go or the profile is another one.
func TestBrakeOutlivesTheProcess(t *testing.T) {
	s := newStory(t, "m1", "m2", "m3")
	model := Machine{Profile: "h100", ProfileSHA256: "0123456789abcdef"}.model()
	s.add("m1", 1, ChangeEnded, ChangeResult{Model: model, Cause: "no such attribute"})
	s.add("m2", 1, ChangeEnded, ChangeResult{Model: model, Cause: "no such attribute"})
	enter := func(r *Run, model string) error {
		b := NewBrake(map[string]int{model: 36})
		b.Follow(r.Rollouts, r.Released+1)
		return b.Enter(t.Context(), model)
	}
	r := s.fold()
	var stuck *Stuck
	if err := enter(r, model); !errors.As(err, &stuck) || !strings.HasPrefix(stuck.Why, "Stopped after 2 of 36: same cause (no such attribute).") {
		t.Errorf("in another process: %v", err)
	}
	corrected := Machine{Profile: "h100", ProfileSHA256: "fedcba9876543210"}.model()
	if err := enter(r, corrected); err != nil {
		t.Errorf("with a corrected profile: %v", err)
	}
	if err := enter(s.add("", 0, Resumed, nil).fold(), model); err == nil {
		t.Error("the same batch again, as after a crash, lets the brake go")
	}
	released := s.add("", 0, Resumed, Resume{Release: true}).fold()
	if err := enter(released, model); err != nil {
		t.Errorf("after a person said so: %v", err)
	}
	running := NewBrake(map[string]int{model: 36}) // in the process that was stopped
	running.Follow(r.Rollouts, r.Released+1)
	running.Follow(released.Rollouts, released.Released+1)
	if err := running.Enter(t.Context(), model); err != nil {
		t.Errorf("in the same process: %v", err)
	}
}

func TestChangeIsRecordedBeforeOthersFollow(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{{nil, "change was carried out, but the machine does not show it"}, {errors.New("m1: S1 has no IOMMU"), "has no IOMMU"}} {
		e, rec := stepEnv(t, newFakeBMC(), Machine{Profile: "h100"})
		e.Machine.Name, e.Machine.Serial = "m1", "S1"
		brake := NewBrake(map[string]int{e.Machine.model(): 10})
		if err := doneDoDone(t.Context(), StepInfo{Step: faulty{test.err}, Canary: true, Gentle: true}, Task{}, e, brake); err == nil {
			t.Error("a change that failed ended well")
		}
		if len(rec.kinds) != 1 || rec.kinds[0] != ChangeEnded {
			t.Errorf("recorded %v, want the change", rec.kinds)
		}
		if got := brake.wave(rollout("change", e.Machine)).Causes; got[test.want] != 1 {
			t.Errorf("causes %v, want %q", got, test.want)
		}
	}
}

// giver gives its place away while it waits.
type giver struct {
	*memory
	given, back int
}

func (g *giver) Yield() func(context.Context) error {
	g.given++
	return func(context.Context) error { g.back++; return nil }
}

// A machine that waits until a change has gone well on another holds no place meanwhile;
// one that need not wait keeps its own.
func TestWhoWaitsAtTheBrakeHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brake := NewBrake(map[string]int{"h100": 10})
		first, second := &giver{memory: &memory{room: -1}}, &giver{memory: &memory{room: -1}}
		if err := (&Env{rec: first}).enter(t.Context(), brake, "h100"); err != nil || first.given != 0 {
			t.Fatalf("the first gave its place %d times: %v", first.given, err)
		}
		entered := make(chan error, 1)
		go func() { entered <- (&Env{rec: second}).enter(t.Context(), brake, "h100") }()
		synctest.Wait()
		if second.given != 1 || second.back != 0 || len(entered) != 0 {
			t.Errorf("while it waits: given %d, back %d, entered %d", second.given, second.back, len(entered))
		}
		brake.Leave("h100", "m1", "", false)
		if err := <-entered; err != nil || second.given != 1 || second.back != 1 {
			t.Errorf("behind the wait: given %d, back %d, %v", second.given, second.back, err)
		}
	})
}

// One that is called off while it waits for its place again has changed nothing, and
// leaves the brake to others.
func TestCalledOffBehindTheBrake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		brake := NewBrake(map[string]int{"h100": 10})
		if err := brake.Enter(t.Context(), "h100"); err != nil {
			t.Fatal(err)
		}
		brake.Leave("h100", "m1", "", false)
		for range 3 { // the next wave is full
			if err := brake.Enter(t.Context(), "h100"); err != nil {
				t.Fatal(err)
			}
		}
		gate := NewGate(&Batch{Limits: Limits{Parallel: 1}})
		if _, err := gate.Slot(t.Context()); err != nil { // somebody else's to the end
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		entered := make(chan error, 1)
		go func() {
			e := &Env{Machine: Machine{Name: "m5"}, rec: waiter{&memory{room: -1}, gate}}
			entered <- e.enter(ctx, brake, "h100")
		}()
		synctest.Wait()
		brake.Leave("h100", "m2", "", false)
		synctest.Wait()
		cancel()
		if err := <-entered; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		w := brake.wave("h100")
		if w.active != 2 || w.Passed != 2 || w.Failed != 0 {
			t.Errorf("%d under way, %d passed, %d failed; want 2, 2, 0", w.active, w.Passed, w.Failed)
		}
	})
}

// waiter waits at a gate for its place again.
type waiter struct {
	*memory
	gate *Gate
}

func (w waiter) Yield() func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.gate.Slot(ctx)
		return err
	}
}

// What an earlier step has changed is not said to be as it was.
func TestBrakeSaysWhatMayHaveChangedBefore(t *testing.T) {
	m := Machine{Profile: "h100", ProfileSHA256: "0123456789abcdef"}
	other := Machine{Profile: "a100", ProfileSHA256: "fedcba9876543210"}
	for _, test := range []struct {
		name string
		done []string // changes made before, by their keys
		step string
		want string
	}{
		{"nothing", nil, "bios", "Nothing changed on the other 34."},
		{"firmware and credentials", []string{rollout("firmware", m), rollout("credentials", m)}, "bios", "On the other 34 bios was not begun; credentials and firmware may have changed them before."},
		{"of another model", []string{rollout("firmware", other)}, "bios", "Nothing changed on the other 34."},
		{"a step behind", []string{rollout("bios", m)}, "firmware", "Nothing changed on the other 34."},
		{"bios before its restoring", []string{rollout("bios", m)}, "restore-bios", "On the other 34 restore-bios was not begun; bios may have changed them before."},
	} {
		key := rollout(test.step, m)
		b := NewBrake(map[string]int{key: 36})
		for _, k := range test.done {
			if err := b.Enter(t.Context(), k); err != nil {
				t.Fatal(err)
			}
			b.Leave(k, "m1", "", false)
		}
		for _, name := range []string{"m1", "m2"} {
			if err := b.Enter(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			b.Leave(key, name, "no such attribute", false)
		}
		var stuck *Stuck
		want := "Stopped after 2 of 36: same cause (no such attribute). " + test.want
		if err := b.Enter(t.Context(), key); !errors.As(err, &stuck) || stuck.Why != want {
			t.Errorf("%s: %v\nwant %s", test.name, err, want)
		}
		rollouts := map[string]Rollout{key: Rollout{}.with("m1", "no such attribute").with("m2", "no such attribute")}
		for _, k := range test.done {
			rollouts[k] = Rollout{Passed: 1}
		}
		next := NewBrake(map[string]int{key: 36}) // the next process
		next.Follow(rollouts, 1)
		if err := next.Enter(t.Context(), key); !errors.As(err, &stuck) || stuck.Why != want {
			t.Errorf("%s, in another process: %v\nwant %s", test.name, err, want)
		}
	}
}
