package redfishtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// defaultRecords bounds a log whose service names no MaxNumberOfRecords.
const defaultRecords = 1000

// LogEntry is an event to add to a log.
type LogEntry struct {
	Severity  string // "OK", "Warning", "Critical"
	Message   string
	MessageID string
	Args      []string
	Code      string // EntryCode of a SEL entry: "Assert", "Deassert"; "" = none
	Sensor    string // SensorType of a SEL entry: "Memory", "Fan"…; "" = none
	Number    int    // SensorNumber, with Sensor
	// Extra is laid over the entry as it is served, for what a vendor adds.
	Extra map[string]any
}

// logService is one log of the tree.
type logService struct {
	bmc     *BMC
	uri, id string
	entries string // URI of the collection
	kind    string // EntryType of new entries
	limit   int    // the oldest entry goes when there are more
	next    int    // Id of the next entry
}

// discoverLogs finds the logs of systems, managers and chassis.
func (b *BMC) discoverLogs(root map[string]any) {
	for _, name := range []string{"Systems", "Managers", "Chassis"} {
		for _, owner := range b.membersOf(link(root, name)) {
			object, err := b.store.object(owner)
			if err != nil {
				continue
			}
			for _, uri := range b.membersOf(link(object, "LogServices")) {
				b.discoverLog(canonical(uri))
			}
		}
	}
}

func (b *BMC) discoverLog(uri string) {
	object, err := b.store.object(uri)
	if err != nil || slices.ContainsFunc(b.logs, func(l *logService) bool { return l.uri == uri }) {
		return
	}
	l := &logService{bmc: b, uri: uri, id: text(object, "Id"), entries: canonical(link(object, "Entries")), limit: defaultRecords, next: 1}
	l.kind = "Event"
	if text(object, "LogEntryType") == "SEL" {
		l.kind = "SEL"
	}
	if n, ok := object["MaxNumberOfRecords"].(json.Number); ok {
		if limit, err := n.Int64(); err == nil && limit > 0 {
			l.limit = int(limit)
		}
	}
	for _, entry := range l.members() {
		if n, err := strconv.Atoi(text(entry, "Id")); err == nil {
			l.next = max(l.next, n+1)
		}
	}
	b.logs = append(b.logs, l)
	b.overlays[uri] = b.overlayClock
	if target := canonical(text(object, "Actions", "#LogService.ClearLog", "target")); target != "" {
		b.routes[target] = route{http.MethodPost: l.clear}
	}
}

// members are the entries, whole: no BMC that was captured lists them by link.
func (l *logService) members() []any {
	collection, err := l.bmc.store.object(l.entries)
	if err != nil {
		return nil
	}
	list, _ := collection["Members"].([]any)
	return list
}

// clear is POST …/Actions/LogService.ClearLog.
func (l *logService) clear(req *request) reply {
	l.bmc.effect(req, "log.clear", l.id, func() {
		for _, entry := range l.members() {
			l.bmc.store.changed[canonical(link(entry))] = nil
		}
		l.save(nil)
	})
	return l.bmc.vendor.changed()
}

func (l *logService) save(members []any) {
	collection, err := l.bmc.store.object(l.entries)
	if err != nil {
		collection = map[string]any{"@odata.id": l.entries, "@odata.type": "#LogEntryCollection.LogEntryCollection", "Name": "Log Entries"}
	}
	delete(collection, "Members@odata.nextLink")
	if members == nil {
		members = []any{}
	}
	collection["Members"], collection["Members@odata.count"] = members, len(members)
	if err := l.bmc.store.put(l.entries, collection); err != nil {
		l.bmc.log.Error("cannot keep a log", "uri", l.entries, "error", err)
	}
}

// AddLogEntry adds an event to a log, which is named by its URI or by its Id,
// with the time of the BMC's clock, and tells those who follow the event
// stream. It returns the entry's URI.
func (b *BMC) AddLogEntry(log string, e LogEntry) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.logs, func(l *logService) bool { return l.uri == canonical(log) || l.id == log })
	if i < 0 {
		return "", fmt.Errorf("simulated BMC: the tree has no log %s", log)
	}
	l := b.logs[i]
	body := l.body(e)
	uri := text(body, "@odata.id")
	if err := b.store.put(uri, body); err != nil {
		return "", err
	}
	// iDRAC shows the newest first, the others the oldest.
	members := l.members()
	if b.vendor == dell {
		members = append([]any{body}, members...)
	} else {
		members = append(members, body)
	}
	if extra := len(members) - l.limit; extra > 0 {
		if b.vendor == dell {
			members = members[:l.limit]
		} else {
			members = members[extra:]
		}
	}
	l.save(members)
	b.publish(eventOf(body))
	return uri, nil
}

func (l *logService) body(e LogEntry) map[string]any {
	id := strconv.Itoa(l.next)
	l.next++
	body := map[string]any{
		"@odata.id": l.entries + "/" + id, "@odata.type": "#LogEntry.v1_9_0.LogEntry", "Id": id, "Name": "Log Entry " + id,
		"EntryType": l.kind, "Created": l.bmc.clockText(""), "Severity": cmp.Or(e.Severity, "OK"), "Message": e.Message,
		"MessageId": e.MessageID, "MessageArgs": append([]string{}, e.Args...),
	}
	if e.Code != "" {
		body["EntryCode"] = e.Code
	}
	if e.Sensor != "" {
		body["SensorType"], body["SensorNumber"] = e.Sensor, e.Number
	}
	maps.Copy(body, e.Extra)
	return body
}
