package lab

import (
	"encoding/binary"
	"net"
	"sync"
)

// Offsets in a PCI config header (PCI 3.0, 6.1) and in the PCI Express
// capability (PCIe 5.0, 7.5.3).
const (
	cfgCommand      = 0x04
	cfgStatus       = 0x06
	cfgClass        = 0x08
	cfgCacheLine    = 0x0c
	cfgBAR0         = 0x10
	cfgSubsystem    = 0x2c
	cfgCapabilities = 0x34
	cfgInterrupt    = 0x3c

	capPower   = 0x60 // where our functions have the capabilities
	capExpress = 0x78

	expDeviceCaps = 0x04
	expDeviceCtl  = 0x08
	expDeviceSta  = 0x0a
	expLinkCaps   = 0x0c
	expLinkCtl    = 0x10
	expLinkSta    = 0x12
	expLinkCaps2  = 0x2c
	expLinkCtl2   = 0x30

	configSize = 256
)

// pciID is what a function says it is.
type pciID struct {
	vendor, device       uint16
	class                uint32 // 24 bits: class, subclass, interface
	subVendor, subDevice uint16
	revision             byte
}

// pciLink is a link's speed (PCIe generation: 1 = 2.5 GT/s, 4 = 16 GT/s) and
// width in lanes.
type pciLink struct{ speed, width int }

// pciRegisters is what stands behind a function's BAR 0.
type pciRegisters interface {
	read(offset uint64) uint32 // a register of 32 bits at an aligned offset
}

// pciFunction is one PCI function whose config space is ours. A power cycle
// brings it back as it was made; link and dead stay, because they are faults of
// the hardware.
type pciFunction struct {
	mu       sync.Mutex
	made     [configSize]byte
	config   [configSize]byte
	writable [configSize]byte // bits that software can write
	clears   [configSize]byte // bits that a written 1 clears
	barSize  uint64
	bar      pciRegisters // nil reads as zeros

	express bool
	limit   pciLink // what the function can do
	link    pciLink // what it negotiated
	dead    bool    // answers all ones, as a device off the bus

	refresh func() // before a config read
	wrote   func() // after a config write
}

// newPCIFunction makes a function with one memory BAR of size bytes.
func newPCIFunction(id pciID, size uint64) *pciFunction {
	f := &pciFunction{barSize: size}
	le := binary.LittleEndian
	c := f.made[:]
	le.PutUint16(c, id.vendor)
	le.PutUint16(c[2:], id.device)
	le.PutUint32(c[cfgClass:], id.class<<8|uint32(id.revision))
	le.PutUint16(c[cfgSubsystem:], id.subVendor)
	le.PutUint16(c[cfgSubsystem+2:], id.subDevice)
	le.PutUint16(f.writable[cfgCommand:], 0x0547)
	le.PutUint32(f.writable[cfgBAR0:], uint32(-size))
	f.writable[cfgInterrupt] = 0xff
	f.writable[cfgCacheLine] = 0xff
	f.config = f.made
	return f
}

// withExpress gives the function a power management and a PCI Express endpoint
// capability with this link.
func (f *pciFunction) withExpress(l pciLink) *pciFunction {
	le := binary.LittleEndian
	c := f.made[:]
	le.PutUint16(c[cfgStatus:], 0x10) // has capabilities
	c[cfgCapabilities] = capPower
	le.PutUint32(c[capPower:], 0x0003_0001|capExpress<<8) // version 3
	le.PutUint32(c[capExpress:], 0x0002_0010)             // version 2, endpoint
	le.PutUint32(c[capExpress+expDeviceCaps:], 0x8001)    // payload 256 B, role-based errors
	le.PutUint32(c[capExpress+expLinkCaps:], uint32(l.speed|l.width<<4))
	le.PutUint32(c[capExpress+expLinkCaps2:], (1<<l.speed-1)<<1)
	le.PutUint16(c[capExpress+expLinkCtl2:], uint16(l.speed))
	le.PutUint16(f.writable[capExpress+expDeviceCtl:], 0x70ff)
	le.PutUint16(f.clears[capExpress+expDeviceSta:], 0x000f)
	le.PutUint16(f.writable[capExpress+expLinkCtl:], 0x0fff)
	f.express, f.limit, f.link = true, l, l
	f.config = f.made
	return f
}

// powerOn is what a power cycle does to the function.
func (f *pciFunction) powerOn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.config = f.made
}

// setLink changes the negotiated link; a zero field means the function's best.
func (f *pciFunction) setLink(l pciLink) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.speed == 0 {
		l.speed = f.limit.speed
	}
	if l.width == 0 {
		l.width = f.limit.width
	}
	f.link = l
}

// negotiated is the link as it stands.
func (f *pciFunction) negotiated() pciLink {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.link
}

// setDead takes the function off the bus, or brings it back.
func (f *pciFunction) setDead(dead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = dead
}

// serve answers QEMU until the connection ends.
func (f *pciFunction) serve(c *net.UnixConn) error {
	for {
		a, err := readPCIMessage(c)
		if err != nil {
			return err
		}
		if a.command == pciSyncMemory || a.command == pciSetIRQ {
			continue
		}
		if _, err := c.Write(pciAnswer(f.answer(a))); err != nil {
			return err
		}
	}
}

// answer does one access and returns what is read.
func (f *pciFunction) answer(a pciAccess) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch a.command {
	case pciConfigRead:
		return f.readConfig(a)
	case pciConfigWrite:
		f.writeConfig(a)
	case pciBARRead:
		return f.readBAR(a)
	case pciReset:
		f.config = f.made
	default: // a BAR write: our registers are read-only
	}
	return 0
}

// ones is what nobody's answer reads as.
func ones(size int) uint64 { return 1<<(8*size) - 1 } // 8 bytes: 0 - 1

func (f *pciFunction) readConfig(a pciAccess) uint64 {
	if f.dead || a.addr+uint64(a.size) > configSize || a.size > 4 {
		return ones(a.size)
	}
	if f.express {
		binary.LittleEndian.PutUint16(f.config[capExpress+expLinkSta:], uint16(f.link.speed|f.link.width<<4))
	}
	if f.refresh != nil {
		f.refresh()
	}
	var v [8]byte
	copy(v[:], f.config[a.addr:a.addr+uint64(a.size)])
	return binary.LittleEndian.Uint64(v[:])
}

func (f *pciFunction) writeConfig(a pciAccess) {
	if f.dead || a.addr+uint64(a.size) > configSize || a.size > 4 {
		return
	}
	var v [8]byte
	binary.LittleEndian.PutUint64(v[:], a.value)
	for i := range a.size {
		at, b := int(a.addr)+i, v[i]
		m := f.writable[at]
		f.config[at] = (f.config[at]&^m | b&m) &^ (b & f.clears[at])
	}
	if f.wrote != nil {
		f.wrote()
	}
}

// base is where software has put BAR 0.
func (f *pciFunction) base() uint64 {
	return uint64(binary.LittleEndian.Uint32(f.config[cfgBAR0:]) &^ 0xf)
}

func (f *pciFunction) readBAR(a pciAccess) uint64 {
	base := f.base()
	if f.dead || a.addr < base || a.addr >= base+f.barSize {
		return ones(a.size)
	}
	if f.bar == nil {
		return 0
	}
	offset := (a.addr - base) &^ 3
	v := uint64(f.bar.read(offset)) | uint64(f.bar.read(offset+4))<<32
	return v >> (8 * (a.addr & 3)) & ones(a.size)
}
