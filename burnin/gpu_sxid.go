package burnin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// judgeSwitches judges the reports of NVSwitches, each switch by the worst of its own:
// fatal ones are faults, others a remark. The driver's line says which; of one that does
// not, the catalogue does, and a code that it does not hold is not known to be harmless.
func judgeSwitches(readings []Reading[KernelLogData], silence error, p *profiles.Profile) []Finding {
	if !p.NVLink.Fabric.State.Set() {
		return nil
	}
	f := About("gpu.xid", "sxid", Part{Class: ClassFabric, Name: "NVSwitches"}, refsOf(readings)...)
	events := sxidEvents(readings)
	if len(events) == 0 {
		if silence != nil {
			return []Finding{f.Missing(silence)}
		}
		f.Measured = 0.0
		return []Finding{f.Judged(Pass, "the kernel log holds no SXid")}
	}
	var out []Finding
	for _, address := range addressesOf(events) {
		part := Part{Class: ClassFabric, Name: firstWord(strings.TrimSuffix("NVSwitch "+address, " "), "NVSwitches"), Address: address}
		out = append(out, judgeSwitch(About("gpu.xid", "sxid", part, refsOf(readings)...), takeEvents(&events, address), silence, p))
	}
	return out
}

// sxidEvents joins the events of all readings; a log read twice tells each twice.
func sxidEvents(readings []Reading[KernelLogData]) []XIDEvent {
	var out []XIDEvent
	told := map[string]bool{}
	for _, reading := range readings {
		if !reading.OK() {
			continue
		}
		for _, e := range reading.Value.SXIDs {
			if key := fmt.Sprint(e.Time, e.Text); !told[key] {
				told[key] = true
				out = append(out, e)
			}
		}
	}
	return out
}

// judgeSwitch judges the events of one NVSwitch by the worst of them.
func judgeSwitch(f Finding, events []XIDEvent, silence error, p *profiles.Profile) Finding {
	verdict, worst, codes := Pass, events[0], []string(nil)
	for _, e := range events {
		codes = append(codes, strconv.Itoa(e.Code))
		if v := sxidVerdict(p, e); v > verdict {
			verdict, worst = v, e
		}
	}
	slices.Sort(codes)
	f.Measured = strings.Join(slices.Compact(codes), ", ")
	entry, known := p.SXID[worst.Code]
	why := fmt.Sprintf("SXid %d", worst.Code)
	if known {
		f.Provenance = &Provenance{Kind: string(profiles.FromVendor), Source: entry.Source}
		why += " " + entry.Text
	}
	if len(events) > 1 {
		why += fmt.Sprintf(", %d events in all", len(events))
	}
	switch {
	case verdict == Fail:
		return f.Judged(Fail, "fatal "+why)
	case verdict == Unknown:
		return f.Missing(fmt.Errorf("%s: neither its line nor a public document says whether it is fatal", why))
	case silence != nil:
		return f.Missing(fmt.Errorf("%s; %w", why, silence))
	}
	return f.Judged(Warn, why+", not fatal")
}

// sxidVerdict is what is known of one event.
func sxidVerdict(p *profiles.Profile, e XIDEvent) Verdict {
	entry, known := p.SXID[e.Code]
	switch {
	case e.Fatal, !e.Mild && entry.Fatal:
		return Fail
	case e.Mild, known:
		return Warn
	}
	return Unknown
}
