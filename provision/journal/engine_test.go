package journal

import (
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/enginetest"
)

func TestEngine(t *testing.T) {
	enginetest.Run(t, func(t testing.TB, state string, w provision.Worker, h enginetest.Hooks) enginetest.Engine {
		t.Helper()
		e, err := Open(t.Context(), state, Options{Worker: w, Before: h.Before, After: h.After, Backoff: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return e
	})
}
