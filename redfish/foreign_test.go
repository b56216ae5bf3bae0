package redfish_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// foreign is a BMC that keeps to the letter of HTTP and Redfish in other ways than
// redfishtest does.
type foreign struct {
	*httptest.Server
	noSessions bool              // no session service: Basic alone
	headers    map[string]string // of a login's answer
	body       string            // of a login's answer
	hangUp     bool              // drops a connection behind each answer without telling
	redirect   int               // status with which requests to the sessions are sent on to their slash
	redirectTo string            // before the path of a redirect
	late       int               // reads until an accepted override shows

	mu       sync.Mutex
	sessions int
	logins   int
	refused  int
	override string
}

// dialTo is a dialer that always comes to addr.
func dialTo(addr string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
}

const foreignPassword = "right horse"

func newForeign(t *testing.T, f *foreign) redfish.Config {
	t.Helper()
	f.override = "None"
	f.Server = httptest.NewTLSServer(f)
	t.Cleanup(f.Close)
	return redfish.Config{
		Addr: f.Listener.Addr().String(), User: "admin", Password: foreignPassword,
		TLS: redfish.TLS{Mode: redfish.Insecure}, Poll: time.Millisecond, Timeout: 5 * time.Second,
	}
}

func (f *foreign) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.hangUp {
		defer func() {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	const sessions = "/redfish/v1/SessionService/Sessions"
	path := strings.TrimRight(r.URL.Path, "/")
	if f.redirect > 0 && r.URL.Path == sessions {
		w.Header().Set("Location", f.redirectTo+sessions+"/")
		w.WriteHeader(f.redirect)
		return
	}
	switch {
	case path == "/redfish/v1":
		answer(w, http.StatusOK, `{"Systems":{"@odata.id":"/redfish/v1/Systems"}}`)
	case path == sessions && r.Method == http.MethodPost:
		f.login(w, r)
	case !f.known(r):
		answer(w, http.StatusUnauthorized, `<html>who are you</html>`)
	case path == sessions+"/s1" && r.Method == http.MethodDelete:
		f.sessions--
		w.WriteHeader(http.StatusNoContent)
	case path == "/redfish/v1/Systems":
		answer(w, http.StatusOK, `{"Members":[{"@odata.id":"/redfish/v1/Systems/a"}]}`)
	case path == "/redfish/v1/Systems/a" && r.Method == http.MethodPatch:
		f.override = "Pxe"
		answer(w, http.StatusAccepted, `{"@odata.id":"/redfish/v1/TaskService/Tasks/7","TaskState":"Pending"}`)
	case path == "/redfish/v1/Systems/a":
		shown := f.override
		if shown == "Pxe" && f.late > 0 {
			f.late--
			shown = "None"
		}
		enabled := map[bool]string{true: "Disabled", false: "Once"}[shown == "None"]
		answer(w, http.StatusOK, fmt.Sprintf(`{"PowerState":"On","Boot":{"BootSourceOverrideTarget":%q,"BootSourceOverrideEnabled":%q}}`, shown, enabled))
	default:
		answer(w, http.StatusNotFound, `{}`)
	}
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (f *foreign) known(r *http.Request) bool {
	user, password, basic := r.BasicAuth()
	if !basic {
		return r.Header.Get("X-Auth-Token") == "t-1" && f.sessions > 0
	}
	if user == "admin" && password == foreignPassword {
		return true
	}
	f.refused++
	return false
}

func (f *foreign) login(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.logins++
	switch {
	case f.noSessions:
		answer(w, http.StatusNotFound, `{}`)
	case !strings.Contains(string(body), foreignPassword):
		f.refused++
		answer(w, http.StatusUnauthorized, `<html>no</html>`)
	default:
		f.sessions++
		for k, v := range f.headers {
			w.Header().Set(k, v)
		}
		answer(w, http.StatusCreated, f.body)
	}
}

// TestForeignLogin: whatever shape a login's answer has, the session is found
// again and closed.
func TestForeignLogin(t *testing.T) {
	const uri = "/redfish/v1/SessionService/Sessions/s1"
	token := map[string]string{"X-Auth-Token": "t-1"}
	for _, c := range []struct {
		name string
		bmc  *foreign
	}{
		{"location", &foreign{headers: map[string]string{"x-auth-token": "t-1", "location": uri}}},
		{"absolute location", &foreign{headers: map[string]string{"X-Auth-Token": "t-1", "Location": "https://bmc.example" + uri + "/"}}},
		{"last part alone", &foreign{headers: map[string]string{"X-Auth-Token": "t-1", "Location": "s1"}}},
		{"body", &foreign{headers: token, body: `{"@odata.id":"` + uri + `"}`}},
		{"id alone", &foreign{headers: token, body: `{"Id":"s1"}`}},
		{"no token", &foreign{headers: map[string]string{"Location": uri}}},
		{"no sessions", &foreign{noSessions: true}},
		{"redirect", &foreign{redirect: http.StatusPermanentRedirect, headers: map[string]string{"X-Auth-Token": "t-1", "Location": uri}}},
		{"drops connections", &foreign{hangUp: true, headers: map[string]string{"X-Auth-Token": "t-1", "Location": uri}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := redfish.Open(t.Context(), newForeign(t, c.bmc))
			if err != nil {
				t.Fatal(err)
			}
			if state, err := client.Power(t.Context()); state != redfish.On || err != nil {
				t.Errorf("power %s, %v", state, err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			if c.bmc.sessions != 0 || c.bmc.logins != 1 || c.bmc.refused != 0 {
				t.Errorf("%d sessions open, %d logins, %d refused; want 0, 1, 0", c.bmc.sessions, c.bmc.logins, c.bmc.refused)
			}
		})
	}
}

// TestForeignRefusal: without sessions a wrong password is told as such, and not
// as a lack of sessions that one waits for and asks again.
func TestForeignRefusal(t *testing.T) {
	bmc := foreign{noSessions: true}
	cfg := newForeign(t, &bmc)
	cfg.Password = "wrong horse"
	_, err := redfish.Open(t.Context(), cfg)
	if !errors.Is(err, redfish.ErrAuth) || errors.Is(err, redfish.ErrSessionLimit) {
		t.Errorf("error %v, want ErrAuth alone", err)
	}
	if bmc.refused != 1 {
		t.Errorf("%d refused logins, want 1", bmc.refused)
	}
}

// remembered is a RefusalStore of one password.
type remembered string

func (r *remembered) Refused(_, _, password string) (time.Time, bool) {
	return time.Now().Add(time.Minute), string(*r) == password
}

func (r *remembered) Refuse(_, _, password string) error {
	*r = remembered(password)
	return nil
}

// TestRefusalRemembered: a refused password is not sent a second time, a corrected
// one is.
func TestRefusalRemembered(t *testing.T) {
	bmc := foreign{headers: map[string]string{"X-Auth-Token": "t-1"}, body: `{"Id":"s1"}`}
	cfg := newForeign(t, &bmc)
	cfg.Refusals = new(remembered)
	cfg.Password = "wrong horse"
	for range 3 {
		if _, err := redfish.Open(t.Context(), cfg); !errors.Is(err, redfish.ErrAuth) {
			t.Fatalf("error %v, want ErrAuth", err)
		}
	}
	if bmc.logins != 1 {
		t.Errorf("%d logins with the wrong password, want 1", bmc.logins)
	}
	cfg.Password = foreignPassword
	client, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
}

// TestForeignLateOverride: 202 says that the BMC is still at it.
func TestForeignLateOverride(t *testing.T) {
	for _, c := range []struct {
		late int
		ok   bool
	}{{0, true}, {3, true}, {100, false}} {
		bmc := foreign{late: c.late, headers: map[string]string{"X-Auth-Token": "t-1"}, body: `{"Id":"s1"}`}
		client, err := redfish.Open(t.Context(), newForeign(t, &bmc))
		if err != nil {
			t.Fatal(err)
		}
		if err := client.SetBoot(t.Context(), redfish.Boot{Target: "Pxe"}); (err == nil) != c.ok {
			t.Errorf("shown after %d reads: %v", c.late, err)
		}
		_ = client.Close()
	}
}
