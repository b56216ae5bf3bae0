package burnin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fakeBMC answers after a time, and counts how it was asked.
type fakeBMC struct {
	takes         time.Duration
	short         bool // it has a short way
	broken        bool
	wholes        int
	shorts        int
	inFlight, max int
	rows          func(n int) string
}

func (f *fakeBMC) wait(ctx context.Context) {
	f.inFlight++
	f.max = max(f.max, f.inFlight)
	defer func() { f.inFlight-- }()
	timer := time.NewTimer(f.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (f *fakeBMC) Collect(ctx context.Context, phase Phase) ([]*Evidence, error) {
	began := time.Now()
	f.wait(ctx)
	f.wholes++
	return []*Evidence{f.evidence(began, "rackproof:sensors", f.wholes)}, nil
}

func (f *fakeBMC) Watch(ctx context.Context) (*Evidence, error) {
	if !f.short {
		return nil, fmt.Errorf("no short way: %w", errors.ErrUnsupported)
	}
	began := time.Now()
	f.wait(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f.shorts++
	return f.evidence(began, BMCVitalsKey, f.shorts), nil
}

func (f *fakeBMC) evidence(began time.Time, key string, n int) *Evidence {
	e := &Evidence{Probe: "bmc-sensors", Phase: PhaseLoad, Source: FromBMC, Started: began, Exit: new(int), Ended: EndedExit}
	if f.broken {
		e.Ended, e.Exit, e.Err = EndedLost, nil, []byte("no answer\n")
		return e
	}
	e.Out = []byte(fmt.Sprintf(`{%q:{"sensors":[%s]},"rackproof:reading":{"skew_seconds":null}}`, key, f.rows(n)))
	return e
}

func steadyFan(int) string {
	return `{"name":"FAN1","kind":"fan","reading":5000,"unit":"RPM","health":"OK","state":"Enabled","thresholds":{"lower_critical":400}}`
}

// askFor asks a BMC for so long, as a load of that duration does.
func askFor(t *testing.T, f *fakeBMC, d time.Duration) *Evidence {
	t.Helper()
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := openStream(store, "id")
	if err != nil {
		t.Fatal(err)
	}
	r := &loadRun{stream: stream, span: d, burn: &burn{node: &Node{}, BurnOptions: BurnOptions{
		Store: store, Duration: d, Sources: []Source{f}, Log: slog.New(slog.DiscardHandler),
	}}}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := r.askSources(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := store.evidence(PhaseLoad, "bmc-sensors")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSourceRates: a BMC is read once a second where it answers fast, and never more
// than a fifth of its time where it does not; never twice at once.
func TestSourceRates(t *testing.T) {
	for _, c := range []struct {
		name           string
		takes          time.Duration
		short          bool
		wholes, shorts int // of ten minutes
	}{
		{"fast", 100 * time.Millisecond, true, 10, 589},
		{"two seconds", 2 * time.Second, true, 10, 58},
		{"twelve seconds", 12 * time.Second, true, 5, 10},
		{"no short way", 100 * time.Millisecond, false, 10, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeBMC{takes: c.takes, short: c.short, rows: steadyFan}
				e := askFor(t, f, 10*time.Minute)
				if f.wholes != c.wholes || f.shorts != c.shorts || f.max != 1 {
					t.Errorf("%d whole readings and %d short ones, %d at once; want %d, %d, 1", f.wholes, f.shorts, f.max, c.wholes, c.shorts)
				}
				if busy := time.Duration(f.shorts) * c.takes; busy > 2*time.Minute+c.takes {
					t.Errorf("short readings kept it busy for %s of 10 min", busy)
				}
				if e == nil {
					t.Fatal("no reading is stored")
				}
				if n := len(e.Samples); n != c.wholes-1+c.shorts {
					t.Errorf("%d samples, want all readings of a short load", n)
				}
			})
		})
	}
}

// TestSourceLeftAlone: a BMC that does not answer is asked at the long interval only.
func TestSourceLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeBMC{takes: time.Second, short: true, broken: true, rows: steadyFan}
		e := askFor(t, f, 10*time.Minute)
		if f.shorts != 1 || f.wholes != 10 {
			t.Errorf("%d short and %d whole readings, want 1 and 10", f.shorts, f.wholes)
		}
		if e == nil || e.Ended != EndedLost || len(e.Samples) != 0 {
			t.Error("want one evidence that says that nothing was read")
		}
	})
}

// TestLongSoakIsThinned: of six hours at once a second some thousand readings stay,
// among them each moment at which something turned, and every extreme.
func TestLongSoakIsThinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const turn, peak, glitch = 10_000, 15_001, 20_003
		f := &fakeBMC{takes: time.Millisecond, short: true}
		f.rows = func(n int) string {
			fan, health, input := 5000+n%7, "OK", "OK"
			switch n {
			case peak:
				fan = 9000
			case glitch:
				fan = 0
			case turn, turn + 1, turn + 2:
				input = "Critical"
			}
			return fmt.Sprintf(`{"name":"FAN1","kind":"fan","reading":%d,"unit":"RPM","health":%q,"state":"Enabled","thresholds":{"lower_critical":400}},
				{"name":"PSU1","kind":"discrete","reading":null,"health":%q,"state":"Enabled","context":"PowerSupply"}`, fan, health, input)
		}
		e := askFor(t, f, 6*time.Hour)
		if f.shorts < 21_000 {
			t.Fatalf("%d short readings", f.shorts)
		}
		if n := len(e.Samples); n < 3000 || n > watchReadings+sourceReadings+100 {
			t.Errorf("%d readings kept, want at most about %d", n, watchReadings+sourceReadings)
		}
		var all bytes.Buffer
		critical := 0
		for _, s := range e.Samples {
			all.Write(s.Out)
			if bytes.Contains(s.Out, []byte("Critical")) {
				critical++
			}
		}
		if critical != 3 {
			t.Errorf("%d readings without power kept, want the first, the one after it, and the last", critical)
		}
		for _, want := range []string{`"reading":9000`, `"reading":0,`} {
			if !strings.Contains(all.String(), want) {
				t.Errorf("%s is not among the readings kept", want)
			}
		}
		r := NewReadings(&Record{Evidence: []*Evidence{e}})
		w := watchSensors(r, (&Node{}).profile())
		verdicts := map[string]Verdict{}
		for _, track := range w.tracks {
			verdicts[track.sensor.Name] = track.verdict
		}
		if verdicts["PSU1"] != Fail || verdicts["FAN1"] != Warn {
			t.Errorf("%v: want the lost power found, and one odd figure of a fan as a remark", verdicts)
		}
	})
}

// TestSamplesSurviveUs: another process of the run goes on with what was read.
func TestSamplesSurviveUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var e *Evidence
		for range 2 {
			store, err := OpenStore(dir)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := openStream(store, "id")
			if err != nil {
				t.Fatal(err)
			}
			f := &fakeBMC{takes: time.Millisecond, short: true, rows: steadyFan}
			a := &asker{source: f, held: map[string]*heldSource{}, loadRun: &loadRun{stream: stream, span: time.Hour, burn: &burn{node: &Node{}, BurnOptions: BurnOptions{
				Store: store, Duration: time.Hour, Log: slog.New(slog.DiscardHandler),
			}}}}
			ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
			if err := a.ask(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
			if e == nil { // the first was killed, and wrote half a reading
				file, err := os.OpenFile(a.held["bmc-sensors"].file, os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = file.WriteString("2026-01-01T00:00:00.000Z 50\n{")
				_ = file.Close()
				e = &Evidence{}
				continue
			}
			if err := a.keep(); err != nil {
				t.Fatal(err)
			}
			if e, err = store.evidence(PhaseLoad, "bmc-sensors"); err != nil || e == nil {
				t.Fatal(err)
			}
		}
		if len(e.Samples) < 88 {
			t.Errorf("%d samples of two processes, want those of both", len(e.Samples))
		}
		for _, s := range e.Samples {
			if !json.Valid(s.Out) {
				t.Errorf("not whole: %.80q", s.Out)
			}
		}
	})
}

// TestShortReadings: a figure out of limits in one short reading alone is a remark, in two
// a fault; limits that a short reading leaves out are those known; what it does not
// list is not gone.
func TestShortReadings(t *testing.T) {
	whole := `{"rackproof:sensors":{"sensors":[` + steadyFan(0) + `,{"name":"P12V","kind":"voltage","reading":12.1,"health":"OK"}]}}`
	short := func(rpm int) string {
		return fmt.Sprintf(`{%q:{"sensors":[{"name":"FAN1","kind":"fan","reading":%d,"unit":"RPM","health":"OK","state":"Enabled"}]}}`, BMCVitalsKey, rpm)
	}
	for _, c := range []struct {
		name string
		rpm  []int
		want Verdict
	}{
		{"in order", []int{5000, 4900}, Pass},
		{"one", []int{5000, 0, 5000}, Warn},
		{"two", []int{5000, 0, 0, 5000}, Fail},
		{"two with a good one between", []int{0, 5000, 0}, Fail},
		{"two far apart", []int{0, 5000, 5000, 0}, Warn},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &Evidence{Probe: "bmc-sensors", Phase: PhaseLoad, Source: FromBMC, Ended: EndedExit, Exit: new(int), Out: []byte(whole)}
			for i, rpm := range c.rpm {
				e.Samples = append(e.Samples, Sample{At: time.Unix(int64(i), 0), Out: []byte(short(rpm))})
			}
			w := watchSensors(NewReadings(&Record{Evidence: []*Evidence{e}}), (&Node{}).profile())
			for _, track := range w.tracks {
				want := Pass
				if track.sensor.Name == "FAN1" {
					want = c.want
				}
				if track.verdict != want || track.lost != "" {
					t.Errorf("%s: %v (%s), lost %q; want %v", track.sensor.Name, track.verdict, track.why, track.lost, want)
				}
			}
		})
	}
}
