package redfish

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxEvent bounds one event: some never end (FIELD-QUIRKS 83).
	maxEvent = 1 << 20
	// eventIdle is the default of Config.EventIdle; the shortest interval seen between
	// comments is 10 s.
	eventIdle = 2 * time.Minute
)

var (
	errEventTooLong = fmt.Errorf("an event of more than %d KiB without an end", maxEvent>>10)
	errSilentStream = fmt.Errorf("%w: the stream of events fell silent", ErrUnreachable)
	errSlowStream   = fmt.Errorf("%w: the stream of events did not open in time", ErrUnreachable)
)

// sseMessage is one message of a stream of Server-Sent Events (HTML standard, 9.2).
type sseMessage struct {
	id   string // of the last message that had one
	data []byte
}

// readSSE calls take with each message until the stream ends, take says so, or a message
// is too long. retry is the pause that the server asks for, 0 where it does not.
func readSSE(r io.Reader, take func(sseMessage) bool) (retry time.Duration, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4<<10), maxEvent)
	var m sseMessage
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			if len(m.data) > 0 && !take(m) {
				return retry, nil
			}
			m.data = nil
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if len(m.data)+len(value) > maxEvent {
				return retry, errEventTooLong
			}
			m.data = append(append(m.data, value...), '\n')
		case "id":
			m.id = string(value)
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil && ms > 0 && ms < 1<<20 {
				retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = errEventTooLong
	}
	return retry, err
}

// follow opens a stream of events. The caller cancels ctx and closes what it got. last is
// the id of the last message that was seen, "" at the start.
func (t *transport) follow(ctx context.Context, cancel context.CancelCauseFunc, uri, last string) (io.ReadCloser, error) {
	used := t.session.current()
	body, err := t.openStream(ctx, cancel, uri, last)
	if statusOf(err) != http.StatusUnauthorized {
		return body, err
	}
	switch err := t.session.renew(ctx, used); {
	case errors.Is(err, errNotExpired):
		return nil, t.failure(call{method: http.MethodGet, uri: uri}, &answer{status: http.StatusUnauthorized, forbidden: true})
	case err != nil:
		return nil, err
	}
	return t.openStream(ctx, cancel, uri, last)
}

func (t *transport) openStream(ctx context.Context, cancel context.CancelCauseFunc, uri, last string) (io.ReadCloser, error) {
	c := call{method: http.MethodGet, uri: uri}
	to, err := t.requestURL(uri)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, c.method, to.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Host = strings.TrimSuffix(to.Host, ":443")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("OData-Version", "4.0")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	t.session.sign(req)
	limit := time.AfterFunc(t.timeout, func() { cancel(errSlowStream) }) // until there is an answer
	defer limit.Stop()
	resp, err := t.events.Do(req)
	if err != nil {
		return nil, t.broken(ctx, c, err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return resp.Body, nil
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxEvent))
	if err != nil && resp.StatusCode != http.StatusUnauthorized {
		return nil, t.broken(ctx, c, err)
	}
	if err := t.failure(c, &answer{status: resp.StatusCode, header: resp.Header, body: said}); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("BMC %s: %w: %s is no stream of events, but %q", t.addr, ErrUnsupported, uri, kind)
}

// awake ends a stream that is silent for too long.
type awake struct {
	io.Reader
	timer *time.Timer
	limit time.Duration
}

func (a awake) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	a.timer.Reset(a.limit)
	return n, err
}
