package burnin

import (
	"fmt"
	"slices"
	"strings"
)

// redfishEvents reads every entry that bodies show, and whether one of their logs
// is full. found is false where there is no log at all.
func redfishEvents(bodies []redfishBody) (events []LogEvent, full, found bool) {
	services, chosen := logServices(bodies)
	seen := map[string]bool{}
	for _, b := range bodies {
		service := serviceOf(b, services)
		if chosen && service.fields != nil && !service.ofHardware() {
			continue
		}
		switch {
		case b.kind() == "LogEntryCollection":
			found = true
			full = full || service.isFull(b)
		case !b.isEvent(), seen[b.uri] && b.uri != b.of:
		default:
			found, seen[b.uri] = true, true
			events = append(events, b.event(firstWord(service.text("Id"), logName(b))))
		}
	}
	return events, full, found
}

// logServices are the services by the URI of their entries; chosen says that one of
// them is a log of hardware events, so that the others are not read for such.
func logServices(bodies []redfishBody) (services map[string]redfishBody, chosen bool) {
	services = map[string]redfishBody{}
	for _, b := range bodies {
		if entries := strings.TrimSuffix(b.text("Entries", "@odata.id"), "/"); b.kind() == "LogService" && entries != "" {
			services[entries] = b
			chosen = chosen || b.ofHardware()
		}
	}
	return services, chosen
}

// isEvent reports an entry of a log, also one that does not say its type.
func (b redfishBody) isEvent() bool {
	return b.kind() == "LogEntry" || b.of != "" && b.at("Created") != nil
}

// ofHardware tells a log of hardware events from those of logins, of the BMC's own
// acts and of dumps, by the type or the id of its service.
func (b redfishBody) ofHardware() bool {
	switch id := strings.ToLower(b.text("Id")); {
	case b.text("LogEntryType") == "SEL", id == "sel", id == "iml", id == "platformlog":
		return true
	default:
		return id == "eventlog" && strings.Contains(b.uri, "/Systems/")
	}
}

// serviceOf is the log that a collection or an entry belongs to.
func serviceOf(b redfishBody, services map[string]redfishBody) redfishBody {
	at, _, _ := strings.Cut(firstWord(b.of, b.uri), "?")
	if s, ok := services[at]; ok {
		return s
	}
	if i := strings.LastIndex(at, "/"); i > 0 {
		return services[at[:i]]
	}
	return redfishBody{}
}

// isFull reports a log that does not overwrite and has no room left. c is its
// collection.
func (b redfishBody) isFull(c redfishBody) bool {
	if rawText(b.at("OverWritePolicy")) != "NeverOverWrites" {
		return false
	}
	room, used := b.number("MaxNumberOfRecords"), c.number("Members@odata.count")
	return room.Set && room.V > 0 && used.Set && used.V >= room.V
}

// logName names the log of an entry by its URI.
func logName(b redfishBody) string {
	parts := strings.Split(firstWord(b.of, b.uri), "/")
	if i := slices.IndexFunc(parts, func(p string) bool { return strings.HasPrefix(p, "Entries") }); i > 0 {
		return parts[i-1]
	}
	return b.uri
}

func (b redfishBody) event(log string) LogEvent {
	ev := LogEvent{
		ID: firstWord(looseWord(b.at("Id")), b.uri), Log: log, Time: eventTime(rawText(b.at("Created"))), Severity: b.text("Severity"),
		Kind: firstWord(b.text("SensorType"), b.text("OemSensorType")), Message: rawText(b.at("MessageId")),
		Event: strings.TrimSpace(rawText(b.at("Message"))), Asserted: entryCode(rawText(b.at("EntryCode"))),
	}
	if ev.Time.IsZero() {
		ev.Time = eventTime(rawText(b.at("EventTimestamp")))
	}
	if ev.Event == "" {
		ev.Event = ev.Message
		if args := wordsOf(b.at("MessageArgs")); len(args) > 0 {
			ev.Event += " (" + strings.Join(args, ", ") + ")"
		}
	}
	b.vendorEvent(&ev)
	origin := rawText(b.at("Links", "OriginOfCondition", "@odata.id"))
	if ev.Sensor == "" && !strings.Contains(origin, "/Managers/") { // the BMC itself is no part that failed
		origin = strings.TrimSuffix(origin, "/")
		ev.Sensor = origin[strings.LastIndexByte(origin, '/')+1:]
	}
	if n := b.number("SensorNumber"); ev.Sensor == "" && ev.Kind != "" && n.Set {
		ev.Sensor = fmt.Sprintf("%s #0x%02x", ev.Kind, int(n.V))
	}
	return ev
}

// vendorEvent takes what vendors add to an entry, whoever they are: the name of the
// sensor, what of the machine it is about, and whether it was repaired.
func (b redfishBody) vendorEvent(ev *LogEvent) {
	oem, _ := b.at("Oem").(map[string]any)
	for _, vendor := range sortedKeys(oem) {
		fields, ok := oem[vendor].(map[string]any)
		if !ok {
			continue
		}
		ext := redfishBody{fields: fields}
		ev.Sensor = firstWord(ev.Sensor, ext.text("RawEventData", "SensorName"))
		ev.Kind = firstWord(ev.Kind, ext.text("ClassDescription"))
		if over, ok := ext.at("Repaired").(bool); ok && !ev.Asserted.Set {
			ev.Asserted = Opt[bool]{V: !over, Set: true}
		}
	}
}

// entryCode reads "Assert", "Deassert", "State Asserted", "Limit Not Exceeded".
func entryCode(code string) Opt[bool] {
	switch code = strings.ToLower(code); {
	case strings.Contains(code, "deassert"), strings.Contains(code, "not exceeded"):
		return Opt[bool]{Set: true}
	case strings.Contains(code, "assert"), strings.Contains(code, "limit exceeded"):
		return Opt[bool]{V: true, Set: true}
	}
	return Opt[bool]{}
}

// looseWord is a word, or a number written out.
func looseWord(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return fmt.Sprint(v)
	}
	return ""
}

func wordsOf(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if w := looseWord(item); w != "" {
			out = append(out, w)
		}
	}
	return out
}
