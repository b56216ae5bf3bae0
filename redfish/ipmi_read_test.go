package redfish_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/rackproof/rackproof/redfish"
)

func TestIPMIIdentity(t *testing.T) {
	id, err := startBoard(t).open(t).Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := redfish.Identity{
		Manufacturer: "Maker", Model: "GPU-8", UUID: "00112233-4455-40f7-8899-aabbccddeeff",
		SystemSerial: "SYS0007", ChassisSerial: "CH0007", BoardSerial: "BRD0007",
		BMCMAC: "7c:c2:55:00:00:07", BMCFirmware: "3.17", NICMACs: []string{},
	}
	if !reflect.DeepEqual(id, want) {
		t.Errorf("identity is %+v\nwanted %+v", id, want)
	}
	if member, ok := id.Match("sys0007"); !ok || member != "system_serial" {
		t.Errorf("the product's serial is %q, wanted system_serial", member)
	}
}

// The bytes of a GUID come in three orders; the text is the one that the host shows.
func TestIPMIGUIDOrder(t *testing.T) {
	const want = "00112233-4455-40f7-8899-aabbccddeeff"
	network := []byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x40, 0xf7, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	smbios := []byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0xf7, 0x40, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	backwards := slices.Clone(network)
	slices.Reverse(backwards)
	for _, c := range []struct {
		name string
		raw  []byte
		code types.CompletionCode
		want string
	}{
		{"SMBIOS", smbios, 0, "guid:" + want},
		{"as written", network, 0, "guid:" + want},
		{"backwards", backwards, 0, "guid:" + want},
		{"all zeros: that of the handshake", make([]byte, 16), 0, "guid:" + want},
		{"no such command: that of the handshake", nil, types.CodeInvalidCommand, "guid:" + want},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t)
			b.set(0x06, 0x37, func([]byte) ([]byte, types.CompletionCode) { return c.raw, c.code })
			if got := b.open(t).Fingerprint(); got != c.want {
				t.Errorf("fingerprint is %s, wanted %s", got, c.want)
			}
		})
	}
	b := startBoard(t, func(b *board) { b.bmc.GUID = [16]byte{} })
	b.set(0x06, 0x37, refuse(types.CodeInvalidCommand))
	if got := b.open(t).Fingerprint(); got != "mac:7c:c2:55:00:00:07" {
		t.Errorf("without a GUID the fingerprint is %s, wanted the MAC", got)
	}
}

// ipmitool #242, ipmi_exporter #127: what can be read of an inventory is used, the
// rest is a remark.
func TestIPMIBrokenFRU(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		serial string // of the system
		board  string
		remark string
	}{
		{"version", func(b []byte) []byte { b[0] = 0x23; return b }, "", "", "FRU header version 0x23 is not known"},
		{"header checksum", func(b []byte) []byte { b[7]++; return b }, "SYS0007", "BRD0007", "FRU header: checksum is wrong"},
		{"board checksum", func(b []byte) []byte { b[8*int(b[4])-1]++; return b }, "SYS0007", "BRD0007", "board area: checksum is wrong"},
		{"board version", func(b []byte) []byte { b[8*int(b[3])] = 9; return b }, "SYS0007", "", "board area: version 0x09 is not known"},
		{"product behind the end", func(b []byte) []byte { b[4] = 0xf0; b[7] = sumToZero(b[:7]); return b }, "", "BRD0007", "product area: it points behind the end"},
		{"cut", func(b []byte) []byte { return b[:len(b)-24] }, "SYS0007", "BRD0007", "product area: length is wrong"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t)
			b.alter(func() { b.frus[0] = c.change(b.frus[0]) })
			inv, err := b.open(t).Inventory(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if inv.System.SystemSerial != c.serial || inv.System.BoardSerial != c.board {
				t.Errorf("serials are %q and %q, wanted %q and %q", inv.System.SystemSerial, inv.System.BoardSerial, c.serial, c.board)
			}
			if text := strings.Join(inv.Partial, "\n"); !strings.Contains(text, c.remark) {
				t.Errorf("remarks are %s; wanted %s", text, c.remark)
			}
		})
	}
}

// A BMC that sends eight bytes at a time, and says so in its own way.
func TestIPMIFRUInSmallPieces(t *testing.T) {
	for _, code := range []types.CompletionCode{types.CodeCannotReturnRequestedDataBytes, types.CodeRequestDataLengthInvalid, types.CodeUnspecifiedError} {
		b := startBoard(t)
		whole := b.answers[[2]uint8{0x0a, 0x11}]
		b.set(0x0a, 0x11, func(req []byte) ([]byte, types.CompletionCode) {
			if req[3] > 8 {
				return nil, code
			}
			return whole(req)
		})
		if id, err := b.open(t).Identity(t.Context()); err != nil || id.SystemSerial != "SYS0007" {
			t.Errorf("code 0x%02x: serial %q, %v", uint8(code), id.SystemSerial, err)
		}
	}
}

// fruLocator is the record of an inventory device of the BMC.
func fruLocator(id uint16, device, entity byte, name string) []byte {
	b := []byte{byte(id), byte(id >> 8), 0x51, 0x11, 0, 0x20, device, 0x80, 0, 0, 0x10, 0, entity, 1, 0, 0xc0 | byte(len(name))}
	b = append(b, name...)
	b[4] = byte(len(b) - 5)
	return b
}

func TestIPMIInventory(t *testing.T) {
	b := startBoard(t, func(b *board) { b.frus[1], b.frus[3], b.frus[5] = boardFRU(), boardFRU(), boardFRU() })
	sdrs := [][]byte{fruLocator(1, 1, 10, "PSU 1"), fruLocator(2, 2, 10, "PSU 2"), fruLocator(3, 3, 32, "DIMM A1"), fruLocator(4, 4, 32, "DIMM A2"), fruLocator(5, 5, 7, "Riser")}
	b.alter(func() { b.sdrs = sdrs })
	client := b.open(t)
	inv, err := client.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.PSUs) != 1 || inv.PSUs[0].Label != "PSU 1" || inv.PSUs[0].Serial != "SYS0007" || inv.PSUs[0].PartNumber != "GPU-8" {
		t.Errorf("power supplies are %+v", inv.PSUs)
	}
	if len(inv.DIMMs) != 1 || inv.DIMMs[0].Label != "DIMM A1" || !slices.Equal(inv.EmptyDIMMs, []string{"DIMM A2"}) {
		t.Errorf("memory is %+v, empty %v", inv.DIMMs, inv.EmptyDIMMs)
	}
	if len(inv.Firmware) != 1 || inv.Firmware[0] != (redfish.Firmware{Name: "BMC", Version: "3.17", URI: "ipmi:/device"}) {
		t.Errorf("firmware is %+v", inv.Firmware)
	}
	for _, what := range []string{"CPUs", "memory modules", "GPUs", "network adapters", "drives"} {
		if !slices.Contains(inv.Partial, "ipmi: does not list "+what) {
			t.Errorf("that IPMI knows nothing of %s is not said: %v", what, inv.Partial)
		}
	}
	recorded := client.Recorded()
	for _, key := range []string{"ipmi:/identity", "ipmi:/guid", "ipmi:/lan", "ipmi:/fru/0", "ipmi:/fru/1", "ipmi:/sdr", "ipmi:/session"} {
		if !json.Valid(recorded[key]) {
			t.Errorf("evidence %s is %q", key, recorded[key])
		}
	}
	if list, err := client.Firmware(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("firmware is %v, %v", list, err)
	}
}
