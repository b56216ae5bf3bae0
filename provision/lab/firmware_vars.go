package lab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"unicode/utf16"
)

// OVMF keeps its variables in a firmware volume of one variable store (EDK II,
// MdeModulePkg/Include/Guid/VariableFormat.h, the authenticated form), and behind it
// what it needs to write safely. Variables are put into a fresh copy of that file.

// variable is one that is in force.
type variable struct {
	name       string
	vendor     guid
	attributes uint32
	data       []byte
	header     []byte // as read: time stamp and counters stay
}

type guid [16]byte

// globalVariable is the vendor of what the UEFI specification itself names.
var globalVariable = guid{0x61, 0xdf, 0xe4, 0x8b, 0xca, 0x93, 0xd2, 0x11, 0xaa, 0x0d, 0x00, 0xe0, 0x98, 0x03, 0x2b, 0x8c}

// storeSignature is gEfiAuthenticatedVariableGuid.
var storeSignature = guid{0x78, 0x2c, 0xf3, 0xaa, 0x7b, 0x94, 0x9a, 0x43, 0xa1, 0x80, 0x2e, 0x14, 0x4e, 0xc3, 0x77, 0x92}

const (
	volumeHeaderLength = 48 // offset of that length in the volume's header
	storeHeader        = 28
	variableHeader     = 60
	variableStart      = 0x55aa
	variableAdded      = 0x3f
	variableLeaving    = 0x3e // is being replaced: in force while no other is
	bootAttributes     = 7    // kept, and seen before and behind the start of the system
)

var errStore = errors.New("this is no variable store of OVMF")

// storeBounds finds the variables in the file: from the first to the end of room.
func storeBounds(file []byte) (first, end int, err error) {
	if len(file) < volumeHeaderLength+2 || string(file[40:44]) != "_FVH" {
		return 0, 0, errStore
	}
	at := int(binary.LittleEndian.Uint16(file[volumeHeaderLength:]))
	if len(file) < at+storeHeader || !bytes.Equal(file[at:at+16], storeSignature[:]) {
		return 0, 0, errStore
	}
	end = at + int(binary.LittleEndian.Uint32(file[at+16:]))
	if end > len(file) || end < at+storeHeader {
		return 0, 0, errStore
	}
	return at + storeHeader, end, nil
}

// readVariables returns the variables that are in force.
func readVariables(file []byte) ([]variable, error) {
	at, end, err := storeBounds(file)
	if err != nil {
		return nil, err
	}
	var all []variable
	le := binary.LittleEndian
	for at+variableHeader <= end && le.Uint16(file[at:]) == variableStart {
		h := file[at : at+variableHeader]
		state, nameSize, dataSize := h[2], int64(le.Uint32(h[36:])), int64(le.Uint32(h[40:]))
		next := int64(at) + variableHeader + nameSize + dataSize
		if next > int64(end) {
			return nil, fmt.Errorf("%w: a variable at %#x goes beyond its end", errStore, at)
		}
		name := file[at+variableHeader : int64(at)+variableHeader+nameSize]
		v := variable{name: utf16Text(name), vendor: guid(h[44:60]), attributes: le.Uint32(h[4:]), header: h, data: file[next-dataSize : next]}
		i := slices.IndexFunc(all, v.same)
		switch {
		case state == variableAdded && i >= 0:
			all[i] = v
		case state == variableAdded, state == variableLeaving && i < 0:
			all = append(all, v)
		}
		at = int((next + 3) &^ 3)
	}
	return all, nil
}

func (v variable) same(o variable) bool { return v.name == o.name && v.vendor == o.vendor }

// writeVariables puts variables into a fresh file.
func writeVariables(fresh []byte, all []variable) ([]byte, error) {
	at, end, err := storeBounds(fresh)
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(fresh)
	for i := at; i < end; i++ {
		out[i] = 0xff // as flash is when it was erased
	}
	for _, v := range all {
		b := v.encode()
		if at+len(b) > end {
			return nil, fmt.Errorf("UEFI variables: no room for %s", v.name)
		}
		copy(out[at:], b)
		at = (at + len(b) + 3) &^ 3
	}
	return out, nil
}

func (v variable) encode() []byte {
	name := utf16Bytes(v.name)
	h := make([]byte, variableHeader)
	copy(h, v.header)
	le := binary.LittleEndian
	le.PutUint16(h, variableStart)
	h[2] = variableAdded
	le.PutUint32(h[4:], v.attributes)
	le.PutUint32(h[36:], uint32(len(name)))
	le.PutUint32(h[40:], uint32(len(v.data)))
	copy(h[44:], v.vendor[:])
	return slices.Concat(h, name, v.data)
}

// withBoot replaces what is booted next by an option of ours. Without one only an
// option of an earlier start is taken out.
func withBoot(all []variable, option []byte) []variable {
	all = slices.DeleteFunc(slices.Clone(all), func(v variable) bool {
		return v.vendor == globalVariable && (v.name == "BootNext" || v.name == bootName)
	})
	if option == nil {
		return all
	}
	next := binary.LittleEndian.AppendUint16(nil, bootNumber)
	return append(all,
		variable{name: bootName, vendor: globalVariable, attributes: bootAttributes, data: option},
		variable{name: "BootNext", vendor: globalVariable, attributes: bootAttributes, data: next})
}

// The option that is ours: a number that firmware does not come to by itself.
const (
	bootNumber = 0x7ac0
	bootName   = "Boot7AC0"
)

// httpOption is a load option (UEFI 2.10, 3.1.3) that boots a URI by the NIC behind
// the root port in slot.
func httpOption(uri string, slot byte, mac net.HardwareAddr) []byte {
	path := slices.Concat(
		devicePath(2, 1, 0xd0, 0x41, 0x03, 0x0a, 0, 0, 0, 0), // ACPI PNP0A03: the root bus
		devicePath(1, 1, 0, slot),                            // PCI function 0 of the root port
		devicePath(1, 1, 0, 0),                               // and the NIC behind it
		devicePath(3, 11, append(pad(mac, 32), 1)...),        // MAC, Ethernet
		devicePath(3, 12, make([]byte, 23)...),               // IPv4, by DHCP
		devicePath(3, 24, []byte(uri)...),
		devicePath(0x7f, 0xff),
	)
	le := binary.LittleEndian
	option := le.AppendUint32(nil, 1) // active
	option = le.AppendUint16(option, uint16(len(path)))
	return slices.Concat(option, utf16Bytes("HTTP boot of the BMC"), path)
}

// devicePath is one node of a device path (UEFI 2.10, chapter 10).
func devicePath(kind, sub byte, data ...byte) []byte {
	n := len(data) + 4
	return append([]byte{kind, sub, byte(n), byte(n >> 8)}, data...)
}

func pad(b []byte, n int) []byte { return append(slices.Clone(b), make([]byte, n-len(b))...) }

// utf16Bytes is a text as UEFI has it, with its end mark.
func utf16Bytes(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s + "\x00")) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func utf16Text(b []byte) string {
	var units []uint16
	for ; len(b) >= 2; b = b[2:] {
		u := binary.LittleEndian.Uint16(b)
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	return string(utf16.Decode(units))
}
