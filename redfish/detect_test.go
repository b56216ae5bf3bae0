package redfish

import (
	"fmt"
	"testing"
)

// TestMakers: each machine as its BMC shows itself (captures and reports), where
// every single signal is wrong or absent somewhere (FIELD-QUIRKS 14).
func TestMakers(t *testing.T) {
	for _, c := range []struct {
		name         string
		s            signals
		vendor, does string
	}{
		{"R750", signals{manufacturer: "Dell Inc.", model: "PowerEdge R750", system: "System.Embedded.1", rootVendor: "Dell", rootOEM: []string{"Dell"}}, "dell", "dell"},
		{"R6515 without a manufacturer", signals{model: "PowerEdge R6515", system: "System.Embedded.1", hostOEM: []string{"Dell"}}, "dell", "dell"},
		{"SYS-821GE: no root Vendor", signals{manufacturer: "Supermicro", model: "SYS-821GE-TNHR", rootOEM: []string{"Supermicro"}}, "supermicro", "supermicro"},
		{
			"DGX H100: AMI at its root",
			signals{manufacturer: "NVIDIA", model: "DGXH100", system: "DGX", rootVendor: "AMI", product: "AMI Redfish Server", rootOEM: []string{"Ami"}, hostOEM: []string{"AMI", "Ami"}},
			"nvidia", "nvidia",
		},
		{
			"GB200: the host names nobody",
			signals{system: "System_0", rootVendor: "NVIDIA", product: "GB200 NVL", hostOEM: []string{"Nvidia"}, managers: []string{"", "OpenBmc"}},
			"nvidia", "tray",
		},
		{
			"GB300 of Supermicro: OpenBMC inside (libredfish #90)",
			signals{manufacturer: "Supermicro", system: "System_0", rootVendor: "Supermicro", product: "GB NVL", managers: []string{"", "OpenBmc"}},
			"supermicro", "tray",
		},
		{"BlueField-3", signals{manufacturer: "https://www.mellanox.com", system: "Bluefield", rootVendor: "Nvidia", product: "Nvidia-BMCMezz", managers: []string{"", "OpenBmc"}}, "nvidia", "tray"},
		{"Gigabyte on AMI", signals{manufacturer: "GIGABYTE", model: "H262-Z63-00", system: "Self", managerOEM: []string{"Ami"}}, "gigabyte", "ami"},
		{"QuantaGrid on AMI: no manufacturer", signals{model: "QuantaGrid S74G-2U 1S7GZ9Z0001", system: "System_0", hostOEM: []string{"Ami"}}, "quanta", "ami"},
		{"ASRock Rack", signals{manufacturer: "ASRockRack", rootVendor: "AMI"}, "asrock", "ami"},
		{"Intel", signals{manufacturer: "Intel Corporation"}, "intel", "base"},
		{"OpenBMC as it comes", signals{system: "system", managers: []string{"", "OpenBmc"}}, "openbmc", "openbmc"},
		{"nobody met it", signals{manufacturer: "Amity Computers", model: "X1", system: "1", rootVendor: "Contoso"}, "", "base"},
	} {
		vendor := c.s.weigh()
		does := fmt.Sprintf("%T", c.s.behaviour(vendor))
		if vendor != c.vendor || does != "redfish."+c.does {
			t.Errorf("%s: vendor %q, behaviour %s; want %q, %s", c.name, vendor, does, c.vendor, c.does)
		}
	}
}
