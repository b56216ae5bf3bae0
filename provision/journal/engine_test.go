package journal

import (
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/enginetest"
)

func TestEngine(t *testing.T) {
	enginetest.Run(t, func(tb testing.TB, state string, w provision.Worker, h enginetest.Hooks) enginetest.Engine {
		tb.Helper()
		e, err := Open(tb.Context(), state, Options{Worker: w, Before: h.Before, After: h.After, Backoff: time.Millisecond})
		if err != nil {
			tb.Fatal(err)
		}
		return e
	})
}
