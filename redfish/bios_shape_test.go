package redfish

import (
	"maps"
	"testing"
)

// Attributes of a BIOS that stand elsewhere than DMTF says: an iLO4 has them at the
// top (ansible #48296), a Cray EX235n each in an object.
func TestAttributeShapes(t *testing.T) {
	want := map[string]any{"Profile": "Max", "Turbo": "Enabled"}
	for name, c := range map[string]struct {
		body string
		flat bool
	}{
		"iLO4": {`{"@odata.id":"/redfish/v1/Systems/1/Bios","@odata.type":"#HpBios.1.0.0.HpBios","Id":"Bios","Name":"BIOS",
			"AttributeRegistry":"HpBiosAttributeRegistry.1","Type":"HpBios.1.0.0","Profile":"Max","Turbo":"Enabled","links":{"x":1}}`, true},
		"Cray EX235n": {`{"Id":"Bios","AttributeRegistry":"B.1","Attributes":{"Profile":{"current_value":"Max","possible_values":["Max"]},
			"Turbo":{"current_value":"Enabled"}}}`, false},
		"DMTF": {`{"Id":"Bios","AttributeRegistry":"B.1","Attributes":{"Profile":"Max","Turbo":"Enabled"}}`, false},
	} {
		if got, flat := attributes([]byte(c.body)); !maps.Equal(got, want) || flat != c.flat {
			t.Errorf("%s: %v, flat %v", name, got, flat)
		}
	}
	for _, body := range []string{`{"Attributes":null,"AttributeRegistry":"B.1","Turbo":"Enabled"}`, `{"Turbo":"Enabled"}`, `[]`, ``} {
		if got, flat := attributes([]byte(body)); len(got) != 0 || flat {
			t.Errorf("%s: %v, flat %v", body, got, flat)
		}
	}
}
