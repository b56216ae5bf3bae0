package redfishtest_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const (
	selURI     = managerURI + "/LogServices/SEL"
	entriesURI = selURI + "/Entries"
	clearURI   = selURI + "/Actions/LogService.ClearLog"
	sseURI     = "/redfish/v1/EventService/SSE"
	sensorsURI = chassisURI + "/Sensors"
)

// addLogs gives the fixture's manager a clock and a log with one old entry, and
// an event service.
func addLogs(tree redfishtest.Tree) {
	tree[managerURI+"/LogServices"] = json.RawMessage(`{"Members":[{"@odata.id":"` + selURI + `"}]}`)
	tree[selURI] = json.RawMessage(`{"@odata.id":"` + selURI + `","Id":"SEL","LogEntryType":"SEL","MaxNumberOfRecords":4,
		"DateTime":"2024-01-01T00:00:00+00:00","Entries":{"@odata.id":"` + entriesURI + `"},
		"Actions":{"#LogService.ClearLog":{"target":"` + clearURI + `"},"#LogService.CollectDiagnosticData":{"target":"` + collectURI + `"}}}`)
	old := `{"@odata.id":"` + entriesURI + `/7","Id":"7","Created":"2024-01-01T00:00:00Z","Message":"old"}`
	tree[entriesURI+"/7"] = json.RawMessage(old)
	tree[entriesURI] = json.RawMessage(`{"Members":[` + old + `],"Members@odata.count":1}`)
	tree[sensorsURI] = json.RawMessage(`{"Members":[],"Members@odata.count":0}`)
	tree["/redfish/v1/EventService"] = json.RawMessage(`{"ServiceEnabled":true,"ServerSentEventUri":"` + sseURI + `",
		"Actions":{"#EventService.SubmitTestEvent":{"target":"/redfish/v1/EventService/Actions/EventService.SubmitTestEvent"}}}`)
}

func (r *rig) log(t *testing.T, message string) string {
	t.Helper()
	uri, err := r.AddLogEntry("SEL", redfishtest.LogEntry{
		Severity: "Critical", Message: message, MessageID: "Lab.1.0.Event", Args: []string{"a"}, Code: "Assert", Sensor: "Fan", Number: 21,
	})
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

func messages(a answer) []string {
	var out []string
	list, _ := a.value("Members").([]any)
	for _, m := range list {
		entry, _ := m.(map[string]any)
		text, _ := entry["Message"].(string)
		out = append(out, text)
	}
	return out
}

func TestLogEntries(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	before := time.Now().Add(-2 * time.Second)
	uri := r.log(t, "fan stopped")
	a := r.get(t, uri).want(t, 200)
	if a.value("Id") != "8" || a.value("EntryType") != "SEL" || a.value("SensorNumber") != 21.0 || a.value("EntryCode") != "Assert" {
		t.Errorf("entry %s", a.raw)
	}
	created, err := time.Parse(time.RFC3339, a.value("Created").(string))
	if err != nil || created.Before(before) || created.After(time.Now().Add(time.Second)) {
		t.Errorf("created %v: %v", a.value("Created"), err)
	}
	for _, m := range []string{"two", "three", "four"} {
		r.log(t, m)
	}
	a = r.get(t, entriesURI)
	if got := strings.Join(messages(a), " "); got != "fan stopped two three four" || a.value("Members@odata.count") != 4.0 {
		t.Errorf("a log of four holds %q, count %v", got, a.value("Members@odata.count"))
	}
	r.do(t, http.MethodPost, clearURI, map[string]any{}).want(t, 204)
	if got := messages(r.get(t, entriesURI)); len(got) != 0 {
		t.Errorf("after the clear: %v", got)
	}
	r.get(t, uri).want(t, 404)
	if last := r.log(t, "five"); last != entriesURI+"/12" {
		t.Errorf("numbers start anew: %s", last)
	}
	r.acts(t, map[string]int{"log.clear": 1})
	if _, err := r.AddLogEntry("nowhere", redfishtest.LogEntry{}); err == nil {
		t.Error("a log that is not there took an entry")
	}
}

func TestNewestFirstOnDell(t *testing.T) {
	r := start(t, "Dell", redfishtest.Options{})
	r.log(t, "new")
	if got := strings.Join(messages(r.get(t, entriesURI)), " "); got != "new old" {
		t.Errorf("order %q", got)
	}
}

func TestPut(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	for range 2 {
		if err := r.Put(sensorsURI+"/CPU0", map[string]any{"@odata.id": sensorsURI + "/CPU0", "Reading": 45}); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.get(t, sensorsURI+"/CPU0").want(t, 200).value("Reading"); got != 45.0 {
		t.Errorf("reading %v", got)
	}
	if n := r.get(t, sensorsURI).value("Members@odata.count"); n != 1.0 {
		t.Errorf("the collection lists %v", n)
	}
	if err := r.Put("/redfish/v1/Alone", map[string]any{"Id": "Alone"}); err != nil {
		t.Fatal(err)
	}
	r.get(t, "/redfish/v1/Alone").want(t, 200)
	if err := r.Put("/redfish/v1/Bad", map[string]any{"f": func() {}}); err == nil {
		t.Error("what is no JSON was taken")
	}
}

func TestClockRuns(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	told, err := time.Parse(time.RFC3339, r.get(t, selURI).value("DateTime").(string))
	if err != nil || time.Since(told).Abs() > time.Minute {
		t.Errorf("clock %v: %v", told, err)
	}
	if got := r.get(t, selURI).value("DateTime").(string); !strings.HasSuffix(got, "+00:00") {
		t.Errorf("the form of the tree is gone: %s", got)
	}
}

// Every captured log takes an entry and can be cleared.
func TestLogsOfCaptures(t *testing.T) {
	cases := map[string]struct{ log, clear string }{
		"dell":          {"/redfish/v1/Managers/iDRAC.Embedded.1/LogServices/Sel", "/Actions/LogService.ClearLog"},
		"hpe":           {"/redfish/v1/Systems/1/LogServices/IML", "/Actions/LogService.ClearLog"},
		"lenovo":        {"/redfish/v1/Systems/1/LogServices/PlatformLog", "/Actions/LogService.ClearLog"},
		"nvidia_viking": {"/redfish/v1/Managers/BMC/LogServices/SEL", "/Actions/LogService.ClearLog"},
		"supermicro":    {"/redfish/v1/Systems/1/LogServices/Log1", "/Actions/LogService.ClearLog"},
	}
	folder := captures(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree, err := redfishtest.LoadTarGz(filepath.Join(folder, name+".tar.gz"))
			if err != nil {
				t.Fatal(err)
			}
			r := start(t, "", redfishtest.Options{Tree: tree})
			old := len(messages(r.get(t, c.log+"/Entries")))
			uri, err := r.AddLogEntry(c.log, redfishtest.LogEntry{Severity: "Warning", Message: "new"})
			if err != nil {
				t.Fatal(err)
			}
			r.get(t, uri).want(t, 200, `"new"`)
			if now := len(messages(r.get(t, c.log+"/Entries"))); now != old+1 {
				t.Errorf("%d entries, %d before", now, old)
			}
			if a := r.do(t, http.MethodPost, c.log+c.clear, map[string]any{}); a.status >= 300 {
				t.Errorf("clear: %d %s", a.status, a.raw)
			}
			if now := len(messages(r.get(t, c.log+"/Entries"))); now != 0 {
				t.Errorf("%d entries after the clear", now)
			}
		})
	}
}

// follow opens the event stream; lines come until it ends.
func (r *rig) follow(t *testing.T) (lines <-chan string, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL()+sseURI, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("admin", "password")
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer res.Body.Close()
		scanner := bufio.NewScanner(res.Body)
		for scanner.Scan() {
			out <- scanner.Text()
		}
	}()
	return out, res.StatusCode
}

func TestEventStream(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	lines, status := r.follow(t)
	if status != 200 {
		t.Fatalf("status %d", status)
	}
	r.log(t, "fan stopped")
	if id := <-lines; id != "id: 1" {
		t.Errorf("first line %q", id)
	}
	var event struct {
		Events []struct{ Message, Severity string }
	}
	data, _ := strings.CutPrefix(<-lines, "data: ")
	if err := json.Unmarshal([]byte(data), &event); err != nil || len(event.Events) != 1 || event.Events[0].Message != "fan stopped" {
		t.Errorf("event %s: %v", data, err)
	}
	if blank := <-lines; blank != "" {
		t.Errorf("no end of the event: %q", blank)
	}
	r.do(t, http.MethodPost, "/redfish/v1/EventService/Actions/EventService.SubmitTestEvent", map[string]any{"MessageId": "T"}).want(t, 204)
	if id := <-lines; id != "id: 2" {
		t.Errorf("then %q", id)
	}
	for range 3 {
		if _, status := r.follow(t); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	if _, status := r.follow(t); status != 503 {
		t.Errorf("a fifth stream: %d", status)
	}
}

// TestEventStreamIsTakenUp behind the event that the reader had last.
func TestEventStreamIsTakenUp(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	for _, m := range []string{"one", "two", "three"} {
		r.log(t, m)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL()+sseURI, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("admin", "password")
	req.Header.Set("Last-Event-ID", "2")
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	head := make([]byte, len("id: 3"))
	if _, err := io.ReadFull(res.Body, head); err != nil || string(head) != "id: 3" {
		t.Errorf("first %q, %v", head, err)
	}
}

func TestEventServiceOff(t *testing.T) {
	tree := fixtureTree("")
	tree["/redfish/v1/EventService"] = json.RawMessage(`{"ServiceEnabled":false,"ServerSentEventUri":"` + sseURI + `"}`)
	r := start(t, "", redfishtest.Options{Tree: tree})
	r.get(t, sseURI).want(t, 503, "ServiceDisabled")
}

var logFaults = map[string]faultCase{
	"pages": {run: func(r *rig) {
		for _, m := range []string{"two", "three"} {
			r.log(r.t, m)
		}
		r.fault(r.t, "pages=2")
		a := r.get(r.t, entriesURI)
		next, _ := a.value("Members@odata.nextLink").(string)
		if got := messages(a); len(got) != 2 || next != entriesURI+"?$skip=2" || a.value("Members@odata.count") != 3.0 {
			r.t.Fatalf("first page %v, next %q", got, next)
		}
		a = r.get(r.t, next)
		if got := messages(a); len(got) != 1 || got[0] != "three" || a.value("Members@odata.nextLink") != nil {
			r.t.Errorf("last page %v", got)
		}
	}},
	"clock-skew": {run: func(r *rig) {
		r.fault(r.t, "clock-skew=-7200")
		for _, told := range []any{r.get(r.t, selURI).value("DateTime"), r.get(r.t, r.log(r.t, "x")).value("Created")} {
			at, err := time.Parse(time.RFC3339, told.(string))
			if behind := time.Since(at); err != nil || behind < 7190*time.Second || behind > 7260*time.Second {
				r.t.Errorf("%v is %v behind: %v", told, behind, err)
			}
		}
	}},
	"sse-stall": {run: func(r *rig) {
		r.fault(r.t, "sse-stall")
		lines, status := r.follow(r.t)
		r.log(r.t, "x")
		select {
		case line := <-lines:
			r.t.Errorf("%q came", line)
		case <-time.After(100 * time.Millisecond):
		}
		if status != 200 {
			r.t.Errorf("status %d", status)
		}
	}},
	"sse-unterminated": {run: func(r *rig) {
		r.fault(r.t, "sse-unterminated")
		req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.URL()+sseURI, http.NoBody)
		if err != nil {
			r.t.Fatal(err)
		}
		req.SetBasicAuth("admin", "password")
		res, err := r.client.Do(req)
		if err != nil {
			r.t.Fatal(err)
		}
		defer res.Body.Close()
		head := make([]byte, 4<<20)
		if _, err := io.ReadFull(res.Body, head); err != nil || strings.ContainsRune(string(head), '\n') {
			r.t.Errorf("the event ends: %v", err)
		}
	}},
	"sse-closes": {run: func(r *rig) {
		r.fault(r.t, "sse-closes=10ms")
		lines, _ := r.follow(r.t)
		if line, open := <-lines; open {
			r.t.Errorf("%q came", line)
		}
	}},
}
