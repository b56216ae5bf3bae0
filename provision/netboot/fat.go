package netboot

import (
	"encoding/binary"
	"io"
)

// A FAT32 volume (Microsoft's fatgen103) with one file, /EFI/BOOT/BOOTX64.EFI, which
// is what firmware starts from a medium without more words (UEFI 2.10, 3.5.1.1). The
// file lies in one run of clusters, so that it is read from where it is.
const (
	fatSector   = 512
	fatReserved = 32 // sectors before the first table, as mkfs.fat has it
	fatTables   = 2
	// fatLeast is the number of clusters below which a volume is FAT16.
	fatLeast     = 65525
	fatLastInRun = 0x0fffffff
)

// Clusters of the volume: a folder each, then the file.
const (
	rootCluster = 2
	efiCluster  = 3
	bootCluster = 4
	fileCluster = 5
)

// efiVolume lays a volume around a file called name ("BOOTX64.EFI") at the place at of
// an assembly, and gives the volume's size in bytes.
func efiVolume(to *assembly, at int64, name string, file io.ReaderAt, size int64) int64 {
	v := newVolume(size)
	to.bytes(at, v.bootSector())
	to.bytes(at+fatSector, v.infoSector())
	to.bytes(at+6*fatSector, v.bootSector()) // its copy
	table := v.table(size)
	for i := range int64(fatTables) {
		to.bytes(at+(fatReserved+i*v.tableSectors)*fatSector, table)
	}
	to.bytes(at+v.cluster(rootCluster), directory(entry("EFI", efiCluster, -1)))
	to.bytes(at+v.cluster(efiCluster), directory(entry(".", efiCluster, -1), entry("..", 0, -1), entry("BOOT", bootCluster, -1)))
	to.bytes(at+v.cluster(bootCluster), directory(entry(".", bootCluster, -1), entry("..", efiCluster, -1), entry(name, fileCluster, size)))
	to.put(at+v.cluster(fileCluster), file, size)
	return v.sectors * fatSector
}

// volume is the arithmetic of one.
type volume struct {
	perCluster   int64 // sectors
	clusters     int64
	tableSectors int64
	sectors      int64
}

func newVolume(size int64) volume {
	v := volume{perCluster: 64}
	need := func() int64 { // clusters, with the folders and a spare
		bytes := v.perCluster * fatSector
		return (size+bytes-1)/bytes + fileCluster
	}
	for v.perCluster > 1 && need() < fatLeast+16 {
		v.perCluster /= 2
	}
	v.clusters = max(need(), fatLeast+16)
	v.tableSectors = ((v.clusters+rootCluster)*4 + fatSector - 1) / fatSector
	v.sectors = fatReserved + fatTables*v.tableSectors + v.clusters*v.perCluster
	return v
}

// cluster is where one begins, in bytes.
func (v volume) cluster(n int64) int64 {
	return (fatReserved + fatTables*v.tableSectors + (n-rootCluster)*v.perCluster) * fatSector
}

func (v volume) bootSector() []byte {
	b := make([]byte, fatSector)
	le := binary.LittleEndian
	copy(b, []byte{0xeb, 0x58, 0x90}) // a jump over the values, which nobody takes
	copy(b[3:], "RACKPRF ")
	le.PutUint16(b[11:], fatSector)
	b[13] = byte(v.perCluster)
	le.PutUint16(b[14:], fatReserved)
	b[16] = fatTables
	b[21] = 0xf8 // fixed medium
	le.PutUint16(b[24:], 32)
	le.PutUint16(b[26:], 64)
	le.PutUint32(b[32:], uint32(v.sectors))
	le.PutUint32(b[36:], uint32(v.tableSectors))
	le.PutUint32(b[44:], rootCluster)
	le.PutUint16(b[48:], 1) // place of the info sector
	le.PutUint16(b[50:], 6) // and of the copy of this one
	b[64], b[66] = 0x80, 0x29
	copy(b[71:], "RACKPROOF  FAT32   ")
	b[510], b[511] = 0x55, 0xaa
	return b
}

func (v volume) infoSector() []byte {
	b := make([]byte, fatSector)
	le := binary.LittleEndian
	copy(b, "RRaA")
	copy(b[484:], "rrAa")
	le.PutUint32(b[488:], 0xffffffff) // free clusters: not counted
	le.PutUint32(b[492:], 0xffffffff)
	b[510], b[511] = 0x55, 0xaa
	return b
}

// table chains the clusters: three folders of one each, and the file's run.
func (v volume) table(size int64) []byte {
	b := make([]byte, v.tableSectors*fatSector)
	set := func(n int64, next uint32) { binary.LittleEndian.PutUint32(b[n*4:], next) }
	set(0, 0x0ffffff8)
	set(1, fatLastInRun)
	for _, folder := range []int64{rootCluster, efiCluster, bootCluster} {
		set(folder, fatLastInRun)
	}
	last := fileCluster + max((size+v.perCluster*fatSector-1)/(v.perCluster*fatSector), 1) - 1
	for n := int64(fileCluster); n < last; n++ {
		set(n, uint32(n+1))
	}
	set(last, fatLastInRun)
	return b
}

// entry is one name in a folder; size -1 is that of a folder.
func entry(name string, cluster uint32, size int64) []byte {
	b := make([]byte, 32)
	le := binary.LittleEndian
	copy(b, shortName(name))
	b[11] = 0x20 // archive
	if size < 0 {
		b[11], size = 0x10, 0
	}
	for _, at := range []int{16, 18, 24} { // made, read, written: 2020-01-01
		le.PutUint16(b[at:], 40<<9|1<<5|1)
	}
	le.PutUint16(b[20:], uint16(cluster>>16))
	le.PutUint16(b[26:], uint16(cluster))
	le.PutUint32(b[28:], uint32(size))
	return b
}

// shortName is a name of eight and three letters, padded.
func shortName(name string) string {
	b := []byte("           ")
	if name == "." || name == ".." {
		copy(b, name)
		return string(b)
	}
	place := 0
	for _, r := range []byte(name) {
		if r == '.' {
			place = 8
			continue
		}
		b[place] = r
		place++
	}
	return string(b)
}

func directory(entries ...[]byte) []byte {
	var b []byte
	for _, e := range entries {
		b = append(b, e...)
	}
	return b
}
