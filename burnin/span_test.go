package burnin_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/profiles"
)

// boots is a shell on a machine to which things happen under load: at the times given,
// counted from the start of its first load.
type boots struct {
	machine *nodetest.Machine
	now     burnin.Shell
	n       int
	began   time.Time
	events  []event
}

type event struct {
	after time.Duration
	do    func(*boots)
}

func newBoots(m *nodetest.Machine, events ...event) *boots {
	b := &boots{machine: m, events: events}
	b.reboot()
	return b
}

func (b *boots) reboot() {
	b.n++
	b.now = nodetest.Wire(b.machine, nodetest.Boot{BootID: fmt.Sprintf("%08d-7d0f-4b8e-9a53-6a4f8a5d2f10", b.n)})
}

func (b *boots) Run(ctx context.Context, c burnin.Command) (burnin.Output, error) {
	verb, args, ok := burnin.NodeCall(c.Line)
	if ok && verb == "start" && len(args) > 1 && (args[1] == "cpu-loop" || args[1] == "stress-ng") && b.began.IsZero() {
		b.began = time.Now()
	}
	if ok && verb == "poll" && len(b.events) > 0 && !b.began.IsZero() && time.Since(b.began) >= b.events[0].after {
		do := b.events[0].do
		b.events = b.events[1:]
		do(b)
	}
	return b.now.Run(ctx, c)
}

func (b *boots) Close() error { return nil }

// kill ends the load as the kernel does that wants memory.
func killLoads(b *boots) {
	b.now.(interface{ EndLoads(exit int) }).EndLoads(137)
}

// few are probes enough to tell of the machine's state, so that hours of samples take no
// room.
func few() []burnin.ProbeSpec {
	return slices.DeleteFunc(burnin.Probes(), func(p burnin.ProbeSpec) bool { return !slices.Contains([]string{"os", "kernel-log"}, p.Name) })
}

// TestSoakClock: what interrupts hours under load, and what the spec makes of it.
func TestSoakClock(t *testing.T) {
	const want = 40 * time.Minute
	reboot := event{15 * time.Minute, (*boots).reboot}
	halt := event{15 * time.Minute, func(b *boots) {
		if _, err := burnin.HaltNode(context.Background(), b.now, "", "test"); err != nil {
			panic(err)
		}
	}}
	silence := event{15 * time.Minute, func(*boots) { <-time.After(20 * time.Minute) }}
	dead := event{15 * time.Minute, killLoads}
	accumulated := func(restarts, pauses int) profiles.Soak {
		return profiles.Soak{Hours: want.Hours(), Mode: profiles.Accumulated, Restarts: restarts, Pauses: pauses}
	}
	for _, row := range []struct {
		name   string
		soak   profiles.Soak
		events []event
		ends   string        // of all spans
		total  time.Duration // under load in all spans
		why    string        // in soak/hours
	}{
		{"no interruption", accumulated(0, 0), nil, "done", want, "in 1 span (accumulated, 0 restarts and 0 pauses allowed)"},
		{"a reboot that is allowed", accumulated(1, 0), []event{reboot}, "reboot done", want, "interrupted by a reboot or loss of power at "},
		{"reboots, one more than allowed", accumulated(1, 0), []event{reboot, {40 * time.Minute, (*boots).reboot}}, "reboot reboot", 0, ""},
		{"a pause that is allowed", accumulated(0, 1), []event{halt}, "stop done", want, "interrupted by a stop by a person at "},
		{"a pause that is not", accumulated(5, 0), []event{halt}, "stop done", want + 15*time.Minute, "the clock began again there, the spec allows 0 pauses"},
		{"nobody heard of us", accumulated(0, 0), []event{silence}, "dead-man done", want, "interrupted by the dead-man timer at "},
		{"nobody heard of us, uninterrupted", profiles.Soak{Hours: want.Hours(), Mode: profiles.Uninterrupted}, []event{silence}, "dead-man done", want + 30*time.Minute, "the spec wants it uninterrupted"},
		{"a load that died", accumulated(1, 0), []event{dead}, "dead-load done", want, // what died proves nothing
			"interrupted by a load that died"},
		{"a load that died, and none may", accumulated(0, 0), []event{dead}, "done", 0, "under load for 0.00 h of the 0.6"},
		{"an interruption near the end", accumulated(0, 1), []event{{35 * time.Minute, halt.do}}, "stop done", want + 5*time.Minute, "in 2 spans"},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, err := nodetest.New("l40s-8", "bench", 11)
			if err != nil {
				t.Fatal(err)
			}
			dir, to := storeFolder(t), judgedAs(t, m)
			spec := *to.spec
			spec.Soak = row.soak
			var rec *burnin.Record
			synctest.Test(t, func(t *testing.T) {
				store, err := burnin.OpenStore(dir)
				if err != nil {
					t.Fatal(err)
				}
				shell := newBoots(m, row.events...)
				node := &burnin.Node{Shell: shell, Origin: burnin.FromSSH, Probes: few(), Profile: to.profile}
				options := burnin.BurnOptions{
					Node: node, Store: store, Run: "test", Attempt: 1, Owner: "test@here", Duration: want, Soak: row.soak, Resume: true,
					Loads: slices.DeleteFunc(burnin.Loads(), func(l burnin.Load) bool { return l.Name != "cpu-loop" }),
				}
				err = burnin.Burn(t.Context(), options)
				if errors.Is(err, burnin.ErrStopped) {
					err = burnin.Burn(t.Context(), options)
				}
				if err != nil {
					t.Fatal(err)
				}
				if rec, err = store.Record(); err != nil {
					t.Fatal(err)
				}
			})
			var ends []string
			total := 0.0
			for _, span := range rec.Meta.Spans {
				ends = append(ends, string(span.EndedBy))
				for _, l := range span.Loads {
					total += l.Seconds
				}
			}
			if got := strings.Join(ends, " "); got != row.ends {
				t.Errorf("spans ended by %q, want %q", got, row.ends)
			}
			if row.total > 0 && math.Abs(total-row.total.Seconds()) > 10 {
				t.Errorf("%.0f s under load, want %.0f", total, row.total.Seconds())
			}
			j := burnin.Judge(rec, to.profile, &spec)
			if why := soakWhy(j); !strings.Contains(why, row.why) {
				t.Errorf("soak/hours says %q, want %q", why, row.why)
			}
		})
	}
}

// soakWhy is what the judgement says of the hours under load.
func soakWhy(j burnin.Judgement) string {
	for _, f := range j.Findings {
		if f.ID == "soak/hours/machine" {
			return f.Verdict.String() + ": " + f.Why
		}
	}
	for _, n := range j.NotRun {
		if n.Check == "soak" && n.Quantity == "hours" {
			return "not run: " + n.Why
		}
	}
	return ""
}

// TestEarlierSpanIsJudged: a fault in a span that was interrupted is a fault of the machine,
// and a machine that was well in all spans has none.
func TestEarlierSpanIsJudged(t *testing.T) {
	hours := profiles.Soak{Hours: time.Minute.Hours(), Mode: profiles.Accumulated, Restarts: 1, Pauses: 1}
	for _, row := range []struct {
		name   string
		faults []string // of the first span
		event  func(*boots, *nodetest.Machine)
		result burnin.Result
		fails  string
		hours  string
	}{
		{"well, over a reboot", nil, func(b *boots, _ *nodetest.Machine) { b.reboot() }, burnin.Passed, "", "0.03"},
		{"well, over a pause", nil, func(b *boots, _ *nodetest.Machine) {
			_, _ = burnin.HaltNode(context.Background(), b.now, "", "test")
		}, burnin.Passed, "", "0.03"},
		{"a GPU off the bus, gone after the reboot", []string{"xid79"}, func(b *boots, well *nodetest.Machine) {
			b.machine = well
			b.reboot()
		}, burnin.Failed, "(in span 1 of 2, until ", "0.02"}, // what ran with a GPU that was dropped does not count
	} {
		t.Run(row.name, func(t *testing.T) {
			well := benchMachine(t)
			to := judgedAs(t, well)
			spec := *to.spec
			spec.Soak = hours
			sick := benchMachine(t, row.faults...)
			dir := storeFolder(t)
			var rec *burnin.Record
			synctest.Test(t, func(t *testing.T) {
				store, err := burnin.OpenStore(dir)
				if err != nil {
					t.Fatal(err)
				}
				shell := newBoots(sick, event{40 * time.Second, func(b *boots) { row.event(b, well) }})
				bmc := &simBMC{m: well}
				options := burnin.BurnOptions{
					Node:  &burnin.Node{Shell: shell, Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: to.profile},
					Store: store, Run: "test", Attempt: 1, Owner: "test@here", Duration: time.Minute, Soak: hours, Resume: true, Loads: burnin.LoadsFor(burnin.Loads(), &spec, burnin.Consent{}),
					Machine:  burnin.Machine{Name: "bench", Wanted: burnin.WantedIdentity{Serial: well.SystemSerial}},
					Coverage: burnin.CoverFull, Sources: []burnin.Source{bmc},
				}
				err = burnin.Burn(t.Context(), options)
				if errors.Is(err, burnin.ErrStopped) {
					err = burnin.Burn(t.Context(), options)
				}
				if err == nil {
					err = errors.Join(store.Add(bmcEvidence(well)), store.Add(bmcReading("bmc-sel", burnin.PhaseBMC, bmc.log(false))))
				}
				if err != nil {
					t.Fatal(err)
				}
				if rec, err = store.Record(); err != nil {
					t.Fatal(err)
				}
			})
			j := burnin.Judge(rec, to.profile, &spec)
			text := describe(j)
			if j.Result != row.result || !strings.Contains(text, row.fails) {
				t.Errorf("%s", text)
			}
			refs := map[string]bool{}
			for _, e := range j.Evidence {
				refs[e.Ref] = true
			}
			for _, f := range j.Findings {
				for _, ref := range f.Evidence {
					if !refs[ref] {
						t.Errorf("%s cites %s, which is not in the record", f.ID, ref)
					}
				}
			}
			if why := soakWhy(j); !strings.HasPrefix(why, "pass: under load for "+row.hours+" h of the 0.01667 h") {
				t.Errorf("soak/hours: %s", why)
			}
		})
	}
}
