package lab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Values of SMBIOS types 16 and 17 (DMTF DSP0134, 7.17 and 7.18).
const (
	smbiosMemoryArray  = 16
	smbiosMemoryDevice = 17
	arrayHandle        = 0x1000
	deviceHandle       = 0x1100

	eccNone     = 0x03
	eccMultiBit = 0x06

	formDIMM      = 0x09
	memoryUnknown = 0x02
	memoryDDR5    = 0x22
	detailRAM     = 1<<7 | 1<<13 // synchronous, registered
	widthUnknown  = 0xffff
	noErrorHandle = 0xfffe
	sizeExtended  = 0x7fff // then the size is in the extended field
	voltage       = 1100   // mV
	systemBoard   = 0x03   // location and, by chance, use: system memory
)

// smbiosStructure is one structure with its string table, as QEMU's
// `-smbios file=` wants it.
func smbiosStructure(kind byte, handle uint16, body []byte, strings ...string) []byte {
	var b bytes.Buffer
	b.Write([]byte{kind, byte(4 + len(body))})
	b.Write(binary.LittleEndian.AppendUint16(nil, handle))
	b.Write(body)
	for _, s := range strings {
		b.WriteString(s)
		b.WriteByte(0)
	}
	if len(strings) == 0 {
		b.WriteByte(0)
	}
	b.WriteByte(0)
	return b.Bytes()
}

// smbiosArray is type 16. One module without ECC takes the ECC of the whole
// array, as memory controllers do.
func smbiosArray(dimms []DIMM) []byte {
	ecc := byte(eccMultiBit)
	if slices.ContainsFunc(dimms, func(d DIMM) bool { return d.SizeMB > 0 && !d.ECC }) {
		ecc = eccNone
	}
	const perSlotMB = 4096
	le := binary.LittleEndian
	b := []byte{systemBoard, systemBoard, ecc}
	b = le.AppendUint32(b, uint32(len(dimms)*perSlotMB*1024)) // kB
	b = le.AppendUint16(b, noErrorHandle)
	b = le.AppendUint16(b, uint16(len(dimms)))
	b = le.AppendUint64(b, 0)
	return smbiosStructure(smbiosMemoryArray, arrayHandle, b)
}

// smbiosDevice is type 17 of slot i.
func smbiosDevice(i int, d DIMM) []byte {
	total, data, kind, rank := uint16(widthUnknown), uint16(widthUnknown), byte(memoryUnknown), byte(0)
	speed, detail, volt := 0, uint16(1<<2), uint16(0) // detail: unknown
	strings := []string{d.Slot, fmt.Sprintf("P0_Node0_Channel%d_Dimm0", i)}
	names := []byte{3, 3, 3, 3}
	if d.SizeMB == 0 {
		strings = append(strings, "NO DIMM")
	} else {
		total, data, kind, rank = 64, 64, memoryDDR5, 2
		if d.ECC {
			total = 72
		}
		speed, detail, volt = d.SpeedMTs, detailRAM, voltage
		strings = append(strings, d.Manufacturer, d.Serial, "A"+d.Slot, d.PartNumber)
		names = []byte{3, 4, 5, 6}
	}
	size, extended := uint16(d.SizeMB), uint32(0)
	if d.SizeMB >= sizeExtended {
		size, extended = sizeExtended, uint32(d.SizeMB)
	}
	le := binary.LittleEndian
	var b []byte
	for _, w := range []uint16{arrayHandle, noErrorHandle, total, data, size} {
		b = le.AppendUint16(b, w)
	}
	b = append(b, formDIMM, 0, 1, 2, kind)
	b = le.AppendUint16(b, detail)
	b = le.AppendUint16(b, uint16(speed))
	b = append(b, names...)
	b = append(b, rank)
	b = le.AppendUint32(b, extended)
	for _, w := range []uint16{uint16(speed), volt, volt, volt} {
		b = le.AppendUint16(b, w)
	}
	return smbiosStructure(smbiosMemoryDevice, deviceHandle+uint16(i), b, strings...)
}

// writeSMBIOS writes one file per structure into dir and returns their names in
// order.
func writeSMBIOS(dir string, dimms []DIMM) ([]string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("SMBIOS files: %w", err)
	}
	structures := [][]byte{smbiosArray(dimms)}
	for i, d := range dimms {
		structures = append(structures, smbiosDevice(i, d))
	}
	names := make([]string, len(structures))
	for i, s := range structures {
		names[i] = filepath.Join(dir, fmt.Sprintf("%02d.bin", i))
		if err := os.WriteFile(names[i], s, 0o600); err != nil {
			return nil, fmt.Errorf("SMBIOS files: %w", err)
		}
	}
	return names, nil
}
