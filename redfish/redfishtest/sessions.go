package redfishtest

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// defaultTimeout is used where the tree names none; Supermicro's value.
const defaultTimeout = 300 * time.Second

// sessions are those that are open, by token.
type sessions struct {
	collection string // URI as the service root links it
	timeout    time.Duration
	limit      int
	last       int
	failed     int       // refused logins in a row, for the lockout
	refused    time.Time // the last of them
	open       map[string]*session
}

type session struct {
	id, uri string
	opened  time.Time
	used    time.Time
}

func (b *BMC) discoverSessions(root map[string]any) {
	s := &sessions{limit: b.opts.SessionLimit, timeout: defaultTimeout, open: map[string]*session{}}
	s.collection = canonical(cmp.Or(link(root, "Links", "Sessions"), "/redfish/v1/SessionService/Sessions"))
	if service, err := b.store.object(link(root, "SessionService")); err == nil {
		if n, ok := service["SessionTimeout"].(json.Number); ok {
			if seconds, err := n.Int64(); err == nil && seconds > 0 {
				s.timeout = time.Duration(seconds) * time.Second
			}
		}
	}
	// Sessions that were open at the capture are not ours.
	for uri := range b.store.base {
		if strings.HasPrefix(uri, s.collection) && uri != s.collection {
			b.store.changed[uri] = nil
		}
	}
	b.sessions = s
	b.routes[s.collection] = route{http.MethodPost: b.login}
}

// authorize lets through what the specification leaves open (DSP0266: service
// root and login) and otherwise wants a token or Basic.
func (b *BMC) authorize(req *request) (reply, bool) {
	b.expireSessions()
	switch {
	case req.method == http.MethodPost && req.key == b.sessions.collection:
		return reply{}, false // login checks the body
	case slices.Contains([]string{"/redfish", "/redfish/v1", "/redfish/v1/odata", "/redfish/v1/$metadata"}, req.key):
		return reply{}, false
	}
	if token := req.header.Get("X-Auth-Token"); token != "" {
		if answer, gone := b.expiresNow(token); gone {
			return answer, true
		}
		s, ok := b.sessions.open[token]
		if _, fails := b.faults.fire("auth-fails"); !ok || fails {
			return b.unauthorized(wrongCredentials()), true
		}
		s.used = time.Now()
		return b.mustChangePassword(req)
	}
	if !req.basic || !b.accepts(req.user, req.pass) {
		return b.unauthorized(wrongCredentials()), true
	}
	return b.mustChangePassword(req)
}

// expiresNow plays a session that ends at this request.
func (b *BMC) expiresNow(token string) (reply, bool) {
	_, whole := b.faults.fire("session-expires")
	_, cut := b.faults.fire("session-expires-cut")
	if !whole && !cut {
		return reply{}, false
	}
	b.expire(token)
	answer := htmlReply(http.StatusUnauthorized)
	answer.cutShort = cut
	return b.unauthorized(answer), true
}

// accepts checks a login and keeps the lockout's count.
func (b *BMC) accepts(user, password string) bool {
	s := b.sessions
	_, fails := b.faults.fire("auth-fails")
	if b.lockedOut() {
		return false // and the time does not begin anew
	}
	if user == b.opts.User && password == b.password && !fails {
		s.failed = 0
		return true
	}
	s.failed, s.refused = s.failed+1, time.Now()
	return false
}

// lockedOut ends a lockout when its time is over.
func (b *BMC) lockedOut() bool {
	on, locks := b.faults["lockout"]
	if !locks {
		return false
	}
	s := b.sessions
	if b.rules.lockout > 0 && time.Since(s.refused) > b.rules.lockout {
		s.failed = 0
	}
	n, _ := strconv.Atoi(on.value) // checked when set
	return s.failed >= n
}

func (b *BMC) unauthorized(answer reply) reply {
	b.ledger.unauthorized++
	return answer
}

func wrongCredentials() reply {
	return failure(http.StatusUnauthorized, baseRegistry+"NoValidSession", "The credentials are missing or wrong.")
}

// login opens a session.
func (b *BMC) login(req *request) reply {
	if _, ok := b.faults.fire("basic-refused"); ok && req.basic {
		return b.unauthorized(wrongCredentials())
	}
	if _, ok := b.faults.fire("login-forbidden"); ok {
		return b.unauthorized(htmlReply(http.StatusForbidden))
	}
	if !b.accepts(text(req.body, "UserName"), text(req.body, "Password")) {
		return b.unauthorized(wrongCredentials())
	}
	if _, full := b.faults.fire("session-limit"); full || len(b.sessions.open) >= b.sessions.limit {
		return b.vendor.tooManySessions()
	}
	token := newToken()
	b.sessions.last++
	id := strconv.Itoa(b.sessions.last)
	s := &session{id: id, uri: b.sessions.collection + "/" + id, opened: time.Now(), used: time.Now()}
	b.effect(req, "session.create", s.uri, func() {
		b.sessions.open[token] = s
		b.routes[s.uri] = route{http.MethodDelete: func(req *request) reply { return b.logout(req, token) }}
	})
	body := b.sessionBody(s)
	if _, due := b.faults["password-change-required"]; due {
		body["@Message.ExtendedInfo"] = []message{passwordDue(b.accountURI())}
	}
	return jsonReply(http.StatusCreated, body).with("X-Auth-Token", token).with("Location", s.uri)
}

func (b *BMC) logout(req *request, token string) reply {
	b.effect(req, "session.delete", req.key, func() { b.forget(token) })
	return noContent()
}

func (b *BMC) forget(token string) {
	if s, ok := b.sessions.open[token]; ok {
		delete(b.routes, s.uri)
		delete(b.sessions.open, token)
	}
}

// expire ends a session that its client did not.
func (b *BMC) expire(token string) {
	if s, ok := b.sessions.open[token]; ok {
		b.ledger.act(Act{Name: "session.expire", URI: s.uri})
		b.forget(token)
	}
}

func (b *BMC) expireSessions() {
	for token, s := range b.sessions.open {
		if time.Since(s.used) > b.sessions.timeout {
			b.expire(token)
		}
	}
}

// OpenSessions is how many sessions are open: what a client left behind.
func (b *BMC) OpenSessions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expireSessions()
	return len(b.sessions.open)
}

// ExpireSessions ends all sessions, as the end of their time would.
func (b *BMC) ExpireSessions() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for token := range maps.Clone(b.sessions.open) {
		b.expire(token)
	}
}

func (b *BMC) sessionBody(s *session) map[string]any {
	return map[string]any{
		"@odata.id": s.uri, "@odata.type": "#Session.v1_3_0.Session",
		"Id": s.id, "Name": "User Session", "UserName": b.opts.User,
		"CreatedTime": s.opened.UTC().Format(time.RFC3339Nano), // so that tests tell two of one second apart
	}
}

// sessionResource serves a session, or the collection with its true members.
func (b *BMC) sessionResource(key string) (map[string]any, bool) {
	uris := []string{}
	for _, s := range b.sessions.open {
		if s.uri == key {
			return b.sessionBody(s), true
		}
		uris = append(uris, s.uri)
	}
	if key != b.sessions.collection {
		return nil, false
	}
	return collectionOf(key, "#SessionCollection.SessionCollection", "Sessions", uris), true
}

func collectionOf(uri, kind, name string, members []string) map[string]any {
	slices.Sort(members)
	links := make([]any, len(members))
	for i, m := range members {
		links[i] = map[string]any{"@odata.id": m}
	}
	return map[string]any{
		"@odata.id": uri, "@odata.type": kind, "Name": name,
		"Members": links, "Members@odata.count": len(links),
	}
}

func newToken() string {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails (crypto/rand since Go 1.24)
	return hex.EncodeToString(secret)
}
