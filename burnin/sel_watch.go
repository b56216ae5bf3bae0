package burnin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// eventWatch are the entries of an attempt, and those that were there before it.
type eventWatch struct {
	refs    []string
	fresh   []LogEvent // in the order in which they happened
	earlier []LogEvent
	open    error // why silence proves nothing, or nil
	lone    bool  // one reading alone: what is older is not known
}

// nearStart is how far an entry may be stamped before the first reading and still be
// of the test, where that reading was not whole: clocks are set in between.
const nearStart = 10 * time.Minute

// watchEvents tells what is new by comparing the log at the end with that at the
// beginning, entry by entry: that needs no clock, and holds for entries without a
// time.
func watchEvents(r *Readings) *eventWatch {
	w := &eventWatch{}
	first := Read(r, BMCSEL, PhaseBMC)
	later := phaseReadings(r, BMCSEL)
	if first.Evidence != nil {
		w.refs = append(w.refs, first.Ref)
	}
	for _, reading := range later {
		if reading.Evidence != nil {
			w.refs = append(w.refs, reading.Ref)
		}
	}
	if r.Coverage() == CoverPartial && len(w.refs) == 1 {
		w.alone(first, later)
		return w
	}
	switch {
	case len(later) == 0:
		w.open = fmt.Errorf("bmc-sel: %w after the load", ErrNotRun)
	case !first.OK():
		w.open = fmt.Errorf("what the log held before the test is not known: %w", first.Err)
	}
	if first.OK() {
		w.earlier = first.Value.Entries
		if first.Value.Full {
			w.open = errors.Join(w.open, errors.New("the BMC's log was full when the test began: it takes no more entries"))
		}
	}
	for _, reading := range later {
		if !reading.OK() {
			w.open = errors.Join(w.open, reading.Err)
			continue
		}
		w.take(r, first, reading.Value)
	}
	return w
}

// alone takes the one log that was given.
func (w *eventWatch) alone(first Reading[EventLog], later []Reading[EventLog]) {
	w.lone = true
	if len(later) > 0 {
		first = later[0]
	}
	w.fresh, w.open = inOrder(first.Value.Entries), errors.Join(first.Err, first.Value.Missing)
	if first.Value.Full {
		w.open = errors.Join(w.open, errors.New("the BMC's log is full: it takes no more entries"))
	}
}

// take adds what a later reading has beyond the first.
func (w *eventWatch) take(r *Readings, first Reading[EventLog], log EventLog) {
	w.open = errors.Join(w.open, log.Missing)
	if log.Full {
		w.open = errors.Join(w.open, errors.New("the BMC's log is full: it takes no more entries"))
	}
	known := map[string]bool{}
	for _, e := range slices.Concat(first.Value.Entries, w.fresh) {
		known[e.key()] = true
	}
	start := w.start(r, first, log)
	here := map[string]bool{}
	for _, e := range log.Entries {
		here[e.key()] = true
		switch {
		case known[e.key()]:
		case !first.OK() && e.Time.IsZero(): // it may be of any time, and nobody is blamed for it
			w.earlier = append(w.earlier, e)
		case !e.Time.IsZero() && !start.IsZero() && e.Time.Before(start):
			w.earlier = append(w.earlier, e)
		default:
			w.fresh = append(w.fresh, e)
		}
	}
	w.fresh = inOrder(w.fresh)
	if newest, ok := newestOf(first.Value.Entries); ok && newest.Time.After(log.Note.Since) && !here[newest.key()] {
		w.open = errors.Join(w.open, fmt.Errorf("the newest entry of before the test is gone, so the log was cleared: %s", newest))
	}
}

// newestOf is the entry with the latest time.
func newestOf(events []LogEvent) (newest LogEvent, ok bool) {
	for _, e := range events {
		if !e.Time.IsZero() && !e.Time.Before(newest.Time) {
			newest, ok = e, true
		}
	}
	return newest, ok
}

// start is the moment by the BMC's clock before which an entry that the first
// reading does not have is older all the same. It is zero where the first reading was
// whole: then nothing unknown is older.
func (w *eventWatch) start(r *Readings, first Reading[EventLog], log EventLog) time.Time {
	if first.OK() && first.Value.Missing == nil {
		return time.Time{}
	}
	if first.OK() && !first.Value.Note.Clock.IsZero() {
		return first.Value.Note.Clock.Add(-nearStart)
	}
	if log.Note.Skew == nil {
		return time.Time{}
	}
	return r.rec.Meta.Started.Add(time.Duration(*log.Note.Skew * float64(time.Second)))
}

// inOrder sorts entries as they happened: by time where both have one, else by
// number; BMCs list the newest first or last.
func inOrder(events []LogEvent) []LogEvent {
	slices.SortStableFunc(events, func(a, b LogEvent) int {
		if !a.Time.IsZero() && !b.Time.IsZero() && !a.Time.Equal(b.Time) {
			return a.Time.Compare(b.Time)
		}
		x, err1 := strconv.ParseUint(strings.TrimPrefix(a.ID, "0x"), 16, 64)
		y, err2 := strconv.ParseUint(strings.TrimPrefix(b.ID, "0x"), 16, 64)
		if err1 != nil || err2 != nil || a.Log != b.Log {
			return 0
		}
		return cmp.Compare(x, y)
	})
	return events
}
