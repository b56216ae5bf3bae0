package shell

import (
	"context"
	"fmt"

	"github.com/rackproof/rackproof/burnin"
)

// Replay is a burnin.Shell that answers from a record: a command gives the output
// that it gave then. A command that was not recorded ends as no_tool. It is for
// trying a collector against a machine that is no longer there.
type Replay struct {
	Record *burnin.Record
	Phase  burnin.Phase // whose evidence answers
}

var _ burnin.Shell = Replay{}

// Close does nothing.
func (Replay) Close() error { return nil }

// Run implements burnin.Shell.
func (r Replay) Run(ctx context.Context, c burnin.Command) (burnin.Output, error) {
	if err := ctx.Err(); err != nil {
		return burnin.Output{Ended: burnin.EndedLost}, fmt.Errorf("replay: %w", err)
	}
	for _, e := range r.Record.Evidence {
		if e.Phase == r.Phase && (e.Command == c.Line || burnin.Wrap(e.Command) == c.Line) {
			return burnin.Output{Out: e.Out, Err: e.Err, Exit: e.Exit, Ended: e.Ended, Started: e.Started, Seconds: e.Seconds}, nil
		}
	}
	return burnin.Output{Ended: burnin.EndedNoTool}, nil
}
