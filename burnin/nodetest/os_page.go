package nodetest

import (
	"fmt"
	"strings"
)

// release of the simulated live image: here the host itself says what it is.
const release = "rackproof live image (simulated)"

// osInfo answers burnin's os script.
func (s *system) osInfo() string {
	m := s.M
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%s=%s\n", name, value) }
	line("kernel", kernelRelease)
	line("machine", "x86_64")
	line("node", s.hostname())
	line("user", "0")
	line("boot_id", s.BootID)
	line("uptime", fmt.Sprintf("%.2f %.2f", s.uptime(s.Now), s.uptime(s.Now)*60))
	words := strings.Fields(s.Cmdline)
	for i, w := range words {
		if name, _, ok := strings.Cut(w, "="); ok && strings.Contains(strings.ToLower(name), "token") {
			words[i] = name + "=(not shown)"
		}
	}
	line("cmdline", strings.Join(words, " "))
	line("tainted", "4096")
	line("release.NAME", `"rackproof live"`)
	line("release.ID", "rackproof-simulated")
	line("release.PRETTY_NAME", `"`+release+`"`)
	for _, kv := range [][2]string{
		{"sys_vendor", m.Manufacturer},
		{"product_name", m.Product},
		{"product_serial", m.SystemSerial},
		{"product_uuid", m.UUID},
		{"product_sku", "SIMULATED"},
		{"board_vendor", m.Manufacturer},
		{"board_name", m.Board},
		{"board_serial", m.BoardSerial},
		{"chassis_vendor", m.Manufacturer},
		{"chassis_serial", m.ChassisSerial},
		{"bios_version", m.BIOSVersion},
	} {
		line("dmi."+kv[0], kv[1])
	}
	groups := 0
	if s.IOMMU {
		groups = len(m.PCI)
	}
	line("iommu_groups", fmt.Sprint(groups))
	line("end", "1")
	return b.String()
}
