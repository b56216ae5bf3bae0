package redfish_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

func entryNamed(t *testing.T, list []redfish.LogEntry, log, id string) redfish.LogEntry {
	t.Helper()
	for _, e := range list {
		if e.Log == log && e.ID == id {
			return e
		}
	}
	t.Fatalf("no entry %s of %s among %d", id, log, len(list))
	return redfish.LogEntry{}
}

// TestLogOfTrees reads the hardware events of every captured machine, whole and of
// the last day before it was captured, and states what that costs.
func TestLogOfTrees(t *testing.T) {
	for _, c := range []struct {
		tree         string
		captured     string
		whole, day   int // entries
		first, again int // requests of the whole log, and of one day afterwards
		check        func(*testing.T, []redfish.LogEntry)
	}{
		{
			tree: "dell", captured: "2024-08-08T18:48:10-05:00", whole: 5, day: 0, first: 6, again: 2,
			check: func(t *testing.T, list []redfish.LogEntry) {
				t.Helper()
				e := entryNamed(t, list, "Sel", "1024")
				if e.Time.UTC().Format(time.RFC3339) != "2024-06-11T05:13:00Z" || e.Severity != "OK" || e.Asserted == nil || !*e.Asserted || e.MessageID != "7e012790" {
					t.Errorf("%+v", e)
				}
			},
		},
		{
			tree: "hpe", captured: "2024-08-15T21:43:28Z", whole: 5, day: 0, first: 7, again: 2,
			check: func(t *testing.T, list []redfish.LogEntry) {
				t.Helper()
				e := entryNamed(t, list, "IML", "3")
				if e.Kind != "Power" || e.Severity != "Warning" || e.Asserted == nil || !*e.Asserted || !strings.Contains(e.Event, "Input Power Loss") {
					t.Errorf("%+v", e)
				}
			},
		},
		{
			tree: "lenovo", captured: "2024-08-02T17:12:53Z", whole: 5, day: 0, first: 6, again: 2,
			check: func(t *testing.T, list []redfish.LogEntry) {
				t.Helper()
				e := entryNamed(t, list, "PlatformLog", "1")
				if e.Sensor != "209L0" || e.Time.UTC().Format("15:04:05.000") != "22:00:55.851" {
					t.Errorf("%+v", e)
				}
			},
		},
		{
			// Beside the SEL, the log of the GPU baseboard, whose clock was years behind.
			tree: "nvidia_viking", captured: "2024-07-10T22:11:16Z", whole: 175, day: 49, first: 16, again: 8,
			check: func(t *testing.T, list []redfish.LogEntry) {
				t.Helper()
				e := entryNamed(t, list, "SEL", "1")
				if e.Kind != "Event Logging Disabled" || e.Sensor != "" && strings.Contains(e.Sensor, "BMC") || e.Asserted == nil || !*e.Asserted {
					t.Errorf("%+v", e)
				}
				if e := entryNamed(t, list, "EventLog", "1"); !e.Time.IsZero() || e.Severity != "Critical" {
					t.Errorf("entry of 1970: %+v", e)
				}
				if e := entryNamed(t, list, "EventLog", "2364"); e.Sensor != "HGX_GPU_SXM_3" || e.Time.Year() != 2020 {
					t.Errorf("entry of the baseboard: %+v", e)
				}
			},
		},
		{
			tree: "supermicro", captured: "2023-11-30T21:01:15Z", whole: 82, day: 9, first: 7, again: 2,
			check: func(t *testing.T, list []redfish.LogEntry) {
				t.Helper()
				e := entryNamed(t, list, "Log1", "30")
				if e.Sensor != "PS1 Status" || e.Kind != "Power Supply / Converter" || e.Asserted == nil || *e.Asserted || !strings.Contains(e.Event, "input lost") {
					t.Errorf("%+v", e)
				}
			},
		},
	} {
		t.Run(c.tree, func(t *testing.T) {
			client, bmc := start(t, c.tree)
			at, skew, err := client.Clock(within(t, time.Minute))
			if err != nil || time.Since(at).Abs() > time.Minute || skew.Abs() > time.Minute {
				t.Fatalf("clock %v, skew %v, %v; want ours", at, skew, err)
			}
			n := requests(bmc)
			whole, err := client.Log(within(t, time.Minute), time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			first := requests(bmc) - n
			n = requests(bmc)
			day, err := client.Log(within(t, time.Minute), mustTime(t, c.captured).Add(-24*time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			again := requests(bmc) - n
			if len(whole) != c.whole || len(day) != c.day {
				t.Errorf("%d entries, %d of the last day; want %d and %d", len(whole), len(day), c.whole, c.day)
			}
			if first != c.first || again != c.again {
				t.Errorf("%d requests, then %d; want %d, then %d", first, again, c.first, c.again)
			}
			c.check(t, whole)
		})
	}
}

func mustTime(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

const selURI = "/redfish/v1/Systems/a/LogServices/SEL"

// logTree is a BMC with one SEL, whose pages are given by their query.
func logTree(pages map[string]string) redfishtest.Tree {
	more := map[string]string{
		"/redfish/v1/Managers/a":            `{"DateTime":"2026-03-01T12:00:00","DateTimeLocalOffset":"+01:00"}`,
		"/redfish/v1/Systems/a/LogServices": `{"Members":[{"@odata.id":"` + selURI + `"}]}`,
		selURI:                              `{"Id":"SEL","LogEntryType":"SEL","DateTimeLocalOffset":"+01:00","Entries":{"@odata.id":"` + selURI + `/Entries"}}`,
	}
	for query, body := range pages {
		more[selURI+"/Entries"+query] = body
	}
	return sensorTree(more)
}

// page writes a page of entries whose ids and minutes are first, first+step …
func page(count, first, n, step int, next string) string {
	var members []string
	for i := range n {
		id := first + i*step
		members = append(members, fmt.Sprintf(`{"@odata.id":"%s/Entries/%d","Id":"%d","Created":"2026-02-28T%02d:%02d:00","Message":"m"}`, selURI, id, id, id/60, id%60))
	}
	body := fmt.Sprintf(`{"Members@odata.count":%d,"Members":[%s]`, count, strings.Join(members, ","))
	if next != "" {
		body += fmt.Sprintf(`,"Members@odata.nextLink":"%s/Entries%s"`, selURI, next)
	}
	return body + "}"
}

// byOurClock is a moment of a BMC's clock by ours.
func byOurClock(t *testing.T, client *redfish.Client, at time.Time) time.Time {
	t.Helper()
	_, skew, err := client.Clock(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return at.Add(-skew)
}

// TestLogPages: of a long log only those pages are read that can hold what was
// asked for, in whichever order the BMC writes it.
func TestLogPages(t *testing.T) {
	since := time.Date(2026, 2, 28, 0, 90, 0, 0, time.FixedZone("", 3600)) // minute 90 of the day there
	for _, c := range []struct {
		name  string
		pages map[string]string
		first string // id of the first entry wanted, of those until 99
		asked int    // pages
		err   string
	}{
		{
			name: "oldest first", first: "90", asked: 3, // the first, the last, and one that is older throughout
			pages: map[string]string{
				"": page(100, 0, 10, 1, "?$skip=10"), "?$skip=80": page(100, 80, 10, 1, "?$skip=90"), "?$skip=90": page(100, 90, 10, 1, ""),
			},
		},
		{
			name: "oldest first, skip written with an escape", first: "90", asked: 3,
			pages: map[string]string{
				"": page(100, 0, 10, 1, "?%24skip=10"), "?%24skip=80": page(100, 80, 10, 1, ""), "?%24skip=90": page(100, 90, 10, 1, ""),
			},
		},
		{
			name: "newest first", first: "90", asked: 2,
			pages: map[string]string{"": page(100, 99, 10, -1, "?p=2"), "?p=2": page(100, 89, 10, -1, "?p=3")},
		},
		{
			name: "oldest first, count of one page, no way to skip", first: "90", asked: 2,
			pages: map[string]string{"": page(50, 0, 50, 1, "?p=2"), "?p=2": page(50, 50, 50, 1, "")},
		},
		{
			name: "next page is the page before", first: "95", asked: 2,
			pages: map[string]string{"": page(10, 99, 3, -1, "?p=2"), "?p=2": page(10, 96, 2, -1, "?p=2")},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: logTree(c.pages)})
			client := open(t, bmc)
			list, err := client.Log(within(t, time.Minute), byOurClock(t, client, since))
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			for request, n := range bmc.Requests() {
				if strings.Contains(request, "/Entries") {
					asked += n
				}
			}
			if asked != c.asked {
				t.Errorf("%d pages asked for, want %d: %v", asked, c.asked, bmc.Requests())
			}
			want := 100 - atoi(t, c.first)
			if len(list) != want {
				t.Errorf("%d entries, want %d", len(list), want)
			}
			for id := 99; id > 99-want; id-- {
				entryNamed(t, list, "SEL", fmt.Sprint(id))
			}
		})
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLogOfLinks reads entries one by one from the newest end where a log lists
// only links, and stops when they are too old.
func TestLogOfLinks(t *testing.T) {
	pages := map[string]string{}
	var members []string
	for id := range 100 {
		members = append(members, fmt.Sprintf(`{"@odata.id":"%s/Entries/%d"}`, selURI, id))
		pages[fmt.Sprintf("/%d", id)] = fmt.Sprintf(`{"Id":"%d","Created":"2026-02-28T%02d:%02d:00","Message":"m"}`, id, id/60, id%60)
	}
	pages[""] = `{"Members":[` + strings.Join(members, ",") + `]}`
	bmc := serve(t, redfishtest.Options{Tree: logTree(pages)})
	client := open(t, bmc)
	list, err := client.Log(within(t, time.Minute), byOurClock(t, client, time.Date(2026, 2, 28, 0, 90, 0, 0, time.FixedZone("", 3600))))
	if err != nil || len(list) != 10 {
		t.Fatalf("%d entries, %v; want 10", len(list), err)
	}
	if n := requests(bmc); n > 50 {
		t.Errorf("%d requests for ten of a hundred entries", n)
	}
}

// TestLogEntryShapes: fields of other shapes, moments before the BMC had its
// clock, and entries that are none.
func TestLogEntryShapes(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: logTree(map[string]string{"": `{"Members":[
		{"Id":1,"Created":"1970-01-01T00:01:38Z","Message":"before the clock","EntryCode":"Assert"},
		{"Id":"2","Created":"PreInit","Message":"no time","EntryCode":"State Deasserted"},
		{"Id":"3","Created":"0000-00-00T00:00:00Z","Message":null,"MessageId":"X.1.0.Y","MessageArgs":["a",5]},
		{"Id":"4","Created":"2026-03-01T10:00:00","Severity":"Critical","Message":"without zone","SensorType":"Memory","SensorNumber":"18","Oem":[]},
		"odd", null,
		{"Id":"5","Created":"2026-02-01T10:00:00+01:00","Message":"too old"}]}`})})
	client := open(t, bmc)
	at, _, err := client.Clock(within(t, time.Minute))
	if err != nil || !at.Equal(time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)) {
		t.Fatalf("clock without a zone: %v, %v", at, err)
	}
	list, err := client.Log(within(t, time.Minute), byOurClock(t, client, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)))
	if err != nil || len(list) != 4 {
		t.Fatalf("%d entries, %v; want 4: %+v", len(list), err, list)
	}
	for _, id := range []string{"1", "2", "3"} {
		if e := entryNamed(t, list, "SEL", id); !e.Time.IsZero() {
			t.Errorf("entry %s has the time %v", id, e.Time)
		}
	}
	if e := entryNamed(t, list, "SEL", "2"); e.Asserted == nil || *e.Asserted {
		t.Errorf("deasserted: %+v", e)
	}
	if e := entryNamed(t, list, "SEL", "3"); e.Event != "X.1.0.Y (a, 5)" {
		t.Errorf("event of a message id: %q", e.Event)
	}
	e := entryNamed(t, list, "SEL", "4")
	if !e.Time.Equal(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)) || e.Sensor != "Memory #0x12" || e.Severity != "Critical" || e.Asserted != nil {
		t.Errorf("%+v", e)
	}
}

// TestLogByItsOwnClock: the controller of a GPU baseboard keeps a clock of its own,
// years behind that of the manager (DGX H100). What is asked for and what comes
// back is by the manager's.
func TestLogByItsOwnClock(t *testing.T) {
	tree := logTree(map[string]string{"": `{"Members":[
		{"Id":"1","Created":"2020-12-11T10:00:00Z","Message":"two hours ago"},
		{"Id":"2","Created":"2020-12-11T11:50:00Z","Message":"ten minutes ago"}]}`})
	tree[selURI] = []byte(`{"Id":"SEL","DateTime":"2020-12-11T12:00:00Z","Entries":{"@odata.id":"` + selURI + `/Entries"}}`)
	// The simulated BMC lets the clocks it knows run; this service it does not know.
	tree["/redfish/v1/Systems/a"] = []byte(strings.Replace(string(tree["/redfish/v1/Systems/a"]), `"LogServices"`, `"Logs"`, 1))
	tree["/redfish/v1/Managers/a"] = []byte(`{"DateTime":"2026-03-01T12:00:00Z"}`)
	tree["/redfish/v1/Chassis/a"] = []byte(`{"Id":"a","LogServices":{"@odata.id":"/redfish/v1/Systems/a/LogServices"}}`)
	bmc := serve(t, redfishtest.Options{Tree: tree})
	client := open(t, bmc)
	at, _, err := client.Clock(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.Log(within(t, time.Minute), time.Now().Add(-time.Hour))
	if err != nil || len(list) != 1 || list[0].ID != "2" {
		t.Fatalf("%+v, %v; want the entry of ten minutes ago", list, err)
	}
	if ago := at.Sub(list[0].Time); (ago - 10*time.Minute).Abs() > time.Minute {
		t.Errorf("it is %v old by the manager's clock, want 10 min", ago)
	}
}

// TestLogNotWhole: what could not be read is told, and the rest is there.
func TestLogNotWhole(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: logTree(map[string]string{"": page(20, 99, 10, -1, "?p=2"), "?p=2": `{"Members":[,]}`})})
	list, err := open(t, bmc).Log(within(t, time.Minute), time.Time{})
	if _, ok := errors.AsType[*redfish.PartialError](err); !ok || len(list) != 10 {
		t.Errorf("%d entries, %v; want 10 and a PartialError", len(list), err)
	}
}

func TestNoLog(t *testing.T) {
	tree := logTree(nil)
	tree[selURI] = []byte(`{"Id":"AuditLog","LogEntryType":"Event","Entries":{"@odata.id":"/x"}}`)
	if list, err := open(t, serve(t, redfishtest.Options{Tree: tree})).Log(within(t, time.Minute), time.Time{}); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("%+v, %v; want ErrUnsupported", list, err)
	}
}
