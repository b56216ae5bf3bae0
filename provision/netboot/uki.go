package netboot

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// A kernel as one program for UEFI ("unified kernel image", UAPI.5): the stub of
// systemd-boot with kernel, initrd and command line as further sections of its PE
// file (Microsoft's PE Format; systemd-stub(7) names the sections). Each boot has its
// own command line, so the program is put together as it is read.

// stubFile is the stub, in the folder of an image.
const stubFile = "boot.stub"

// ukiPart is a section that is added to a stub.
type ukiPart struct {
	name string // at most 8 bytes: ".linux"
	from io.ReaderAt
	size int64
}

const (
	peSectionHeader = 40
	peReadable      = pe.IMAGE_SCN_CNT_INITIALIZED_DATA | pe.IMAGE_SCN_MEM_READ
	pageSize        = 4096
)

// Places in the headers of a PE32+ file: peSignature tells where "PE\0\0" stands,
// and the others count from there.
const (
	peSignature   = 60
	peSections    = 6 // how many
	peOptional    = 24
	peSizeOfImage = peOptional + 56
	peChecksum    = peOptional + 64
	peCertificate = peOptional + 112 + 4*8 // of what the stub alone was signed with
)

// unify adds parts to a stub.
func unify(stub []byte, parts []ukiPart) (*assembly, error) {
	f, head, err := stubHeaders(stub, len(parts))
	if err != nil {
		return nil, err
	}
	var end, address int64 // of what is there, in the file and in memory
	for _, s := range f.Sections {
		end = max(end, int64(s.Offset)+int64(s.Size))
		address = max(address, int64(s.VirtualAddress)+int64(max(s.VirtualSize, s.Size)))
	}
	a := &assembly{}
	out := bytes.Clone(stub[:min(end, int64(len(stub)))]) // symbols behind the sections are left out
	a.bytes(0, out)
	le := binary.LittleEndian
	at := int(le.Uint32(stub[peSignature:]))
	h := out[at+peOptional+int(f.SizeOfOptionalHeader)+len(f.Sections)*peSectionHeader:]
	inFile, inMemory := int64(head.FileAlignment), max(int64(head.SectionAlignment), pageSize)
	for _, p := range parts {
		end, address = roundUp(end, inFile), roundUp(address, inMemory)
		if address+p.size > math.MaxInt32 {
			return nil, errors.New("kernel and initrd are larger than a program may be")
		}
		clear(h[:peSectionHeader])
		copy(h, p.name)
		le.PutUint32(h[8:], uint32(p.size))
		le.PutUint32(h[12:], uint32(address))
		le.PutUint32(h[16:], uint32(roundUp(p.size, inFile)))
		le.PutUint32(h[20:], uint32(end))
		le.PutUint32(h[36:], peReadable)
		h = h[peSectionHeader:]
		a.put(end, p.from, p.size)
		end, address = end+roundUp(p.size, inFile), address+p.size
	}
	a.size = end
	le.PutUint16(out[at+peSections:], uint16(len(f.Sections)+len(parts)))
	le.PutUint32(out[at+peSizeOfImage:], uint32(roundUp(address, inMemory)))
	le.PutUint32(out[at+peChecksum:], 0) // firmware does not look at it
	clear(out[at+peCertificate:][:8])
	return a, nil
}

// stubHeaders reads the headers of a stub, which must have room for more sections.
func stubHeaders(stub []byte, more int) (*pe.File, *pe.OptionalHeader64, error) {
	f, err := pe.NewFile(bytes.NewReader(stub))
	if err != nil {
		return nil, nil, fmt.Errorf("%s is no PE file: %w", stubFile, err)
	}
	head, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok || head.FileAlignment == 0 || head.SectionAlignment == 0 {
		return nil, nil, fmt.Errorf("%s is no 64-bit program", stubFile)
	}
	need := int64(binary.LittleEndian.Uint32(stub[peSignature:])) + peOptional + int64(f.SizeOfOptionalHeader) + int64((len(f.Sections)+more)*peSectionHeader)
	room := int64(head.SizeOfHeaders)
	for _, s := range f.Sections {
		room = min(room, int64(s.Offset))
	}
	if need > room || room > int64(len(stub)) || f.SizeOfOptionalHeader < peCertificate+8-peOptional {
		return nil, nil, fmt.Errorf("%s has no room in its headers for %d more sections", stubFile, more)
	}
	return f, head, nil
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// hasStub reports whether the image can be made a program for UEFI.
func (s *Server) hasStub(image string) bool {
	if image == Simulated || !imageName.MatchString(image) {
		return false
	}
	_, err := os.Stat(filepath.Join(s.Images, image, stubFile))
	return err == nil
}

// unified is the program of a boot for a host that reaches it at base. Close it.
func (s *Server) unified(t *Ticket, base string) (program, error) {
	if !s.hasStub(t.Image) {
		return program{}, fmt.Errorf("image %q has no %s: that of Debian's systemd-boot-efi", t.Image, stubFile)
	}
	dir := filepath.Join(s.Images, t.Image)
	stub, err := os.ReadFile(filepath.Join(dir, stubFile))
	if err != nil {
		return program{}, err
	}
	var open []io.Closer
	closeAll := func() error {
		var errs []error
		for _, f := range open {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	line := s.kernelLine(t, base)
	parts := []ukiPart{{".cmdline", strings.NewReader(line), int64(len(line))}}
	// The kernel comes last: its first stage may use memory behind it.
	for _, p := range [][2]string{{".initrd", "initrd"}, {".linux", "vmlinuz"}} {
		f, err := os.Open(filepath.Join(dir, p[1]))
		if err != nil {
			return program{}, errors.Join(err, closeAll())
		}
		open = append(open, f)
		info, err := f.Stat()
		if err != nil {
			return program{}, errors.Join(err, closeAll())
		}
		parts = append(parts, ukiPart{p[0], f, info.Size()})
	}
	a, err := unify(stub, parts)
	if err != nil {
		return program{}, errors.Join(err, closeAll())
	}
	return program{"BOOTX64.EFI", a, a.size, closeAll}, nil
}
