package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	defaultSessions = "/redfish/v1/SessionService/Sessions"
	loginTimeout    = 20 * time.Second
	closeTimeout    = 10 * time.Second
)

// session is the one login at a BMC. A refused password is never tried again:
// BMCs lock an account after as few as three.
type session struct {
	t              *transport
	user, password string
	refusals       RefusalStore // may be nil
	store          SessionStore // may be nil
	collection     string       // where to POST
	probe          string       // what tells whether Basic is taken: it needs a login

	mu      sync.Mutex // guards what follows
	token   string
	uri     string // of the session, to delete it
	basic   bool   // no session to be had: credentials with each request
	refused error  // sticky
	renewed int
	tried   bool          // a login was sent
	record  SessionRecord // by which the session is known again
	hold    SessionHold   // what is remembered of it; may be nil
	touched time.Time
	due     []string // arguments of PasswordChangeRequired

	login sync.Mutex // one login at a time
}

// sign puts the session on a request. Credentials go out with Basic only after
// the BMC had no session for us.
func (s *session) sign(req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.token != "":
		req.Header.Set("X-Auth-Token", s.token)
		if s.hold != nil && time.Since(s.touched) > touchEvery {
			s.hold.Touch()
			s.touched = time.Now()
		}
	case s.basic:
		req.SetBasicAuth(s.user, s.password)
	}
}

func (s *session) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// onBasic reports that credentials go with each request.
func (s *session) onBasic() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.basic
}

// open logs in. It outlives a cancelled ctx until the answer is here: a session
// whose answer was thrown away could not be closed.
func (s *session) open(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.refusals != nil {
		if until, ok := s.refusals.Refused(s.t.key, s.user, s.password); ok {
			return s.stop(fmt.Errorf("BMC %s: %w for user %q with this password a moment ago; it is not asked again before %s, lest it lock the account. Check 0/O and 1/I on the tag, correct the password reference",
				s.t.addr, ErrAuth, s.user, until.Local().Format("15:04:05")))
		}
	}
	s.mu.Lock()
	s.tried = true
	password := s.password
	s.mu.Unlock()
	lctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loginTimeout)
	defer cancel()
	c := call{method: http.MethodPost, uri: s.collection, body: map[string]string{"UserName": s.user, "Password": password}}
	a, err := s.t.once(lctx, c)
	if err != nil {
		return err
	}
	failure := s.t.failure(c, a)
	switch {
	case failure == nil:
		return s.accept(lctx, a)
	case a.status == http.StatusUnauthorized, said(failure, wrongLogin):
		return s.refuse()
	case sessionLimit(a.status, failure), a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed:
		s.t.log.WarnContext(ctx, "BMC gives no session, credentials go with each request", "bmc", s.t.addr, "status", a.status)
		return s.openBasic(lctx, failure, sessionLimit(a.status, failure))
	case notReady(failure):
		return s.starting(failure)
	case unsaid(failure):
		return s.forbid()
	}
	return fmt.Errorf("login: %w", failure)
}

// sessionLimit recognises "no more sessions", which has many shapes.
func sessionLimit(status int, failure error) bool {
	return status == http.StatusServiceUnavailable || said(failure, noSession)
}

func (s *session) accept(ctx context.Context, a *answer) error {
	token := a.header.Get("X-Auth-Token")
	uri := s.place(a)
	if token == "" {
		s.mu.Lock()
		s.uri = uri // it is open all the same, and is closed with Basic
		s.mu.Unlock()
		return s.openBasic(ctx, fmt.Errorf("BMC %s: login answered %d without a token", s.t.addr, a.status), false)
	}
	s.t.record.hide(token)
	s.mu.Lock()
	s.token, s.uri, s.basic = token, uri, false
	s.mu.Unlock()
	s.keep(ctx, a, uri)
	for _, m := range messages(a.body) {
		if classOf(string(m.ID)) == wantsPassword {
			s.due = m.Args
			return fmt.Errorf("BMC %s: %w: set it once, then update the password reference", s.t.addr, ErrPasswordChange)
		}
	}
	return nil
}

// refuse ends all trying: the BMC did not take the password.
func (s *session) refuse() error {
	return s.remember(fmt.Errorf("BMC %s: %w for user %q (one try, I stop here: BMCs lock after few). Check 0/O and 1/I on the tag", s.t.addr, ErrAuth, s.user))
}

// forbid is refuse for a login that was answered 403 and a page without a reason. Some
// BMCs say so that a password is due for change; it may be a wrong one or a lock too.
func (s *session) forbid() error {
	return s.remember(fmt.Errorf("BMC %s: %w for user %q, with 403 and no reason (one try, I stop here: BMCs lock after few). The password may be due for change, or the user may not log in: try it at the BMC's web page, then update the password reference",
		s.t.addr, ErrAuth, s.user))
}

// unsaid recognises a 403 of which nothing that the BMC says tells the cause.
func unsaid(failure error) bool {
	return statusOf(failure) == http.StatusForbidden &&
		!errors.Is(failure, ErrPasswordChange) && !errors.Is(failure, ErrLicence) && !errors.Is(failure, ErrLockdown)
}

// remember keeps a refusal for this session and, where there is a store, beyond it.
func (s *session) remember(refusal error) error {
	if s.refusals != nil {
		if err := s.refusals.Refuse(s.t.key, s.user, s.password); err != nil {
			s.t.log.Warn("a refused login is not remembered", "bmc", s.t.addr, "err", err)
		}
	}
	return s.stop(refusal)
}

func (s *session) stop(err error) error {
	s.mu.Lock()
	s.refused = err
	s.mu.Unlock()
	return err
}

func (s *session) starting(why error) error {
	return fmt.Errorf("BMC %s: %w yet: it is starting or overloaded; wait some minutes (%w)", s.t.addr, ErrUnreachable, why)
}

// place is the URI of the session that a login opened. Where the answer names it
// by its last part, or only by its Id, it is a member of the collection.
func (s *session) place(a *answer) string {
	at := location(a)
	if at == "" {
		var body struct {
			ID text `json:"Id"`
		}
		_ = json.Unmarshal(a.body, &body)
		at = string(body.ID)
	}
	if at == "" || strings.Contains(at, "/") {
		return at
	}
	return strings.TrimRight(s.collection, "/") + "/" + at
}

// openBasic tries Basic authentication on a resource that needs a login. With
// full the BMC has sessions and none is free: then a refusal may mean that it
// takes no Basic, and the password may be right.
func (s *session) openBasic(ctx context.Context, why error, full bool) error {
	s.mu.Lock()
	s.basic = true
	s.mu.Unlock()
	c := call{method: http.MethodGet, uri: s.probe}
	a, err := s.t.once(ctx, c)
	if err == nil {
		err = s.t.failure(c, a)
	}
	if err == nil {
		return nil
	}
	s.mu.Lock()
	s.basic = false
	s.mu.Unlock()
	switch {
	case errors.Is(err, ErrPasswordChange):
		return err
	case notReady(err):
		return s.starting(err)
	case full:
		return fmt.Errorf("BMC %s: %w, and it takes no Basic login either (%w): close old sessions in its web page, or wait for their timeout",
			s.t.addr, ErrSessionLimit, why)
	case errors.Is(err, ErrAuth):
		return s.refuse()
	case unsaid(err):
		return s.forbid()
	}
	return fmt.Errorf("login: %w (%w)", err, why)
}

// renew logs in again after a 401, unless another request already has, or the
// BMC refused the password. It wraps errNotExpired where the session still serves:
// some BMCs answer 401 for what the user may not read, and each login instead would
// take one more of their few sessions.
func (s *session) renew(ctx context.Context, used string) error {
	s.login.Lock()
	defer s.login.Unlock()
	s.mu.Lock()
	token, basic, refused, renewed, tried := s.token, s.basic, s.refused, s.renewed, s.tried
	s.mu.Unlock()
	switch {
	case !tried:
		return fmt.Errorf("BMC %s: %w: it asks for a login at its root already", s.t.addr, ErrAuth)
	case refused != nil:
		return refused
	case token != used:
		return nil // renewed meanwhile
	case basic:
		return s.refuse()
	case s.alive(ctx):
		return errNotExpired
	case renewed >= 20:
		return fmt.Errorf("BMC %s forgets its session again and again (%d logins): restart the BMC: %w", s.t.addr, renewed, ErrSessionLimit)
	}
	s.mu.Lock()
	uri, record, hold := s.uri, s.record, s.hold
	s.token, s.uri, s.record, s.hold = "", "", SessionRecord{}, nil
	s.renewed++
	s.mu.Unlock()
	err := s.open(ctx)
	s.mu.Lock()
	again := err != nil && s.token == "" && s.uri == ""
	if again { // the BMC may have refused everything for a while, and kept the session
		s.token, s.uri, s.record, s.hold = token, uri, record, hold
	}
	s.mu.Unlock()
	if !again {
		s.bury(ctx, record, hold)
	}
	return err
}

// close deletes the session. It has its own deadline, because it matters most
// after a cancellation.
func (s *session) close() error {
	s.login.Lock()
	defer s.login.Unlock()
	s.mu.Lock()
	uri := s.uri
	s.mu.Unlock()
	if uri == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	c := call{method: http.MethodDelete, uri: uri}
	a, err := s.t.once(ctx, c)
	if isLost(err) { // deleting twice is harmless, a session left open is not
		a, err = s.t.once(ctx, c)
	}
	s.mu.Lock()
	s.token, s.uri, s.record = "", "", SessionRecord{}
	s.mu.Unlock()
	if err == nil {
		err = s.t.failure(c, a)
	}
	if status := statusOf(err); status == http.StatusUnauthorized || status == http.StatusNotFound {
		err = nil // expired by itself
	}
	s.letGo(err == nil)
	if err != nil {
		return fmt.Errorf("close the session at BMC %s: %w", s.t.addr, err)
	}
	return nil
}

// location finds where an answer points: in the header, or as the body's own id.
// Some BMCs send a relative path, some an absolute URL, some only the last part.
func location(a *answer) string {
	if l := a.header.Get("Location"); l != "" {
		return l
	}
	var body struct {
		ID link `json:"@odata.id"`
	}
	_ = json.Unmarshal(a.body, &body)
	return string(body.ID)
}
