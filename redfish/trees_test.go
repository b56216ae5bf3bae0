package redfish_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestCapturedTrees reads every captured machine: the right vendor and model,
// the number on its sticker, its DIMMs and GPUs.
func TestCapturedTrees(t *testing.T) {
	for _, c := range []struct {
		tree, vendor, model  string
		sticker, member      string
		uuid, bmcMAC         string
		cpus, dimms, empty   int
		gpus                 []string // labels
		nics, drives, psus   int
		firmware             int
		partial              int
		gpuModel, gpuAddress string
	}{
		{
			tree: "dell", vendor: "dell", model: "PowerEdge R750", sticker: "F54P1G3", member: "service_tag",
			uuid: "4c4c4544-0035-3410-8050-c6c04f314733", bmcMAC: "b0:7b:25:d6:51:82",
			cpus: 2, dimms: 16, gpus: []string{"Slot 2"}, nics: 4, drives: 3, psus: 2, firmware: 21,
			gpuModel: "NVIDIA H100 PCIe", gpuAddress: "0000:17:00.0",
		},
		{
			tree: "hpe", vendor: "hpe", model: "ProLiant DL385 Gen10 Plus v2", sticker: "MXQ302099S", member: "system_serial",
			uuid: "34383350-3131-584d-5133-303230393953", bmcMAC: "5c:ed:8c:34:c2:94",
			cpus: 2, dimms: 16, empty: 16, nics: 3, drives: 18, psus: 2, firmware: 48,
		},
		{
			tree: "lenovo", vendor: "lenovo", model: "ThinkSystem SR670 V2", sticker: "J105958B", member: "system_serial",
			uuid: "6173ecec-6ef5-11ee-834a-0a8fc3a58a71", bmcMAC: "08:8f:c3:a5:8a:6f",
			cpus: 2, dimms: 16, empty: 16, nics: 2, drives: 4, psus: 4, firmware: 43,
			gpus:     []string{"PCIe 3", "PCIe 4", "PCIe 5", "PCIe 6", "PCIe 7", "PCIe 8", "PCIe 9", "PCIe 10"},
			gpuModel: "NVIDIA L40",
		},
		{
			tree: "nvidia_viking", vendor: "nvidia", model: "DGXH100", sticker: "1663123000052", member: "chassis_serial",
			uuid: "b11dd4f2-bfde-1000-02bc-5cff35fbe6e9", bmcMAC: "5c:ff:35:fb:e6:e9",
			cpus: 2, dimms: 32, nics: 12, psus: 6, firmware: 66,
			// The BMC links 15 drives and says nothing about any of them.
			partial:  15,
			gpus:     []string{"SXM1", "SXM2", "SXM3", "SXM4", "SXM5", "SXM6", "SXM7", "SXM8"},
			gpuModel: "H100 80GB HBM3",
		},
		{
			tree: "supermicro", vendor: "supermicro", model: "SYS-821GE-TNHR", sticker: "S889914X3710910", member: "system_serial",
			uuid: "00000000-0000-0000-0000-7cc25550a8ff", bmcMAC: "7c:c2:55:50:a8:ff",
			cpus: 2, dimms: 32, nics: 10, drives: 8, psus: 8, firmware: 106,
			gpus:     []string{"GPU1", "GPU2", "GPU3", "GPU4", "GPU5", "GPU6", "GPU7", "GPU8"},
			gpuModel: "H100 80GB HBM3",
		},
	} {
		t.Run(c.tree, func(t *testing.T) {
			client, bmc := start(t, c.tree)
			inv, err := client.Inventory(within(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			id := inv.System
			if client.Vendor() != c.vendor || id.Vendor != c.vendor || id.Model != c.model {
				t.Errorf("vendor %q, model %q; want %q, %q", id.Vendor, id.Model, c.vendor, c.model)
			}
			if member, ok := id.Match(strings.ToLower(c.sticker)); !ok || member != c.member {
				t.Errorf("sticker %s matches %q in %+v, want %s", c.sticker, member, id, c.member)
			}
			if id.UUID != c.uuid || id.BMCMAC != c.bmcMAC {
				t.Errorf("UUID %q, BMC MAC %q; want %q, %q", id.UUID, id.BMCMAC, c.uuid, c.bmcMAC)
			}
			for _, n := range []struct {
				what      string
				got, want int
			}{
				{"CPUs", len(inv.CPUs), c.cpus},
				{"DIMMs", len(inv.DIMMs), c.dimms},
				{"empty slots", len(inv.EmptyDIMMs), c.empty},
				{"NICs", len(inv.NICs), c.nics},
				{"drives", len(inv.Drives), c.drives},
				{"PSUs", len(inv.PSUs), c.psus},
				{"firmware entries", len(inv.Firmware), c.firmware},
				{"unread resources", len(inv.Partial), c.partial},
			} {
				if n.got != n.want {
					t.Errorf("%d %s, want %d", n.got, n.what, n.want)
				}
			}
			checkGPUs(t, inv.GPUs, c.gpus, c.gpuModel, c.gpuAddress)
			checkParts(t, inv)
			if n := bmc.MaxInFlight(); n > 4 {
				t.Errorf("%d requests at once, want at most 4", n)
			}
			checkNoSecret(t, client)
		})
	}
}

func checkGPUs(t *testing.T, gpus []redfish.GPU, labels []string, model, address string) {
	t.Helper()
	var got []string
	serials := map[string]bool{}
	for _, g := range gpus {
		got = append(got, g.Label)
		serials[g.Serial] = g.Serial != ""
		if g.Model != model {
			t.Errorf("GPU %s is a %q, want %q", g.Label, g.Model, model)
		}
		if g.PCIAddress != address {
			t.Errorf("GPU %s at %q, want %q", g.Label, g.PCIAddress, address)
		}
	}
	if !slices.Equal(got, labels) || len(serials) != len(labels) || serials[""] {
		t.Errorf("GPUs %q with serials %v, want %q", got, serials, labels)
	}
}

// checkParts: every part can be found by a person, and no two share a label.
func checkParts(t *testing.T, inv redfish.Inventory) {
	t.Helper()
	labels := map[string]bool{}
	for _, d := range inv.DIMMs {
		if d.Label == "" || labels[d.Label] || d.Serial == "" || d.SizeMiB == nil || d.SpeedMTs == nil {
			t.Errorf("DIMM is not told apart: %+v", d)
		}
		labels[d.Label] = true
	}
	clear(labels)
	for _, p := range inv.PSUs {
		if p.Label == "" || labels[p.Label] || p.Serial == "" {
			t.Errorf("PSU is not told apart: %+v", p)
		}
		labels[p.Label] = true
	}
	for _, p := range inv.CPUs {
		if p.Label == "" || p.Model == "" || p.Cores == nil {
			t.Errorf("CPU is not described: %+v", p)
		}
	}
	for _, d := range inv.Drives {
		if d.Serial == "" || d.Bytes == nil || d.Bay == "" {
			t.Errorf("drive is not described: %+v", d)
		}
	}
}

// checkNoSecret searches the planted password in everything that was recorded.
func checkNoSecret(t *testing.T, client *redfish.Client) {
	t.Helper()
	recorded := client.Recorded()
	if len(recorded) < 50 {
		t.Errorf("only %d bodies recorded", len(recorded))
	}
	for uri, body := range recorded {
		if strings.Contains(string(body), password) || strings.Contains(uri, password) {
			t.Errorf("%s holds the password", uri)
		}
	}
}

// TestDisfiguredTrees reads the machine while its BMC writes fields in other
// shapes: parts stay, only what was made unreadable is missing.
func TestDisfiguredTrees(t *testing.T) {
	for _, fault := range []string{"na-numbers", "string-numbers", "empty-arrays-for-objects", "missing-status", "gzip-always"} {
		t.Run(fault, func(t *testing.T) {
			client, _ := start(t, "supermicro", fault)
			inv, err := client.Inventory(within(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			if len(inv.DIMMs) != 32 || len(inv.GPUs) != 8 || len(inv.Partial) != 0 {
				t.Errorf("%d DIMMs, %d GPUs, partial %v; want 32, 8, none", len(inv.DIMMs), len(inv.GPUs), inv.Partial)
			}
			for _, d := range inv.DIMMs {
				if reported := d.SizeMiB != nil && *d.SizeMiB == 65536; reported == (fault == "na-numbers") {
					t.Errorf("DIMM %s: size %v under %s", d.Label, d.SizeMiB, fault)
				}
			}
		})
	}
}

func TestBrokenResourceIsPartial(t *testing.T) {
	client, _ := start(t, "dell", "invalid-json")
	inv, err := client.Inventory(within(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.DIMMs) != 15 || len(inv.Partial) != 1 || !strings.Contains(inv.Partial[0], "JSON") {
		t.Errorf("%d DIMMs, partial %q; want 15 and the broken one", len(inv.DIMMs), inv.Partial)
	}
	uri, _, _ := strings.Cut(inv.Partial[0], ": ")
	if body := client.Recorded()[uri]; !strings.Contains(string(body), "unparsed") {
		t.Errorf("the raw body of %s is not kept: %.80s", uri, body)
	}
}

// TestTreeOfUnknownVendor gets the base behaviour, not an error.
func TestTreeOfUnknownVendor(t *testing.T) {
	tree := redfishtest.Tree{
		"/redfish/v1":           []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"},"Vendor":"Contoso"}`),
		"/redfish/v1/Systems":   []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"}]}`),
		"/redfish/v1/Systems/a": []byte(`{"Id":"a","PowerState":"On","Model":"X","SerialNumber":"Default string","Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/a/Reset","ResetType@Redfish.AllowableValues":["On","ForceOff"]}}}`),
	}
	client := open(t, serve(t, redfishtest.Options{Tree: tree}))
	inv, err := client.Inventory(within(t, time.Minute))
	if err != nil || client.Vendor() != "" || inv.System.Model != "X" || inv.System.SystemSerial != "" {
		t.Errorf("vendor %q, system %+v, %v", client.Vendor(), inv.System, err)
	}
}
