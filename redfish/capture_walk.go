package redfish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// maxLost is after how many requests in a row without an answer a BMC is taken for gone.
const maxLost = 3

// captureWalk reads a tree level by level.
type captureWalk struct {
	c    *Client
	opts CaptureOptions

	mu      sync.Mutex
	seen    map[string]bool
	next    []string // links of the level after this one, as served
	bodies  map[string][]byte
	refused map[string]Refusal
	skipped []SkippedResource
	bytes   int64
	read    int
	lost    int            // requests in a row without an answer
	entries map[string]int // of each log, by the collection's path
	ended   error          // why nothing more is read
}

func newCaptureWalk(c *Client, opts CaptureOptions) *captureWalk {
	if opts.LogEntries <= 0 {
		opts.LogEntries = captureLogEntries
	}
	if opts.Resources <= 0 {
		opts.Resources = captureResources
	}
	if opts.Bytes <= 0 {
		opts.Bytes = captureBytes
	}
	return &captureWalk{
		c: c, opts: opts, seen: map[string]bool{}, bodies: map[string][]byte{}, refused: map[string]Refusal{}, entries: map[string]int{},
	}
}

// run reads until there is nothing new. The error says why it ended before.
func (w *captureWalk) run(ctx context.Context) error {
	w.follow("/redfish")
	w.follow(serviceRoot)
	for len(w.next) > 0 && w.ended == nil && ctx.Err() == nil {
		level := w.next
		w.next = nil
		slices.Sort(level)
		var g errgroup.Group
		g.SetLimit(w.c.cfg.Readers)
		for _, uri := range level {
			g.Go(func() error {
				w.visit(ctx, uri)
				return nil
			})
		}
		_ = g.Wait() // visit tells by w.ended
	}
	return w.ended
}

func (w *captureWalk) visit(ctx context.Context, uri string) {
	w.mu.Lock()
	over := w.ended != nil
	w.mu.Unlock()
	if over || ctx.Err() != nil {
		return
	}
	a, err := w.c.t.read(ctx, uri)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read++
	if w.opts.Progress != nil {
		w.opts.Progress(w.read, len(w.seen))
	}
	if err != nil {
		w.failed(ctx, uri, a, err)
		return
	}
	w.lost = 0
	w.keep(uri, a)
}

// failed keeps a refusal, and ends the walk where the BMC is gone.
func (w *captureWalk) failed(ctx context.Context, uri string, a *answer, err error) {
	switch {
	case ctx.Err() != nil:
	case isLost(err):
		w.skip(uri, "no answer")
		if w.lost++; w.lost >= maxLost {
			w.ended = err
		}
	case a != nil:
		w.lost = 0
		w.refused[placeOf(uri)] = refusalOf(a)
	case errors.Is(err, ErrAuth), errors.Is(err, ErrPinMismatch), errors.Is(err, ErrSessionLimit), errors.Is(err, ErrUnreachable):
		w.ended = err
	default:
		w.skip(uri, w.c.record.literal(err.Error()))
	}
}

// keep stores a body and follows its links.
func (w *captureWalk) keep(uri string, a *answer) {
	body := a.body
	doc, broken := decodeAny(body)
	switch {
	case len(body) > captureBody:
		w.skip(uri, fmt.Sprintf("too large: %d bytes", len(body)))
		return
	case broken != nil && !strings.HasPrefix(strings.TrimSpace(string(body)), "{"):
		w.skip(uri, "no JSON: "+a.header.Get("Content-Type"))
		return
	case w.bytes+int64(len(body)) > w.opts.Bytes:
		w.ended = fmt.Errorf("the bound of %d MiB is reached", w.opts.Bytes>>20)
		return
	}
	w.bytes += int64(len(body))
	if m, ok := doc.(map[string]any); ok {
		switch {
		case isLog(uri, m):
			body = w.log(uri, m, body)
		case placeOf(uri) == placeOf(w.c.t.session.collection):
			// The name of a session can hold that of its user (iLO).
			body = []byte(`{"@odata.id":"` + placeOf(uri) + `","Name":"Sessions","Members":[],"Members@odata.count":0}`)
			m["Members"] = nil
		}
		w.links(uri, m)
	}
	w.bodies[placeOf(uri)] = body
}

// follow notes a link to be read, once.
func (w *captureWalk) follow(uri string) {
	key := placeOf(uri)
	if !strings.HasPrefix(uri, "/") || w.seen[key] || key == "" {
		return
	}
	w.seen[key] = true
	if why := w.unwanted(key); why != "" {
		w.skip(key, why)
		return
	}
	if len(w.bodies)+len(w.refused)+len(w.next) >= w.opts.Resources {
		w.ended = fmt.Errorf("the bound of %d resources is reached", w.opts.Resources)
		return
	}
	uri, _, _ = strings.Cut(uri, "#")
	w.next = append(w.next, uri)
}

// unwanted says why a URI is not asked for.
func (w *captureWalk) unwanted(uri string) string {
	last := strings.ToLower(link(uri).id())
	switch {
	case slices.Contains(strings.Split(uri, "/"), ".."):
		return "not a path of its own"
	case strings.Contains(uri, "/Actions/") && !strings.Contains(uri, "ActionInfo"):
		return "an action" // R750: its registry of privileges names them
	case strings.HasPrefix(uri, placeOf(w.c.t.session.collection)+"/"):
		return "a session"
	case last == "sse" || strings.HasSuffix(last, "serversentevents"):
		return "an event stream, which has no end"
	case last == "attachment" || strings.HasSuffix(last, ".xml") || last == "$metadata":
		return "no JSON"
	}
	return ""
}

func (w *captureWalk) skip(uri, why string) {
	w.skipped = append(w.skipped, SkippedResource{uri, why})
}

// decodeAny keeps figures as they were written.
func decodeAny(body []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return value, nil
}
