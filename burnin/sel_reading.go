package burnin

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// BMCSEL is what the BMC has logged of the hardware. provision writes it: Redfish
// bodies by URI, or {"ipmi:/sel": {"entries": […]}}. The text of `ipmitool sel list`
// and `sel elist` is read too.
var BMCSEL = Probe[EventLog]{
	Spec:  ProbeSpec{Name: "bmc-sel", Phases: []Phase{PhaseBMC, PhaseAfter}},
	Parse: parseBMCSEL,
}

// EventLog is one reading of a BMC's logs of hardware events.
type EventLog struct {
	Entries []LogEvent
	Note    BMCNote
	Full    bool  // it takes no more entries
	Missing error // what could not be read, or nil
}

// LogEvent is one entry, over whichever protocol.
type LogEvent struct {
	ID       string
	Log      string
	Time     time.Time // by the BMC's clock; zero where it had none
	Severity string    // OK, Warning, Critical; "" = not told
	Sensor   string
	Kind     string // type of the sensor: Memory, Power Supply …
	Event    string
	Message  string // Redfish's MessageId
	Asserted Opt[bool]
}

// key tells an entry from all others. Ids alone are used again after a log was
// cleared.
func (e LogEvent) key() string {
	return strings.Join([]string{e.Log, e.ID, e.Time.UTC().Format(time.RFC3339), e.Event}, "\x00")
}

// state is what an entry says is so, or no longer so, of one sensor. What stands in
// brackets is the reading at that time.
func (e LogEvent) state() string {
	event, _, _ := strings.Cut(e.Event, " (")
	return strings.Join([]string{e.Log, e.Sensor, e.Kind, event}, "\x00")
}

// words is all of an entry by which its meaning is looked up.
func (e LogEvent) words() string {
	return strings.Join([]string{e.Kind, e.Sensor, e.Event, e.Message}, " | ")
}

// String is an entry as a person reads it.
func (e LogEvent) String() string {
	var parts []string
	if !e.Time.IsZero() {
		parts = append(parts, e.Time.UTC().Format("2006-01-02 15:04:05"))
	}
	// A message of Redfish names its sensor itself.
	if e.Sensor != "" && !strings.Contains(e.Event, e.Sensor) && !strings.Contains(e.Sensor, "#0x") {
		parts = append(parts, e.Sensor)
	}
	return strings.Join(append(parts, e.Event), " ")
}

func parseBMCSEL(e *Evidence) (EventLog, error) {
	body, _ := e.Body()
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 {
		return EventLog{}, errors.New("bmc-sel: nothing was printed")
	}
	if trimmed[0] != '{' {
		return parseSELText(e)
	}
	bodies, err := parseBodies(e)
	if err != nil {
		return EventLog{}, err
	}
	log := EventLog{Note: bodies.note, Missing: bodies.err()}
	found := false
	for _, b := range bodies.list {
		if rows, ok := b.fields["entries"].([]any); ok {
			found = true
			log.Entries = append(log.Entries, ownEntries(rows)...)
			full, _ := b.fields["overflow"].(bool)
			log.Full = log.Full || full
		}
	}
	entries, full, any := redfishEvents(bodies.list)
	log.Entries, log.Full = append(log.Entries, entries...), log.Full || full
	if !found && !any {
		return log, errors.Join(errors.New("bmc-sel: no log is in it"), log.Missing)
	}
	return log, nil
}

// ownEntries reads the rows that our reader writes of IPMI.
func ownEntries(rows []any) []LogEvent {
	var out []LogEvent
	for _, row := range rows {
		fields, ok := row.(map[string]any)
		if !ok {
			continue
		}
		word := func(name string) string { return rawText(fields[name]) }
		ev := LogEvent{
			ID: word("id"), Log: word("log"), Severity: word("severity"), Sensor: word("sensor"), Kind: word("kind"), Event: word("event"), Message: word("message_id"),
			Time: eventTime(word("time")),
		}
		if on, ok := fields["asserted"].(bool); ok {
			ev.Asserted = Opt[bool]{V: on, Set: true}
		}
		if ev.ID == "" {
			ev.ID = word("source")
		}
		out = append(out, ev)
	}
	return out
}

// eventForms are the ways in which BMCs write a moment; one without a zone is taken
// for UTC, since entries are compared with each other and not with us.
var eventForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05",
	"01/02/2006 15:04:05", "01/02/2006 03:04:05 PM", "01/02/06 15:04:05", "01/02/06 15:04:05 MST", "01/02/2006 15:04:05 MST", "01/02/2006 03:04:05 PM MST",
}

// clockUnset is the moment before which a BMC cannot have logged: its clock was not
// set then, and it counted from 1970, from 1987 (IPMI's pre-init) or from 2000.
var clockUnset = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

func eventTime(text string) time.Time {
	at, _ := parseEventTime(text)
	return at
}

// parseEventTime is eventTime, and whether the text is a moment at all.
func parseEventTime(text string) (at time.Time, ok bool) {
	for _, form := range eventForms {
		if at, err := time.Parse(form, strings.TrimSpace(text)); err == nil {
			if at.Before(clockUnset) {
				return time.Time{}, true
			}
			return at, true
		}
	}
	return time.Time{}, false
}

var errLogCut = errors.New("the log was cut short")

// parseSELText reads the table of ipmitool. "SEL has no entries" is a log too.
func parseSELText(e *Evidence) (EventLog, error) {
	body, complete := e.Body()
	var log EventLog
	if !complete && e.Source != FromLoose {
		log.Missing = errLogCut
	}
	if strings.HasPrefix(strings.TrimSpace(string(body)), "SEL has no entries") {
		return log, nil
	}
	lines := 0
	for line := range strings.Lines(string(body)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		ev, ok := selLine(line)
		if !ok {
			log.Missing = errors.Join(log.Missing, fmt.Errorf("a line is no entry: %.60q", strings.TrimSpace(line)))
			continue
		}
		lines++
		log.Entries = append(log.Entries, ev)
	}
	if lines == 0 {
		return log, errors.Join(errors.New("bmc-sel: no entry is in it"), log.Missing)
	}
	return log, nil
}

// undated are ipmitool's words for an entry of before the clock was set.
var undated = []string{"Pre-Init", "S/W", "Unspecified"}

// selLine reads
//
//	1 | 07/21/2023 | 15:35:03 | Memory #0x53 | Correctable ECC | Asserted
//	2 | 07/21/2023 | 15:35:03 UTC | Power Supply PS1 Status | Failure detected () | Deasserted
//	3 | Pre-Init  |0000000067| Fan #0x41 | Lower Critical going low  | Asserted
//	4 | OEM record e0 | 000001370000001800000000
func selLine(line string) (LogEvent, bool) {
	cells := strings.Split(chomp(line), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if len(cells) < 3 || cells[0] == "" || strings.Trim(strings.ToLower(cells[0]), "0123456789abcdef") != "" {
		return LogEvent{}, false
	}
	ev := LogEvent{ID: cells[0], Log: "sel"}
	if strings.HasPrefix(cells[1], "OEM record") {
		ev.Kind, ev.Event = "OEM", strings.Join(cells[1:], " ")
		return ev, true
	}
	at, rest, ok := selStamp(cells)
	if !ok {
		return ev, false
	}
	ev.Time = at
	if strings.HasPrefix(rest[0], "OEM record") {
		ev.Kind, ev.Event = "OEM", strings.Join(rest, " ")
		return ev, true
	}
	ev.Kind, ev.Sensor = kindAndSensor(rest[0])
	ev.Event = strings.TrimSpace(strings.TrimSuffix(rest[1], "()"))
	for i, cell := range rest[2:] {
		switch strings.ToLower(cell) {
		case "asserted":
			ev.Asserted = Opt[bool]{V: true, Set: true}
		case "deasserted":
			ev.Asserted = Opt[bool]{Set: true}
		default:
			if i > 0 {
				ev.Event += ", " + cell
			}
		}
	}
	return ev, true
}

// selStamp reads the moment of an entry, and gives the cells behind it.
func selStamp(cells []string) (at time.Time, rest []string, ok bool) {
	if len(cells) < 4 {
		return time.Time{}, nil, false
	}
	rest = cells[3:]
	at, dated := parseEventTime(cells[1] + " " + cells[2])
	if !dated {
		if !slices.ContainsFunc(undated, func(w string) bool { return strings.HasPrefix(cells[1], w) }) {
			return time.Time{}, nil, false
		}
		if strings.Trim(cells[2], "0123456789") != "" { // without the count of seconds
			rest = cells[2:]
		}
	}
	return at, rest, len(rest) >= 2
}

// selKinds are IPMI's types of sensor as ipmitool prints them (IPMI 2.0 table
// 42-3), the longer before those that they begin with.
var selKinds = []string{
	"Temperature", "Voltage", "Current", "Fan", "Physical Security", "Platform Security", "Processor", "Power Supply", "Power Unit", "Cooling Device", "Other",
	"Memory", "Drive Slot / Bay", "Drive Slot", "POST Memory Resize", "System Firmwares", "System Firmware Progress", "System Firmware Error", "Event Logging Disabled",
	"Watchdog1", "Watchdog2", "Watchdog 1", "Watchdog 2", "System Event", "Critical Interrupt", "Button", "Module / Board", "Microcontroller/Coprocessor", "Add-in Card", "Chassis", "Chip Set",
	"Other FRU", "Cable / Interconnect", "Terminator", "System Boot Initiated", "Boot Error", "OS Boot", "OS Critical Stop", "OS Stop/Shutdown", "Slot / Connector", "Slot/Connector",
	"System ACPI Power State", "Watchdog", "Platform Alert", "Entity Presence", "Monitor ASIC", "LAN", "Management Subsystem Health", "Management Subsys Health", "Battery",
	"Session Audit", "Version Change", "FRU State", "OEM", "Unknown",
}

// kindAndSensor takes "Power Supply PS1 Status" or "Memory #0x53" apart.
func kindAndSensor(cell string) (kind, sensor string) {
	for _, k := range selKinds {
		if rest, ok := strings.CutPrefix(cell, k); ok && len(k) > len(kind) && (rest == "" || rest[0] == ' ') {
			kind, sensor = k, strings.TrimSpace(rest)
		}
	}
	if kind == "" {
		return cell, cell
	}
	if strings.HasPrefix(sensor, "#0x") {
		sensor = kind + " " + sensor
	}
	return kind, sensor
}
