package redfish_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestVolumes: RAID volumes by either property, and nothing that is no RAID. What was not
// read is an error, and no list at all is not an empty one.
func TestVolumes(t *testing.T) {
	tree := func(more map[string]string) redfishtest.Tree {
		out := redfishtest.Tree{
			"/redfish/v1":           []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"}}`),
			"/redfish/v1/Systems":   []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"}]}`),
			"/redfish/v1/Systems/a": []byte(`{"PowerState":"On","Storage":{"@odata.id":"/redfish/v1/St"},"Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/a/R"}}}`),
			"/redfish/v1/St":        []byte(`{"Members":[{"@odata.id":"/redfish/v1/St/1"},{"@odata.id":"/redfish/v1/St/2"}]}`),
			"/redfish/v1/St/2":      []byte(`{"Name":"NVMe"}`),
			"/redfish/v1/St/1":      []byte(`{"Name":"RAID controller in slot 3","Volumes":{"@odata.id":"/redfish/v1/St/1/V"}}`),
			"/redfish/v1/St/1/V":    []byte(`{"Members":[{"@odata.id":"/redfish/v1/St/1/V/0"},{"@odata.id":"/redfish/v1/St/1/V/1"},{"@odata.id":"/redfish/v1/St/1/V/2"}]}`),
			"/redfish/v1/St/1/V/0":  []byte(`{"Name":"os","RAIDType":"RAID1","CapacityBytes":480000000000,"Status":{"Health":"OK"},"Links":{"Drives":[{"@odata.id":"/d/0"},{"@odata.id":"/d/1"}]}}`),
			"/redfish/v1/St/1/V/1":  []byte(`{"VolumeType":"StripedWithParity","Status":{"Health":"Warning"}}`),
			"/redfish/v1/St/1/V/2":  []byte(`{"Name":"one drive","VolumeType":"RawDevice"}`),
		}
		for uri, body := range more {
			if out[uri] = []byte(body); body == "" {
				delete(out, uri)
			}
		}
		return out
	}
	read := func(more map[string]string) ([]redfish.Volume, error) {
		c := open(t, serve(t, redfishtest.Options{Tree: tree(more)}))
		return c.Volumes(within(t, time.Minute))
	}
	got, err := read(nil)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if v := got[0]; v.Name != "os" || v.Level != "RAID1" || v.Drives != 2 || v.Health != "OK" || v.Controller != "RAID controller in slot 3" || v.Bytes == nil || *v.Bytes != 480e9 {
		t.Errorf("%+v", v)
	}
	if v := got[1]; v.Name != "1" || v.Level != "RAID5" || v.Health != "Warning" {
		t.Errorf("%+v", v)
	}
	if got, err := read(map[string]string{"/redfish/v1/St/1/V": `{"Members":[]}`}); err != nil || len(got) != 0 {
		t.Errorf("an empty list: %v, %v", got, err)
	}
	if _, err := read(map[string]string{"/redfish/v1/St/1/V/1": ""}); err == nil {
		t.Error("a volume that could not be read is passed over")
	}
	if _, err := read(map[string]string{"/redfish/v1/St/1": `{"Name":"x"}`}); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("no list of volumes: %v", err)
	}
}
