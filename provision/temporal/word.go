package temporal

import (
	"time"

	"github.com/rackproof/rackproof/provision"
)

// wireVersion is that of what workflows are started with and told.
const wireVersion = 1

// word is one thing said to a workflow: an event, or only a claim.
type word struct {
	ID    string          `json:"id,omitempty"`   // of what a person or an engine says
	Copy  bool            `json:"copy,omitempty"` // said of the run, and to each of its machines too
	Claim claim           `json:"claim,omitzero"` // of the worker that says it
	Event provision.Event `json:"event,omitzero"`

	n  int       // place in its workflow
	at time.Time // by the server
}

// claim is the right of one try of the activity to speak for a machine. A later one
// ends it: a worker that was given up and still lives is not heard any more.
type claim struct {
	Turn    int `json:"turn"`    // of the machine's workflow, from 1
	Attempt int `json:"attempt"` // of the activity, from 1
}

func (c claim) before(o claim) bool {
	return c.Turn < o.Turn || c.Turn == o.Turn && c.Attempt < o.Attempt
}

// start is what the workflows "run" and "machine" begin with, or go on with in a new
// history.
type start struct {
	Version int             `json:"version"`
	Run     provision.RunID `json:"run"`
	Machine string          `json:"machine,omitempty"`
	Names   names           `json:"names"`
	Times   times           `json:"times"`

	// Of the history before, if there is one.
	Words []kept `json:"words,omitempty"`
	Said  int    `json:"said,omitempty"` // words before, kept or not
	Claim claim  `json:"claim,omitzero"`
	Turn  int    `json:"turn,omitempty"`
	Wants int    `json:"wants,omitempty"`
	Held  bool   `json:"held,omitempty"` // the limiter may hold leases for it
}

// kept is a word in its place.
type kept struct {
	N    int       `json:"n"`
	At   time.Time `json:"at"`
	Word word      `json:"word"`
}

// times are how long things take, as data, so that workflows of one version agree.
type times struct {
	Heartbeat time.Duration `json:"heartbeat"` // silence after which a worker is given up
	Backoff   time.Duration `json:"backoff"`   // before the second try of a step, doubling
	Retry     time.Duration `json:"retry"`     // before a step goes to another worker
	Lease     time.Duration `json:"lease"`     // for which the limiter grants
}

// book is what was said to one workflow, in order. The workflow and everybody who
// reads its history keep it by the same rules.
type book struct {
	words []word
	said  int
	claim claim
	heard map[string]bool // IDs
}

// begin takes what a history begins with; words that the book has are passed over.
func (b *book) begin(s start) []word {
	var fresh []word
	for _, k := range s.Words {
		if k.N <= b.said {
			continue
		}
		w := k.Word
		w.n, w.at = k.N, k.At
		b.keep(w)
		fresh = append(fresh, w)
	}
	if s.Said > b.said {
		b.said = s.Said
	}
	if b.claim.before(s.Claim) {
		b.claim = s.Claim
	}
	return fresh
}

// add takes the next word. It is false where the word counts for nothing: a claim
// only, said before, or by a worker that was given up.
func (b *book) add(w word, at time.Time) (word, bool) {
	b.said++
	w.n, w.at = b.said, at
	if w.Claim != (claim{}) {
		if w.Claim.before(b.claim) {
			return w, false
		}
		b.claim = w.Claim
	}
	if w.Event.Kind == "" || w.ID != "" && b.heard[w.ID] {
		return w, false
	}
	b.keep(w)
	return w, true
}

func (b *book) keep(w word) {
	if b.heard == nil {
		b.heard = map[string]bool{}
	}
	if w.ID != "" {
		b.heard[w.ID] = true
	}
	b.words = append(b.words, w)
}

// carried are the words that go over into a new history: progress that is past is of
// no use there.
func (b *book) carried() []kept {
	out := make([]kept, 0, len(b.words))
	for i, w := range b.words {
		if w.Event.Kind == provision.Progressed && i < len(b.words)-1 {
			continue
		}
		out = append(out, kept{N: w.n, At: w.at, Word: w})
	}
	return out
}

// event is the word's event, numbered within its workflow.
func (w word) event() provision.Event {
	ev := w.Event
	ev.Seq = provision.Seq(w.n)
	return ev
}
