package redfish

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// entryDoc is one LogEntry.
type entryDoc struct {
	ID        text   `json:"Id"`
	URI       link   `json:"@odata.id"`
	Created   text   `json:"Created"`
	Happened  text   `json:"EventTimestamp"`
	Severity  text   `json:"Severity"`
	Message   text   `json:"Message"`
	MessageID text   `json:"MessageId"`
	Args      words  `json:"MessageArgs"`
	Code      text   `json:"EntryCode"`
	Type      text   `json:"EntryType"`
	Sensor    text   `json:"SensorType"`
	OemSensor text   `json:"OemSensorType"`
	Number    number `json:"SensorNumber"`
	Oem       oemDoc `json:"Oem"`
	Links     maybe[struct {
		Origin link `json:"OriginOfCondition"`
	}] `json:"Links"`
}

// given tells an entry from a link to one.
func (d entryDoc) given() bool { return d.Created != "" || d.Message != "" || d.Type != "" }

// created is zero for an entry of before the BMC's clock was set. offset is the
// BMC's own, for moments without a zone.
func (d entryDoc) created(offset string) time.Time {
	if at := parseTime(string(d.Created), offset); !at.IsZero() {
		return at
	}
	return parseTime(string(d.Happened), offset)
}

// vendorEntryDoc is what vendors add to an entry, by the names that two of them
// chose; the others use none of these.
type vendorEntryDoc struct {
	Class    text `json:"ClassDescription"` // iLO: what of the machine it is about
	Repaired flag `json:"Repaired"`         // iLO: whether the state is over
	Raw      maybe[struct {
		Name text `json:"SensorName"`
	}] `json:"RawEventData"`
}

func (d entryDoc) entry(log, offset string) LogEntry {
	e := LogEntry{
		ID: firstOf(string(d.ID), d.URI.id()), Log: log, Time: d.created(offset), Severity: d.Severity.clean(), Kind: firstOf(d.Sensor.clean(), d.OemSensor.clean()),
		Event: firstOf(string(d.Message), string(d.MessageID)), Asserted: asserted(string(d.Code)), MessageID: string(d.MessageID), Source: string(d.URI),
	}
	if d.Message == "" && len(d.Args) > 0 {
		e.Event += " (" + strings.Join(d.Args, ", ") + ")"
	}
	for _, raw := range d.Oem.value {
		var ext vendorEntryDoc
		if json.Unmarshal(raw, &ext) != nil {
			continue
		}
		e.Sensor = firstOf(e.Sensor, ext.Raw.value.Name.clean())
		e.Kind = firstOf(e.Kind, ext.Class.clean())
		if over := ext.Repaired; e.Asserted == nil && over.ok {
			on := !over.value
			e.Asserted = &on
		}
	}
	origin := d.Links.value.Origin
	if e.Sensor == "" && !strings.Contains(string(origin), "/Managers/") { // the BMC itself is no part that failed
		e.Sensor = origin.id()
	}
	if e.Sensor == "" && e.Kind != "" && d.Number.ok {
		e.Sensor = fmt.Sprintf("%s #0x%02x", e.Kind, int(d.Number.value))
	}
	return e
}

// asserted reads an EntryCode: "Assert", "Deassert", "State Asserted", "Limit Not
// Exceeded"; nil where it does not say.
func asserted(code string) *bool {
	code = strings.ToLower(code)
	var on bool
	switch {
	case strings.Contains(code, "deassert"), strings.Contains(code, "not exceeded"):
	case strings.Contains(code, "assert"), strings.Contains(code, "limit exceeded"):
		on = true
	default:
		return nil
	}
	return &on
}
