package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// gpuXID judges the driver's error reports in the kernel's log by NVIDIA's
// catalogue. A GPU that fell off the bus is one also where the driver gives no number.
var gpuXID = Check{
	Name:   "gpu.xid",
	Title:  "The driver reported no error of a GPU or NVSwitch",
	Probes: []string{KernelLog.Spec.Name},
	AtBoot: []string{"xid"},
	Judge:  judgeGPUXID,
}

// xidFellOff is the number of "GPU has fallen off the bus" (NVIDIA Xid catalog).
const xidFellOff = 79

func judgeGPUXID(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "gpu.xid"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	readings := phaseReadings(r, KernelLog)
	silence := kernelSilence(readings)
	events := xidEvents(readings)
	if len(readings) == 0 {
		return []Finding{About(check, "all", fleetPart(p)).Missing(silence)}
	}
	shown, out := shownGPUs(r, p, check)
	for _, part := range shown {
		mine := takeEvents(&events, part.Address)
		f := About(check, "xid", part.Part, refsOf(readings)...)
		out = append(out, judgeEvents(f, mine, silence, p))
	}
	for _, address := range addressesOf(events) {
		part := Part{Class: gpuClass(p), Name: firstWord("GPU "+address, "GPUs"), Address: address}
		if address == "" {
			part = fleetPart(p)
		}
		f := About(check, "xid", part, refsOf(readings)...)
		out = append(out, judgeEvents(f, takeEvents(&events, address), silence, p))
	}
	return append(out, judgeSwitches(readings, silence, p)...)
}

// kernelSilence says why the log does not prove that nothing happened, or nil.
func kernelSilence(readings []Reading[KernelLogData]) error {
	if len(readings) == 0 {
		return fmt.Errorf("kernel-log: %w", ErrNotRun)
	}
	reached := 0.0
	var earlier *KernelLogData
	for i, reading := range readings {
		if !reading.OK() {
			return reading.Err
		}
		ends := reading.Value.reaches()
		whole := reading.Value.Complete || earlier != nil && reading.Value.continues(earlier)
		earlier = &readings[i].Value
		if !whole || ends < reached {
			return errors.New("the kernel log is not known to be whole, so it does not prove that nothing happened")
		}
		reached = ends
	}
	return nil
}

// xidEvents joins the events of all readings; a log read twice tells each twice.
func xidEvents(readings []Reading[KernelLogData]) []XIDEvent {
	var out []XIDEvent
	told := map[string]bool{}
	for _, reading := range readings {
		if !reading.OK() {
			continue
		}
		for _, e := range reading.Value.XIDs {
			e.Address = normalAddress(e.Address)
			key := fmt.Sprint(e.Time, e.Address, e.Code, e.Text)
			if !told[key] {
				told[key] = true
				out = append(out, e)
			}
		}
		for _, address := range reading.Value.FellOff {
			address = normalAddress(address)
			known := slices.ContainsFunc(out, func(e XIDEvent) bool { return e.Address == address && e.Code == xidFellOff })
			if !known {
				out = append(out, XIDEvent{Address: address, Code: xidFellOff, Text: "GPU has fallen off the bus"})
			}
		}
	}
	return out
}

// takeEvents removes and returns the events at an address.
func takeEvents(events *[]XIDEvent, address string) []XIDEvent {
	var mine, rest []XIDEvent
	for _, e := range *events {
		if e.Address == address {
			mine = append(mine, e)
		} else {
			rest = append(rest, e)
		}
	}
	*events = rest
	return mine
}

func addressesOf(events []XIDEvent) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Address)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// judgeEvents judges the events of one GPU by the worst of them.
func judgeEvents(f Finding, events []XIDEvent, silence error, p *profiles.Profile) Finding {
	if len(events) == 0 {
		if silence != nil {
			return f.Missing(silence)
		}
		f.Measured = 0.0
		return f.Judged(Pass, "the kernel log holds no XID of it")
	}
	verdict, worst, codes := NotApplicable, events[0], []string(nil)
	for _, e := range events {
		codes = append(codes, strconv.Itoa(e.Code))
		if v := xidVerdict(p, e); v > verdict {
			verdict, worst = v, e
		}
	}
	slices.Sort(codes)
	entry, _ := p.XIDIn(worst.Code, worst.Text)
	f.Measured = strings.Join(slices.Compact(codes), ", ")
	f.Provenance = &Provenance{Kind: string(profiles.FromVendor), Source: entry.Source}
	why := fmt.Sprintf("XID %d %s", worst.Code, entry.Text)
	if worst.Code == xidFellOff {
		why = fmt.Sprintf("fell off the bus (XID %d)", xidFellOff)
	}
	if len(events) > 1 {
		why += fmt.Sprintf(", %d events in all", len(events))
	}
	if verdict == Unknown {
		return f.Missing(errors.New(why + ": its meaning is not published"))
	}
	if silence != nil && verdict < Unknown {
		return f.Missing(fmt.Errorf("%s; %w", why, silence))
	}
	if entry.Advice != "" {
		f.Class = Class(entry.Advice)
	}
	return f.Judged(verdict, why)
}

// xidVerdict is what the profile says of an event. A class without a verdict is not
// known to be harmless.
func xidVerdict(p *profiles.Profile, e XIDEvent) Verdict {
	entry, _ := p.XIDIn(e.Code, e.Text)
	var v Verdict
	if err := v.UnmarshalText([]byte(p.XIDVerdicts[entry.Class])); err != nil {
		return Unknown
	}
	return v
}
