package redfishtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of the event stream.
const (
	maxStreams  = 4                // a fifth is a 503
	streamQueue = 64               // events that a slow reader may be behind; then the stream is cut
	keepAlive   = 10 * time.Second // between comments that keep the connection
	endless     = 8 << 20          // bytes of the event without an end
)

// events is the Server-Sent-Events stream of the EventService (DSP0266).
type events struct {
	uri     string // "" where the tree names none
	enabled bool
	next    int
	streams map[chan []byte]bool
	kept    []kept // the last ones, for who comes again
}

// kept is an event with its number.
type kept struct {
	id      int
	message []byte
}

func (b *BMC) discoverEvents(root map[string]any) {
	b.events = &events{next: 1, streams: map[chan []byte]bool{}}
	service, err := b.store.object(link(root, "EventService"))
	if err != nil {
		return
	}
	b.events.uri = canonical(text(service, "ServerSentEventUri"))
	enabled, told := service["ServiceEnabled"].(bool)
	b.events.enabled = enabled || !told
	if target := canonical(text(service, "Actions", "#EventService.SubmitTestEvent", "target")); target != "" {
		b.routes[target] = route{http.MethodPost: b.testEvent}
	}
}

// testEvent is POST …/Actions/EventService.SubmitTestEvent.
func (b *BMC) testEvent(req *request) reply {
	b.effect(req, "event.test", text(req.body, "MessageId"), func() {
		b.publish(map[string]any{
			"EventType": "Alert", "EventId": "test", "Severity": "OK", "EventTimestamp": b.clockText(""),
			"MessageId": text(req.body, "MessageId"), "Message": "Test event",
		})
	})
	return noContent()
}

// eventOf is the event that tells of a new log entry.
func eventOf(entry map[string]any) map[string]any {
	return map[string]any{
		"EventType": "Alert", "EventId": entry["Id"], "Severity": entry["Severity"], "EventTimestamp": entry["Created"],
		"MessageId": entry["MessageId"], "Message": entry["Message"], "MessageArgs": entry["MessageArgs"],
		"OriginOfCondition": map[string]any{"@odata.id": entry["@odata.id"]},
	}
}

// publish sends an event to every open stream. A reader that is too far behind
// loses its stream, not the BMC its memory.
func (b *BMC) publish(event map[string]any) {
	number := b.events.next
	id := strconv.Itoa(number)
	b.events.next++
	event["MemberId"] = "0"
	raw, err := json.Marshal(map[string]any{
		"@odata.type": "#Event.v1_4_1.Event", "Id": id, "Name": "Event Array", "Events": []any{event},
	})
	if err != nil {
		b.log.Error("cannot tell an event", "error", err)
		return
	}
	message := fmt.Appendf(nil, "id: %s\ndata: %s\n\n", id, raw)
	b.events.kept = append(b.events.kept, kept{number, message})
	b.events.kept = b.events.kept[max(0, len(b.events.kept)-streamQueue):]
	for stream := range b.events.streams {
		select {
		case stream <- message:
		default:
			close(stream)
			delete(b.events.streams, stream)
		}
	}
}

// openStream answers a GET of the stream's URI. Who says which event was the last gets
// what came behind it.
func (b *BMC) openStream(req *request) reply {
	switch {
	case !b.events.enabled:
		return failure(http.StatusServiceUnavailable, baseRegistry+"ServiceDisabled", "The event service is off.")
	case len(b.events.streams) >= maxStreams:
		return failure(http.StatusServiceUnavailable, baseRegistry+"EventSubscriptionLimitExceeded",
			"No more event streams can be opened.")
	}
	stream := make(chan []byte, streamQueue)
	b.events.streams[stream] = true
	if last, err := strconv.Atoi(req.header.Get("Last-Event-ID")); err == nil {
		for _, k := range b.events.kept {
			if k.id > last {
				stream <- k.message // no more are kept than it holds
			}
		}
	}
	return reply{status: http.StatusOK, stream: stream}
}

// stream carries events until the client, the BMC or a fault ends it.
func (b *BMC) stream(w http.ResponseWriter, r *http.Request, events chan []byte) {
	b.mu.Lock()
	b.ledger.answered(http.StatusOK)
	_, stalls := b.faults.fire("sse-stall")
	_, endless := b.faults.fire("sse-unterminated")
	closes, limited := b.faults.fire("sse-closes")
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.events.streams, events)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	send := http.NewResponseController(w)
	if err := send.Flush(); err != nil {
		return
	}
	switch {
	case stalls:
		b.waitFor(r)
	case endless:
		b.drivel(w, r)
	default:
		var over <-chan time.Time
		if limited {
			d, _ := time.ParseDuration(closes) // checked when set
			timer := time.NewTimer(d)
			defer timer.Stop()
			over = timer.C
		}
		b.carry(w, r, events, over)
	}
}

func (b *BMC) carry(w http.ResponseWriter, r *http.Request, events <-chan []byte, over <-chan time.Time) {
	send := http.NewResponseController(w)
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	for {
		message := []byte(": alive\n\n")
		select {
		case <-r.Context().Done():
			return
		case <-b.ctx.Done():
			return
		case <-over:
			return
		case <-quiet.C:
		case event, open := <-events:
			if !open {
				return
			}
			message = event
		}
		if _, err := w.Write(message); err != nil || send.Flush() != nil {
			return
		}
	}
}

// drivel is an event that does not end: what a reader without a limit keeps in
// memory (FIELD-QUIRKS 83).
func (b *BMC) drivel(w http.ResponseWriter, r *http.Request) {
	chunk := []byte(strings.Repeat("x", 64<<10))
	_, err := w.Write([]byte("data: "))
	for sent := 0; sent < endless && err == nil && r.Context().Err() == nil; sent += len(chunk) {
		_, err = bytes.NewReader(chunk).WriteTo(w)
	}
	if err == nil {
		_ = http.NewResponseController(w).Flush()
		b.waitFor(r)
	}
}
