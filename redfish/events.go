package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Event is one thing that a BMC tells by itself.
type Event struct {
	MessageID string   `json:"message_id"`
	Message   string   `json:"message"`
	Args      []string `json:"args,omitempty"`
	Severity  string   `json:"severity"` // OK, Warning or Critical, as the BMC says
	Origin    string   `json:"origin"`   // URI of what it is about; "" where it does not say
	Time      string   `json:"time"`     // by the BMC's clock, as it writes it
	// Gap says that the stream was lost and is there again: what happened meanwhile may
	// never be told. Nothing else is set then; ask the BMC.
	Gap bool `json:"gap,omitempty"`
}

// About reports whether the event is about a resource or what is below it, or does not
// say what it is about.
func (e Event) About(uri string) bool {
	below, found := strings.CutPrefix(e.Origin, strings.TrimRight(uri, "/"))
	return e.Origin == "" || found && (below == "" || strings.ContainsAny(below[:1], "/#"))
}

const (
	// eventTries is how often a stream is opened in vain before its BMC is left alone.
	eventTries = 3
	// eventLife is how long a stream must last to count as a good one, though it tells
	// nothing.
	eventLife = 5 * time.Second
	// maxEventPause is the longest pause before it is opened again.
	maxEventPause = time.Minute
)

// Events yields what the BMC tells from now on, by Server-Sent Events, until ctx ends. A
// stream that was lost is taken up again, with a Gap. The error is the last: it wraps
// ErrUnsupported where there is no such stream. Events hurry things up and prove
// nothing: a BMC may leave any of them out, so whoever waits for something also asks.
// Reports of metrics are left out.
func (c *Client) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		uri, filtered, err := c.eventStream(ctx)
		if err != nil {
			yield(Event{}, err)
			return
		}
		f := follower{c: c, uri: uri, filtered: filtered, yield: func(e Event) bool { return yield(e, nil) }}
		if err := f.run(ctx); err != nil && ctx.Err() == nil {
			yield(Event{}, err)
		}
	}
}

// eventStream finds the stream. filtered is the same without reports of metrics, of
// which iDRAC sends megabytes (iDRAC-Telemetry-Reference-Tools asks so for the reports);
// "" where the BMC does not filter.
func (c *Client) eventStream(ctx context.Context) (uri, filtered string, err error) {
	var doc struct {
		Enabled flag `json:"ServiceEnabled"`
		Stream  link `json:"ServerSentEventUri"`
		Filters maybe[struct {
			Format flag `json:"EventFormatType"`
		}] `json:"SSEFilterPropertiesSupported"`
	}
	if c.root.Events == "" {
		return "", "", fmt.Errorf("BMC %s: %w: it tells no events", c.cfg.Addr, ErrUnsupported)
	}
	if _, err := c.get(ctx, c.root.Events, &doc); err != nil {
		return "", "", err
	}
	if doc.Stream == "" || doc.Enabled.ok && !doc.Enabled.value {
		return "", "", fmt.Errorf("BMC %s: %w: it has no stream of events, or its event service is off", c.cfg.Addr, ErrUnsupported)
	}
	uri = string(doc.Stream)
	if doc.Filters.value.Format.value && !strings.Contains(uri, "?") {
		filtered = uri + "?$filter=" + url.QueryEscape("EventFormatType eq Event")
	}
	return uri, filtered, nil
}

// follower follows one stream over its losses.
type follower struct {
	c             *Client
	uri, filtered string
	yield         func(Event) bool

	last  string // id of the last message
	retry time.Duration
	lost  bool
	ended bool // who listens wants no more
}

// run follows until ctx or the listener ends, or the stream is no good.
func (f *follower) run(ctx context.Context) error {
	for tries := 1; ; tries++ {
		told, err := f.once(ctx)
		switch {
		case f.ended || ctx.Err() != nil:
			return nil
		case f.filtered != "" && (statusOf(err) == http.StatusBadRequest || statusOf(err) == http.StatusNotFound || statusOf(err) == http.StatusNotImplemented):
			f.filtered = ""
			continue
		case told:
			tries = 0
		case statusOf(err) != 0 && !notReady(err), errors.Is(err, ErrUnsupported), errors.Is(err, ErrAuth), errors.Is(err, ErrPinMismatch):
			return err
		case tries >= eventTries:
			return fmt.Errorf("BMC %s: its stream of events ends without telling anything, %d times: %w", f.c.cfg.Addr, tries, cmpError(err, ErrUnreachable))
		}
		f.c.cfg.Log.DebugContext(ctx, "the stream of events was lost", "bmc", f.c.cfg.Addr, "err", err)
		f.lost = true
		if pause(ctx, min(max(f.retry, f.c.cfg.Poll)<<max(tries, 0), maxEventPause)) != nil {
			return nil
		}
	}
}

// once follows the stream until it is lost; told is whether it told anything.
func (f *follower) once(ctx context.Context) (told bool, err error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, err := f.c.t.follow(limited, cancel, firstOf(f.filtered, f.uri), f.last)
	if err != nil {
		return false, err
	}
	defer func() { _ = body.Close() }()
	if f.lost && !f.yield(Event{Gap: true}) {
		f.ended = true
		return true, nil
	}
	f.lost = false
	opened := time.Now()
	defer func() { told = told || time.Since(opened) > eventLife }()
	idle := time.AfterFunc(f.c.cfg.EventIdle, func() { cancel(errSilentStream) })
	defer idle.Stop()
	retry, err := readSSE(awake{body, idle, f.c.cfg.EventIdle}, func(m sseMessage) bool {
		told, f.last = true, m.id
		for _, e := range f.c.events(m.data) {
			if f.ended = !f.yield(e); f.ended {
				return false
			}
		}
		return true
	})
	if retry > 0 {
		f.retry = retry
	}
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	return told, err
}

// events are those of one message. What is none, such as a report of metrics, has none.
func (c *Client) events(data []byte) []Event {
	var doc struct {
		Events list[struct {
			ID        text  `json:"MessageId"`
			Message   text  `json:"Message"`
			Args      words `json:"MessageArgs"`
			Severity  text  `json:"MessageSeverity"`
			Old       text  `json:"Severity"`
			Timestamp text  `json:"EventTimestamp"`
			Origin    link  `json:"OriginOfCondition"`
		}] `json:"Events"`
	}
	if json.Unmarshal(data, &doc) != nil {
		return nil
	}
	var out []Event
	for _, e := range doc.Events {
		event := Event{
			MessageID: string(e.ID), Message: c.record.literal(string(e.Message)), Severity: firstOf(string(e.Severity), string(e.Old)),
			Origin: string(e.Origin), Time: string(e.Timestamp),
		}
		for _, a := range e.Args {
			event.Args = append(event.Args, c.record.literal(a))
		}
		out = append(out, event)
	}
	return out
}
