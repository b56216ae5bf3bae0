package redfish_test

import (
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// leftBehind is a SessionStore that remembers nothing but what is put into it.
type leftBehind struct{ holds []*leftSession }

type leftSession struct {
	record             redfish.SessionRecord
	forgotten, dropped bool
}

func (l *leftBehind) Keep(string, redfish.SessionRecord) (redfish.SessionHold, error) {
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
	now := time.Now()
	for _, c := range []struct {
		name   string
		record redfish.SessionRecord // without its URI
		fault  string
		closed bool
		kept   bool // is asked for again the next time
	}{
		{name: "ours", record: redfish.SessionRecord{User: user, Used: now}, closed: true},
		{name: "of another user", record: redfish.SessionRecord{User: "colleague", Used: now}},
		{name: "older than any session", record: redfish.SessionRecord{User: user, Used: now.Add(-time.Hour)}},
		{name: "answer lost", record: redfish.SessionRecord{User: user, Used: now}, fault: "lost-response=session.delete*1", closed: true, kept: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: small()})
			cfg := config(bmc)
			if _, err := redfish.Open(t.Context(), cfg); err != nil { // killed: never closed
				t.Fatal(err)
			}
			c.record.URI = "/redfish/v1/SessionService/Sessions/1"
			left := &leftSession{record: c.record}
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
