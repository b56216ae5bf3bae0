package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// Registers of the Intel Xeon E3-1200 v5 memory controller (Skylake), as
// Linux's drivers/edac/ie31200_edac.c reads them.
const (
	edacMCHBAR   = 0x48 // config: where the register window is; here BAR 0
	edacErrSts   = 0xc8 // config: bit 0 corrected, bit 1 uncorrected; a written 1 clears
	edacWindow   = 32 << 10
	edacLog0     = 0x4048 // error log of channel 0, 64 bits
	edacLogStep  = 0x400  // and of channel 1
	edacModules0 = 0x500c // modules of channel 0
	edacModules1 = 0x5010

	edacChannels = 2
	// Two modules of 1 GB, single rank, x8, for each channel. They are ranks 0 and 2;
	// an error on another rank makes the kernel warn about itself.
	edacModules = 1 | 1<<8 | 1<<16 | 1<<24
)

// eccKind is the kind of a memory error.
type eccKind uint32

const (
	eccCorrected   eccKind = 1
	eccUncorrected eccKind = 2
)

// edac is a memory controller that Linux's ie31200_edac binds to and polls each
// second.
type edac struct {
	*pciFunction
	logs  [edacChannels]uint64
	taken chan struct{} // non-nil while an error waits for the driver
}

func newEDAC() *edac {
	e := &edac{pciFunction: newPCIFunction(pciID{vendor: 0x8086, device: 0x1918, class: 0x060000, subVendor: 0x8086, subDevice: 0x1918, revision: 7}, edacWindow)}
	e.clears[edacErrSts] = 3
	e.bar = e
	e.refresh = func() { binary.LittleEndian.PutUint32(e.config[edacMCHBAR:], uint32(e.base())|1) }
	e.wrote = e.acknowledge
	return e
}

// read is a register of the window. The function's lock is held.
func (e *edac) read(offset uint64) uint32 {
	switch offset {
	case edacModules0, edacModules1:
		return edacModules
	}
	for ch, log := range e.logs {
		switch offset - edacLog0 - uint64(ch)*edacLogStep {
		case 0:
			return uint32(log)
		case 4:
			return uint32(log >> 32)
		}
	}
	return 0
}

// acknowledge ends an error that the driver has cleared. The lock is held.
func (e *edac) acknowledge() {
	if e.taken != nil && e.config[edacErrSts]&3 == 0 {
		e.logs = [edacChannels]uint64{}
		close(e.taken)
		e.taken = nil
	}
}

var errECCPending = errors.New("the last memory error still waits for the driver")

// inject reports an error of a rank and waits until the driver has read it.
func (e *edac) inject(ctx context.Context, kind eccKind, channel, rank int) error {
	if channel < 0 || channel >= edacChannels || (rank != 0 && rank != 2) {
		return fmt.Errorf("channel %d rank %d: there are channels 0 and 1 with ranks 0 and 2", channel, rank)
	}
	taken, err := e.raise(kind, channel, rank)
	if err != nil {
		return err
	}
	select {
	case <-taken:
		return nil
	case <-ctx.Done():
		e.withdraw()
		return fmt.Errorf("nobody read the memory error: %w; is ie31200_edac loaded in the host?", context.Cause(ctx))
	}
}

func (e *edac) raise(kind eccKind, channel, rank int) (<-chan struct{}, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.taken != nil && e.config[edacErrSts]&3 != 0 {
		return nil, errECCPending
	}
	const syndrome, row = 0x5a, 3
	e.logs = [edacChannels]uint64{}
	e.logs[channel] = uint64(kind) | syndrome<<16 | uint64(rank)<<27 | row<<32
	e.config[edacErrSts] |= byte(kind)
	e.taken = make(chan struct{})
	return e.taken, nil
}

// withdraw takes an error back that nobody read.
func (e *edac) withdraw() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.config[edacErrSts] &^= 3
	e.logs = [edacChannels]uint64{}
	e.taken = nil
}
