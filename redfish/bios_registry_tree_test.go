package redfish

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestRegistriesAgreeWithThemselves: iDRAC and Supermicro write their registries
// anew at each boot, flags included. What the dependencies give for the values in
// force must be those flags, else they are read in the wrong way.
func TestRegistriesAgreeWithThemselves(t *testing.T) {
	for _, c := range []struct {
		tree, bios, registry string
		flag                 func(registryEntry) flag
		what                 string
		hold, against        int // dependencies that hold, and those of them without the flag
	}{
		{
			"dell", "/redfish/v1/Systems/System.Embedded.1/Bios", "/redfish/v1/Systems/System.Embedded.1/Bios/BiosRegistry",
			func(e registryEntry) flag { return e.ReadOnly }, "ReadOnly", 157, 4, // OsAcpiCx and three more are free by their flag
		},
		{
			"supermicro", "/redfish/v1/Systems/1/Bios", "/registries/BiosAttributeRegistry.1.0.0.json",
			func(e registryEntry) flag { return e.GrayOut }, "GrayOut", 7, 0,
		},
	} {
		t.Run(c.tree, func(t *testing.T) {
			path := filepath.Join("..", "..", "shared", "redfish", c.tree+".tar.gz")
			if _, err := os.Stat(path); err != nil {
				t.Skipf("captured trees are not at hand: %v", err)
			}
			tree, err := redfishtest.LoadTarGz(path)
			if err != nil {
				t.Fatal(err)
			}
			reg := parseRegistry(c.tree, tree[c.registry])
			values, _ := attributes(tree[c.bios])
			held, against := 0, 0
			for name, e := range reg.entries {
				for _, d := range reg.byTarget[name] {
					if d.what != c.what || d.holds(values, reg) != yes {
						continue
					}
					held++
					if !c.flag(e).value {
						against++
						t.Logf("%s of %s: %s, and its flag says no", c.what, name, d.reason(values, reg))
					}
				}
			}
			if held != c.hold || against != c.against {
				t.Errorf("%d dependencies hold, %d against the flag; want %d and %d", held, against, c.hold, c.against)
			}
		})
	}
}
