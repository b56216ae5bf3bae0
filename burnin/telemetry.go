package burnin

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// TelemetryRow is one line of telemetry: what one part showed at one moment. What was
// not measured is left out; nothing is made up for it.
type TelemetryRow struct {
	At      string `json:"t,omitempty"` // RFC 3339 UTC with milliseconds, by our clock
	Boot    string `json:"boot,omitempty"`
	From    string `json:"from"` // evidence, as "load/nvidia-smi"
	Part    string `json:"part"`
	Serial  string `json:"serial,omitempty"`
	Address string `json:"address,omitempty"`

	ClockSM     *float64  `json:"clock_sm_mhz,omitempty"`
	ClockMemory *float64  `json:"clock_memory_mhz,omitempty"`
	Temperature *float64  `json:"temp_c,omitempty"`
	MemoryTemp  *float64  `json:"memory_temp_c,omitempty"`
	Margin      *float64  `json:"tlimit_margin_c,omitempty"` // left to where it slows down
	Power       *float64  `json:"power_w,omitempty"`
	PowerLimit  *float64  `json:"power_limit_w,omitempty"`
	Utilisation *float64  `json:"utilisation_percent,omitempty"`
	Reasons     *[]string `json:"reasons,omitempty"` // for slower clocks; [] is none
	LinkGen     *float64  `json:"link_gen,omitempty"`
	LinkSpeed   *float64  `json:"link_gts,omitempty"` // GT/s
	LinkWidth   *float64  `json:"link_width,omitempty"`
	LinkSpeedMb *float64  `json:"link_mbps,omitempty"` // of a network port
	LinkState   string    `json:"link_state,omitempty"`
	LinkDowns   *float64  `json:"link_downs,omitempty"` // since boot

	ECCCorrected   *float64 `json:"ecc_corrected,omitempty"`   // since the driver was loaded
	ECCUncorrected *float64 `json:"ecc_uncorrected,omitempty"` // since the driver was loaded
	AERCorrectable *float64 `json:"aer_correctable,omitempty"` // that a root port was told of since boot
	AERNonFatal    *float64 `json:"aer_nonfatal,omitempty"`
	AERFatal       *float64 `json:"aer_fatal,omitempty"`

	Fan     *float64 `json:"fan_rpm,omitempty"`
	FanDuty *float64 `json:"fan_percent,omitempty"`
	Voltage *float64 `json:"voltage_v,omitempty"`
	Current *float64 `json:"current_a,omitempty"`
	Health  string   `json:"health,omitempty"` // the BMC's own word
	State   string   `json:"state,omitempty"`

	Lost   string   `json:"lost,omitempty"` // what the tool said of a part that does not answer
	XID    *int     `json:"xid,omitempty"`
	Uptime *float64 `json:"uptime_s,omitempty"` // of an event: since boot, 0 where the log does not tell
	Text   string   `json:"text,omitempty"`

	Counter string   `json:"counter,omitempty"` // of a change over the attempt
	Before  *float64 `json:"before,omitempty"`
	After   *float64 `json:"after,omitempty"`
	Delta   *float64 `json:"delta,omitempty"`
}

// WriteTelemetry writes what was measured under load as JSON lines, in the order of
// time, then the XIDs of the kernel's log, and then by how much each counter changed
// from before the load to after it. GPUs and the BMC's sensors have a line for each
// sample; links, drives, root ports and memory have one where it differs from the one before.
// It is derived from the evidence alone, so it can be had of old evidence too. Samples
// are parsed one at a time; p names the parts and may be nil.
func WriteTelemetry(w io.Writer, rec *Record, p *profiles.Profile) error {
	if p == nil {
		p = &profiles.Profile{}
	}
	out := bufio.NewWriterSize(w, 1<<16)
	t := newTelemetry(rec, p, json.NewEncoder(out))
	t.out.SetEscapeHTML(false)
	for _, m := range t.moments() {
		t.moment(m)
	}
	t.events()
	t.changes()
	if t.err != nil {
		return fmt.Errorf("write telemetry: %w", t.err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write telemetry: %w", err)
	}
	return nil
}

// telemetry writes rows; the first error is kept.
type telemetry struct {
	rec     *Record
	read    *Readings
	reasons map[string]profiles.ClockReasonRule
	gpus    []gpuPart
	owners  map[string]Part   // by PCI address: the part, or whose way to the processor it is
	last    map[string]string // what a part last told
	out     *json.Encoder
	err     error
}

func newTelemetry(rec *Record, p *profiles.Profile, out *json.Encoder) *telemetry {
	t := &telemetry{rec: rec, read: NewReadings(rec), reasons: p.ClockReasons, owners: map[string]Part{}, last: map[string]string{}, out: out}
	for _, g := range gpuParts(t.read, p) {
		if g.Shown {
			t.gpus = append(t.gpus, g)
			t.owners[g.Address] = g.Part
		}
	}
	for _, d := range nvmeParts(t.read, p) {
		t.owners[d.Address] = d.Part
	}
	for _, n := range nicParts(t.read, p) {
		t.owners[n.Address] = n.Part
	}
	delete(t.owners, "")
	t.ownUplinks()
	return t
}

// ownUplinks names every bridge after the first part above which it stands.
func (t *telemetry) ownUplinks() {
	for _, tree := range pciTrees(t.read) {
		for _, address := range sortedKeys(t.owners) {
			for i, up := range tree.Value.Above(address) {
				if _, known := t.owners[up.Address]; !known {
					t.owners[up.Address] = Part{Name: fmt.Sprintf("%s, hop %d", t.owners[address].Name, i+1), Address: up.Address}
				}
			}
		}
	}
}

// telemetryMoment is one output that was measured at one time.
type telemetryMoment struct {
	at  time.Time // by our clock
	of  *Evidence
	out []byte
}

// moments are all samples under load, and the whole readings of the BMC, by time.
func (t *telemetry) moments() []telemetryMoment {
	var all []telemetryMoment
	for _, e := range t.rec.Evidence {
		if e.Probe == BMCSensors.Spec.Name && e.Usable() == nil {
			all = append(all, telemetryMoment{e.Started, e, e.Out})
		}
		if e.Phase != PhaseLoad {
			continue
		}
		skew := clockSkew(e)
		for _, s := range e.Samples {
			all = append(all, telemetryMoment{s.At.Add(-skew), e, s.Out})
		}
	}
	slices.SortStableFunc(all, func(a, b telemetryMoment) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.of.Name(), b.of.Name()))
	})
	return all
}

// clockSkew is by how much the clock of the node was ahead of ours; its samples bear
// its own time. That clock is told in seconds, so that less is none.
func clockSkew(e *Evidence) time.Duration {
	at, err := time.Parse(time.RFC3339, e.NodeClock)
	if err != nil || e.Source == FromBMC {
		return 0
	}
	if skew := at.Sub(e.Started); skew.Abs() >= 2*time.Second {
		return skew.Round(time.Second)
	}
	return 0
}

// moment writes what one sample shows. What cannot be parsed is left out: the checks
// say so.
func (t *telemetry) moment(m telemetryMoment) {
	one := *m.of
	one.Out, one.Samples, one.sample, one.Exit = m.out, nil, true, nil
	if _, rc, ok := cutEndMark(m.out); ok {
		one.Exit = &rc
	}
	base := TelemetryRow{At: m.at.UTC().Format(sampleTime), Boot: m.of.BootID, From: m.of.Ref()}
	switch m.of.Probe {
	case NvidiaSMI.Spec.Name:
		if v, err := NvidiaSMI.Parse(&one); err == nil {
			t.nvidia(base, &v)
		}
	case PCISysfs.Spec.Name:
		if v, err := PCISysfs.Parse(&one); err == nil {
			t.pci(base, v)
		}
	case EDAC.Spec.Name:
		if v, err := EDAC.Parse(&one); err == nil {
			t.memory(base, v)
		}
	case BMCSensors.Spec.Name:
		if v, err := BMCSensors.Parse(&one); err == nil {
			t.sensors(base, v)
		}
	}
}

func (t *telemetry) write(r TelemetryRow) {
	if t.err == nil {
		t.err = t.out.Encode(r)
	}
}

// news writes a row where it tells something else than the one before under that key.
func (t *telemetry) news(key string, r TelemetryRow) {
	bare := r
	bare.At, bare.From, bare.Serial = "", "", "" // a short reading of a BMC knows no serials
	b, err := json.Marshal(bare)
	if err != nil || t.last[key] == string(b) {
		return
	}
	t.last[key] = string(b)
	t.write(r)
}

// figure is a value that was read, or nil.
func figure(v Opt[float64]) *float64 {
	if !v.Set {
		return nil
	}
	return &v.V
}

func (r TelemetryRow) of(p Part) TelemetryRow {
	r.Part, r.Serial, r.Address = p.Name, p.Serial, p.Address
	return r
}
