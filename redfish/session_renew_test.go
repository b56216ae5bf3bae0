package redfish_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestForbiddenResourceKeepsTheSession: a BMC that answers 401 for what the user may
// not read has not forgotten the session, and each login would take one more.
func TestForbiddenResourceKeepsTheSession(t *testing.T) {
	tree := small()
	refused := map[string]redfishtest.Refusal{}
	var links []string
	for _, name := range []string{"Memory", "Processors", "LogServices", "Storage"} {
		uri := "/redfish/v1/Systems/a/" + name
		links = append(links, `"`+name+`":{"@odata.id":"`+uri+`"},`)
		refused[uri] = redfishtest.Refusal{Status: http.StatusUnauthorized}
	}
	tree["/redfish/v1/Systems/a"] = []byte("{" + strings.Join(links, "") + smallSystem[1:])
	bmc := serve(t, redfishtest.Options{Tree: tree, Refused: refused})
	c, err := redfish.Open(t.Context(), config(bmc))
	if err != nil {
		t.Fatal(err)
	}
	about, loaded, _ := captureOf(t, c, redfish.CaptureOptions{})
	for uri := range refused {
		if got := loaded.Refused[uri].Status; got != http.StatusUnauthorized {
			t.Errorf("%s is captured with status %d, want its 401", uri, got)
		}
	}
	if len(about.Bodies()) == 0 {
		t.Error("nothing is captured")
	}
	_, err = c.Log(within(t, time.Minute), time.Time{})
	if err == nil || !strings.Contains(err.Error(), "401 Unauthorized") || errors.Is(err, redfish.ErrAuth) {
		t.Errorf("log: %v, want the 401 of the resource, and not that the login is refused", err)
	}
	if n := bmc.Acts()["session.create"]; n != 1 || bmc.OpenSessions() != 1 {
		t.Errorf("%d logins, %d sessions are open; want one", n, bmc.OpenSessions())
	}
	if err := c.Close(); err != nil || bmc.OpenSessions() != 0 {
		t.Errorf("%d sessions stay, %v", bmc.OpenSessions(), err)
	}
}

// TestRenewalClosesTheOldSession: a BMC may forget a token and keep its session. It is
// closed with the new one, unless its id is another's by now.
func TestRenewalClosesTheOldSession(t *testing.T) {
	for _, c := range []struct {
		name string
		old  string // the old session as the BMC shows it; "" as it is
		open int
	}{
		{"kept by the BMC", "", 1},
		{"a colleague's by now", `{"UserName":"` + user + `","CreatedTime":"2024-01-01T00:00:00Z"}`, 2},
		{"nothing to know it by", `{"UserName":"` + user + `"}`, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: small()})
			const old = "/redfish/v1/SessionService/Sessions/1"
			var first, forgotten atomic.Value // tokens
			client := openAt(t, front(t, bmc, func(w http.ResponseWriter, r *http.Request) bool {
				token := r.Header.Get("X-Auth-Token")
				switch {
				case token != "" && token == forgotten.Load():
					answer(w, http.StatusUnauthorized, `{}`)
					return true
				case c.old != "" && r.Method == http.MethodGet && r.URL.Path == old && forgotten.Load() != nil:
					answer(w, http.StatusOK, c.old)
					return true
				case token != "":
					first.CompareAndSwap(nil, token)
				}
				return false
			}))
			forgotten.Store(first.Load())
			if state, err := client.Power(within(t, time.Minute)); err != nil || state != redfish.On {
				t.Errorf("power %s, %v", state, err)
			}
			if n := bmc.OpenSessions(); n != c.open || bmc.Acts()["session.create"] != 2 {
				t.Errorf("%d sessions are open after %v, want %d", n, bmc.Acts(), c.open)
			}
		})
	}
}
