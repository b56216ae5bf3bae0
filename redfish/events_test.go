package redfish_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const (
	eventService = "/redfish/v1/EventService"
	eventSEL     = "/redfish/v1/Systems/a/LogServices/SEL"
)

// eventTree is a machine that tells of its log's entries.
func eventTree(service string) redfishtest.Tree {
	tree := small()
	tree["/redfish/v1"] = []byte(strings.Replace(string(tree["/redfish/v1"]), "{", `{"EventService":{"@odata.id":"`+eventService+`"},`, 1))
	tree[eventService] = []byte(service)
	tree["/redfish/v1/Systems/a"] = []byte(strings.Replace(smallSystem, "{", `{"LogServices":{"@odata.id":"/redfish/v1/Systems/a/LogServices"},`, 1))
	tree["/redfish/v1/Systems/a/LogServices"] = []byte(`{"Members":[{"@odata.id":"` + eventSEL + `"}]}`)
	tree[eventSEL] = []byte(`{"@odata.id":"` + eventSEL + `","Id":"SEL","LogEntryType":"SEL","Entries":{"@odata.id":"` + eventSEL + `/Entries"}}`)
	tree[eventSEL+"/Entries"] = []byte(`{"Members":[]}`)
	return tree
}

const streamsEvents = `{"ServiceEnabled":true,"ServerSentEventUri":"/redfish/v1/SSE","SSEFilterPropertiesSupported":{"EventFormatType":true}}`

// heard follows a BMC's events into a channel that is closed at the end.
func heard(ctx context.Context, c *redfish.Client) (<-chan redfish.Event, *error) {
	ch, last := make(chan redfish.Event), new(error)
	go func() {
		defer close(ch)
		for e, err := range c.Events(ctx) {
			if err != nil {
				*last = err
				return
			}
			select {
			case ch <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ch, last
}

// tell adds log entries until one is heard: a stream opens when it does.
func tell(t *testing.T, bmc *redfishtest.BMC, ch <-chan redfish.Event, message string) redfish.Event {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case e, open := <-ch:
			if !open {
				t.Fatal("the stream ended")
			}
			return e
		case <-tick.C:
			if _, err := bmc.AddLogEntry("SEL", redfishtest.LogEntry{Severity: "Warning", Message: message, MessageID: "X.1.0.Fan"}); err != nil {
				t.Fatal(err)
			}
		case <-t.Context().Done():
			t.Fatal("nothing was heard")
		}
	}
}

func TestEvents(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: eventTree(streamsEvents)})
	c := open(t, bmc)
	ctx, cancel := context.WithCancel(t.Context())
	ch, last := heard(ctx, c)
	e := tell(t, bmc, ch, "fan stopped, password "+password)
	if e.MessageID != "X.1.0.Fan" || e.Severity != "Warning" || !strings.HasPrefix(e.Message, "fan stopped") || strings.Contains(e.Message, password) || e.Time == "" || e.Gap {
		t.Errorf("%+v", e)
	}
	if !e.About(eventSEL) || !e.About("/redfish/v1/Systems/a/") || e.About("/redfish/v1/Systems/ab") || !(redfish.Event{}).About("/redfish/v1/Systems/a") {
		t.Errorf("what it is about: %q", e.Origin)
	}
	if n := bmc.Requests()["GET /redfish/v1/SSE?$filter=EventFormatType+eq+Event"]; n != 1 {
		t.Errorf("reports of metrics are not left out: %v", bmc.Requests())
	}
	cancel()
	for range ch { // what was on its way
	}
	if *last != nil {
		t.Errorf("after the end: %v", *last)
	}
}

// TestEventsAreTakenUpAgain behind the last that was heard, and who listens is told of
// the gap.
func TestEventsAreTakenUpAgain(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: eventTree(streamsEvents), Faults: []string{"sse-closes=100ms*1"}})
	c := open(t, bmc)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ch, last := heard(ctx, c)
	var told atomic.Int32
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for range 100 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			_, _ = bmc.AddLogEntry("SEL", redfishtest.LogEntry{Message: fmt.Sprint(told.Add(1))})
		}
	}()
	gaps, next := 0, 0
	for next <= 100 {
		e, open := <-ch
		if !open {
			t.Fatalf("the stream ended: %v", *last)
		}
		if e.Gap {
			gaps++
			continue
		}
		n, err := strconv.Atoi(e.Message)
		if err != nil || next != 0 && n != next {
			t.Fatalf("%q, want %d", e.Message, next)
		}
		next = n + 1
	}
	if gaps != 1 {
		t.Errorf("%d gaps told, want 1", gaps)
	}
}

func TestEventsThatAreNone(t *testing.T) {
	trees := map[string]redfishtest.Tree{
		"no service":  small(),
		"no stream":   eventTree(`{"ServiceEnabled":true}`),
		"service off": eventTree(`{"ServiceEnabled":false,"ServerSentEventUri":"/redfish/v1/SSE"}`),
	}
	for name, tree := range trees {
		c := open(t, serve(t, redfishtest.Options{Tree: tree}))
		for e, err := range c.Events(t.Context()) {
			if !errors.Is(err, redfish.ErrUnsupported) {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
		}
	}
	for fault, says := range map[string]string{"sse-unterminated": "without an end", "sse-closes=1ms": "without telling anything"} {
		c := open(t, serve(t, redfishtest.Options{Tree: eventTree(streamsEvents), Faults: []string{fault}}))
		var last error
		for _, err := range c.Events(within(t, time.Minute)) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), says) {
			t.Errorf("%s: %v, want %q", fault, last, says)
		}
	}
}

// TestEventsHurryAWait: a wait that has become long ends when the BMC tells, and a BMC
// that tells nothing is asked as ever.
func TestEventsHurryAWait(t *testing.T) {
	for fault, hurried := range map[string]bool{"": true, "sse-stall": false} {
		var bmc *redfishtest.BMC
		tree := eventTree(streamsEvents)
		bmc = serve(t, redfishtest.Options{Tree: tree})
		if fault != "" {
			if err := bmc.SetFault(fault, true); err != nil {
				t.Fatal(err)
			}
		}
		c := open(t, bmc)
		for range 2 {
			if err := c.Pause(t.Context(), time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		if n := bmc.Requests()["GET "+eventService]; n != 0 {
			t.Errorf("a short wait opened a stream")
		}
		stop := make(chan struct{})
		go func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
					_, _ = bmc.AddLogEntry("SEL", redfishtest.LogEntry{Message: "power is on"})
				}
			}
		}()
		const long = 4 * time.Second
		began := time.Now()
		if err := c.Pause(within(t, time.Minute), long); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < long/4 || (took < long) != hurried {
			t.Errorf("%q: after %s", fault, took)
		}
		close(stop)
	}
}

// TestEventsOfCapturedTrees: which of the captured machines stream.
func TestEventsOfCapturedTrees(t *testing.T) {
	for tree, streams := range map[string]bool{"dell": false, "hpe": false, "lenovo": true, "nvidia_viking": true, "supermicro": false} {
		c, bmc := start(t, tree)
		ctx, cancel := context.WithCancel(t.Context())
		ch, last := heard(ctx, c)
		if streams {
			for opened := false; !opened && t.Context().Err() == nil; {
				for request := range maps.Keys(bmc.Requests()) {
					opened = opened || strings.Contains(request, "$filter=EventFormatType")
				}
			}
		}
		if !streams {
			<-ch
			if !errors.Is(*last, redfish.ErrUnsupported) {
				t.Errorf("%s: %v", tree, *last)
			}
		}
		cancel()
		for range ch {
		}
	}
}
