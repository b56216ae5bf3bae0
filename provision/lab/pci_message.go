package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// pciCommand is the kind of a message of QEMU's multi-process PCI proxy
// (enum MPQemuCmd in hw/remote/mpqemu-link.h).
type pciCommand int32

const (
	pciSyncMemory  pciCommand = 0 // guest RAM as file descriptors; wants no answer
	pciReturn      pciCommand = 1
	pciConfigWrite pciCommand = 2
	pciConfigRead  pciCommand = 3
	pciBARWrite    pciCommand = 4
	pciBARRead     pciCommand = 5
	pciSetIRQ      pciCommand = 6 // interrupt as file descriptors; wants no answer
	pciReset       pciCommand = 7
)

// A message is a header of 16 bytes (command, padding, size) and a body. The
// largest body known is 192 bytes, of pciSyncMemory.
const (
	pciHeaderSize = 16
	pciBodyLimit  = 4096
)

// pciAccess is one read or write of config space or a BAR.
type pciAccess struct {
	command pciCommand
	addr    uint64 // config offset, or physical address
	value   uint64 // of a write
	size    int    // bytes: 1, 2, 4 or 8
}

var errPCIFrame = errors.New("not a message of QEMU's PCI proxy")

// parsePCIHeader returns the command and the size of the body that follows.
func parsePCIHeader(h []byte) (pciCommand, int, error) {
	if len(h) != pciHeaderSize {
		return 0, 0, fmt.Errorf("%w: header of %d bytes", errPCIFrame, len(h))
	}
	size := binary.LittleEndian.Uint64(h[8:])
	if size > pciBodyLimit {
		return 0, 0, fmt.Errorf("%w: body of %d bytes", errPCIFrame, size)
	}
	return pciCommand(int32(binary.LittleEndian.Uint32(h))), int(size), nil
}

// parsePCIAccess reads the body of a config or BAR access. Other commands have
// no access; their body is not looked at.
func parsePCIAccess(command pciCommand, body []byte) (pciAccess, error) {
	a := pciAccess{command: command}
	le := binary.LittleEndian
	var size uint32
	switch command {
	case pciConfigRead, pciConfigWrite: // u32 addr, u32 value, int size
		if len(body) < 12 {
			return a, fmt.Errorf("%w: config access of %d bytes", errPCIFrame, len(body))
		}
		a.addr, a.value, size = uint64(le.Uint32(body)), uint64(le.Uint32(body[4:])), le.Uint32(body[8:])
	case pciBARRead, pciBARWrite: // u64 addr, u64 value, u32 size, bool memory
		if len(body) < 21 {
			return a, fmt.Errorf("%w: BAR access of %d bytes", errPCIFrame, len(body))
		}
		a.addr, a.value, size = le.Uint64(body), le.Uint64(body[8:]), le.Uint32(body[16:])
	default:
		return a, nil
	}
	switch size {
	case 1, 2, 4, 8:
		a.size = int(size)
		return a, nil
	}
	return a, fmt.Errorf("%w: access of %d bytes", errPCIFrame, size)
}

// pciAnswer is the message that carries a value back.
func pciAnswer(value uint64) []byte {
	b := make([]byte, pciHeaderSize+8)
	binary.LittleEndian.PutUint32(b, uint32(pciReturn))
	binary.LittleEndian.PutUint64(b[8:], 8)
	binary.LittleEndian.PutUint64(b[pciHeaderSize:], value)
	return b
}

// readPCIMessage reads one message. File descriptors that come with it (guest
// memory, interrupts) are closed: our functions neither master the bus nor
// interrupt.
func readPCIMessage(c *net.UnixConn) (pciAccess, error) {
	header := make([]byte, pciHeaderSize)
	if err := readDroppingFiles(c, header); err != nil {
		return pciAccess{}, err
	}
	command, size, err := parsePCIHeader(header)
	if err != nil {
		return pciAccess{}, err
	}
	body := make([]byte, size)
	if err := readDroppingFiles(c, body); err != nil {
		return pciAccess{}, err
	}
	return parsePCIAccess(command, body)
}

// readDroppingFiles fills b and closes all files that are passed meanwhile.
func readDroppingFiles(c *net.UnixConn, b []byte) error {
	oob := make([]byte, syscall.CmsgSpace(4*16))
	for len(b) > 0 {
		n, oobn, _, _, err := c.ReadMsgUnix(b, oob)
		dropFiles(oob[:oobn])
		if err != nil {
			return err
		}
		if n == 0 {
			return net.ErrClosed
		}
		b = b[n:]
	}
	return nil
}

func dropFiles(oob []byte) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for _, m := range messages {
		files, err := syscall.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, f := range files {
			_ = syscall.Close(f)
		}
	}
}
