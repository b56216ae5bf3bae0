package lab

import (
	"context"
	"slices"
	"strings"
	"time"
)

// faultyDIMM is the slot that memory faults hit unless another is named.
const faultyDIMM = "DIMM_C1"

// memoryFaults are those of the DIMMs, and of the memory controller.
func memoryFaults() []Fault {
	const slot = "[SLOT], default " + faultyDIMM
	return []Fault{
		{
			Name: "dimm-missing", Value: slot, Does: "the slot is empty", Cold: true,
			put: dimmFault(func(d *DIMM) { *d = DIMM{Slot: d.Slot} }), heal: healDIMMs,
		},
		{
			Name: "dimm-slow", Value: slot, Does: "the module runs at 3200 MT/s", Cold: true,
			put: dimmFault(func(d *DIMM) { d.SpeedMTs = 3200 }), heal: healDIMMs,
		},
		{
			Name: "dimm-not-ecc", Value: slot, Does: "the module is 64 bits wide, and the array has no ECC", Cold: true,
			put: dimmFault(func(d *DIMM) { d.ECC = false }), heal: healDIMMs,
		},
		{Name: "ecc-corrected", Value: eccValue, Does: "the memory controller reports a corrected error", put: eccFault(eccCorrected)},
		{Name: "ecc-uncorrected", Value: eccValue, Does: "the memory controller reports an uncorrected error", put: eccFault(eccUncorrected)},
	}
}

type putFault = func(context.Context, *Lab, *Machine, string) (string, error)

// dimmFault changes the module in the slot that the value names.
func dimmFault(change func(*DIMM)) putFault {
	return func(_ context.Context, _ *Lab, m *Machine, value string) (string, error) {
		if value == "" {
			value = faultyDIMM
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		dimms := m.hardware.dimms
		i := slices.IndexFunc(dimms, func(d DIMM) bool { return d.Slot == strings.ToUpper(value) })
		if i < 0 {
			return "", usagef("no slot %q; there are %s to %s", value, dimms[0].Slot, dimms[len(dimms)-1].Slot)
		}
		change(&dimms[i])
		return "", nil
	}
}

// healDIMMs puts back what the machine was built with.
func healDIMMs(_ context.Context, _ *Lab, m *Machine) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hardware.dimms = slices.Clone(m.spec.DIMMs)
	return nil
}

const eccValue = "[CHANNEL:RANK], default 0:2; channels 0, 1, ranks 0, 2"

// eccLimit is how long the driver, which looks each second, has to see an error.
const eccLimit = 10 * time.Second

func eccFault(kind eccKind) putFault {
	return func(ctx context.Context, _ *Lab, m *Machine, value string) (string, error) {
		if _, err := m.on(); err != nil {
			return "", err
		}
		if value == "" {
			value = "0:2"
		}
		ch, rank, _ := strings.Cut(value, ":")
		channel, err := number(ch, 0, 0, edacChannels-1)
		if err != nil {
			return "", err
		}
		r, err := number(rank, 0, 0, 2)
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(ctx, eccLimit)
		defer cancel()
		if err := m.edac.inject(ctx, kind, channel, r); err != nil {
			return "", err
		}
		return "", m.LogECC(eccSlot(m.spec, channel, r), kind == eccUncorrected)
	}
}

// eccSlot is the module behind a channel and rank of the memory controller, which
// has two modules in each channel, of two ranks.
func eccSlot(s Spec, channel, rank int) string {
	return s.DIMMs[rank/2*edacChannels+channel].Slot
}
