package lab

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestSDR(t *testing.T) {
	all := sensorsOf(testSpec(t))
	fan := all[slices.IndexFunc(all, func(s sensor) bool { return s.name == "FAN2" })].sdr()
	want := []byte{
		0, 0, 0x51, 1, 47, // id, version, full record, length
		0x20, 0, 21, 29, 2, 0x7f, 0x68, 0x04, 0x01, // key, entity, event type
		0x15, 0, 0x15, 0, 0x07, 0x07, // lower crossings; lower thresholds can be read and set
		0, 18, 0, 0, 100, 0, 0, 0, 0, 0, // RPM, M = 100
		0x07, 91, 0xff, 0, 0xff, 0, // nominal and normal
		0, 0, 0, 5, 10, 15, // thresholds from the top
		0, 0, 0, 0, 0, 0xc4, 'F', 'A', 'N', '2',
	}
	if !bytes.Equal(fan, want) {
		t.Errorf("SDR\n% x\nwant\n% x", fan, want)
	}
	psu := all[slices.IndexFunc(all, func(s sensor) bool { return s.name == "PSU1 Status" })].sdr()
	if psu[3] != sdrCompact || int(psu[4]) != len(psu)-5 || psu[12] != typePowerSupply || psu[13] != eventSpecific {
		t.Errorf("SDR % x", psu)
	}
}

func TestFRU(t *testing.T) {
	spec := testSpec(t)
	fru := spec.fru()
	if checksum(fru[:8]) != 0 {
		t.Errorf("header % x", fru[:8])
	}
	for name, offset := range map[string]byte{"chassis": fru[2], "board": fru[3], "product": fru[4]} {
		area := fru[int(offset)*8:]
		area = area[:int(area[1])*8]
		if area[0] != 1 || checksum(area) != 0 {
			t.Errorf("%s area % x", name, area)
		}
	}
	for _, value := range []string{spec.Serial(), spec.BoardSerial(), spec.ChassisSerial(), spec.AssetTag(), Product} {
		if !bytes.Contains(fru, []byte(value)) {
			t.Errorf("no %s in the FRU", value)
		}
	}
}

func TestSimConfig(t *testing.T) {
	spec := testSpec(t)
	sensors, err := newSensors(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := sensors.Set("CPU0 Temp", 102); err != nil { // a BMC that starts on a hot machine
		t.Fatal(err)
	}
	emulation := emulation(sensors, "/fru.bin", 8)
	for _, line := range []string{
		"sensor_set_value 0x20 0 1 102 0",
		"sensor_set_threshold 0x20 0 1 settable 111000 105 100 95 0 0 0",
		"sensor_set_threshold 0x20 0 21 settable 000111 0 0 0 5 10 15",
		"sensor_set_event_support 0x20 0 2 disable no-scanning", // nobody in the socket
	} {
		if !strings.Contains(emulation, line) {
			t.Errorf("no %q", line)
		}
	}
	lan := lanConfig(spec, "/bin/lab", "/run/lab")
	for _, line := range []string{
		`chassis_control "/bin/lab chassis /run/lab lab1"`, `lan_config_program "/bin/lab lan-config 1"`, "guid 4c4c4544000020108020000000000001",
		"addr 127.0.1.1 623", "serial 15 127.0.0.1 9112 codec VM", `sol "tcp:127.0.0.1:9113" 115200`,
	} {
		if !strings.Contains(lan, line) {
			t.Errorf("no %q in\n%s", line, lan)
		}
	}
}

func TestSimConfigIsPrivateAndPathsPlain(t *testing.T) {
	spec := testSpec(t)
	sensors, err := newSensors(spec)
	if err != nil {
		t.Fatal(err)
	}
	m := &Machine{spec: spec, sensors: sensors}
	args, err := writeSimConfig(m, "/bin/lab", "/run/lab")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(args[1])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the password: %v, %v", info, err)
	}
	if strings.Contains(strings.Join(args, " "), BMCPassword) {
		t.Error("the password is in the arguments")
	}
	if _, err := writeSimConfig(m, "/bin/my lab", "/run/lab"); err == nil {
		t.Error("a path with a blank was taken")
	}
}

func TestWireMessage(t *testing.T) {
	got := wireMessage(1, netFnStorage, cmdSetSELTime, []byte{0xa0, 0xaa, 0, 1})
	want := []byte{1, 0x28, 0x49, 0xaa, 0xb0, 0xaa, 0xba, 0, 1, 0x43, 0xa0}
	if !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
	message, err := readWire(bufio.NewReader(bytes.NewReader(append([]byte{0xff, 1, wireCommandEnd}, got...))))
	if err != nil || !bytes.Equal(message, []byte{1, 0x28, 0x49, 0xa0, 0xaa, 0, 1, 0x43}) {
		t.Errorf("read back % x, %v", message, err)
	}
	if checksum(message) != 0 {
		t.Errorf("checksum of % x", message)
	}
}

func FuzzReadWire(f *testing.F) {
	f.Add(wireMessage(1, netFnStorage, cmdSetSELTime, []byte{0xa0, 0xa1, 0xaa, 1}))
	f.Add([]byte{wireEscape, wireEscape, wireCommandEnd, 1, wireMessageEnd})
	f.Fuzz(func(t *testing.T, b []byte) {
		message, err := readWire(bufio.NewReader(bytes.NewReader(b)))
		if err == nil && len(message) > len(b) {
			t.Errorf("% x became % x", b, message)
		}
	})
}

func TestLANConfig(t *testing.T) {
	var out strings.Builder
	if err := LANConfig("2", []string{"get", "ip_addr", "mac_addr"}, &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != "ip_addr:10.77.1.12\nmac_addr:52:54:00:bc:00:02\n" {
		t.Errorf("%q", out.String())
	}
	for _, args := range [][]string{{"get", "color"}, {"set", "ip_addr", "10.0.0.1"}, {}} {
		if err := LANConfig("2", args, &out); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
	if err := LANConfig("0", []string{"get", "ip_addr"}, &out); err == nil {
		t.Error("machine 0 has an address")
	}
}
