package redfish_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// bodies are the files of a folder of the corpus as a tree, by their @odata.id.
func bodies(t *testing.T, folder string) redfishtest.Tree {
	t.Helper()
	tree := redfishtest.Tree{}
	for _, body := range files(t, folder) {
		var head struct {
			ID string `json:"@odata.id"`
		}
		if json.Unmarshal(body, &head) == nil && head.ID != "" {
			tree[strings.TrimRight(head.ID, "/")] = body
		}
	}
	return tree
}

// files reads the JSON bodies at or below a folder of the corpus, or skips where the
// corpus is not at hand.
func files(t *testing.T, folder string) map[string]json.RawMessage {
	t.Helper()
	root := filepath.Join("..", "..", "shared", "corpus", "redfish")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the corpus is not at hand: %v", err)
	}
	found := map[string]json.RawMessage{}
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found[path] = body
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// lone makes a tree of one system's body, with a reset for the simulator where it
// has none.
func lone(t *testing.T, body json.RawMessage) redfishtest.Tree {
	t.Helper()
	var system map[string]any
	if err := json.Unmarshal(body, &system); err != nil {
		t.Fatal(err)
	}
	system["Actions"] = map[string]any{"#ComputerSystem.Reset": map[string]any{"target": "/redfish/v1/Systems/one/Reset"}}
	body, err := json.Marshal(system)
	if err != nil {
		t.Fatal(err)
	}
	return redfishtest.Tree{
		"/redfish/v1":             []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"}}`),
		"/redfish/v1/Systems":     []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/one"}]}`),
		"/redfish/v1/Systems/one": body,
	}
}

// TestCorpusIdentity: bodies of machines from public projects, most of whose links
// lead nowhere. What is there is read, junk is nobody's serial, and each link that
// leads nowhere is named.
func TestCorpusIdentity(t *testing.T) {
	for _, c := range []struct {
		name, folder, file string
		want               redfish.Identity // members that are set
		memory             int
	}{
		{name: "Gigabyte H262-Z63 on AMI", folder: "cray-Gigabyte", want: redfish.Identity{
			Vendor: "gigabyte", Manufacturer: "GIGABYTE", Model: "H262-Z63-00", SystemSerial: "GJG9NF512A000302",
			UUID: "e9184000-7983-11ec-8000-b42e99bade15", BMCFirmware: "12.84.13", BIOSVersion: "C27",
		}},
		{name: "Supermicro X10: ten spaces for a serial", folder: "spyroot-supermicro_x10_fixtures", memory: 4, want: redfish.Identity{
			Vendor: "supermicro", Manufacturer: "Supermicro", Model: "Super Server", UUID: "00000000-0000-0000-0000-ac1f6b18a45a",
			BMCMAC: "ac:1f:6b:18:a2:41", BMCFirmware: "4.0", BIOSVersion: "1.2",
		}},
		{name: "SR650", file: "bmclib/providers/lenovo/v1/system.lenovo.json", want: redfish.Identity{
			Vendor: "lenovo", Manufacturer: "Lenovo", Model: "ThinkSystem SR650", SystemSerial: "J100ABCD", SKU: "7X06CTO1WW",
			UUID: "92384634-2938-2342-8820-489239905423", BIOSVersion: "TEE142M-2.41",
		}},
		{name: "R6515", file: "bmclib/providers/dell/systems_embedded.1.json", want: redfish.Identity{
			Vendor: "dell", Manufacturer: "Dell Inc.", Model: "PowerEdge R6515", SystemSerial: "FOOBAR123", SKU: "FOOBAR",
			UUID: "4c4c4544-0030-5210-8047-c6c04f5a4333", BIOSVersion: "2.6.6",
		}},
		{name: "R6515 without a manufacturer", file: "bmclib/providers/dell/systems_embedded_no_manufacturer.1.json", want: redfish.Identity{
			Vendor: "dell", Model: "PowerEdge R6515", SystemSerial: "FOOBAR123", SKU: "FOOBAR",
			UUID: "4c4c4544-0030-5210-8047-c6c04f5a4333", BIOSVersion: "2.6.6",
		}},
		{name: "SYS-821GE, BIOS 2.1", file: "gofish-oem/smc-computersystem-computerSystemBody.json", want: redfish.Identity{
			Vendor: "supermicro", Manufacturer: "Supermicro", Model: "SYS-821GE-TNHR", SystemSerial: "S514359X4916804",
			UUID: "d4216600-c32c-11ee-8000-7cc25586e492", SKU: "0x1D1415D9", BIOSVersion: "2.1",
		}},
		{name: "QuantaGrid on AMI: Default string", file: "gofish-oem/ami-computersystem-computerSystemBody.json", want: redfish.Identity{
			Vendor: "quanta", Model: "QuantaGrid S74G-2U 1S7GZ9Z0001", SystemSerial: "QTWS7G0234700030",
			UUID: "c7ceb99a-0133-11ee-b226-74d4dd2e8868",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := bodies(t, c.folder)
			if c.file != "" {
				body, err := os.ReadFile(filepath.Join("..", "..", "shared", "corpus", "redfish", c.file))
				if err != nil {
					t.Fatal(err)
				}
				tree = lone(t, body)
			}
			client := open(t, serve(t, redfishtest.Options{Tree: tree}))
			inv, err := client.Inventory(within(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			got := inv.System
			for member, pair := range map[string][2]string{
				"vendor": {got.Vendor, c.want.Vendor}, "manufacturer": {got.Manufacturer, c.want.Manufacturer}, "model": {got.Model, c.want.Model},
				"system serial": {got.SystemSerial, c.want.SystemSerial}, "UUID": {got.UUID, c.want.UUID}, "BMC MAC": {got.BMCMAC, c.want.BMCMAC},
				"BMC firmware": {got.BMCFirmware, c.want.BMCFirmware}, "BIOS": {got.BIOSVersion, c.want.BIOSVersion}, "SKU": {got.SKU, c.want.SKU},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s %q, want %q", member, pair[0], pair[1])
				}
			}
			if n := len(inv.DIMMs) + len(inv.EmptyDIMMs); n != c.memory {
				t.Errorf("%d DIMMs and slots, want %d", n, c.memory)
			}
		})
	}
}

// TestCorpusEverywhere puts every body of the corpus where the memory, the BIOS, the
// chassis and the manager of a machine stand: no reading panics or hangs, and what is
// sound beside the odd bodies is still read.
func TestCorpusEverywhere(t *testing.T) {
	all := files(t, ".")
	if len(all) < 300 {
		t.Fatalf("%d bodies, want the whole corpus", len(all))
	}
	bmc := serve(t, redfishtest.Options{Tree: machineTree()})
	client := open(t, bmc)
	ctx := within(t, 5*time.Minute)
	for path, body := range all {
		var odd map[string]any
		if json.Unmarshal(body, &odd) != nil {
			continue // no object: FuzzDocuments has it
		}
		for _, place := range []string{
			"/redfish/v1/Systems/a/Memory/1", "/redfish/v1/Systems/a/Bios", "/redfish/v1/Chassis/a", "/redfish/v1/Managers/a", "/redfish/v1/Chassis/a/Thermal",
		} {
			err := bmc.Update(place, func(served map[string]any) {
				clear(served)
				maps.Copy(served, odd)
				served["@odata.id"] = place
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		inv, err := client.Inventory(ctx)
		if err != nil || inv.System.SystemSerial != "S1" || len(inv.Firmware) != 1 {
			t.Errorf("%s: %v, system %+v, %d firmware entries", path, err, inv.System, len(inv.Firmware))
		}
		_, biosErr := client.BIOS(ctx)
		_, sensorErr := client.Sensors(ctx)
		for _, err := range []error{biosErr, sensorErr} {
			if err != nil && !strings.Contains(err.Error(), "BMC") {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
