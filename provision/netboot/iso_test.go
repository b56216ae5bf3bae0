package netboot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is a file of n bytes that are told apart.
func filled(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>8) ^ byte(i*7)
	}
	return b
}

// readFAT finds /EFI/BOOT/name in the volume at the place at, by its own tables.
func readFAT(t *testing.T, image io.ReaderAt, at int64, name string) []byte {
	t.Helper()
	read := func(from int64, n int) []byte {
		b := make([]byte, n)
		if _, err := image.ReadAt(b, at+from); err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("read %d bytes at %d: %v", n, from, err)
		}
		return b
	}
	le := binary.LittleEndian
	boot := read(0, fatSector)
	if boot[510] != 0x55 || boot[511] != 0xaa || le.Uint16(boot[11:]) != fatSector || le.Uint32(boot[36:]) == 0 {
		t.Fatalf("no FAT32 boot sector: % x", boot[:90])
	}
	cluster := int64(boot[13]) * fatSector
	tables := int64(le.Uint16(boot[14:])) * fatSector
	data := tables + int64(boot[16])*int64(le.Uint32(boot[36:]))*fatSector
	if clusters := (int64(le.Uint32(boot[32:]))*fatSector - data) / cluster; clusters < fatLeast {
		t.Fatalf("%d clusters: a volume of that size is FAT16", clusters)
	}
	chain := func(n uint32) []byte {
		var out []byte
		for n < 0x0ffffff8 {
			out = append(out, read(data+int64(n-2)*cluster, int(cluster))...)
			n = le.Uint32(read(tables+int64(n)*4, 4))
		}
		return out
	}
	find := func(folder []byte, name string) (cluster, size uint32) {
		for ; len(folder) >= 32 && folder[0] != 0; folder = folder[32:] {
			if string(folder[:11]) == name {
				return uint32(le.Uint16(folder[20:]))<<16 | uint32(le.Uint16(folder[26:])), le.Uint32(folder[28:])
			}
		}
		t.Fatalf("no %q in the folder", name)
		return 0, 0
	}
	efi, _ := find(chain(le.Uint32(boot[44:])), "EFI        ")
	folder, _ := find(chain(efi), "BOOT       ")
	first, size := find(chain(folder), name)
	return chain(first)[:size]
}

func TestISOHoldsTheProgram(t *testing.T) {
	for _, size := range []int{1, 511, 512, 100_000, 40_000_000} {
		file := filled(size)
		iso := isoOf("BOOTX64.EFI", bytes.NewReader(file), int64(size))
		if iso.size%isoSector != 0 {
			t.Errorf("%d bytes: the image has %d, no whole sectors", size, iso.size)
		}
		// By the El Torito catalogue, as from a CD.
		sector := func(n int64) []byte {
			b := make([]byte, isoSector)
			if _, err := iso.ReadAt(b, n*isoSector); err != nil {
				t.Fatal(err)
			}
			return b
		}
		record := sector(17)
		if !bytes.HasPrefix(record[1:], []byte("CD001")) || !bytes.HasPrefix(record[7:], []byte("EL TORITO SPECIFICATION")) {
			t.Fatalf("no boot record: %q", record[:40])
		}
		catalogue := sector(int64(binary.LittleEndian.Uint32(record[71:])))
		var sum uint16
		for i := 0; i < 32; i += 2 {
			sum += binary.LittleEndian.Uint16(catalogue[i:])
		}
		if sum != 0 || catalogue[1] != 0xef || catalogue[32] != 0x88 {
			t.Errorf("catalogue: sum %d, platform %x, indicator %x", sum, catalogue[1], catalogue[32])
		}
		start := int64(binary.LittleEndian.Uint32(catalogue[40:])) * isoSector
		if got := readFAT(t, iso, start, "BOOTX64 EFI"); !bytes.Equal(got, file) {
			t.Errorf("%d bytes: the program reads back as %d bytes that differ", size, len(got))
		}
		// By the partition table, as from a USB stick.
		if first := sector(0); first[446+4] != 0xef || int64(binary.LittleEndian.Uint32(first[446+8:]))*fatSector != start {
			t.Errorf("MBR: % x, want the volume at %d", first[446:462], start)
		}
	}
}

func TestAssemblyReadsAnyRange(t *testing.T) {
	a := &assembly{}
	a.bytes(5, []byte("abc"))
	a.put(10, strings.NewReader("defgh"), 5)
	const whole = "\x00\x00\x00\x00\x00abc\x00\x00defgh"
	for from := range len(whole) + 1 {
		for n := range len(whole) + 2 {
			b := bytes.Repeat([]byte{'?'}, n)
			got, err := a.ReadAt(b, int64(from))
			want := whole[from:min(from+n, len(whole))]
			if string(b[:got]) != want || errors.Is(err, io.EOF) != (from+n > len(whole) || from == len(whole)) {
				t.Fatalf("%d bytes at %d: %q, %v; want %q", n, from, b[:got], err, want)
			}
		}
	}
	a.put(20, strings.NewReader("short"), 9)
	if _, err := a.ReadAt(make([]byte, 9), 20); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a part that ended early: %v", err)
	}
}

// TestISOByXorriso lets another program judge the image.
func TestISOByXorriso(t *testing.T) {
	xorriso, err := exec.LookPath("xorriso")
	if err != nil {
		t.Skip("no xorriso here to look at the image")
	}
	path := filepath.Join(t.TempDir(), "a.iso")
	file := filled(100_000)
	iso := isoOf("BOOTX64.EFI", bytes.NewReader(file), int64(len(file)))
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, io.NewSectionReader(iso, 0, iso.size)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), xorriso, "-indev", path, "-report_el_torito", "plain", "-report_system_area", "plain").CombinedOutput()
	text := string(said)
	for _, want := range []string{"Volume id    : 'RACKPROOF'", "UEFI  y   none", "MBR partition table:"} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("xorriso: %v, wants %q in\n%s", err, want, text)
		}
	}
}
