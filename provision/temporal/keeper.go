package temporal

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/rackproof/rackproof/provision"
)

// keeper is what the workflows "run" and "machine" have in common: the book of what
// they were told, and how it goes over into a new history.
type keeper struct {
	start start
	book  book
	words workflow.ReceiveChannel
	heed  func(word) // is told of every word that counts
}

func newKeeper(ctx workflow.Context, s start, heed func(word)) *keeper {
	k := &keeper{start: s, words: workflow.GetSignalChannel(ctx, wordSignal), heed: heed}
	for _, w := range k.book.begin(s) {
		heed(w)
	}
	return k
}

func (k *keeper) take(ctx workflow.Context, w word) {
	if w, ok := k.book.add(w, workflow.Now(ctx)); ok {
		k.heed(w)
	}
}

// receive waits for one word.
func (k *keeper) receive(ctx workflow.Context) {
	var w word
	k.words.Receive(ctx, &w)
	k.take(ctx, w)
}

// drain takes all words that are there.
func (k *keeper) drain(ctx workflow.Context) {
	var w word
	for k.words.ReceiveAsync(&w) {
		k.take(ctx, w)
		w = word{}
	}
}

// full reports a history that should end. Only its end finds nothing under way.
func full(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// anew is what the next history begins with.
func (k *keeper) anew() start {
	s := k.start
	s.Words, s.Said, s.Claim = k.book.carried(), k.book.said, k.book.claim
	return s
}

// runWorkflow keeps what was said of a run as a whole.
func runWorkflow(ctx workflow.Context, s start) error {
	k := newKeeper(ctx, s, func(word) {})
	for !full(ctx) {
		k.receive(ctx)
		k.drain(ctx)
	}
	k.drain(ctx)
	return workflow.NewContinueAsNewError(ctx, runType, k.anew())
}

// reduced is a word of the run as one of its machines is told it: of the batch, only
// that machine.
func reduced(ev provision.Event, machine string) (provision.Event, error) {
	if ev.Kind != provision.Submitted && ev.Kind != provision.Edited {
		return ev, nil
	}
	sub, err := submissionOf(ev)
	if err != nil {
		return ev, err
	}
	b := *sub.Batch
	b.Resolved = nil
	b.Machines = slices.DeleteFunc(slices.Clone(b.Machines), func(m provision.Machine) bool { return m.Name != machine })
	sub.Batch = &b
	return provision.NewEvent(ev.Run, "", ev.Kind, sub)
}
