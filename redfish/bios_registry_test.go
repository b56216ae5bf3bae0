package redfish

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const smallRegistry = `{"RegistryEntries": {"Attributes": [
	{"AttributeName": "Smt_01A0", "Type": "Enumeration", "Value": [{"ValueName": "0", "ValueDisplayName": "Disable"}, {"ValueName": "1", "ValueDisplayName": "Enable"}]},
	{"AttributeName": "Nps", "Type": "Enumeration", "Value": [{"ValueName": "NPS1"}, {"ValueName": "NPS4"}]},
	{"AttributeName": "Offset", "Type": "Integer", "LowerBound": -10, "UpperBound": "20"},
	{"AttributeName": "Quiet", "Type": "Boolean"},
	{"AttributeName": "Tag", "Type": "String", "MinLength": 2, "MaxLength": 4},
	{"AttributeName": "Admin", "Type": "Password"},
	"no object", {"AttributeName": "", "Type": 5}
]}}`

func TestCoerceByRegistry(t *testing.T) {
	reg := parseRegistry("small", []byte(smallRegistry))
	if len(reg.entries) != 6 {
		t.Fatalf("%d entries, want 6: a bad one must not hide the others", len(reg.entries))
	}
	reg.shown = reg.showsDisplayNames(map[string]any{"Smt_01A0": "Enable"})
	for _, c := range []struct {
		name       string
		wish, want any
		wrong      string // part of the error
	}{
		{"Smt_01A0", "disable", "Disable", ""},
		{"Smt_01A0", "1", "Enable", ""},
		{"Smt_01A0", false, "Disable", ""},
		{"Smt_01A0", "maybe", nil, "Disable, Enable"},
		{"Offset", "-3", int64(-3), ""},
		{"Offset", 4.0, int64(4), ""},
		{"Offset", json.Number("20"), int64(20), ""},
		{"Offset", 4.5, nil, "whole numbers from -10 to 20"},
		{"Offset", -11, nil, "from -10 to 20"},
		{"Quiet", "true", true, ""},
		{"Quiet", "loud", nil, "true and false"},
		{"Tag", 123, "123", ""},
		{"Tag", "toolong", nil, "2 to 4 characters"},
		{"Admin", "x", nil, "password"},
	} {
		got, err := reg.coerce(c.name, c.wish, nil)
		switch {
		case c.wrong == "" && (err != nil || got != c.want):
			t.Errorf("%s = %v: got %#v, %v; want %#v", c.name, c.wish, got, err, c.want)
		case c.wrong != "" && (!errors.Is(err, ErrBadValue) || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s = %v: error %v, want one about %q", c.name, c.wish, err, c.wrong)
		}
	}
	reg.shown = false
	if got, err := reg.coerce("Smt_01A0", "Disable", nil); err != nil || got != "0" {
		t.Errorf("by value name: %v, %v; want 0", got, err)
	}
}

func TestResolveSuffixOnlyWhenUnique(t *testing.T) {
	attrs := map[string]any{"Quick_Boot_0001": 1, "Link_0002": 1, "Link_0003": 1, "Exact": 1}
	for asked, want := range map[string]string{"Quick_Boot": "Quick_Boot_0001", "Exact": "Exact", "Link": "", "Quick": "", "Nothing": ""} {
		if got, ok := resolve(asked, attrs, registry{}); got != want || ok != (want != "") {
			t.Errorf("resolve(%q) = %q, %v; want %q", asked, got, ok, want)
		}
	}
}

func TestEqualValue(t *testing.T) {
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{4, json.Number("4.0"), true},
		{int64(4), 4.0, true},
		{"4", json.Number("4"), true},
		{true, "true", false},
		{nil, nil, true},
		{nil, "", false},
		{"On", "on", false},
		{json.Number("5"), 4, false},
	} {
		if got := equalValue(c.a, c.b); got != c.want {
			t.Errorf("equalValue(%#v, %#v) = %v", c.a, c.b, got)
		}
	}
}

func TestRegistryFile(t *testing.T) {
	files := links{"/r/Base", "/r/BiosAttributeRegistryA42.v1_2_60", "/r/BiosAttributeRegistry.v1_0_0", "/r/ManagerAttributeRegistry"}
	for name, want := range map[string]link{
		"BiosAttributeRegistry.v1_0_3":      "/r/BiosAttributeRegistry.v1_0_0",
		"biosattributeregistrya42.v1_2_60":  "/r/BiosAttributeRegistryA42.v1_2_60",
		"BiosAttributeRegistry113.en.1.1.3": "/r/BiosAttributeRegistryA42.v1_2_60", // the first BIOS registry there is
	} {
		if got, _ := registryFile(files, name); got != want {
			t.Errorf("registryFile(%q) = %q, want %q", name, got, want)
		}
	}
	if got, ok := registryFile(links{"/r/Base"}, "x"); ok {
		t.Errorf("found %q where there is none", got)
	}
}

func TestJobVerdict(t *testing.T) {
	const planted = "pl4nted-One"
	client := &Client{record: newRecorder(planted)}
	for _, c := range []struct {
		body         string
		done, failed bool
	}{
		{`{"TaskState":"Running"}`, false, false},
		{`{"TaskState":"Completed","TaskStatus":"OK"}`, true, false},
		{`{"TaskState":"Completed","TaskStatus":"Critical","Messages":[{"MessageId":"IDRAC.2.8.JCP052"}]}`, true, true},
		{`{"TaskState":"Exception"}`, true, true},
		{`{"JobState":"Scheduled"}`, false, false},
		{`{"JobState":"Completed","MessageId":"PR19"}`, true, false},
		{`{"JobState":"Failed","Message":"no"}`, true, true},
		{`{"JobState":"CompletedWithErrors"}`, true, true},
		{`{"JobState":"Failed","Message":"pl4nted-One is too short","Messages":[{"Message":"pl4nted-One"}]}`, true, true},
	} {
		var d jobDoc
		if err := json.Unmarshal([]byte(c.body), &d); err != nil {
			t.Fatal(err)
		}
		done, err := client.verdict(d, firstOf(string(d.TaskState), string(d.State)), "/redfish/v1/TaskService/Tasks/1")
		if err != nil && strings.Contains(err.Error(), planted) {
			t.Errorf("%s: %v has a password in it", c.body, err)
		}
		if done != c.done || errors.Is(err, ErrJobFailed) != c.failed {
			t.Errorf("%s: done %v, %v", c.body, done, err)
		}
	}
}
