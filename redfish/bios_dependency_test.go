package redfish

import (
	"encoding/json"
	"strings"
	"testing"
)

// dependsOn makes a registry of one dependency on A, B and C: X is read-only while
// it holds. Each condition is "attribute=value" and its terms.
func dependsOn(t *testing.T, conditions ...[2]string) registry {
	t.Helper()
	var from []map[string]any
	for _, c := range conditions {
		name, value, _ := strings.Cut(c[0], "=")
		m := map[string]any{"MapFromAttribute": name, "MapFromCondition": "EQU", "MapFromValue": value, "MapFromProperty": "CurrentValue"}
		if c[1] != "" {
			m["MapTerms"] = c[1]
		}
		from = append(from, m)
	}
	body, err := json.Marshal(map[string]any{"RegistryEntries": map[string]any{"Dependencies": []any{
		map[string]any{"Dependency": map[string]any{
			"MapFrom": from, "MapToAttribute": "X", "MapToProperty": "ReadOnly", "MapToValue": "true",
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return parseRegistry("test", body)
}

func TestDependencyTerms(t *testing.T) {
	on := func(names string) map[string]any {
		values := map[string]any{"A": "0", "B": "0", "C": "0", "D": "0"}
		for _, n := range names {
			values[string(n)] = "1"
		}
		return values
	}
	for _, c := range []struct {
		name       string
		conditions [][2]string
		holds, not []string // which of A, B, C, D are 1
	}{
		{"iDRAC writes no terms: any", [][2]string{{"A=1", ""}, {"B=1", ""}}, []string{"A", "B", "AB"}, []string{"", "C"}},
		{"iLO: AND behind the second", [][2]string{{"A=1", ""}, {"B=1", "AND"}}, []string{"AB"}, []string{"", "A", "B"}},
		{"XCC: between two", [][2]string{{"A=1", "AND"}, {"B=1", ""}}, []string{"AB"}, []string{"A", "B"}},
		{"XCC: from left to right", [][2]string{{"A=1", "AND"}, {"B=1", "OR"}, {"C=1", ""}}, []string{"AB", "C"}, []string{"A", "B"}},
		{
			"Supermicro: a stack, (A or B) and (C or D)",
			[][2]string{{"A=1", ""}, {"B=1", "OR"}, {"C=1", ""}, {"D=1", "OR,AND"}},
			[]string{"AC", "AD", "BC", "BD"},
			[]string{"AB", "CD", "A", ""},
		},
	} {
		reg := dependsOn(t, c.conditions...)
		for _, names := range c.holds {
			if reg.locked("X", on(names)) == "" {
				t.Errorf("%s: free with %q set", c.name, names)
			}
		}
		for _, names := range c.not {
			if why := reg.locked("X", on(names)); why != "" {
				t.Errorf("%s: %s with %q set", c.name, why, names)
			}
		}
	}
}

// TestDependencyOnTheUnknown: what the BMC does not show locks nothing.
func TestDependencyOnTheUnknown(t *testing.T) {
	reg := dependsOn(t, [2]string{"SMCFKItem1=0", ""}, [2]string{"A=1", "AND"})
	if why := reg.locked("X", map[string]any{"A": "1"}); why != "" {
		t.Errorf("locked by a variable that is not shown: %s", why)
	}
	reg = dependsOn(t, [2]string{"SMCFKItem1=0", ""}, [2]string{"A=1", "OR"})
	if why := reg.locked("X", map[string]any{"A": "1"}); !strings.Contains(why, "A is 1") {
		t.Errorf("one true condition of an OR: %q", why)
	}
}

// TestStaleReadOnlyFlag: an R640 kept PxeDev1* read-only in its registry with the
// device enabled (metal-operator #752, FIELD-QUIRKS 47). The dependency decides.
func TestStaleReadOnlyFlag(t *testing.T) {
	reg := parseRegistry("R640", []byte(`{"RegistryEntries":{"Attributes":[
		{"AttributeName":"PxeDev1EnDis","Type":"Enumeration","Value":[{"ValueName":"Enabled"},{"ValueName":"Disabled"}]},
		{"AttributeName":"PxeDev1Interface","Type":"String","ReadOnly":true},
		{"AttributeName":"SystemServiceTag","Type":"String","ReadOnly":true}],
		"Dependencies":[{"Dependency":{"MapToAttribute":"PxeDev1Interface","MapToProperty":"ReadOnly","MapToValue":true,
		"MapFrom":[{"MapFromAttribute":"PxeDev1EnDis","MapFromCondition":"EQU","MapFromValue":"Disabled"}]}}]}}`))
	for _, c := range []struct{ attribute, device, locked string }{
		{"PxeDev1Interface", "Enabled", ""},
		{"PxeDev1Interface", "Disabled", "it is read-only while PxeDev1EnDis is Disabled"},
		{"SystemServiceTag", "Enabled", "it is read-only"},
	} {
		if got := reg.locked(c.attribute, map[string]any{"PxeDev1EnDis": c.device}); got != c.locked {
			t.Errorf("%s with the device %s: %q, want %q", c.attribute, c.device, got, c.locked)
		}
	}
}
