package burnin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// leastSpan is how long at least a load goes on after an interruption, however little is
// left of its hours: what is judged of a warm machine is measured in the last span.
const leastSpan = 10 * time.Minute

// Interruptions of a span after which the next one may follow at once.
var (
	errRebooted = errors.New("the node was rebooted under load, or lost power")
	errDeadLoad = errors.New("a load died before its time")
)

// left is how long the span that begins now is to last: whole seconds, as loads take
// them, and never less than what is owed.
func (b *burn) left() time.Duration {
	done := soaked(append(b.spans(), Span{}), b.Soak).seconds() + b.Carried.counted()
	left := max(b.Duration-time.Duration(done*float64(time.Second)), min(b.Duration, leastSpan))
	return (left + time.Second - 1).Truncate(time.Second)
}

// spans are those that have ended.
func (b *burn) spans() []Span {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.meta.Spans)
}

// lastSeen is what the node's units did when we last heard of them. It is kept beside
// what was fetched, for a process that finds the node gone.
type lastSeen struct {
	BootID  string
	Skew    time.Duration // node's clock minus ours
	Began   time.Time
	At      time.Time
	Units   []seenUnit
	Started bool // what keeps the machine busy was begun
}

type seenUnit struct {
	Name, Kind, State string
	Started           time.Time
	Exit              int
	Seconds           float64
}

const lastSeenFile = ".seen"

// see writes down what a poll told. Nothing is lost by a file that is a moment old.
func (r *loadRun) see(report *report) error {
	if report.ended != "" {
		return nil // what its units did before that is what counts
	}
	seen := lastSeen{BootID: r.boot, Skew: r.skew, Began: r.began, At: time.Now(), Started: slices.ContainsFunc(report.units, r.busy)}
	for _, u := range report.units {
		seen.Units = append(seen.Units, seenUnit{Name: u.name, Kind: u.kind, State: u.state, Started: u.started, Exit: u.exit, Seconds: u.seconds})
	}
	r.seen = &seen
	return r.stream.keep(lastSeenFile, seen)
}

// keep writes a small file beside what was fetched.
func (s *stream) keep(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("stream off the node: %w", err)
	}
	tmp := filepath.Join(s.dir, tmpPrefix+name)
	if err := errors.Join(os.WriteFile(tmp, raw, 0o600), os.Rename(tmp, filepath.Join(s.dir, name))); err != nil {
		return fmt.Errorf("stream off the node: %w", err)
	}
	return nil
}

// lastSeenIn is what was kept of an earlier process's polls; nil where nothing was.
func (s *stream) lastSeen() *lastSeen {
	raw, err := os.ReadFile(filepath.Join(s.dir, lastSeenFile))
	var seen lastSeen
	if err != nil || json.Unmarshal(raw, &seen) != nil {
		return nil
	}
	return &seen
}

// state is that of a unit when it was last seen; "" where it was not.
func (s *lastSeen) state(name string) string {
	for _, u := range s.Units {
		if u.Name == name {
			return u.State
		}
	}
	return ""
}

// units are those that were last seen.
func (s *lastSeen) units() []unitState {
	var out []unitState
	for _, u := range s.Units {
		out = append(out, unitState{name: u.Name, kind: u.Kind, state: u.State, started: u.Started, exit: u.Exit, seconds: u.Seconds})
	}
	return out
}

// interrupted ends a span before its time: what it has shown is kept in a folder of its
// own, and the next one can begin. A span in which nothing was loaded yet leaves nothing.
func (r *loadRun) interrupted(by SpanEnd, dead ...string) error {
	if r.seen == nil || !r.seen.Started {
		return r.Store.forget(PhaseLoad)
	}
	if err := r.finish(by, dead...); err != nil {
		return err
	}
	var keep []string
	for _, l := range r.alone {
		if e, err := r.Store.evidence(PhaseLoad, l.Name); err == nil && e != nil && e.Ended == EndedExit {
			keep = append(keep, l.Name)
		}
	}
	return r.shelve(by, keep)
}

// shelve puts the span that ended last aside. It is written down first: a process that
// dies here leaves to the next one what to do.
func (b *burn) shelve(by SpanEnd, keep []string) error {
	var span Span
	err := b.setMeta(func(m *Meta) {
		last := &m.Spans[len(m.Spans)-1]
		last.Folder, last.EndedBy = spanFolder(len(m.Spans)), by
		span = *last
	})
	if err != nil {
		return err
	}
	if len(b.spans()) >= maxSpans {
		return fmt.Errorf("the load was interrupted %d times: find out why, then begin a new attempt", maxSpans)
	}
	return errors.Join(b.Store.shelve(&span, keep), b.Store.forget(PhaseAfter))
}

// record adds the span whose evidence is stored in the phase load.
func (r *loadRun) record(by SpanEnd, dead []string) error {
	span := Span{BootID: r.boot, Started: r.began, Ended: time.Now(), EndedBy: by, Dead: dead}
	if by == SpanReboot && r.seen != nil {
		span.Ended = r.seen.At
	}
	span.Started, span.Ended = span.Started.UTC().Truncate(time.Millisecond), span.Ended.UTC().Truncate(time.Millisecond)
	for _, l := range Loads() {
		e, err := r.Store.evidence(PhaseLoad, l.Name)
		if err != nil {
			return err
		}
		if e != nil {
			span.Loads = append(span.Loads, spanTimes([]*Evidence{e}, &span)...)
		}
	}
	return r.setMeta(func(m *Meta) {
		span.Loads = withoutLost(span.Loads, m.Dropped, &span)
		if n := len(m.Spans); n > 0 && m.Spans[n-1].Folder == "" { // of a process that died here
			m.Spans = m.Spans[:n-1]
		}
		m.Spans = append(m.Spans, span)
	})
}

// salvage ends a span of which only what was fetched is left: its node is another boot,
// or its folder there is gone.
func (b *burn) salvage(by SpanEnd) error {
	stream, err := openStream(b.Store, streamID(b.Store))
	if err != nil {
		return err
	}
	seen := stream.lastSeen()
	if seen == nil {
		return b.Store.forget(PhaseLoad)
	}
	r := &loadRun{burn: b, stream: stream, boot: seen.BootID, skew: seen.Skew, began: seen.Began, seen: seen, span: b.left(), stretches: stream.stretches()}
	r.last = &report{units: seen.units()}
	for _, l := range b.Loads {
		switch {
		case seen.state(l.Name) == "":
		case l.Alone > 0:
			r.alone = append(r.alone, l)
		default:
			r.loads = append(r.loads, l)
		}
	}
	return r.interrupted(by)
}

// otherBoot puts aside what was measured under load in the boot before, and forgets the
// rest: counters begin at zero with every boot.
func (b *burn) otherBoot() error {
	b.note("the node was booted anew since the attempt began: all phases are measured again")
	from := b.Store.bootID()
	err := b.setMeta(func(m *Meta) {
		m.Restarts = append(m.Restarts, Restart{Seen: time.Now().UTC(), From: from, To: b.facts.BootID})
	})
	if err != nil {
		return err
	}
	spans := b.spans()
	switch n := len(spans); {
	case b.lastSpan().EndedBy != "" && b.Store.Has(PhaseLoad, loadsProbe):
		err = b.shelve(SpanReboot, nil)
	case streamID(b.Store) != "":
		err = b.salvage(SpanReboot)
	case n > 0 && spans[n-1].BootID == from: // it paused when it went down
		err = b.Store.shelveBefore(&spans[n-1])
	}
	return errors.Join(err, b.Store.forget(PhaseBefore, PhaseLoad, PhaseAfter))
}

// lastSpan is the last one that has ended and is not put aside; none is the zero Span.
func (b *burn) lastSpan() Span {
	if spans := b.spans(); len(spans) > 0 && spans[len(spans)-1].Folder == "" {
		return spans[len(spans)-1]
	}
	return Span{}
}

// shelveDue ends what a process that died had begun: to put a span aside.
func (b *burn) shelveDue() error {
	spans := b.spans()
	if n := len(spans); n > 0 && spans[n-1].Folder != "" && !b.Store.shelved(&spans[n-1]) {
		return b.Store.shelve(&spans[n-1], nil)
	}
	last := b.lastSpan()
	if b.Store.Has(PhaseLoad, loadsProbe) && slices.Contains([]SpanEnd{SpanDeadLoad, SpanStop, SpanDeadMan}, last.EndedBy) {
		return b.shelve(last.EndedBy, nil)
	}
	return nil
}

// gone ends a span whose folder on the node is gone: the node is another boot, or
// somebody has released it. Where the spec lets the clock go on over a restart the next
// span follows; else the phase ends with what there is, and the judge sees the restart.
func (r *loadRun) gone(ctx context.Context) error {
	facts, err := r.node.Facts(ctx, r.loadTools()...)
	if err != nil {
		return err
	}
	if facts.BootID == r.boot {
		r.note("the node lost our folder under load: somebody released it")
		return errors.Join(r.interrupted(SpanStop), ErrStopped)
	}
	r.note("the node was rebooted under load, or lost power")
	if r.seen == nil || !r.seen.Started || !goesOn(r.spans(), Span{EndedBy: SpanReboot}, r.Soak) {
		return r.finish(SpanReboot)
	}
	from := r.boot
	if err := r.interrupted(SpanReboot); err != nil {
		return err
	}
	r.facts, r.Machine.BootID = facts, facts.BootID
	err = r.setMeta(func(m *Meta) {
		m.Restarts = append(m.Restarts, Restart{Seen: time.Now().UTC(), From: from, To: facts.BootID})
	})
	return errors.Join(err, r.Store.SetMachine(r.Machine), errRebooted)
}

// died lists the loads that ended before their time, without a word of a fault: that is
// the end of a program, and no finding about a part.
func (r *loadRun) died(report *report) []string {
	var dead []string
	for _, l := range r.loads {
		s := r.now(l)
		u := unitOf(report.units, s.unit())
		if !u.over() || u.state == "exit" && u.exit == 0 || isGPU(l.Busy[0]) && len(r.lostIn(s)) > 0 {
			continue
		}
		if said, err := r.said(s.unit()); err == nil && !slices.ContainsFunc(l.Bad, func(word string) bool { return strings.Contains(said, word) }) {
			dead = append(dead, l.Name)
		}
	}
	return dead
}

// said is what was fetched of a unit's output.
func (r *loadRun) said(unit string) (string, error) {
	out, err1 := r.stream.read("units/" + unit + "/out")
	errs, err2 := r.stream.read("units/" + unit + "/err")
	return string(out) + "\n" + string(errs), errors.Join(err1, err2)
}
