package redfish

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

// FuzzReadings feeds one body to everything that reads sensors: nothing panics,
// and no number is one that cannot be written as JSON.
func FuzzReadings(f *testing.F) {
	f.Add([]byte(`{"Temperatures":[{"Name":"CPU","ReadingCelsius":"29","UpperThresholdCritical":"N/A","Status":{}}],"Fans":[{"Reading":0}],"Redundancy":[[]]}`))
	f.Add([]byte(`{"PowerControl":[{"PowerConsumedWatts":5}],"Voltages":[{"ReadingVolts":null}],"PowerSupplies":[{"Name":"a","PowerInputWatts":1e400},{"Name":"a"}]}`))
	f.Add([]byte(`{"Id":"a","ReadingType":"Temperature","Reading":"NaN","Thresholds":{"UpperCritical":[]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var (
			thermal thermalDoc
			power   powerDoc
			sensor  sensorDoc
			fan     fanDoc
			metrics thermalMetricsDoc
			env     environmentDoc
		)
		for _, doc := range []any{&thermal, &power, &sensor, &fan, &metrics, &env} {
			if json.Unmarshal(body, doc) != nil {
				return
			}
		}
		list := append(thermal.sensors("/t"), power.sensors("/p")...)
		list = append(list, sensor.sensor("/s"), fan.sensor("/f"))
		list = append(append(list, metrics.sensors("/m")...), env.sensors("/e")...)
		for _, s := range list {
			if s.Reading != nil && (math.IsNaN(*s.Reading) || math.IsInf(*s.Reading, 0)) {
				t.Errorf("%+v reads %v", s, *s.Reading)
			}
			if s.Kind == Discrete && s.Reading != nil {
				t.Errorf("a state has a reading: %+v", s)
			}
		}
	})
}

// FuzzLogPage: a page of entries, whatever it holds.
func FuzzLogPage(f *testing.F) {
	f.Add([]byte(`{"Members":[{"@odata.id":"/a"},{"Id":"1","Created":"2024-05-01T12:00:00Z","Message":"m","Oem":{"X":{"RawEventData":[]}}},7]}`), "+01:00")
	f.Add([]byte(`{"Members":[{"Created":"05/01/2024 12:00:00"}],"Members@odata.nextLink":"/x?$skip=5"}`), "")
	f.Fuzz(func(t *testing.T, body []byte, offset string) {
		var page logPage
		if json.Unmarshal(body, &page) != nil {
			return
		}
		newestFirst(page.entries, offset)
		page.before(time.Now(), offset)
		if skip := skipping(page.next); skip != nil {
			skip(10)
		}
		for _, d := range page.entries {
			if e := d.entry("log", offset); !e.Time.IsZero() && e.Time.Before(clockUnset) {
				t.Errorf("time %v of %+v", e.Time, d)
			}
		}
	})
}
