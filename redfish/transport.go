package redfish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxBody bounds one answer. The largest seen is a BIOS registry of 2 MB.
const maxBody = 32 << 20

// transport carries requests to one BMC. It is our own over net/http: each
// request has its deadline and its context, a certificate pin is checked inside
// the handshake, and a 202 keeps its Location.
type transport struct {
	addr    string
	key     string       // of the BMC in stores
	via     string       // bastion on the way, for messages
	reads   *http.Client // over connections that are kept
	acts    *http.Client // each over a fresh connection
	events  *http.Client // the one that stays open
	timeout time.Duration
	retry   time.Duration // before the second try of a read; the third waits twice as long
	gate    *gate
	record  *recorder
	log     *slog.Logger
	session *session
}

// call is one request.
type call struct {
	method, uri string
	body        any // marshalled to JSON; nil for none
	ifMatch     string
	upload      *upload // in place of body
}

// answer is what came back, whatever its status.
type answer struct {
	status int
	header http.Header
	body   []byte
	// forbidden: a 401 in a session that serves, so of this resource alone.
	forbidden bool
}

func newTransport(cfg Config, tr *trust, rec *recorder) (*transport, error) {
	conf, err := tr.tlsConfig()
	if err != nil {
		return nil, err
	}
	round := func() *http.Transport {
		return &http.Transport{
			// No Proxy: variables of the environment never apply to a BMC.
			DialContext:         cfg.Dial,
			TLSClientConfig:     conf,
			TLSHandshakeTimeout: 20 * time.Second,
			MaxConnsPerHost:     cfg.Readers,
			MaxIdleConnsPerHost: cfg.Readers,
			// BMCs drop idle connections without telling.
			IdleConnTimeout: 10 * time.Second,
		}
	}
	kept, fresh, stream := round(), round(), round()
	// What is no read is never sent again by itself, so it must not meet a
	// connection that the BMC has dropped: a lost login or logout leaks a session.
	fresh.DisableKeepAlives = true
	stream.DisableKeepAlives = true
	return &transport{
		addr: cfg.Addr, key: cfg.Key(), via: cfg.Via, timeout: cfg.Timeout, retry: cfg.Poll / 3, gate: newGate(cfg.Readers), record: rec, log: cfg.Log,
		reads: &http.Client{Transport: kept, CheckRedirect: stay},
		acts:  &http.Client{Transport: fresh, CheckRedirect: stay}, events: &http.Client{Transport: stream, CheckRedirect: stay},
	}, nil
}

// requestURL turns a link into the URL to ask, exactly as it was served: some
// BMCs tell upper from lower case and need their own percent escapes. Only the
// path of an absolute link counts; requests go nowhere but to this BMC.
func (t *transport) requestURL(uri string) (*url.URL, error) {
	uri, _, _ = strings.Cut(uri, "#")
	u, err := url.Parse(uri)
	if err != nil || !strings.HasPrefix(u.Path, "/") {
		return nil, fmt.Errorf("BMC %s: link %q is no path", t.addr, uri)
	}
	u.Scheme, u.Host, u.User = "https", t.addr, nil
	return u, nil
}

// once sends a call and waits for the whole answer, within the deadline.
func (t *transport) once(ctx context.Context, c call) (*answer, error) {
	to, err := t.requestURL(c.uri)
	if err != nil {
		return nil, err
	}
	payload, err := c.payload()
	if err != nil {
		return nil, fmt.Errorf("BMC %s: body of %s %s: %w", t.addr, c.method, c.uri, err)
	}
	deadline, cancel := context.WithTimeout(ctx, c.patience(t.timeout))
	defer cancel()
	for hop := 0; ; hop++ {
		a, err := t.hop(deadline, c, to, payload)
		if err != nil {
			return nil, t.broken(ctx, c, err)
		}
		next, ok := t.redirected(to, a)
		if !ok || hop == maxHops {
			return a, nil
		}
		to = next
	}
}

// payload is the body as it is sent, nil where there is none.
func (c call) payload() ([]byte, error) {
	if c.body == nil {
		return nil, nil
	}
	return json.Marshal(c.body)
}

// hop is one request and its whole answer.
func (t *transport) hop(ctx context.Context, c call, to *url.URL, payload []byte) (*answer, error) {
	req, err := t.request(ctx, c, to, payload)
	if err != nil {
		return nil, err
	}
	return t.exchange(req)
}

// request makes one of a call, signed.
func (t *transport) request(ctx context.Context, c call, to *url.URL, payload []byte) (*http.Request, error) {
	var body io.Reader
	if payload != nil {
		body = bytes.NewReader(payload)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, to.String(), body)
	if err != nil {
		return nil, &localError{err}
	}
	if c.upload != nil {
		file, err := c.upload.open()
		if err != nil {
			return nil, &localError{fmt.Errorf("open the file that is sent: %w", err)}
		}
		req.Body, req.ContentLength = localFile{file}, c.upload.size // closed by the client
		req.Header.Set("Content-Type", c.upload.kind)
	}
	req.URL = to
	req.Host = strings.TrimSuffix(to.Host, ":443") // as a browser names it: some web servers compare
	req.Header.Set("Accept", "application/json")
	req.Header.Set("OData-Version", "4.0")
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.ifMatch != "" {
		req.Header.Set("If-Match", c.ifMatch)
	}
	t.session.sign(req)
	return req, nil
}

// exchange sends a request and reads the answer.
func (t *transport) exchange(req *http.Request) (*answer, error) {
	start := time.Now()
	client := t.acts
	if req.Method == http.MethodGet {
		client = t.reads
	}
	connected := false
	trace := httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }}
	resp, err := client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), &trace)))
	if err != nil && !connected {
		return nil, &unsentError{err}
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil && resp.StatusCode != http.StatusUnauthorized { // a forgotten session, whose page of HTML some cut off (check_redfish #90)
		return nil, err
	}
	if len(body) > maxBody {
		return nil, &tooLongError{uri: req.URL.Path}
	}
	t.gate.took(time.Since(start))
	t.log.DebugContext(req.Context(), "redfish", "bmc", t.addr, "method", req.Method, "uri", req.URL.RequestURI(), "status", resp.StatusCode,
		"took", time.Since(start).Round(time.Millisecond))
	return &answer{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

// tooLongError is an answer that nobody needs and that would fill the memory.
type tooLongError struct{ uri string }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("%s answers with more than %d MiB", e.uri, maxBody>>20)
}

// read asks for a resource. Asking again is harmless, so a lost connection and a
// BMC that is not ready are retried twice; both also mean that it is under
// strain. One that was silent for the whole time of a request is told at once.
func (t *transport) read(ctx context.Context, uri string) (*answer, error) {
	const tries = 3
	for try := 1; ; try++ {
		a, err := t.readOnce(ctx, uri)
		if !isLost(err) && !notReady(err) {
			return a, err
		}
		t.gate.strain()
		if try == tries || isSilent(err) {
			return a, err
		}
		if err := pause(ctx, retryAfter(a, time.Duration(try)*t.retry)); err != nil {
			return nil, fmt.Errorf("BMC %s: GET %s: %w", t.addr, uri, err)
		}
	}
}

func (t *transport) readOnce(ctx context.Context, uri string) (*answer, error) {
	c := call{method: http.MethodGet, uri: uri}
	release, err := t.gate.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("BMC %s: GET %s: %w", t.addr, uri, err)
	}
	defer release()
	a, err := t.signed(ctx, c)
	if err != nil {
		return nil, err
	}
	return a, t.failure(c, a)
}

// notReady recognises a BMC that is starting or busy, by status or message.
func notReady(err error) bool {
	switch statusOf(err) {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return said(err, notYet)
}

// act sends what changes the BMC: alone, over a fresh connection, and never
// twice. An error for which isLost holds means that the effect is unknown.
func (t *transport) act(ctx context.Context, c call) (*answer, error) {
	release, err := t.gate.alone(ctx)
	if err != nil {
		return nil, fmt.Errorf("BMC %s: %s %s: %w", t.addr, c.method, c.uri, err)
	}
	defer release()
	t.log.InfoContext(ctx, "redfish act", "bmc", t.addr, "method", c.method, "uri", c.uri)
	a, err := t.signed(ctx, c)
	if err != nil {
		return nil, err
	}
	return a, t.failure(c, a)
}

// signed sends a call with the session, and logs in again once where the BMC
// forgot the session: the refused request had no effect.
func (t *transport) signed(ctx context.Context, c call) (*answer, error) {
	used := t.session.current()
	a, err := t.once(ctx, c)
	if err != nil || a.status != http.StatusUnauthorized {
		return a, err
	}
	switch err := t.session.renew(ctx, used); {
	case errors.Is(err, errNotExpired):
		a.forbidden = true
		return a, nil
	case err != nil:
		return nil, err
	}
	return t.once(ctx, c)
}

// failure turns an answer that is no success into an error.
func (t *transport) failure(c call, a *answer) error {
	if a.status >= 200 && a.status < 300 {
		return nil
	}
	e := t.statusError(c.method, c.uri, a.status, messages(a.body)...)
	switch {
	case e.is(wantsPassword):
		return fmt.Errorf("BMC %s: %w: set it once by hand or with the vendor's tool, then update the password reference (%w)", t.addr, ErrPasswordChange, e)
	case e.is(wantsLicence):
		return fmt.Errorf("BMC %s: %w%s: install one, or do without (%w)", t.addr, ErrLicence, e.licence(), e)
	case e.is(inLockdown):
		return fmt.Errorf("BMC %s: %w: switch the lockdown off, and on again when the work is done (%w)", t.addr, ErrLockdown, e)
	case a.forbidden:
		return fmt.Errorf("BMC %s: it refuses this to user %q, whose session serves otherwise: give the user the privilege, or do without (%w)", t.addr, t.session.user, e)
	case a.status == http.StatusUnauthorized:
		return fmt.Errorf("BMC %s: %w (%w)", t.addr, ErrAuth, e)
	}
	return fmt.Errorf("BMC %s: %w", t.addr, e)
}

// statusError takes what the BMC said without secrets: it may quote what was sent.
func (t *transport) statusError(method, uri string, status int, said ...message) *StatusError {
	e := &StatusError{Method: method, URI: uri, Status: status}
	for _, m := range said {
		if m.ID != "" {
			e.MessageIDs = append(e.MessageIDs, t.record.literal(string(m.ID)))
		}
		if m.Message != "" {
			e.Messages = append(e.Messages, t.record.literal(string(m.Message)))
		}
		for _, arg := range m.Args {
			e.args = append(e.args, t.record.literal(arg))
		}
	}
	return e
}

func retryAfter(a *answer, fallback time.Duration) time.Duration {
	if a == nil {
		return fallback
	}
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return fallback
	}
	return min(time.Duration(seconds)*time.Second, 15*time.Second)
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
