package redfish

import (
	"context"
	"encoding/json"
	"errors"
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

// same reports that the BMC's session is the one remembered. A BMC gives its ids
// again, and the next one may be a colleague's with the same user: it must show the
// time or the origin that is remembered, and contradict nothing. Where it tells
// neither (XCC, Supermicro) no session is known again, and each ends by its timeout.
func (r SessionRecord) same(d sessionDoc) bool {
	differs := func(a string, b text) bool { return a != "" && b != "" && a != string(b) }
	shows := func(a string, b text) bool { return a != "" && a == string(b) }
	return !differs(r.User, d.User) && !differs(r.Created, d.Created) && !differs(r.Origin, d.Origin) &&
		(shows(r.Created, d.Created) || shows(r.Origin, d.Origin))
}

// touchEvery is how exactly the last use of a session is remembered.
const touchEvery = 10 * time.Second

// keep remembers the session just opened. Where the answer to the login does not
// tell by what to know it again, the session itself is asked.
func (s *session) keep(ctx context.Context, a *answer, uri string) {
	if uri == "" {
		return
	}
	var doc sessionDoc
	_ = json.Unmarshal(a.body, &doc)
	if doc.Created == "" && doc.Origin == "" {
		if a, err := s.t.once(ctx, call{method: http.MethodGet, uri: uri}); err == nil && a.status == http.StatusOK {
			_ = json.Unmarshal(a.body, &doc)
		}
	}
	record := SessionRecord{URI: uri, User: s.user, Created: string(doc.Created), Origin: string(doc.Origin)}
	s.mu.Lock()
	s.record = record
	s.mu.Unlock()
	if s.store == nil {
		return
	}
	hold, err := s.store.Keep(s.t.key, record)
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
	s.settle(hold, closed)
}

func (s *session) settle(hold SessionHold, closed bool) {
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

// errNotExpired says that a 401 was not for the session: it still serves.
var errNotExpired = errors.New("the session is not expired")

// alive asks with the token of a session whether it serves: first the session itself,
// which no BMC gives without a login; then, where it is not to be had, what every user
// may read.
func (s *session) alive(ctx context.Context) bool {
	s.mu.Lock()
	asked := []string{s.uri, s.probe}
	s.mu.Unlock()
	for _, uri := range asked {
		if uri == "" {
			continue
		}
		a, err := s.t.once(ctx, call{method: http.MethodGet, uri: uri})
		if err != nil || a.status == http.StatusUnauthorized {
			return false
		}
		if a.status == http.StatusOK {
			return true
		}
	}
	return false
}

// bury deletes a session in whose place another was opened, with the new one: the BMC
// may have forgotten its token and kept it.
func (s *session) bury(ctx context.Context, r SessionRecord, hold SessionHold) {
	s.mu.Lock()
	current := s.uri
	s.mu.Unlock()
	ended := r.URI == "" || r.URI == current // ended: its id is given again
	if !ended {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		ended = s.end(last, r)
	}
	s.settle(hold, ended)
}

// end deletes a session that is not the current one. It reports whether the session
// is no more, or never was what is there now.
func (s *session) end(ctx context.Context, r SessionRecord) bool {
	gone := func(err error) bool {
		return statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusGone
	}
	a, err := s.ask(ctx, http.MethodGet, r.URI)
	if err != nil {
		return gone(err)
	}
	var doc sessionDoc
	if json.Unmarshal(a.body, &doc) != nil {
		return false
	}
	if !r.same(doc) {
		return true
	}
	_, err = s.ask(ctx, http.MethodDelete, r.URI)
	if err == nil {
		s.t.log.InfoContext(ctx, "closed a session that was left open", "bmc", s.t.addr, "session", r.URI)
	}
	return err == nil || gone(err)
}

func (s *session) ask(ctx context.Context, method, uri string) (*answer, error) {
	c := call{method: method, uri: uri}
	a, err := s.t.once(ctx, c)
	if err != nil {
		return nil, err
	}
	return a, s.t.failure(c, a)
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
		// One not used for so long ended by itself; its id may be somebody else's by now.
		r := hold.Record()
		ended := time.Since(r.Used) > timeout || c.t.session.end(ctx, r)
		if ended {
			closed++
		}
		c.t.session.settle(hold, ended)
	}
	return closed
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
