package redfish

import (
	"encoding/json"
	"testing"
)

// TestTolerantFields decodes one resource whose every field has a wrong shape,
// as seen on several BMCs: what is usable stays, nothing is lost with it.
func TestTolerantFields(t *testing.T) {
	const body = `{
		"Id": 7, "Name": "  DIMM A1  ", "Manufacturer": ["x"], "Model": "N/A", "SerialNumber": null,
		"PartNumber": "          ", "Status": [], "Location": {"PartLocation": [{"ServiceLabel": "x"}]},
		"CapacityMiB": "65536", "OperatingSpeedMhz": "N/A", "AllowedSpeedsMHz": [4800, "5600", null, {}],
		"BusWidthBits": -1, "DataWidthBits": "25.687000", "RankCount": true
	}`
	var d memoryDoc
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatal(err)
	}
	part := d.part("/redfish/v1/Systems/1/Memory/7")
	want := Part{Name: "DIMM A1", URI: "/redfish/v1/Systems/1/Memory/7"}
	if part != want {
		t.Errorf("part = %+v, want %+v", part, want)
	}
	for name, c := range map[string]struct {
		got  *int64
		want int64 // 0: absent
	}{
		"number in a string":   {d.Capacity.positive(), 65536},
		"N/A":                  {d.Speed.positive(), 0},
		"largest of a mixture": {d.Allowed.largest().positive(), 5600},
		"minus one":            {d.Bus.whole(), 0},
		"fraction in a string": {d.Data.whole(), 26},
		"bool for a number":    {d.Ranks.whole(), 0},
	} {
		switch {
		case c.want == 0 && c.got != nil:
			t.Errorf("%s: %d, want absent", name, *c.got)
		case c.want != 0 && (c.got == nil || *c.got != c.want):
			t.Errorf("%s: %v, want %d", name, c.got, c.want)
		}
	}
}

func TestLinkShapes(t *testing.T) {
	for body, want := range map[string]link{
		`{"@odata.id": "/redfish/v1/Systems/1"}`: "/redfish/v1/Systems/1",
		`"/redfish/v1/Systems/1"`:                "/redfish/v1/Systems/1",
		`[]`:                                     "",
		`null`:                                   "",
		`{"@odata.id": 3}`:                       "",
		`{"Members": []}`:                        "",
	} {
		var l link
		if err := json.Unmarshal([]byte(body), &l); err != nil || l != want {
			t.Errorf("%s = %q, %v; want %q", body, l, err, want)
		}
	}
	var many links
	if err := json.Unmarshal([]byte(`[{"@odata.id":"/a"}, "/b", null, 4]`), &many); err != nil || len(many) != 2 {
		t.Errorf("links = %v, %v; want /a and /b", many, err)
	}
	if err := json.Unmarshal([]byte(`{"@odata.id":"/a"}`), &many); err != nil || len(many) != 1 || many[0] != "/a" {
		t.Errorf("single link = %v, %v; want /a", many, err)
	}
}

func TestJunkIdentityIsAbsent(t *testing.T) {
	for _, junk := range []string{"", "          ", "To be filled by O.E.M.", "Default string", "0000000000000000000000000", "N/A", "01234567890123456789AB", "..."} {
		if got := text(junk).clean(); got != "" {
			t.Errorf("clean(%q) = %q, want none", junk, got)
		}
	}
	if got := text(" S889914X3710910 ").clean(); got != "S889914X3710910" {
		t.Errorf("clean = %q", got)
	}
	for uuid, want := range map[string]string{
		"B11DD4F2-BFDE-1000-02BC-5CFF35FBE6E9": "b11dd4f2-bfde-1000-02bc-5cff35fbe6e9",
		"00000000-0000-0000-0000-7CC25550A8FF": "00000000-0000-0000-0000-7cc25550a8ff",
		"00000000-0000-0000-0000-000000000000": "",
		"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF": "",
		"03000200-0400-0500-0006-000700080009": "",
		"Not Settable":                         "",
	} {
		if got := cleanUUID(uuid); got != want {
			t.Errorf("cleanUUID(%q) = %q, want %q", uuid, got, want)
		}
	}
	for mac, want := range map[string]string{
		"7C:C2:55:50:A8:FF": "7c:c2:55:50:a8:ff", "00620B4C284F": "00:62:0b:4c:28:4f", "88e9:a4ff:ff80:9da2": "",
		"00:00:00:00:00:00": "", "": "", "aa-bb-cc-dd-ee-0f": "aa:bb:cc:dd:ee:0f",
	} {
		if got := CleanMAC(mac); got != want {
			t.Errorf("CleanMAC(%q) = %q, want %q", mac, got, want)
		}
	}
}

func TestIdentityMatch(t *testing.T) {
	id := Identity{SystemSerial: "CN1", ChassisSerial: "CH1", ServiceTag: "F54"}
	for serial, want := range map[string]string{" f54 ": "service_tag", "ch1": "chassis_serial", "CN1": "system_serial", "": "", "other": ""} {
		if member, ok := id.Match(serial); member != want || ok != (want != "") {
			t.Errorf("Match(%q) = %q, %v; want %q", serial, member, ok, want)
		}
	}
	if _, ok := (Identity{}).Match(" "); ok {
		t.Error("an empty serial matches an empty member")
	}
}

func TestLabelsInReadingOrder(t *testing.T) {
	inv := Inventory{DIMMs: []DIMM{{Part: Part{Label: "DIMM 10"}}, {Part: Part{Label: "DIMM 9"}}, {Part: Part{Label: "DIMM"}}}}
	inv.arrange()
	if inv.DIMMs[0].Label != "DIMM" || inv.DIMMs[1].Label != "DIMM 9" || inv.DIMMs[2].Label != "DIMM 10" {
		t.Errorf("order = %+v", inv.DIMMs)
	}
	if inv.GPUs == nil || inv.Firmware == nil || inv.EmptyDIMMs == nil {
		t.Error("an empty list is null in JSON")
	}
}
