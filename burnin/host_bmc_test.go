package burnin

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// capturedTree reads a captured Redfish tree as provision would record it: the
// bodies of systems, chassis and managers by URI.
func capturedTree(tb testing.TB, vendor string) []byte {
	tb.Helper()
	return capturedBodies(tb, vendor, isInventory)
}

// capturedBodies are those bodies of a captured tree whose URI is wanted.
func capturedBodies(tb testing.TB, vendor string, wanted func(uri string) bool) []byte {
	tb.Helper()
	f, err := os.Open(filepath.Join("..", "..", "shared", "redfish", vendor+".tar.gz"))
	if os.IsNotExist(err) {
		tb.Skipf("the tree of %s is not in ../shared/redfish", vendor)
	}
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	bodies := map[string]json.RawMessage{}
	for r := tar.NewReader(zipped); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		_, uri, ok := strings.Cut(head.Name, vendor+"/")
		uri = "/" + strings.TrimSuffix(uri, "/index.json")
		if !ok || !strings.HasSuffix(head.Name, "/index.json") || !wanted(uri) {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		if json.Valid(b) {
			bodies[uri] = b
		}
	}
	if len(bodies) == 0 {
		tb.Fatalf("the tree of %s holds no system", vendor)
	}
	b, err := json.Marshal(bodies)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func isInventory(uri string) bool {
	if strings.Contains(uri, "SubProcessors") || strings.Contains(uri, "Sensors") {
		return false
	}
	return slices.ContainsFunc([]string{"Systems/", "Chassis/", "Managers/"}, func(part string) bool {
		return strings.HasPrefix(uri, "/redfish/v1/"+part)
	})
}

func TestCapturedInventories(t *testing.T) {
	for _, c := range []struct {
		vendor, uuid, sticker, mac string
		dimms, gpus, nvme          int
		dimm, gpu, drive           string // labels that must be there
	}{
		{"dell", "4c4c4544-0035-3410-8050-c6c04f314733", "F54P1G3", "b0:7b:25:d6:51:82", 16, 1, 3, "DIMM A1", "slot 2", "bay 1"},
		{"supermicro", "00000000-0000-0000-0000-7cc25550a8ff", "S889914X3710910", "7c:c2:55:50:a8:ff", 32, 8, 8, "P1-DIMMB1", "slot 3", "bay 0"},
		{"nvidia_viking", "b11dd4f2-bfde-1000-02bc-5cff35fbe6e9", "1663123000052", "5c:ff:35:fb:e6:e9", 32, 8, 0, "DevType2_DIMM0", "SXM5", ""},
		{"hpe", "34383350-3131-584d-5133-303230393953", "MXQ302099S", "5c:ed:8c:34:c2:94", 16, 0, -1, "PROC 1 DIMM 1", "", "Box 2:Bay 6"},
		{"lenovo", "6173ecec-6ef5-11ee-834a-0a8fc3a58a71", "J105958B", "08:8f:c3:a5:8a:6f", 16, 8, -1, "DIMM 3", "PCIe 8", ""},
	} {
		t.Run(c.vendor, func(t *testing.T) {
			tree, err := parseBMCInventory(&Evidence{Out: capturedTree(t, c.vendor), Source: FromBMC})
			if err != nil {
				t.Fatal(err)
			}
			if tree.Identity.UUID != c.uuid || !slices.Contains(tree.MACs, c.mac) {
				t.Errorf("UUID %s, MACs %v; want %s, %s", tree.Identity.UUID, tree.MACs, c.uuid, c.mac)
			}
			if _, ok := tree.Identity.matchSerial(c.sticker); !ok {
				t.Errorf("the sticker's %s is none of %v", c.sticker, tree.Identity.serials())
			}
			dimms := slices.DeleteFunc(slices.Clone(tree.DIMMs), func(p BMCPart) bool { return !p.Present })
			drives := slices.DeleteFunc(slices.Clone(tree.Drives), func(p BMCPart) bool { return !p.NVMe })
			for _, list := range []struct {
				name  string
				parts []BMCPart
				want  int
				label string
			}{{"DIMMs", dimms, c.dimms, c.dimm}, {"GPUs", tree.GPUs, c.gpus, c.gpu}, {"drives", drives, c.nvme, c.drive}} {
				if list.want >= 0 && len(list.parts) != list.want {
					t.Errorf("%d %s, want %d: %+v", len(list.parts), list.name, list.want, list.parts)
				}
				found := slices.ContainsFunc(list.parts, func(p BMCPart) bool { return p.Label == list.label && p.Serial != "" })
				if list.label != "" && !found {
					t.Errorf("no one of %s is called %q with a serial: %+v", list.name, list.label, list.parts)
				}
			}
			if len(tree.PSUs) == 0 {
				t.Error("no power supply")
			}
		})
	}
}

func TestBMCInventoryIsTolerant(t *testing.T) {
	tree, err := parseBMCInventory(loose(`{
		"/redfish/v1/Systems/1": {"@odata.type":"#ComputerSystem.v1_0_0.ComputerSystem","UUID":null,"SerialNumber":12345678901,"Actions":{},"Links":{"Chassis":[]}},
		"/redfish/v1/Systems/HGX_Baseboard_0": {"@odata.type":"#ComputerSystem.v1_0_0.ComputerSystem","SerialNumber":"OTHER","Actions":{},"Boot":{}},
		"/redfish/v1/Systems/1/Memory/1": {"@odata.type":"#Memory.v1_0_0.Memory","DeviceLocator":"A1","CapacityMiB":"32768","Location":[]},
		"/redfish/v1/Systems/1/Memory/2": {"@odata.type":"#Memory.v1_0_0.Memory","DeviceLocator":"A2","CapacityMiB":"N/A","Status":[]},
		"/redfish/v1/Systems/1/Memory/3": "gone", "/redfish/v1/Chassis": []
	}`))
	if err != nil {
		t.Fatal(err)
	}
	if tree.Identity.UUID != "" || tree.Identity.SystemSerial != "12345678901" || len(tree.DIMMs) != 2 || !tree.DIMMs[0].Present || tree.DIMMs[0].Size.V != 32768 {
		t.Errorf("%+v", tree)
	}
	if len(tree.Partial) != 2 {
		t.Errorf("partial %v, want the two bodies that are no objects", tree.Partial)
	}
	two := `{"/redfish/v1/Systems/Node0": {"@odata.type":"#ComputerSystem.v1_0_0.ComputerSystem","SerialNumber":"S0","Actions":{},"Boot":{}},
		"/redfish/v1/Systems/Node1": {"@odata.type":"#ComputerSystem.v1_0_0.ComputerSystem","SerialNumber":"S1","Actions":{},"Boot":{}}}`
	if tree, err := parseBMCInventory(loose(two)); err != nil || tree.Identity.SystemSerial != "" || len(tree.Partial) == 0 {
		t.Errorf("two systems and none chosen: %+v, %v", tree.Identity, err)
	}
	for _, text := range []string{"", "[]", "null", "{}", "not JSON"} {
		if tree, err := parseBMCInventory(loose(text)); err == nil {
			t.Errorf("%q is read as %+v", text, tree)
		}
	}
}
