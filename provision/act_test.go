package provision

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// memory is a Recorder that keeps what is recorded, until it is full.
type memory struct {
	kinds []Kind
	room  int // events that still fit; <0 = all
}

func (m *memory) Record(_ context.Context, kind Kind, _ any) error {
	if m.room == 0 {
		return errors.New("the journal is full")
	}
	m.room--
	m.kinds = append(m.kinds, kind)
	return nil
}

func actEnv(rec Recorder, pending ...Intent) *Env {
	e := &Env{Log: slog.New(slog.DiscardHandler), rec: rec, intents: map[string]Intent{}, Facts: Facts{}}
	for _, in := range pending {
		e.intents[in.Act] = in
	}
	return e
}

func TestAct(t *testing.T) {
	lost := errors.New("connection reset")
	for _, test := range []struct {
		name    string
		pending []Intent
		sights  []Sight // answers in order; the last one stays
		doErr   error
		room    int
		acts    int
		kinds   []Kind
		stuck   bool
		fails   bool
	}{
		{name: "new", acts: 1, room: -1, kinds: []Kind{Intended, Acted}},
		{name: "no durable intent, no act", acts: 0, room: 0, fails: true},
		{name: "seen before", pending: []Intent{{Act: "reset", Mark: "1", Acted: true}}, room: -1},
		{name: "interrupted and happened", pending: []Intent{{Act: "reset", Mark: "1"}}, sights: []Sight{Happened}, room: -1, kinds: []Kind{Acted}},
		{name: "interrupted and absent", pending: []Intent{{Act: "reset", Mark: "1"}}, sights: []Sight{Absent}, acts: 1, room: -1, kinds: []Kind{Acted}},
		{name: "interrupted, absent at first sight only", pending: []Intent{{Act: "reset", Mark: "1"}}, sights: []Sight{Absent, Happened}, room: -1, kinds: []Kind{Acted}},
		{name: "interrupted and cannot tell", pending: []Intent{{Act: "reset", Mark: "1"}}, sights: []Sight{CannotTell}, room: -1, stuck: true},
		{name: "interrupted and told late", pending: []Intent{{Act: "reset", Mark: "1"}}, sights: []Sight{CannotTell, CannotTell, Happened}, room: -1, kinds: []Kind{Acted}},
		{name: "answer lost, effect kept", doErr: lost, sights: []Sight{Happened}, acts: 1, room: -1, kinds: []Kind{Intended, Acted}},
		{name: "failed without effect", doErr: lost, sights: []Sight{Absent}, acts: 1, room: -1, kinds: []Kind{Intended}, fails: true},
		{name: "failed and cannot tell", doErr: lost, sights: []Sight{CannotTell}, acts: 1, room: -1, kinds: []Kind{Intended}, stuck: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := &memory{room: test.room}
				acts, asked := 0, 0
				err := actEnv(rec, test.pending...).Act(t.Context(), Act{
					Name: "reset",
					Mark: func(context.Context) (string, error) { return "1", nil },
					Seen: func(_ context.Context, mark string) (Sight, error) {
						if mark != "1" {
							t.Errorf("mark %q", mark)
						}
						asked++
						return test.sights[min(asked, len(test.sights))-1], nil
					},
					Do: func(context.Context) error { acts++; return test.doErr },
				})
				var stuck *Stuck
				if errors.As(err, &stuck) != test.stuck || (err != nil) != (test.stuck || test.fails) {
					t.Errorf("error %v", err)
				}
				if acts != test.acts {
					t.Errorf("acted %d times, want %d", acts, test.acts)
				}
				if !slices.Equal(rec.kinds, test.kinds) {
					t.Errorf("recorded %v, want %v", rec.kinds, test.kinds)
				}
			})
		})
	}
}

func TestActAsksUntilItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := actEnv(&memory{room: -1}, Intent{Act: "reset", Mark: "1"}).Act(t.Context(), Act{
			Name: "reset", Poll: time.Second, Deadline: time.Minute,
			Mark: func(context.Context) (string, error) { return "", nil },
			Seen: func(context.Context, string) (Sight, error) { return CannotTell, errors.New("BMC silent") },
			Do:   func(context.Context) error { t.Error("acted on a guess"); return nil },
		})
		var stuck *Stuck
		if !errors.As(err, &stuck) || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestActEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { cancel(ErrStopped) })
		err := actEnv(&memory{room: -1}, Intent{Act: "reset", Mark: "1"}).Act(ctx, Act{
			Name: "reset",
			Mark: func(context.Context) (string, error) { return "", nil },
			Seen: func(context.Context, string) (Sight, error) { return CannotTell, nil },
			Do:   func(context.Context) error { t.Error("acted on a guess"); return nil },
		})
		if !errors.Is(err, ErrStopped) {
			t.Errorf("error %v", err)
		}
	})
}

// A machine whose answer never comes is asked again, and an error is no sighting
// of absence.
func TestActTakesAnErrorForNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, acts := 0, 0
		err := actEnv(&memory{room: -1}, Intent{Act: "reset", Mark: "1"}).Act(t.Context(), Act{
			Name: "reset",
			Mark: func(context.Context) (string, error) { return "", nil },
			Seen: func(context.Context, string) (Sight, error) {
				n++
				switch n {
				case 1, 3:
					return Absent, nil
				case 2:
					return CannotTell, errors.New("BMC silent")
				default:
					return Happened, nil
				}
			},
			Do: func(context.Context) error { acts++; return nil },
		})
		if err != nil || acts != 0 || n != 4 {
			t.Errorf("error %v, %d acts, asked %d times", err, acts, n)
		}
	})
}
