package redfish_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestExpiryCutShort: a BMC ends a session with 401 and a chunked page of HTML that
// breaks off (check_redfish #90). That is a session to renew, not a lost answer: of an
// act the effect would count as unknown, and a read would be asked once more for nothing.
func TestExpiryCutShort(t *testing.T) {
	client, bmc := start(t, "supermicro", "session-expires-cut*1")
	before := bmc.Requests()["GET "+client.System()]
	if state, err := client.Power(within(t, time.Minute)); err != nil || state != redfish.On {
		t.Errorf("read: power %s, %v", state, err)
	}
	if n := bmc.Acts()["session.create"]; n != 2 {
		t.Errorf("%d logins after the read, want the first and one more", n)
	}
	if n := bmc.Requests()["GET "+client.System()] - before; n != 2 {
		t.Errorf("the system was asked for %d times, want twice", n)
	}
}

// TestExpiryCutShortOfAnAct: the act was refused, so it is sent again with the new session.
func TestExpiryCutShortOfAnAct(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: captured(t, "supermicro")})
	expired := false
	client := openAt(t, front(t, bmc, func(w http.ResponseWriter, r *http.Request) bool {
		if expired || r.Method != http.MethodPatch {
			return false
		}
		expired = true
		bmc.ExpireSessions()
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "<html>")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	err := client.SetLocator(within(t, time.Minute), true)
	if err != nil || !expired || bmc.Acts()["session.create"] != 2 || !bmc.State().Locator {
		t.Errorf("%v, acts %v", err, bmc.Acts())
	}
}

// TestLoginForbidden: a BMC whose password is due for change answers a login 403 and
// HTML (libredfish), which names no cause. It is told as a refusal with what may be
// behind it, and the same password is not sent again: BMCs lock.
func TestLoginForbidden(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small(), Faults: []string{"login-forbidden"}})
	cfg := config(bmc)
	cfg.Refusals = new(remembered)
	for range 3 {
		_, err := redfish.Open(t.Context(), cfg)
		if !errors.Is(err, redfish.ErrAuth) {
			t.Fatalf("%v, want ErrAuth", err)
		}
		if bmc.Unauthorized() != 1 {
			t.Fatalf("%d refused logins, want one", bmc.Unauthorized())
		}
	}
	_, err := redfish.Open(t.Context(), config(bmc))
	if err == nil || !strings.Contains(err.Error(), "due for change") {
		t.Errorf("%v, want what may be behind it", err)
	}
}

// TestBasicForbidden: the same of a BMC without sessions.
func TestBasicForbidden(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	basics := 0
	cfg := front(t, bmc, func(w http.ResponseWriter, r *http.Request) bool {
		_, _, basic := r.BasicAuth()
		switch {
		case r.Method == http.MethodPost:
			answer(w, http.StatusNotFound, `{}`)
		case basic:
			basics++
			answer(w, http.StatusForbidden, `<html>403</html>`)
		default:
			return false
		}
		return true
	})
	cfg.Refusals = new(remembered)
	for range 2 {
		if _, err := redfish.Open(t.Context(), cfg); !errors.Is(err, redfish.ErrAuth) || basics != 1 {
			t.Errorf("%v after %d logins, want ErrAuth after one", err, basics)
		}
	}
}
