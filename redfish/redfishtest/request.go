package redfishtest

import (
	"compress/gzip"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxRequest bounds what a client may send.
const maxRequest = 1 << 20

// request is what a handler sees; handlers run with BMC.mu held.
type request struct {
	method, uri string // as sent
	key         string // the URI as the store knows it
	header      http.Header
	body        map[string]any // of POST and PATCH; nil when empty
	file        string         // name of an image that was pushed
	user, pass  string
	basic       bool
	acts        []string // what took effect
}

// route is what a URI answers to besides GET and HEAD.
type route map[string]func(*request) reply

func (b *BMC) serveHTTP(w http.ResponseWriter, r *http.Request) {
	b.ledger.enter()
	leave := sync.OnceFunc(b.ledger.leave)
	defer leave()
	if b.stale(r) {
		cut(w, true)
		return
	}
	req := &request{method: r.Method, uri: r.URL.RequestURI(), header: r.Header}
	raw, err := req.read(w, r)
	if err != nil {
		b.send(w, unreadable(err))
		return
	}
	req.user, req.pass, req.basic = r.BasicAuth()
	b.mu.Lock()
	b.ledger.request(req.method + " " + req.uri)
	b.mu.Unlock()

	early, ended := b.before(w, r, req)
	if early != nil {
		b.send(w, *early)
	}
	if ended {
		return
	}
	b.mu.Lock()
	answer := b.answer(req, raw)
	b.mu.Unlock()
	b.log.Debug("answered", "method", req.method, "uri", req.uri, "status", answer.status)
	if answer.stream != nil {
		leave() // a stream that lasts is not a request in flight
		b.stream(w, r, answer.stream)
		return
	}
	if kept := b.after(w, r, req); !kept {
		b.sendTo(w, r, answer)
	}
}

func unreadable(err error) reply {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return failure(http.StatusRequestEntityTooLarge, baseRegistry+"PayloadTooLarge", "The body is too large.")
	}
	return failure(http.StatusBadRequest, baseRegistry+"MalformedJSON", "The body cannot be read.")
}

// read brings the JSON of a request; of a firmware push that of its parameters.
func (req *request) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	kind := r.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "multipart/") {
		return io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	}
	raw, file, err := readMultipart(r.Body, kind)
	req.file = file
	return raw, err
}

// answer authenticates and routes.
func (b *BMC) answer(req *request, raw []byte) reply {
	req.key, _ = b.store.find(req.uri)
	if len(raw) > 0 {
		body, err := decodeObject(raw)
		if err != nil {
			return failure(http.StatusBadRequest, baseRegistry+"MalformedJSON", "The body is no JSON object.")
		}
		req.body = body
	}
	if refusal, refused := b.authorize(req); refused {
		return refusal
	}
	if req.method == http.MethodGet || req.method == http.MethodHead {
		if b.events.uri != "" && req.key == b.events.uri && req.method == http.MethodGet {
			return b.openStream(req)
		}
		return b.get(req)
	}
	handler, ok := b.routes[req.key][req.method]
	if !ok {
		return b.unrouted(req)
	}
	if refusal, refused := b.precondition(req); refused {
		return refusal
	}
	if refusal, locked := b.lockedDown(req); locked {
		return refusal
	}
	return handler(req)
}

// unrouted tells a URI that does not exist from a method that it does not take.
func (b *BMC) unrouted(req *request) reply {
	if _, ok := b.store.find(req.uri); !ok && b.routes[req.key] == nil {
		return notFound(req.uri)
	}
	allow := append([]string{"GET", "HEAD"}, slices.Sorted(maps.Keys(b.routes[req.key]))...)
	return failure(http.StatusMethodNotAllowed, baseRegistry+"OperationNotAllowed",
		"The resource does not take "+req.method+".").with("Allow", strings.Join(allow, ", "))
}

func (b *BMC) sendTo(w http.ResponseWriter, r *http.Request, answer reply) {
	if b.fires("gzip-always") && len(answer.raw) > 0 {
		answer = gzipped(answer)
	}
	if r.Method == http.MethodHead {
		answer = answer.with("Content-Length", strconv.Itoa(len(answer.raw)))
		answer.raw = nil
	}
	b.send(w, answer)
}

func (b *BMC) send(w http.ResponseWriter, answer reply) {
	b.mu.Lock()
	b.ledger.answered(answer.status)
	b.mu.Unlock()
	maps.Copy(w.Header(), answer.header)
	w.Header().Set("OData-Version", "4.0")
	w.Header().Set("Cache-Control", "no-cache")
	if answer.contentType != "" {
		w.Header().Set("Content-Type", answer.contentType)
	}
	w.WriteHeader(answer.status)
	if answer.cutShort {
		_, _ = w.Write(answer.raw[:len(answer.raw)/2])
		_ = http.NewResponseController(w).Flush() // chunked, for want of a length
		panic(http.ErrAbortHandler)
	}
	if len(answer.raw) > 0 {
		_, _ = w.Write(answer.raw) // a client that left is not our trouble
	}
}

func gzipped(answer reply) reply {
	var packed strings.Builder
	zw := gzip.NewWriter(&packed)
	_, _ = zw.Write(answer.raw)
	_ = zw.Close()
	answer = answer.with("Content-Encoding", "gzip")
	answer.raw = []byte(packed.String())
	return answer
}

// cut ends the connection without an answer: with a TCP reset, as a crashing
// web server does, or plainly closed.
func cut(w http.ResponseWriter, reset bool) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn() // below TLS, so that no close_notify goes out
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
