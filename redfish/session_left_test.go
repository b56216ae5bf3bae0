package redfish_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// leftBehind is a SessionStore that has left what is put into it.
type leftBehind struct {
	holds []*leftSession
	kept  redfish.SessionRecord // the last
}

type leftSession struct {
	record             redfish.SessionRecord
	forgotten, dropped bool
}

func (l *leftBehind) Keep(_ string, r redfish.SessionRecord) (redfish.SessionHold, error) {
	l.kept = r
	return &leftSession{}, nil
}

func (l *leftBehind) Left(string) ([]redfish.SessionHold, error) {
	var all []redfish.SessionHold
	for _, h := range l.holds {
		all = append(all, h)
	}
	return all, nil
}

func (s *leftSession) Record() redfish.SessionRecord { return s.record }
func (s *leftSession) Touch()                        {}
func (s *leftSession) Forget() error                 { s.forgotten = true; return nil }
func (s *leftSession) Drop() error                   { s.dropped = true; return nil }

// TestOnlyOurOwnSessionsAreClosed: a BMC gives its ids again, so what is there now may
// be somebody else's.
func TestOnlyOurOwnSessionsAreClosed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*redfish.SessionRecord)
		fault  string
		closed bool
		kept   bool // is asked for again the next time
	}{
		{name: "ours", closed: true},
		{name: "of another user", change: func(r *redfish.SessionRecord) { r.User = "colleague" }},
		{name: "of another time", change: func(r *redfish.SessionRecord) { r.Created = "2024-01-01T00:00:00Z" }},
		{name: "nothing to know it by", change: func(r *redfish.SessionRecord) { r.Created = "" }},
		{name: "older than any session", change: func(r *redfish.SessionRecord) { r.Used = time.Now().Add(-time.Hour) }},
		{name: "answer lost", fault: "lost-response=session.delete*1", closed: true, kept: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: small()})
			cfg := config(bmc)
			killed := &leftBehind{}
			cfg.Sessions = killed
			if _, err := redfish.Open(t.Context(), cfg); err != nil { // killed: never closed
				t.Fatal(err)
			}
			left := &leftSession{record: killed.kept}
			left.record.Used = time.Now()
			if c.change != nil {
				c.change(&left.record)
			}
			cfg.Sessions = &leftBehind{holds: []*leftSession{left}}
			if c.fault != "" {
				if err := bmc.SetFault(c.fault, true); err != nil {
					t.Fatal(err)
				}
			}
			next, err := redfish.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if n := bmc.Acts()["session.delete"]; (n == 1) != c.closed {
				t.Errorf("%d sessions closed, want closed: %v", n, c.closed)
			}
			if left.forgotten == c.kept || left.dropped != c.kept {
				t.Errorf("forgotten: %v, dropped: %v; want kept: %v", left.forgotten, left.dropped, c.kept)
			}
			if err := next.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSessionIsAskedWhenItWasOpened: iDRAC's answer to a login does not tell what its
// session does.
func TestSessionIsAskedWhenItWasOpened(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: small()})
	var asked atomic.Int32
	cfg := front(t, bmc, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/Sessions"):
			w.Header().Set("X-Auth-Token", "t0ken-of-session")
			w.Header().Set("Location", "/redfish/v1/SessionService/Sessions/9")
			answer(w, http.StatusCreated, `{"Id":"9"}`)
		case strings.HasSuffix(r.URL.Path, "/Sessions/9") && r.Method == http.MethodGet:
			asked.Add(1)
			answer(w, http.StatusOK, `{"Id":"9","UserName":"`+user+`","ClientOriginIPAddress":"192.0.2.7"}`)
		case strings.HasSuffix(r.URL.Path, "/Sessions/9"):
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/redfish/v1/":
			return false
		default:
			answer(w, http.StatusOK, string(small()[strings.TrimSuffix(r.URL.Path, "/")]))
		}
		return true
	})
	store := &leftBehind{}
	cfg.Sessions = store
	openAt(t, cfg)
	if store.kept.Origin != "192.0.2.7" || store.kept.URI != "/redfish/v1/SessionService/Sessions/9" || asked.Load() != 1 {
		t.Errorf("kept %+v after %d questions, want the origin after one", store.kept, asked.Load())
	}
}
