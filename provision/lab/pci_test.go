package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// bus plays QEMU: it sends messages and reads answers.
type bus struct {
	t *testing.T
	c *net.UnixConn
}

// connPair is a connection with buffers, as QEMU's are; net.Pipe has none.
func connPair(t *testing.T) (near, far *net.UnixConn) {
	t.Helper()
	near, file, err := socketPair(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.FileConn(file)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	// A connection that nobody names any more would be closed by the collector.
	t.Cleanup(func() { _, _ = near.Close(), c.Close() })
	return near, c.(*net.UnixConn)
}

// newBus serves f and returns the other end.
func newBus(t *testing.T, f *pciFunction) bus {
	t.Helper()
	near, c := connPair(t)
	done := make(chan error, 1)
	go func() { done <- f.serve(near) }()
	t.Cleanup(func() {
		_ = c.Close()
		if err := <-done; err == nil {
			t.Error("serve ended without saying why")
		}
		_ = near.Close()
	})
	return bus{t, c}
}

func frame(command pciCommand, body []byte) []byte {
	b := make([]byte, pciHeaderSize, pciHeaderSize+len(body))
	binary.LittleEndian.PutUint32(b, uint32(command))
	binary.LittleEndian.PutUint64(b[8:], uint64(len(body)))
	return append(b, body...)
}

func configBody(addr, value uint32, size int) []byte {
	b := make([]byte, 12)
	binary.LittleEndian.PutUint32(b, addr)
	binary.LittleEndian.PutUint32(b[4:], value)
	binary.LittleEndian.PutUint32(b[8:], uint32(size))
	return b
}

func barBody(addr uint64, size int) []byte {
	b := make([]byte, 24)
	binary.LittleEndian.PutUint64(b, addr)
	binary.LittleEndian.PutUint32(b[16:], uint32(size))
	b[20] = 1
	return b
}

func (b bus) ask(command pciCommand, body []byte) uint64 {
	b.t.Helper()
	if _, err := b.c.Write(frame(command, body)); err != nil {
		b.t.Fatal(err)
	}
	answer := make([]byte, pciHeaderSize+8)
	if err := b.c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		b.t.Fatal(err)
	}
	for n := 0; n < len(answer); {
		k, err := b.c.Read(answer[n:])
		if err != nil {
			b.t.Fatal(err)
		}
		n += k
	}
	if command, size, err := parsePCIHeader(answer[:pciHeaderSize]); command != pciReturn || size != 8 || err != nil {
		b.t.Fatalf("answer %d of %d bytes, %v", command, size, err)
	}
	return binary.LittleEndian.Uint64(answer[pciHeaderSize:])
}

func (b bus) read(addr uint32, size int) uint64 {
	b.t.Helper()
	return b.ask(pciConfigRead, configBody(addr, 0, size))
}

func (b bus) write(addr, value uint32, size int) {
	b.t.Helper()
	b.ask(pciConfigWrite, configBody(addr, value, size))
}

func TestCardsAreWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     *pciFunction
		id    uint64
		class uint64
		bar   uint64 // what a sized BAR reads
	}{
		{"gpu", newGPU(), 0x2330_10de, 0x0302_00a1, 0xff00_0000},
		{"nic", newFabricNIC(), 0x1021_15b3, 0x0207_0000, 0xfff0_0000},
		{"edac", newEDAC().pciFunction, 0x1918_8086, 0x0600_0007, 0xffff_8000},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBus(t, c.f)
			if got := b.read(0, 4); got != c.id {
				t.Errorf("id %#x, want %#x", got, c.id)
			}
			if got := b.read(8, 4); got != c.class {
				t.Errorf("class %#x, want %#x", got, c.class)
			}
			b.write(cfgBAR0, 0xffff_ffff, 4)
			if got := b.read(cfgBAR0, 4); got != c.bar {
				t.Errorf("BAR 0 sizes as %#x, want %#x", got, c.bar)
			}
			b.write(0, 0xdead_beef, 4)
			if got := b.read(0, 4); got != c.id {
				t.Errorf("the id can be written: %#x", got)
			}
			if got := b.read(254, 4); got != 0xffff_ffff {
				t.Errorf("a read beyond config space gives %#x", got)
			}
		})
	}
}

// link walks the capability list as lspci does.
func (b bus) link() (capable, now pciLink) {
	b.t.Helper()
	at := uint32(b.read(cfgCapabilities, 1))
	for range 48 {
		if at == 0 {
			break
		}
		if b.read(at, 1) == 0x10 {
			limit, sta := int(b.read(at+expLinkCaps, 4)), int(b.read(at+expLinkSta, 2))
			return pciLink{limit & 0xf, limit >> 4 & 0x3f}, pciLink{sta & 0xf, sta >> 4 & 0x3f}
		}
		at = uint32(b.read(at+1, 1))
	}
	b.t.Fatal("no PCI Express capability")
	return
}

func TestLinkDegradesAndHeals(t *testing.T) {
	f := newGPU()
	b := newBus(t, f)
	if limit, now := b.link(); limit != rootPortLink || now != limit {
		t.Fatalf("healthy: can %+v, has %+v; want both %+v", limit, now, rootPortLink)
	}
	f.setLink(pciLink{speed: 3, width: 8})
	if limit, now := b.link(); limit != rootPortLink || now != (pciLink{3, 8}) {
		t.Errorf("degraded: can %+v, has %+v", limit, now)
	}
	f.powerOn()
	if _, now := b.link(); now != (pciLink{3, 8}) {
		t.Errorf("a power cycle healed the link: %+v", now)
	}
	f.setLink(pciLink{})
	if _, now := b.link(); now != rootPortLink {
		t.Errorf("healed: %+v", now)
	}
}

func TestDeadCardReadsOnes(t *testing.T) {
	f := newGPU()
	b := newBus(t, f)
	b.write(cfgBAR0, 0xe000_0000, 4)
	f.setDead(true)
	b.write(cfgBAR0, 0xf000_0000, 4)
	for size, want := range map[int]uint64{1: 0xff, 2: 0xffff, 4: 0xffff_ffff} {
		if got := b.read(0, size); got != want {
			t.Errorf("%d bytes of config: %#x", size, got)
		}
	}
	if got := b.ask(pciBARRead, barBody(0xe000_0000, 8)); got != ^uint64(0) {
		t.Errorf("8 bytes of BAR: %#x", got)
	}
	f.setDead(false)
	if got := b.read(cfgBAR0, 4); got != 0xe000_0000 {
		t.Errorf("a write reached a dead card: BAR %#x", got)
	}
	if got := b.ask(pciBARRead, barBody(0xe000_0000, 4)); got != 0 {
		t.Errorf("BAR of a living card: %#x", got)
	}
}

func TestPowerCycleForgetsWrites(t *testing.T) {
	f := newGPU()
	b := newBus(t, f)
	b.write(cfgBAR0, 0xe000_0000, 4)
	b.write(cfgCommand, 6, 2)
	f.powerOn()
	if bar, command := b.read(cfgBAR0, 4), b.read(cfgCommand, 2); bar != 0 || command != 0 {
		t.Errorf("BAR %#x, command %#x", bar, command)
	}
}

// Messages that pass files want no answer, and the files must not pile up.
func TestPassedFilesAreClosed(t *testing.T) {
	b := newBus(t, newGPU())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for _, command := range []pciCommand{pciSyncMemory, pciSetIRQ} {
		if _, _, err := b.c.WriteMsgUnix(frame(command, make([]byte, 192)), syscall.UnixRights(int(w.Fd())), nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.read(0, 2); got != 0x10de {
		t.Fatalf("the next answer is %#x", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a file that was passed is still open")
	}
}

// poll is one round of Linux's ie31200_edac: status, both logs, clear.
func poll(b bus, base uint64) (status uint64, logs [2]uint64) {
	if status = b.read(edacErrSts, 2) & 3; status == 0 {
		return status, logs
	}
	for ch := range logs {
		at := base + edacLog0 + uint64(ch)*edacLogStep
		logs[ch] = b.ask(pciBARRead, barBody(at, 4)) | b.ask(pciBARRead, barBody(at+4, 4))<<32
	}
	b.write(edacErrSts, 3, 2)
	return status, logs
}

func TestMemoryErrorReachesTheDriver(t *testing.T) {
	e := newEDAC()
	b := newBus(t, e.pciFunction)
	b.write(cfgBAR0, 0xfeb0_0000, 4)
	base := b.read(edacMCHBAR, 4)
	if base != 0xfeb0_0001 {
		t.Fatalf("MCHBAR %#x: want BAR 0, enabled", base)
	}
	base &^= 1
	for _, at := range []uint64{edacModules0, edacModules1} {
		if got := b.ask(pciBARRead, barBody(base+at, 4)); got != edacModules {
			t.Errorf("modules at %#x: %#x", at, got)
		}
	}
	if s, _ := poll(b, base); s != 0 {
		t.Fatalf("an error before any: %d", s)
	}
	for _, c := range []struct {
		kind    eccKind
		channel int
		rank    int
	}{{eccCorrected, 0, 2}, {eccUncorrected, 1, 0}} {
		done := make(chan error, 1)
		raised, err := e.raise(c.kind, c.channel, c.rank)
		if err != nil {
			t.Fatal(err)
		}
		go func() { <-raised; done <- nil }()
		if _, err := e.raise(c.kind, c.channel, c.rank); !errors.Is(err, errECCPending) {
			t.Errorf("a second error before the first was read: %v", err)
		}
		status, logs := poll(b, base)
		if status != uint64(c.kind) {
			t.Errorf("status %d, want %d", status, c.kind)
		}
		want := [2]uint64{}
		want[c.channel] = uint64(c.kind) | 0x5a<<16 | uint64(c.rank)<<27 | 3<<32
		if logs != want {
			t.Errorf("logs %#x, want %#x", logs, want)
		}
		<-done
		if s, _ := poll(b, base); s != 0 {
			t.Errorf("the error stays: %d", s)
		}
	}
}

func TestMemoryErrorThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEDAC()
		ctx, cancel := context.WithTimeout(t.Context(), eccLimit)
		defer cancel()
		if err := e.inject(ctx, eccCorrected, 0, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("inject: %v", err)
		}
		if e.config[edacErrSts] != 0 {
			t.Error("the error was not taken back")
		}
		if err := e.inject(ctx, eccCorrected, 0, 1); err == nil {
			t.Error("an error on a rank that is not populated")
		}
	})
}

func TestBadFramesEndTheConnection(t *testing.T) {
	huge := frame(pciConfigRead, nil)
	binary.LittleEndian.PutUint64(huge[8:], 1<<40)
	for name, b := range map[string][]byte{
		"huge body":    huge,
		"short access": frame(pciConfigRead, make([]byte, 4)),
		"odd size":     frame(pciConfigRead, configBody(0, 0, 3)),
		"short BAR":    frame(pciBARRead, make([]byte, 12)),
	} {
		t.Run(name, func(t *testing.T) {
			near, far, err := socketPair(name)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = errors.Join(near.Close(), far.Close()) }()
			if _, err := far.Write(b); err != nil {
				t.Fatal(err)
			}
			if err := newGPU().serve(near); !errors.Is(err, errPCIFrame) {
				t.Errorf("serve: %v", err)
			}
		})
	}
}

func FuzzPCIMessage(f *testing.F) {
	f.Add(frame(pciConfigRead, configBody(0x78, 0, 4)))
	f.Add(frame(pciConfigWrite, configBody(0x10, 0xffffffff, 4)))
	f.Add(frame(pciBARRead, barBody(0xfeb04048, 8)))
	f.Add(frame(pciSyncMemory, make([]byte, 192)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < pciHeaderSize {
			return
		}
		command, size, err := parsePCIHeader(b[:pciHeaderSize])
		if err != nil || size > len(b)-pciHeaderSize {
			return
		}
		a, err := parsePCIAccess(command, b[pciHeaderSize:pciHeaderSize+size])
		if err != nil {
			return
		}
		for _, fn := range []*pciFunction{newGPU(), newEDAC().pciFunction} {
			if v := fn.answer(a); a.size > 0 && v&^ones(a.size) != 0 {
				t.Errorf("%d bytes read as %#x", a.size, v)
			}
		}
	})
}
