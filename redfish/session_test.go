package redfish_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// small is a machine of our own: enough to log in, switch and boot.
func small() redfishtest.Tree {
	return redfishtest.Tree{
		"/redfish/v1":                         []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"},"Links":{"Sessions":{"@odata.id":"/redfish/v1/SessionService/Sessions"}}}`),
		"/redfish/v1/SessionService":          []byte(`{"Sessions":{"@odata.id":"/redfish/v1/SessionService/Sessions"}}`),
		"/redfish/v1/SessionService/Sessions": []byte(`{"Members":[]}`),
		"/redfish/v1/Systems":                 []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"}]}`),
		"/redfish/v1/Systems/a":               []byte(smallSystem),
	}
}

const smallSystem = `{"Id":"a","@odata.id":"/redfish/v1/Systems/a","PowerState":"On","IndicatorLED":"Off",
	"Boot":{"BootSourceOverrideTarget":"None","BootSourceOverrideEnabled":"Disabled","BootSourceOverrideMode":"UEFI","HttpBootUri":null},
	"Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/a/Actions/ComputerSystem.Reset","ResetType@Redfish.AllowableValues":["On","ForceOff","GracefulShutdown"]}}}`

func TestOneSessionAndClosed(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	c, err := redfish.Open(t.Context(), config(bmc))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Power(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if acts := bmc.Acts(); acts["session.create"] != 1 || acts["session.delete"] != 1 {
		t.Errorf("sessions: %v, want one created and deleted", acts)
	}
	if got := c.Fingerprint(); got != bmc.CertSHA256() {
		t.Errorf("fingerprint %s, want %s", got, bmc.CertSHA256())
	}
}

func TestSessionClosedAfterCancellation(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	ctx, cancel := context.WithCancel(t.Context())
	c, err := redfish.Open(ctx, config(bmc))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := c.Power(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("power after cancel: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if acts := bmc.Acts(); acts["session.delete"] != 1 {
		t.Errorf("acts %v: the session was left open", acts)
	}
}

// TestSessionClosedWhenOpenFails: a refusal to choose a system comes after the
// login.
func TestSessionClosedWhenOpenFails(t *testing.T) {
	tree := small()
	tree["/redfish/v1/Systems"] = []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"},{"@odata.id":"/redfish/v1/Systems/b"}]}`)
	tree["/redfish/v1/Systems/b"] = []byte(strings.ReplaceAll(smallSystem, "Systems/a", "Systems/b"))
	bmc := serve(t, redfishtest.Options{Tree: tree})
	cfg := config(bmc)
	_, err := redfish.Open(t.Context(), cfg)
	if !errors.Is(err, redfish.ErrAmbiguousSystem) || !strings.Contains(err.Error(), "a, b") {
		t.Errorf("two hosts: %v, want a refusal that names both", err)
	}
	if acts := bmc.Acts(); acts["session.create"] != acts["session.delete"] || acts["session.create"] != 1 {
		t.Errorf("acts %v: the session was left open", acts)
	}
	cfg.System = "b"
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.System() != "/redfish/v1/Systems/b" {
		t.Errorf("system %s, want the named one", c.System())
	}
}

func TestHostSystemIsNeverTheBaseboard(t *testing.T) {
	tree := small()
	board := `{"Id":"HGX_Baseboard_0","PowerState":"On","Bios":{"@odata.id":"/b"}}`
	tree["/redfish/v1/Systems"] = []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/HGX_Baseboard_0"},{"@odata.id":"/redfish/v1/Systems/a"}]}`)
	tree["/redfish/v1/Systems/HGX_Baseboard_0"] = []byte(board)
	bmc := serve(t, redfishtest.Options{Tree: tree})
	if c := open(t, bmc); c.System() != "/redfish/v1/Systems/a" {
		t.Errorf("system %s, want the host", c.System())
	}
	cfg := config(bmc)
	cfg.System = "HGX_Baseboard_0"
	if _, err := redfish.Open(t.Context(), cfg); !errors.Is(err, redfish.ErrAmbiguousSystem) {
		t.Errorf("the baseboard by name: %v, want a refusal", err)
	}
}

func TestWrongPasswordIsTriedOnce(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	cfg := config(bmc)
	cfg.Password = "wr0ng-passw0rd"
	_, err := redfish.Open(t.Context(), cfg)
	if !errors.Is(err, redfish.ErrAuth) || !strings.Contains(err.Error(), "0/O") {
		t.Errorf("error %v, want ErrAuth with advice", err)
	}
	if strings.Contains(err.Error(), cfg.Password) {
		t.Errorf("the error holds the password: %v", err)
	}
	if n := bmc.Unauthorized(); n != 1 {
		t.Errorf("%d refused logins, want exactly 1", n)
	}
}

// TestLoginRefusedWithABadRequest: iLO answers a wrong password with 400 and a
// message.
func TestLoginRefusedWithABadRequest(t *testing.T) {
	var logins atomic.Int32
	ilo := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			_, _ = io.WriteString(w, `{"Systems":{"@odata.id":"/redfish/v1/Systems"}}`)
			return
		}
		logins.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"@Message.ExtendedInfo":[{"MessageId":"iLO.2.14.UnauthorizedLoginAttempt"}]}}`)
	}))
	defer ilo.Close()
	_, err := redfish.Open(t.Context(), redfish.Config{Addr: strings.TrimPrefix(ilo.URL, "https://"), User: user, Password: password})
	if !errors.Is(err, redfish.ErrAuth) || logins.Load() != 1 {
		t.Errorf("%v after %d logins, want ErrAuth after one", err, logins.Load())
	}
}

// TestTokenStaysWithTheBMC: neither a redirect nor an absolute link leads a
// request to another host.
func TestTokenStaysWithTheBMC(t *testing.T) {
	var strange atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strange.Add(1) }))
	defer other.Close()
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			w.Header().Set("X-Auth-Token", "t0ken-of-session")
			w.WriteHeader(http.StatusCreated)
		case r.URL.Path == "/redfish/v1/Systems":
			_, _ = io.WriteString(w, `{"Members":[{"@odata.id":"`+other.URL+`/redfish/v1/Systems/a"}]}`)
		case r.URL.Path == "/redfish/v1/Systems/a":
			http.Redirect(w, r, other.URL+"/redfish/v1/Systems/a", http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, `{"Systems":{"@odata.id":"/redfish/v1/Systems"}}`)
		}
	}))
	defer front.Close()
	_, err := redfish.Open(t.Context(), redfish.Config{Addr: strings.TrimPrefix(front.URL, "https://"), User: user, Password: password, TLS: redfish.TLS{Mode: redfish.Insecure}})
	if err == nil || !strings.Contains(err.Error(), "307") || strings.Contains(err.Error(), "t0ken") {
		t.Errorf("redirect elsewhere: %v, want the 307 as an error", err)
	}
	if n := strange.Load(); n != 0 {
		t.Errorf("%d requests went to another host", n)
	}
}

func TestSessionFaults(t *testing.T) {
	for _, c := range []struct {
		faults []string
		want   error // nil: works
	}{
		{[]string{"session-limit"}, nil}, // Basic instead
		{[]string{"basic-refused"}, nil}, // no Basic header beside a login
		{[]string{"password-change-required"}, redfish.ErrPasswordChange},
		{[]string{"auth-fails"}, redfish.ErrAuth},
	} {
		t.Run(strings.Join(c.faults, "+"), func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: small(), Faults: c.faults})
			client, err := redfish.Open(t.Context(), config(bmc))
			if c.want != nil {
				if !errors.Is(err, c.want) {
					t.Errorf("open: %v, want %v", err, c.want)
				}
				if n := bmc.Unauthorized(); n > 1 {
					t.Errorf("%d refused logins, want at most 1", n)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if state, err := client.Power(t.Context()); err != nil || state != redfish.On {
				t.Errorf("power %s, %v; want On", state, err)
			}
		})
	}
}

func TestExpiredSessionIsRenewedOnce(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	c := open(t, bmc)
	if err := bmc.SetFault("session-expires*1", true); err != nil {
		t.Fatal(err)
	}
	if state, err := c.Power(t.Context()); err != nil || state != redfish.On {
		t.Errorf("power %s, %v; want On after a new login", state, err)
	}
	if n := bmc.Acts()["session.create"]; n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
}

// TestPasswordRefusedOnRenewalIsNotTriedAgain: somebody changed the password
// meanwhile; each further try would count towards a lockout.
func TestPasswordRefusedOnRenewalIsNotTriedAgain(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	c := open(t, bmc)
	for _, fault := range []string{"session-expires*1", "auth-fails"} {
		if err := bmc.SetFault(fault, true); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := c.Power(t.Context()); !errors.Is(err, redfish.ErrAuth) {
			t.Errorf("error %v, want ErrAuth", err)
		}
	}
	logins := 0
	for request, n := range bmc.Requests() {
		if request == "POST /redfish/v1/SessionService/Sessions" {
			logins += n
		}
	}
	if logins != 2 {
		t.Errorf("%d logins, want the first and one more", logins)
	}
}

// TestRenewalIsTriedAgainAfterALostAnswer: a network that failed is no refusal.
func TestRenewalIsTriedAgainAfterALostAnswer(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	c := open(t, bmc)
	for _, fault := range []string{"session-expires*1", "lost-response=session.create*1"} {
		if err := bmc.SetFault(fault, true); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		if state, err := c.Power(t.Context()); err == nil && state == redfish.On {
			return
		} else if !errors.Is(err, redfish.ErrUnreachable) {
			t.Errorf("error %v, want ErrUnreachable or none", err)
		}
	}
	t.Error("the client never logged in again")
}

// TestLogsHoldNoSecret logs everything of a whole life with a BMC.
func TestLogsHoldNoSecret(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	var log lockedBuilder
	cfg := config(bmc)
	cfg.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetPower(within(t, time.Minute), redfish.ForceOff); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "ComputerSystem.Reset") || strings.Contains(text, password) || strings.Contains(text, "X-Auth-Token") {
		t.Errorf("log:\n%s", text)
	}
}

type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestDialHook: the BMC is reached through the given dialer with its own name.
func TestDialHook(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	cfg := config(bmc)
	cfg.Addr = "bmc.example"
	var asked []string
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		asked = append(asked, addr)
		return (&net.Dialer{}).DialContext(ctx, network, bmc.Addr())
	}
	cfg.Readers = 1
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(asked) == 0 || asked[0] != "bmc.example:443" {
		t.Errorf("dialled %v, want bmc.example:443", asked)
	}
}
