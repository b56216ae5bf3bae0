package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// Without a terminal nobody must wonder whether anything goes on: the first word
// about a wait comes soon, the next ones seldom, because logs are read later.
const (
	firstWord = 5 * time.Second
	nextWord  = 20 * time.Second
)

// spelledOut is how many machines under way have a line each while they wait.
const spelledOut = 4

// lines prints one line to stderr for every change of a machine's state or step,
// and while nothing changes, one line about what is waited for.
type lines struct {
	print func(format string, args ...any)
	sel   provision.Selector
	stop  chan struct{}
	done  chan struct{}

	mu   sync.Mutex
	last map[string]string
	seen mirror
	next time.Time // of a word about waiting
	said time.Time // the latest time that stands before a line
}

func newLines(print func(string, ...any), sel provision.Selector) *lines {
	l := &lines{print: print, sel: sel, last: map[string]string{}, stop: make(chan struct{}), done: make(chan struct{}), next: time.Now().Add(firstWord)}
	go l.wait()
	return l
}

func (l *lines) event(r *provision.Run, e provision.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.follow(r, e)
	m := r.Find(e.Machine)
	if m == nil || !l.sel.Match(m) || m.Runnable() && m.Step == "" { // between its last step and its result
		return
	}
	now := string(m.State) + " " + m.Step
	if m.State != provision.StateRun || m.Late != nil {
		now += " " + m.Line()
	}
	if l.last[e.Machine] == now {
		return
	}
	l.last[e.Machine] = now
	l.next = time.Now().Add(firstWord)
	l.print("%s", strings.TrimRight(clock(l.at(e.At))+" "+pad(m.Machine.Name, 12)+" "+pad(tableStyle{}.state(m), 10)+" "+pad(m.Step, 10)+" "+fit(m.Line(), lineWidth), " "))
}

func (l *lines) close() {
	close(l.stop)
	<-l.done
}

// wait tells once in a while what is waited for.
func (l *lines) wait() {
	defer close(l.done)
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-l.stop:
			return
		case now := <-every.C:
			l.word(now)
		}
	}
}

func (l *lines) word(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run := l.seen.snapshot()
	if run == nil || now.Before(l.next) {
		return
	}
	l.next = now.Add(nextWord)
	for _, text := range waiting(run, l.sel) {
		l.print("%s %s", clock(l.at(now)), text)
	}
}

// at is the time to print for t: events come a little after they happened, and
// times never go back.
func (l *lines) at(t time.Time) time.Time {
	if t.After(l.said) {
		l.said = t
	}
	return l.said
}

// waiting says what the machines under way do: a line each where they are few, else
// one line by step, and until when, where that is known.
func waiting(r *provision.Run, sel provision.Selector) []string {
	steps := map[string][]*provision.MachineRun{}
	var all []*provision.MachineRun
	for i := range r.Machines {
		if m := &r.Machines[i]; m.Runnable() && sel.Match(m) {
			steps[m.Step] = append(steps[m.Step], m)
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if len(all) <= spelledOut {
		out := make([]string, 0, len(all))
		for _, m := range all {
			out = append(out, "under way: "+waitingIn(m.Step, []*provision.MachineRun{m}))
		}
		return out
	}
	names := make([]string, 0, len(steps))
	for s := range steps {
		names = append(names, s)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(steps[b])-len(steps[a]), cmp.Compare(a, b)) })
	parts := make([]string, 0, len(names))
	for _, s := range names {
		parts = append(parts, waitingIn(s, steps[s]))
	}
	return []string{fmt.Sprintf("%d under way: %s", len(all), strings.Join(parts, "; "))}
}

func waitingIn(step string, ms []*provision.MachineRun) string {
	last := slices.MaxFunc(ms, func(a, b *provision.MachineRun) int { return a.Until.Compare(b.Until) })
	until := ""
	if !last.Until.IsZero() {
		until = ", until " + clock(last.Until)
	}
	if step == "" {
		step = "its result"
	}
	if len(ms) > 1 {
		return fmt.Sprintf("%d in %s%s", len(ms), step, until)
	}
	text := ms[0].Machine.Name + " in " + step
	if ms[0].Why != "" {
		text += " (" + fit(ms[0].Why, lineWidth) + ")"
	}
	return text + until
}
