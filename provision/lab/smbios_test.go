package lab

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// smbiosStrings splits a structure into its formatted part and its strings.
func smbiosStrings(t *testing.T, b []byte) ([]byte, []string) {
	t.Helper()
	n := int(b[1])
	if len(b) < n+2 || !bytes.HasSuffix(b, []byte{0, 0}) {
		t.Fatalf("structure of %d bytes, formatted part %d: % x", len(b), n, b)
	}
	var s []string
	for part := range bytes.SplitSeq(bytes.TrimSuffix(b[n:], []byte{0, 0}), []byte{0}) {
		s = append(s, string(part))
	}
	return b[:n], s
}

func TestSMBIOSDevice(t *testing.T) {
	healthy := HealthyDIMMs(1)
	if len(healthy) != 8 || (hardware{dimms: healthy}).memory() != memoryMB {
		t.Fatalf("%d modules", len(healthy))
	}
	big := healthy[0]
	big.SizeMB = 64 << 10
	for _, c := range []struct {
		name                           string
		dimm                           DIMM
		total, data, size, speed, kind uint16
		extended                       uint32
		slot, maker, serial, part      string
	}{
		{name: "healthy", dimm: healthy[2], total: 72, data: 64, size: 256, speed: 4800, kind: memoryDDR5, slot: "DIMM_C1", maker: "LabVendor", serial: "D0100003", part: "LD5-4800R-256M"},
		{name: "not ECC", dimm: DIMM{Slot: "DIMM_A1", SizeMB: 256, SpeedMTs: 3200, Manufacturer: "M", Serial: "S", PartNumber: "P"}, total: 64, data: 64, size: 256, speed: 3200, kind: memoryDDR5, slot: "DIMM_A1", maker: "M", serial: "S", part: "P"},
		{name: "empty", dimm: DIMM{Slot: "DIMM_H1"}, total: 0xffff, data: 0xffff, kind: memoryUnknown, slot: "DIMM_H1", maker: "NO DIMM", serial: "NO DIMM", part: "NO DIMM"},
		{name: "large", dimm: big, total: 72, data: 64, size: 0x7fff, extended: 64 << 10, speed: 4800, kind: memoryDDR5, slot: "DIMM_A1", maker: "LabVendor", serial: "D0100001", part: "LD5-4800R-256M"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, s := smbiosStrings(t, smbiosDevice(7, c.dimm))
			if b[0] != 17 || len(b) != 40 {
				t.Fatalf("type %d of %d bytes; SMBIOS 2.8 wants 40", b[0], len(b))
			}
			word := func(at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
			text := func(at int) string {
				if b[at] == 0 || int(b[at]) > len(s) {
					return "?"
				}
				return s[b[at]-1]
			}
			if word(8) != c.total || word(10) != c.data || word(12) != c.size || word(21) != c.speed || word(32) != c.speed {
				t.Errorf("widths %d/%d, size %d, speed %d/%d", word(8), word(10), word(12), word(21), word(32))
			}
			if uint16(b[18]) != c.kind || binary.LittleEndian.Uint32(b[28:]) != c.extended {
				t.Errorf("kind %#x, extended size %d", b[18], binary.LittleEndian.Uint32(b[28:]))
			}
			if text(16) != c.slot || text(23) != c.maker || text(24) != c.serial || text(26) != c.part {
				t.Errorf("slot %q, maker %q, serial %q, part %q", text(16), text(23), text(24), text(26))
			}
		})
	}
}

func TestSMBIOSArray(t *testing.T) {
	d := HealthyDIMMs(1)
	if b, _ := smbiosStrings(t, smbiosArray(d)); b[0] != 16 || len(b) != 23 || b[6] != eccMultiBit || binary.LittleEndian.Uint16(b[13:]) != 8 {
		t.Errorf("healthy: % x", b)
	}
	d[5] = DIMM{Slot: d[5].Slot}
	if b, _ := smbiosStrings(t, smbiosArray(d)); b[6] != eccMultiBit {
		t.Error("an empty slot takes the ECC away")
	}
	d[3].ECC = false
	if b, _ := smbiosStrings(t, smbiosArray(d)); b[6] != eccNone {
		t.Error("a module without ECC leaves the array with it")
	}
}

func TestWriteSMBIOS(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "smbios")
	names, err := writeSMBIOS(dir, HealthyDIMMs(3))
	if err != nil || len(names) != 9 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	if b, err := os.ReadFile(names[8]); err != nil || b[0] != 17 || !bytes.Contains(b, []byte("DIMM_H1\x00")) {
		t.Errorf("the last file: % x, %v", b, err)
	}
}
