package redfish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrTooLarge says that a BMC gives more than was asked for.
var ErrTooLarge = errors.New("larger than the bound")

// errStalled ends a download of which nothing comes any more.
var errStalled = fmt.Errorf("%w: the download stalled", ErrUnreachable)

// fetched is what a download brought: bytes, or the answer that was none.
type fetched struct {
	*answer
	name  string // as the BMC calls the file
	bytes int64
}

// download streams what a call gives into out, as much as limit and no further. It may
// take as long as ctx allows, and ends where nothing comes for the time of a request. An
// answer in JSON to an act is no file: it is in body, and bytes is 0. What is no read is
// never sent twice.
func (t *transport) download(ctx context.Context, c call, out io.Writer, limit int64, tell func(bytes int64)) (fetched, error) {
	enter := t.gate.enter
	if c.method != http.MethodGet {
		enter = t.gate.alone
	}
	release, err := enter(ctx)
	if err != nil {
		return fetched{}, fmt.Errorf("BMC %s: %s %s: %w", t.addr, c.method, c.uri, err)
	}
	defer release()
	used := t.session.current()
	f, err := t.stream(ctx, c, out, limit, tell)
	if f.answer == nil || f.status != http.StatusUnauthorized {
		return f, err
	}
	switch err := t.session.renew(ctx, used); {
	case errors.Is(err, errNotExpired):
		f.forbidden = true
		return f, t.failure(c, f.answer)
	case err != nil:
		return fetched{}, err
	}
	return t.stream(ctx, c, out, limit, tell)
}

// stream is one download, over a connection of its own and its redirects.
func (t *transport) stream(ctx context.Context, c call, out io.Writer, limit int64, tell func(int64)) (fetched, error) {
	to, err := t.requestURL(c.uri)
	if err != nil {
		return fetched{}, err
	}
	payload, err := c.payload()
	if err != nil {
		return fetched{}, fmt.Errorf("BMC %s: body of %s %s: %w", t.addr, c.method, c.uri, err)
	}
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(t.timeout, func() { cancel(errStalled) })
	defer stalled.Stop()
	for hop := 0; ; hop++ {
		f, err := t.streamHop(bounded, c, to, payload, sink{out, limit, func(n int64) {
			stalled.Reset(t.timeout)
			tell(n)
		}})
		if err != nil {
			return f, t.brokenStream(ctx, bounded, c, err)
		}
		next, ok := t.redirected(to, f.answer)
		if !ok || hop == maxHops {
			return f, t.failure(c, f.answer)
		}
		to = next
	}
}

func (t *transport) brokenStream(ctx, bounded context.Context, c call, err error) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		return fmt.Errorf("BMC %s: %s: %w", t.addr, c.uri, err)
	case ctx.Err() == nil && errors.Is(context.Cause(bounded), errStalled):
		return &lostError{error: fmt.Errorf("BMC %s: %s: %w", t.addr, c.uri, errStalled)}
	}
	return t.broken(ctx, c, err)
}

// sink takes what comes.
type sink struct {
	out   io.Writer
	limit int64
	tell  func(int64)
}

func (t *transport) streamHop(ctx context.Context, c call, to *url.URL, payload []byte, into sink) (fetched, error) {
	req, err := t.request(ctx, c, to, payload)
	if err != nil {
		return fetched{}, err
	}
	req.Header.Set("Accept", "*/*")
	req.Header.Set("Accept-Encoding", "identity") // a .gz is kept as one
	resp, err := t.acts.Do(req)
	if err != nil {
		return fetched{}, err
	}
	if resp.StatusCode == http.StatusNotAcceptable {
		// iLO5 from 2.30 refuses what may not be packed (Redfish-Mockup-Creator #58), so
		// nothing has happened. What is packed on the way alone is unpacked by net/http.
		_ = resp.Body.Close()
		if req, err = t.request(ctx, c, to, payload); err != nil {
			return fetched{}, err
		}
		req.Header.Set("Accept", "*/*")
		if resp, err = t.acts.Do(req); err != nil {
			return fetched{}, err
		}
	}
	defer func() { _ = resp.Body.Close() }()
	t.log.InfoContext(ctx, "redfish download", "bmc", t.addr, "method", c.method, "uri", to.RequestURI(), "status", resp.StatusCode, "bytes", resp.ContentLength)
	f := fetched{answer: &answer{status: resp.StatusCode, header: resp.Header}, name: fileName(resp.Header, to)}
	if resp.StatusCode != http.StatusOK || c.method != http.MethodGet && isJSON(resp.Header) {
		f.body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		return f, err
	}
	if resp.ContentLength > into.limit {
		return f, fmt.Errorf("%w: %d bytes, at most %d are wanted", ErrTooLarge, resp.ContentLength, into.limit)
	}
	f.bytes, err = into.copy(resp.Body)
	return f, err
}

func (s sink) copy(from io.Reader) (n int64, err error) {
	buf := make([]byte, 64<<10)
	for {
		got, err := from.Read(buf)
		if n+int64(got) > s.limit {
			return n, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, s.limit)
		}
		if got > 0 {
			if _, err := s.out.Write(buf[:got]); err != nil {
				return n, &localError{fmt.Errorf("keep what comes: %w", err)}
			}
			n += int64(got)
			s.tell(n)
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func isJSON(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "application/json")
}

// fileName is what the BMC calls a file, without a path.
func fileName(h http.Header, at *url.URL) string {
	name := link(at.Path).id()
	if _, rest, ok := strings.Cut(h.Get("Content-Disposition"), "filename="); ok {
		rest, _, _ = strings.Cut(rest, ";")
		name = strings.Trim(strings.TrimSpace(rest), `"`)
	}
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`<>:"|?*`, r) {
			return -1
		}
		return r
	}, name)
}
