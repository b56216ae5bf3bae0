package provision

import (
	"context"
	"runtime"
)

// desk is where the machines of a run are judged, in the order in which they come and as
// many at once as there are processors: it keeps one busy, and all that was measured of a
// machine in memory. A hall whose loads end at the same time would need a hundred times
// that, and no machine would go on before the last is judged.
type desk chan struct{}

func newDesk() desk { return make(desk, runtime.GOMAXPROCS(0)) }

// judging does f at the run's desk.
func (e *Env) judging(ctx context.Context, f func() error) error {
	if e.desk == nil {
		return f()
	}
	select {
	case e.desk <- struct{}{}:
		defer func() { <-e.desk }()
		return f()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
