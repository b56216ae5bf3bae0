package redfish

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// SessionStore remembers open sessions beyond this process. One that was killed
// leaves its session open, and a BMC has few; the next process closes it, and no
// other: what it remembers is compared with what the BMC says of the session.
type SessionStore interface {
	// Keep remembers a session for as long as this process lives, or longer.
	Keep(addr string, s SessionRecord) (SessionHold, error)
	// Left are the sessions at addr of processes that are gone.
	Left(addr string) ([]SessionHold, error)
}

// SessionHold is one remembered session.
type SessionHold interface {
	Record() SessionRecord
	Touch()        // it was used now
	Forget() error // it is closed
	Drop() error   // it is open and not ours any more: the next process closes it
}

// SessionRecord is what is remembered: enough to know the session again, nothing
// that opens it.
type SessionRecord struct {
	URI     string    `json:"uri"`
	User    string    `json:"user"`
	Created string    `json:"created,omitempty"` // as the BMC writes it
	Origin  string    `json:"origin,omitempty"`  // address from which the BMC saw us come
	Used    time.Time `json:"-"`                 // last
}

type sessionDoc struct {
	User    text `json:"UserName"`
	Created text `json:"CreatedTime"`
	Origin  text `json:"ClientOriginIPAddress"`
}

// same reports that the BMC's session is the one remembered: a BMC gives its ids
// again.
func (r SessionRecord) same(d sessionDoc) bool {
	differs := func(a string, b text) bool { return a != "" && b != "" && a != string(b) }
	return !differs(r.User, d.User) && !differs(r.Created, d.Created) && !differs(r.Origin, d.Origin)
}

// touchEvery is how exactly the last use of a session is remembered.
const touchEvery = 10 * time.Second

// keep remembers the session just opened.
func (s *session) keep(a *answer, uri string) {
	if s.store == nil || uri == "" {
		return
	}
	var doc sessionDoc
	_ = json.Unmarshal(a.body, &doc)
	hold, err := s.store.Keep(s.t.key, SessionRecord{URI: uri, User: s.user, Created: string(doc.Created), Origin: string(doc.Origin)})
	if err != nil {
		s.t.log.Warn("an open session is not remembered: if this process is killed, it stays open", "bmc", s.t.addr, "err", err)
		return
	}
	s.mu.Lock()
	s.hold, s.touched = hold, time.Now()
	s.mu.Unlock()
}

// letGo ends the remembering: the session is closed, or it is left to the next
// process.
func (s *session) letGo(closed bool) {
	s.mu.Lock()
	hold := s.hold
	s.hold = nil
	s.mu.Unlock()
	if hold == nil {
		return
	}
	end := hold.Drop
	if closed {
		end = hold.Forget
	}
	if err := end(); err != nil {
		s.t.log.Warn("a session is still remembered as open", "bmc", s.t.addr, "err", err)
	}
}

// sweep closes the sessions that killed processes left open at this BMC, and counts
// them.
func (c *Client) sweep(ctx context.Context) (closed int) {
	if c.cfg.Sessions == nil {
		return 0
	}
	left, err := c.cfg.Sessions.Left(c.cfg.Key())
	if err != nil {
		c.cfg.Log.WarnContext(ctx, "sessions left open are not known", "bmc", c.cfg.Addr, "err", err)
	}
	if len(left) == 0 {
		return 0
	}
	timeout := c.sessionTimeout(ctx)
	for _, hold := range left {
		end := hold.Drop
		if c.closeLeft(ctx, hold.Record(), timeout) {
			end = hold.Forget
			closed++
		}
		if err := end(); err != nil {
			c.cfg.Log.WarnContext(ctx, "a session is still remembered as open", "bmc", c.cfg.Addr, "err", err)
		}
	}
	return closed
}

// closeLeft reports whether the session is no more, or never was what is there now.
func (c *Client) closeLeft(ctx context.Context, r SessionRecord, timeout time.Duration) bool {
	if time.Since(r.Used) > timeout {
		return true // it ended by itself; its id may be somebody else's by now
	}
	var doc sessionDoc
	switch _, err := c.get(ctx, link(r.URI), &doc); {
	case statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusGone:
		return true
	case err != nil:
		return false
	case !r.same(doc):
		return true
	}
	_, err := c.t.act(ctx, call{method: http.MethodDelete, uri: r.URI})
	if err == nil {
		c.cfg.Log.InfoContext(ctx, "closed the session that a killed process left", "bmc", c.cfg.Addr, "session", r.URI)
	}
	return err == nil || statusOf(err) == http.StatusNotFound
}

// sessionTimeout is after how long without use the BMC ends a session; five minutes,
// a common value, where it does not say.
func (c *Client) sessionTimeout(ctx context.Context) time.Duration {
	var doc struct {
		Timeout number `json:"SessionTimeout"`
	}
	if c.root.Service != "" {
		_, _ = c.get(ctx, c.root.Service, &doc)
	}
	if n := doc.Timeout.positive(); n != nil {
		return time.Duration(*n) * time.Second
	}
	return 5 * time.Minute
}
