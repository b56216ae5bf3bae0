package burnin

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestIdentityIsNoPlaceholder(t *testing.T) {
	for _, s := range []string{
		"", "          ", "To be filled by O.E.M.", "To Be Filled By O.E.M", "Default string", "01234567890123456789AB", "0123456789", "123456789",
		"Not Specified", "None", "N/A", "System Serial Number", "00000000", "xxxxxxxx", "........", "-", "0", "Unknown", "Free form asset tag", "NO DIMM",
	} {
		if got := plainIdentity(s); got != "" {
			t.Errorf("%q is taken for an identity: %q", s, got)
		}
	}
	for _, s := range []string{"S889914X3710910", "F54P1G3 ", "1663123000052", "80CE01231404946877", "A1", "bay 4", "12345X", "MXQ302099S", "NA12345"} {
		if got := plainIdentity(s); got != strings.TrimSpace(s) {
			t.Errorf("%q is blanked", s)
		}
	}
}

func TestUUIDOrders(t *testing.T) {
	const a, b = "00112233-4455-6677-8899-aabbccddeeff", "33221100-5544-7766-8899-AABBCCDDEEFF"
	if !sameUUID(a, b) || !sameUUID(a, strings.ToUpper(a)) {
		t.Error("the two byte orders of one UUID differ")
	}
	if sameUUID(a, "00112233-4455-6677-8899-aabbccddee00") || sameUUID("", "") || sameUUID("junk", "junk") {
		t.Error("two UUIDs are one")
	}
	for _, junk := range []string{
		"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "03000200-0400-0500-0006-000700080009", "Not Settable", "00112233",
	} {
		if plainUUID(junk) != "" {
			t.Errorf("%s is taken for a UUID", junk)
		}
	}
	for in, want := range map[string]string{
		"7C-C2-55-00-00-07": "7c:c2:55:00:00:07", "7cc2.5500.0007": "7c:c2:55:00:00:07", "7cc255000007": "7c:c2:55:00:00:07",
		"00:00:00:00:00:00": "", "ff:ff:ff:ff:ff:ff": "", "7c:c2:55": "", "Disabled": "",
	} {
		if got := plainMAC(in); got != want {
			t.Errorf("MAC %q is %q, want %q", in, got, want)
		}
	}
}

func TestDIMMPlaces(t *testing.T) {
	for _, c := range []struct {
		locator, bank string
		want          dimmPlace
	}{
		{"P1-DIMMA1", "P0_Node0_Channel0_Dimm0", dimmPlace{"1", "A", "1"}},
		{"CPU0_DIMM_A1", "", dimmPlace{"0", "A", "1"}},
		{"DIMM_P1_B0", "BANK 0", dimmPlace{"1", "B", "0"}},
		{"DIMM 0", "P0 CHANNEL A", dimmPlace{"0", "A", "0"}},
		{"PROC 2 DIMM 3", "Not Specified", dimmPlace{"2", "", "3"}},
		{"A7", "", dimmPlace{"A", "", "7"}},
		{"DIMM B8", "", dimmPlace{"B", "", "8"}},
		{"ChannelA-DIMM0", "BANK 0", dimmPlace{"0", "A", "0"}},
		{"DIMM1", "NODE 1 CHANNEL 2 DIMM 0", dimmPlace{"1", "2", "0"}},
	} {
		if got, ok := placeOf(c.locator, c.bank); !ok || got != c.want {
			t.Errorf("%q in %q is %+v, want %+v", c.locator, c.bank, got, c.want)
		}
	}
	for _, locator := range []string{"RAM slot #0", "", "SODIMM", "J12"} {
		if got, ok := placeOf(locator, ""); ok {
			t.Errorf("%q is said to be at %+v", locator, got)
		}
	}
	if !sameLabel("A1", "DIMM A1") || sameLabel("A1", "B1") || sameLabel("", "") || sameModule("1", "1") || !sameModule("404946877", "80CE01231404946877") {
		t.Error("labels or serials are joined wrongly")
	}
}

func TestDmidecodeForms(t *testing.T) {
	table, err := parseDmidecode(loose(`# dmidecode 3.0
Handle 0x0010, DMI type 16, 23 bytes
Physical Memory Array
	Use: Flash Memory
	Error Correction Type: None

Handle 0x0011, DMI type 16, 23 bytes
Physical Memory Array
	Use: System Memory
	Error Correction Type: Multi-bit ECC

Handle 0x0012, DMI type 17, 40 bytes
Memory Device
	Array Handle: 0x0010
	Size: 16 MB
	Locator: SYSTEM ROM
	Type: Flash

Handle 0x0013, DMI type 17, 40 bytes
Memory Device
	Array Handle: 0x0011
	Total Width: 72 bits
	Data Width: 64 bits
	Size: 32767 MB
	Locator: DIMM 0
	Bank Locator: P0 CHANNEL A
	Type: DDR4
	Configured Clock Speed: 2933 MHz

Handle 0x0014, DMI type 17, 40 bytes
Memory Device
	Array Handle: 0x0011
	Size: 256 GB
	Locator: DIMM 0
	Bank Locator: P0 CHANNEL B
	Configured Memory Speed: 5600 MT/s

Handle 0x0015, DMI type 17, 40 bytes
Memory Device
	Array Handle: 0x0011
	Size: Unknown
	Locator: DIMM 0
	Bank Locator: P0 CHANNEL C

Handle 0x0020, DMI type 9, 17 bytes
System Slot Information
	Designation: SLOT 7
	Bus Address: 0000:A8:00.0
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Modules) != 3 || len(table.Populated()) != 3 {
		t.Fatalf("%d modules, %d filled: flash is no memory, and an unknown size is no empty socket", len(table.Modules), len(table.Populated()))
	}
	a, b, c := table.Modules[0], table.Modules[1], table.Modules[2]
	if a.Configured.V != 2933 || b.Configured.V != 5600 || b.Size.V != 256*1024 || c.Size.Set {
		t.Errorf("%+v\n%+v\n%+v", a, b, c)
	}
	if label := a.Label(table.Modules); label != "P0 CHANNEL A DIMM 0" {
		t.Errorf("label %q does not tell the sockets apart", label)
	}
	if !reflect.DeepEqual(table.Slots, []DMISlot{{"SLOT 7", "0000:a8:00.0"}}) {
		t.Errorf("slots %+v", table.Slots)
	}
}

func TestEDACForms(t *testing.T) {
	rows := strings.Join([]string{
		edacHead, "mc\tmc0\t3\t0\t1\t0\tskx_edac", "dimm\tmc0/dimm0\t2\t0\tchannel 0 slot 0 \tCPU_SrcID#0_MC#0_Chan#0_DIMM#0",
		"dimm\tmc0/dimm3\t0\t1\tchannel 1 slot 0 \t", edacEnd + "1", "",
	}, "\n")
	c, err := parseEDAC(loose(rows))
	if err != nil || !c.Complete || len(c.Places) != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	if c.Places[0].Corrected.V != 1 || c.Places[1].Corrected.V != 2 || c.Places[2].Uncorrected.V != 1 || c.Places[2].Name() != "mc0/dimm3" {
		t.Errorf("%+v", c.Places)
	}
	if cut, err := parseEDAC(loose(strings.Split(rows, edacEnd)[0])); err != nil || cut.Complete {
		t.Errorf("a listing without its end is whole: %+v, %v", cut, err)
	}
	for name, text := range map[string]string{
		"no controller": edacHead + "\n" + edacEnd + "0\n", "no driver": "edac-util: Error: No memory controller data found.\n", "blank": "\n",
		"no number": edacHead + "\nmc\tmc0\t\t\t\t\tx\n" + edacEnd + "1\n",
	} {
		if c, err := parseEDAC(loose(text)); err == nil {
			t.Errorf("%s is read as %+v", name, c)
		}
	}
	if c, err := parseEDAC(loose("edac-util: No errors to report.\n")); err != nil || !c.Complete {
		t.Errorf("edac-util without errors: %+v, %v", c, err)
	}
}

func TestRASForms(t *testing.T) {
	e, err := parseRAS(whole("Memory controller events:\n1 2026-01-05 10:11:12 +0000 3 Corrected error(s): memory read error at CPU_SrcID#0_Chan#1_DIMM#0 location: 0:1:0:-1, addr 0\n" +
		"2 2026-01-05 10:11:13 +0000 1 Uncorrected error(s): memory read error at P1-DIMMB1 location: 0:1:0:-1, addr 0\n\nPCIe AER events:\n1 2026-01-05 10:11:12 +0000 0000:19:00.0 Corrected error: Receiver Error\n\nNo MCE errors.\n"))
	if err != nil || !e.Complete || len(e.Events) != 3 {
		t.Fatalf("%+v, %v", e, err)
	}
	if ev := e.Events[0]; ev.Kind != EventCorrected || ev.Count != 3 || ev.Label != "CPU_SrcID#0_Chan#1_DIMM#0" || !ev.OfMemory() {
		t.Errorf("%+v", ev)
	}
	if ev := e.Events[1]; ev.Kind != EventUncorrected || ev.Label != "P1-DIMMB1" {
		t.Errorf("%+v", ev)
	}
	if e.Events[2].OfMemory() {
		t.Error("an error of a link is none of memory")
	}
	for name, text := range map[string]string{
		"no record": "DBI connect('dbname=/var/lib/rasdaemon/ras-mc_event.db','',...) failed: unable to open database file\n", "no driver": "ras-mc-ctl: drivers not loaded.\n", "blank": " \n",
	} {
		if e, err := parseRAS(loose(text)); err == nil {
			t.Errorf("%s is read as %+v", name, e)
		}
	}
}

func TestNVMeListForms(t *testing.T) {
	for name, text := range map[string]string{
		"version 1": `{"Devices":[{"DevicePath":"/dev/nvme0n1","ModelNumber":"Example NVMe","SerialNumber":"RPTEST0001","PhysicalSize":1000},{"DevicePath":"/dev/nvme0n2","ModelNumber":"Example NVMe","SerialNumber":"RPTEST0001","PhysicalSize":1000}]}`,
		"version 2": `{"Devices":[{"HostNQN":"nqn","Subsystems":[{"Subsystem":"nvme-subsys0","Controllers":[{"Controller":"nvme0","SerialNumber":"RPTEST0001","ModelNumber":"Example NVMe","Address":"0000:18:00.0","Transport":"pcie","Namespaces":[{"NameSpace":"nvme0n1","PhysicalSize":1500},{"NameSpace":"nvme0n2","PhysicalSize":500}]}],"Namespaces":[]}]}]}`,
	} {
		list, err := parseNVMeList(whole(text))
		if err != nil || !list.Complete || len(list.Drives) != 1 || list.Drives[0].Serial != "RPTEST0001" || list.Drives[0].Capacity.V != 2000 || list.Drives[0].Name != "nvme0" {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
	if list, err := parseNVMeList(whole(`{"Devices":[]}`)); err != nil || len(list.Drives) != 0 {
		t.Errorf("no drives: %+v, %v", list, err)
	}
	if list, err := parseNVMeList(whole("Failed to scan topology")); err == nil {
		t.Errorf("an error is read as %+v", list)
	}
}

func TestBlockDevicesInUse(t *testing.T) {
	list, err := parseBlockDevices(whole(`{"blockdevices":[
		{"name":"nvme0n1","type":"disk","size":1000,"serial":"RPTEST0001","children":[{"name":"nvme0n1p1","children":[{"name":"root","mountpoints":["/"]}]}]},
		{"name":"nvme1n1","type":"disk","size":"2000","mountpoints":[null],"fstype":null},
		{"name":"sda","type":"disk","size":"63.9M","fstype":"linux_raid_member"},
		{"name":"sdb","type":"disk","size":5},{"name":"sdb1","pkname":"sdb","type":"part","size":5,"mountpoint":"/data"}]}`))
	if err != nil || !list.Complete {
		t.Fatal(err)
	}
	var got []string
	for _, d := range list.Disks {
		word := d.Name
		if d.InUse {
			word += " used"
		}
		if d.Signed {
			word += " signed"
		}
		got = append(got, word)
	}
	if want := []string{"nvme0n1 used signed", "nvme1n1", "sda signed", "sdb used signed"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if list.Disks[1].Size.V != 2000 || list.Disks[2].Size.Set {
		t.Errorf("sizes %+v, %+v", list.Disks[1].Size, list.Disks[2].Size)
	}
}

func TestGDSPaths(t *testing.T) {
	for row, want := range map[string]string{
		"Supported": "nvfs", "nvfs": "nvfs", "nvfs, compat": "nvfs", "c2c, nvfs, compat": "nvfs", "p2pdma, compat": "p2pdma", "compat": "compat", "Unsupported": "none",
	} {
		g := GDSReport{Drivers: map[string]string{"NVMe": row, "NVMe P2PDMA": "Unsupported"}}
		if got, ok := g.Path("NVMe"); !ok || got != want {
			t.Errorf("%q is %q, want %q", row, got, want)
		}
	}
	g := GDSReport{Drivers: map[string]string{"NVMe": "Unsupported", "NVMe P2PDMA": "Supported"}}
	if got, _ := g.Path("NVMe"); got != "p2pdma" {
		t.Errorf("the kernel's path is %q", got)
	}
	if got, ok := g.Path("WekaFS"); ok {
		t.Errorf("a row that is not there is %q", got)
	}
}

func TestLSCPUForms(t *testing.T) {
	for name, text := range map[string]string{
		"nested": `{"lscpu":[{"field":"CPU(s):","data":"128"},{"field":"Vendor ID:","data":"X","children":[{"field":"Model name:","data":"Example CPU","children":[{"field":"Socket(s):","data":"2"}]}]}]}`,
		"flat":   `{"lscpu":[{"field":"CPU(s):","data":"128"},{"field":"Model name:","data":"Example CPU"},{"field":"Socket(s):","data":"2"}]}`,
		"plain":  "CPU(s):              128\nModel name:          Example CPU\nSocket(s):           2\n",
	} {
		c, err := parseLSCPU(loose(text))
		if err != nil || c.CPUs.V != 128 || c.Sockets.V != 2 || c.Model != "Example CPU" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
