package netboot

import (
	"encoding/binary"
	"io"
)

// An ISO 9660 volume (ECMA-119) that firmware boots by its El Torito catalogue: one
// entry for UEFI, whose image is the FAT volume behind it. The first sector also
// holds an MBR that names that volume, for BMCs that show the image as a USB stick.
const (
	isoSector     = 2048
	isoVolume     = 16 // ECMA-119, 8.4: the first descriptor stands there
	isoBootRecord = 17
	isoEnd        = 18
	isoPathsLE    = 19
	isoPathsBE    = 20
	isoRoot       = 21
	isoCatalogue  = 22
	isoImage      = 32 // of the FAT volume: 64 KiB from the start
)

// isoOf wraps an EFI program into an image to boot from CD or USB. name is that by
// which firmware of its kind starts it.
func isoOf(name string, file io.ReaderAt, size int64) *assembly {
	a := &assembly{}
	length := efiVolume(a, isoImage*isoSector, name, file, size)
	sectors := isoImage + (length+isoSector-1)/isoSector
	a.bytes(0, mbr(uint32(isoImage*isoSector/fatSector), uint32(length/fatSector)))
	a.bytes(isoVolume*isoSector, volumeDescriptor(uint32(sectors)))
	a.bytes(isoBootRecord*isoSector, bootRecord())
	a.bytes(isoEnd*isoSector, descriptor(255))
	a.bytes(isoPathsLE*isoSector, paths(binary.LittleEndian))
	a.bytes(isoPathsBE*isoSector, paths(binary.BigEndian))
	a.bytes(isoRoot*isoSector, append(rootRecord(0), rootRecord(1)...))
	a.bytes(isoCatalogue*isoSector, catalogue())
	a.bytes(sectors*isoSector-1, []byte{0}) // whole sectors
	return a
}

// mbr names one partition of type EFI.
func mbr(start, sectors uint32) []byte {
	b := make([]byte, fatSector)
	le := binary.LittleEndian
	p := b[446:]
	copy(p[1:], []byte{0xfe, 0xff, 0xff, 0xef, 0xfe, 0xff, 0xff}) // by sector numbers, not by heads
	le.PutUint32(p[8:], start)
	le.PutUint32(p[12:], sectors)
	b[510], b[511] = 0x55, 0xaa
	return b
}

func descriptor(kind byte) []byte {
	b := make([]byte, isoSector)
	b[0] = kind
	copy(b[1:], "CD001\x01")
	return b
}

// volumeDescriptor is ECMA-119, 8.4.
func volumeDescriptor(sectors uint32) []byte {
	b := descriptor(1)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			b[i] = ' '
		}
	}
	blank(8, 72)
	copy(b[40:], "RACKPROOF")
	both32(b[80:], sectors)
	both16(b[120:], 1)
	both16(b[124:], 1)
	both16(b[128:], isoSector)
	both32(b[132:], uint32(len(paths(binary.LittleEndian))))
	binary.LittleEndian.PutUint32(b[140:], isoPathsLE)
	binary.BigEndian.PutUint32(b[148:], isoPathsBE)
	copy(b[156:], rootRecord(0))
	blank(190, 813)
	for _, at := range []int{813, 830, 847, 864} { // made, changed, valid to, valid from: not said
		copy(b[at:], "0000000000000000")
	}
	b[881] = 1
	return b
}

// bootRecord points to the catalogue (El Torito 1.0, figure 7).
func bootRecord() []byte {
	b := descriptor(0)
	copy(b[7:], "EL TORITO SPECIFICATION")
	binary.LittleEndian.PutUint32(b[71:], isoCatalogue)
	return b
}

// catalogue has the validation entry of platform EFI and one entry without
// emulation. A sector count of 1 stands for "up to the end of the volume" in UEFI
// (2.10, 13.3.2.1); the field could not hold the true one.
func catalogue() []byte {
	b := make([]byte, 64)
	le := binary.LittleEndian
	b[0], b[1] = 1, 0xef
	copy(b[4:], "rackproof")
	b[30], b[31] = 0x55, 0xaa
	var sum uint16
	for i := 0; i < 32; i += 2 {
		sum += le.Uint16(b[i:])
	}
	le.PutUint16(b[28:], -sum)
	b[32] = 0x88
	le.PutUint16(b[38:], 1)
	le.PutUint32(b[40:], isoImage)
	return b
}

// rootRecord is the root folder's entry for itself (0) and for its parent (1).
func rootRecord(name byte) []byte {
	b := make([]byte, 34)
	b[0] = 34
	both32(b[2:], isoRoot)
	both32(b[10:], isoSector)
	copy(b[18:], []byte{120, 1, 1}) // 2020-01-01
	b[25] = 2                       // a folder
	both16(b[28:], 1)
	b[32], b[33] = 1, name
	return b
}

// paths is the table of folders: the root alone.
func paths(order binary.ByteOrder) []byte {
	b := make([]byte, 10)
	b[0] = 1
	order.PutUint32(b[2:], isoRoot)
	order.PutUint16(b[6:], 1)
	return b
}

func both16(b []byte, v uint16) {
	binary.LittleEndian.PutUint16(b, v)
	binary.BigEndian.PutUint16(b[2:], v)
}

func both32(b []byte, v uint32) {
	binary.LittleEndian.PutUint32(b, v)
	binary.BigEndian.PutUint32(b[4:], v)
}
