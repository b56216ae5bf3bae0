package temporal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rackproof/rackproof/provision"
)

// ledger is a run as this process has read it: the books of its workflows, merged.
// Seq is the place in the merged order, which is that of this Engine: another one may
// put events of two machines the other way round, never those of one machine, and
// never what was said of the run before what a machine did about it.
type ledger struct {
	id    provision.RunID
	names names

	mu       sync.Mutex
	bell     chan struct{} // closed and renewed with every event
	run      *shelf
	machines map[string]*shelf
	order    []string // of machines, as the batches named them
	merged   []provision.Event
	told     map[string]bool // words of the run that are merged
}

// shelf is the book of one workflow, and how far it is merged.
type shelf struct {
	workflow string
	machine  string
	book     book
	next     int // of book.words, not merged yet
	seen     mark
	sent     map[string]bool // words of the run that we have told it
}

// mark is how far a history was read.
type mark struct {
	run    string
	length int64
}

func (e *Engine) ledger(id provision.RunID) *ledger {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.runs[id]
	if l == nil {
		l = &ledger{
			id: id, names: e.names, bell: make(chan struct{}), run: &shelf{workflow: e.names.run(id)},
			machines: map[string]*shelf{}, told: map[string]bool{},
		}
		e.runs[id] = l
	}
	return l
}

// readers is how many histories are read at once.
const readers = 16

// load reads what is new of a run.
func (e *Engine) load(ctx context.Context, id provision.RunID) (*ledger, error) {
	l := e.ledger(id)
	if err := e.read(ctx, l, l.run); notFound(err) {
		return nil, fmt.Errorf("there is no run %s; `rackproof status --engine temporal` lists them", id)
	} else if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for _, s := range l.shelves() {
		g.Go(func() error {
			if err := e.read(gctx, l, s); err != nil && !notFound(err) { // it is not told yet
				return fmt.Errorf("run %s, machine %s: %w", id, s.machine, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	l.merge()
	return l, nil
}

// shelves are those of the machines.
func (l *ledger) shelves() []*shelf {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*shelf, 0, len(l.order))
	for _, name := range l.order {
		out = append(out, l.machines[name])
	}
	return out
}

// put takes words of one workflow's history, the first of them being number n.
func (l *ledger) put(s *shelf, from *start, said []stamped) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	if from != nil {
		s.book.begin(*from)
		n = from.Said
	}
	for _, w := range said {
		if n++; n > s.book.said {
			s.book.add(w.word, w.at)
		}
	}
	if s == l.run {
		l.meet()
	}
}

// meet makes room for the machines that the run's batches name.
func (l *ledger) meet() {
	l.meetIn(l.run.book.words)
}

func (l *ledger) meetIn(words []word) {
	for _, w := range words {
		sub, err := submissionOf(w.Event)
		if err != nil || sub.Batch == nil {
			continue
		}
		for _, m := range sub.Batch.Machines {
			if l.machines[m.Name] == nil {
				l.machines[m.Name] = &shelf{workflow: l.names.machine(l.id, m.Name), machine: m.Name}
				l.order = append(l.order, m.Name)
			}
		}
	}
}

// said is what was said of the run, with what was just said of it.
func (l *ledger) said(just []word) []word {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.run.book.words)
	for _, w := range just {
		if !l.run.book.heard[w.ID] {
			all = append(all, w)
		}
	}
	l.meetIn(all)
	return all
}

func submissionOf(ev provision.Event) (s provision.Submission, err error) {
	if ev.Kind != provision.Submitted && ev.Kind != provision.Edited {
		return s, nil
	}
	err = json.Unmarshal(ev.Data, &s)
	return s, err
}

// merge puts what is new behind what is merged. Before a word of the run come the
// events that its machines had when they were told it.
func (l *ledger) merge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.merged)
	for ; l.run.next < len(l.run.book.words); l.run.next++ {
		w := l.run.book.words[l.run.next]
		l.mergeMachines(func(s *shelf) int {
			return slices.IndexFunc(s.book.words, func(o word) bool { return o.Copy && o.ID == w.ID })
		})
		l.told[w.ID] = true
		l.emit(w)
	}
	l.mergeMachines(func(s *shelf) int {
		i := slices.IndexFunc(s.book.words, func(o word) bool { return o.Copy && !l.told[o.ID] })
		if i < 0 {
			return len(s.book.words)
		}
		return i
	})
	if len(l.merged) > before {
		close(l.bell)
		l.bell = make(chan struct{})
	}
}

// mergeMachines emits of each machine what stands before end, by the server's time.
func (l *ledger) mergeMachines(end func(*shelf) int) {
	var batch []word
	for _, name := range l.order {
		s := l.machines[name]
		for n := end(s); s.next < n; s.next++ {
			if w := s.book.words[s.next]; !w.Copy {
				batch = append(batch, w)
			}
		}
	}
	slices.SortStableFunc(batch, func(a, b word) int {
		if a.Event.Machine == b.Event.Machine {
			return cmp.Compare(a.n, b.n)
		}
		return a.at.Compare(b.at)
	})
	for _, w := range batch {
		l.emit(w)
	}
}

func (l *ledger) emit(w word) {
	ev := w.Event
	ev.Seq = provision.Seq(len(l.merged) + 1)
	l.merged = append(l.merged, ev)
}

// after gives the merged events behind seq.
func (l *ledger) after(seq provision.Seq) []provision.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.merged[min(max(int(seq), 0), len(l.merged)):])
}

// ring is closed with the next event.
func (l *ledger) ring() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bell
}

// knows reports whether a machine was told a word of the run.
func (l *ledger) knows(s *shelf, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.book.heard[id] || s.sent[id]
}

func (l *ledger) tell(s *shelf, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.sent == nil {
		s.sent = map[string]bool{}
	}
	s.sent[id] = true
}

// heard reports whether the word is in the workflow's history.
func (l *ledger) heard(s *shelf, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.book.heard[id]
}
