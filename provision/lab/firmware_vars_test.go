package lab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
)

// emptyStore is a variable store as OVMF delivers it, with room for size bytes.
func emptyStore(size int) []byte {
	const at = 0x48
	b := bytes.Repeat([]byte{0xff}, at+storeHeader+size+16)
	copy(b[40:], "_FVH")
	le := binary.LittleEndian
	le.PutUint16(b[volumeHeaderLength:], at)
	copy(b[at:], storeSignature[:])
	le.PutUint32(b[at+16:], uint32(storeHeader+size))
	copy(b[len(b)-16:], "behind the store")
	return b
}

func TestVariablesAreReadBack(t *testing.T) {
	fresh := emptyStore(2000)
	want := []variable{
		{name: "Lang", vendor: globalVariable, attributes: 3, data: []byte("en")},
		{name: "Odd", vendor: guid{1}, attributes: 7, data: []byte{1, 2, 3}},
	}
	file, err := writeVariables(fresh, want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(file, []byte("behind the store")) || len(file) != len(fresh) {
		t.Error("what stands behind the store is not as it was")
	}
	got, err := readVariables(file)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, v := range got {
		if !v.same(want[i]) || v.attributes != want[i].attributes || !bytes.Equal(v.data, want[i].data) {
			t.Errorf("%+v, want %+v", v, want[i])
		}
	}
	// One that was deleted is gone, one that was being replaced holds until the other does.
	at, _, _ := storeBounds(file)
	file[at+2] = 0x3d
	if got, err = readVariables(file); err != nil || len(got) != 1 || got[0].name != "Odd" {
		t.Errorf("behind a deleted one: %v, %v", got, err)
	}
	file[at+2] = variableLeaving
	if got, err = readVariables(file); err != nil || len(got) != 2 {
		t.Errorf("one that is being replaced: %v, %v", got, err)
	}
	if _, err := writeVariables(emptyStore(50), want); err == nil || !strings.Contains(err.Error(), "no room for Lang") {
		t.Errorf("no room: %v", err)
	}
	if _, err := readVariables([]byte("disk")); !errors.Is(err, errStore) {
		t.Errorf("another file: %v", err)
	}
}

// TestBootNextIsReplaced: every start has its own choice, and what the machine has
// kept stays.
func TestBootNextIsReplaced(t *testing.T) {
	kept := []variable{{name: "Boot0001", vendor: globalVariable, data: []byte("disk")}, {name: "BootOrder", vendor: globalVariable}}
	first := withBoot(kept, []byte("one"))
	second := withBoot(first, []byte("two"))
	if len(second) != 4 || string(second[2].data) != "two" || second[2].name != "Boot7AC0" || second[3].name != "BootNext" || !bytes.Equal(second[3].data, []byte{0xc0, 0x7a}) {
		t.Errorf("%+v", second)
	}
	if none := withBoot(second, nil); len(none) != 2 || none[0].name != "Boot0001" {
		t.Errorf("without a choice: %+v", none)
	}
}

func TestHTTPOption(t *testing.T) {
	mac, err := net.ParseMAC("52:54:00:77:00:01")
	if err != nil {
		t.Fatal(err)
	}
	const uri = "http://10.77.0.1:8080/b/t/boot.efi"
	b := httpOption(uri, 4, mac)
	text := utf16Bytes("HTTP boot of the BMC")
	path := b[6+len(text):]
	if binary.LittleEndian.Uint32(b) != 1 || int(binary.LittleEndian.Uint16(b[4:])) != len(path) || !bytes.HasPrefix(b[6:], text) {
		t.Fatalf("option % x", b)
	}
	var nodes []string
	for len(path) >= 4 {
		n := int(binary.LittleEndian.Uint16(path[2:]))
		nodes = append(nodes, string(path[:2])+string(path[4:n]))
		path = path[n:]
	}
	want := []string{
		"\x02\x01\xd0\x41\x03\x0a\x00\x00\x00\x00", "\x01\x01\x00\x04", "\x01\x01\x00\x00",
		"\x03\x0b\x52\x54\x00\x77\x00\x01" + strings.Repeat("\x00", 26) + "\x01", "\x03\x0c" + strings.Repeat("\x00", 23), "\x03\x18" + uri, "\x7f\xff",
	}
	if len(path) != 0 || strings.Join(nodes, "|") != strings.Join(want, "|") {
		t.Errorf("nodes %q, want %q", nodes, want)
	}
}

// TestVariablesOfOVMF reads and writes what Debian's ovmf delivers.
func TestVariablesOfOVMF(t *testing.T) {
	fresh, err := os.ReadFile(ovmfVars)
	if err != nil {
		t.Skipf("%v: install ovmf", err)
	}
	all, err := readVariables(fresh)
	if err != nil {
		t.Fatal(err)
	}
	file, err := writeVariables(fresh, withBoot(all, []byte("option")))
	if err != nil || len(file) != len(fresh) {
		t.Fatalf("%d bytes of %d, %v", len(file), len(fresh), err)
	}
	got, err := readVariables(file)
	if err != nil || len(got) != len(all)+2 {
		t.Errorf("%d variables of %d, %v", len(got), len(all)+2, err)
	}
}

func FuzzReadVariables(f *testing.F) {
	file, err := writeVariables(emptyStore(200), []variable{{name: "A", vendor: globalVariable, data: []byte("x")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Fuzz(func(t *testing.T, file []byte) {
		all, err := readVariables(file)
		if err != nil {
			return
		}
		if _, err := writeVariables(file, all); err != nil && !strings.Contains(err.Error(), "no room") {
			t.Error(err)
		}
	})
}
