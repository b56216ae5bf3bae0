package burnin

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// telemetryRecord is a machine of one GPU that gets slower, one fan, and memory that
// counts one error; the node's clock is five minutes ahead of ours.
func telemetryRecord() *Record {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const head = "index, pci.bus_id, serial, clocks.sm [MHz], temperature.gpu, temperature.gpu.tlimit, power.draw [W], clocks_event_reasons.active, pcie.link.gen.current, ecc.errors.uncorrected.volatile.total\n"
	gpu := func(second int, cells string) Sample {
		return Sample{At: at.Add(5*time.Minute + time.Duration(second)*time.Second), Out: []byte(head + "0, 00000000:18:00.0, 165001, " + cells + "\n")}
	}
	pci := func(second int, width string) Sample {
		text := "#rackproof-pci-sysfs 1\ndev\t0000:17:00.0\tparent=-\tclass=0x060400\tvendor=0x8086\tdevice=0x352a\tcurrent_link_speed=32.0 GT/s PCIe\tcurrent_link_width=" + width +
			"\ndev\t0000:18:00.0\tparent=0000:17:00.0\tclass=0x030200\tvendor=0x10de\tdevice=0x2330\tcurrent_link_speed=32.0 GT/s PCIe\tcurrent_link_width=" + width + "\n#rackproof-pci-sysfs-end 2\n"
		return Sample{At: at.Add(5*time.Minute + time.Duration(second)*time.Second), Out: []byte(text)}
	}
	edac := func(n string) []byte {
		return []byte("#rackproof-edac 1\nmc\tmc0\t" + n + "\t0\t0\t0\tskx\ndimm\tmc0/dimm0\t" + n + "\t0\t-\tA1\n#rackproof-edac-end 1\n")
	}
	of := func(phase Phase, probe string, out []byte, samples ...Sample) *Evidence {
		return &Evidence{
			Probe: probe, Phase: phase, Source: FromSSH, Started: at, NodeClock: "2026-03-01T12:05:00Z", BootID: "b1", Exit: new(int), Ended: EndedExit, Out: out, Samples: samples,
		}
	}
	bmc := of(PhaseLoad, "bmc-sensors", []byte(`{"rackproof:sensors":{"sensors":[`+steadyFan(0)+`]}}`),
		Sample{At: at.Add(1500 * time.Millisecond), Out: []byte(`{"rackproof:vitals":{"sensors":[{"name":"FAN1","kind":"fan","reading":5100,"unit":"RPM"},{"name":"PSU1","kind":"discrete","reading":null,"health":"Critical"}]}}`)})
	bmc.Source, bmc.NodeClock = FromBMC, ""
	return &Record{Evidence: []*Evidence{
		of(PhaseLoad, "nvidia-smi", gpu(0, "345 MHz, 30, 57, 70.00 W, 0x0000000000000001, 1, 0").Out, gpu(1, "1980 MHz, 61, 26, 690.20 W, 0x0000000000000000, 5, 0"), gpu(2, "990 MHz, [N/A], -3, 500.00 W, 0x0000000000000040, 5, [N/A]"), Sample{At: at.Add(303 * time.Second), Out: []byte("index, pci")}),
		of(PhaseLoad, "pci-sysfs", pci(0, "16").Out, pci(1, "16"), pci(2, "16"), pci(3, "8")),
		of(PhaseBefore, "edac", edac("0")), of(PhaseAfter, "edac", edac("1")),
		of(PhaseAfter, "kernel-log", []byte("[ 4711.100000] NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus.\n")),
		bmc,
	}}
}

// TestTelemetry: a line a part and moment, by our clock, with what was measured and
// nothing else; links where they changed; then XIDs and changes.
func TestTelemetry(t *testing.T) {
	var out bytes.Buffer
	p, err := profiles.Open().Profile("hgx-h100-8")
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteTelemetry(&out, telemetryRecord(), p); err != nil {
		t.Fatal(err)
	}
	type row map[string]any
	var rows []row
	for line := range strings.Lines(out.String()) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		rows = append(rows, r)
	}
	find := func(where row) (found []row) {
		for _, r := range rows {
			same := true
			for k, v := range where {
				same = same && r[k] == v
			}
			if same {
				found = append(found, r)
			}
		}
		return found
	}
	gpu := find(row{"from": "load/nvidia-smi"})
	if len(gpu) != 2 || gpu[0]["t"] != "2026-03-01T12:00:01.000Z" || gpu[0]["serial"] != "165001" || gpu[0]["clock_sm_mhz"] != 1980.0 || gpu[0]["tlimit_margin_c"] != 26.0 ||
		gpu[0]["power_w"] != 690.2 || gpu[0]["ecc_uncorrected"] != 0.0 || gpu[0]["boot"] != "b1" {
		t.Fatalf("%v", gpu)
	}
	if none, ok := gpu[0]["reasons"].([]any); !ok || len(none) != 0 {
		t.Errorf("reasons %v, want that none were shown", gpu[0]["reasons"])
	}
	if why, ok := gpu[1]["reasons"].([]any); !ok || len(why) != 1 || why[0] != "hw_thermal_slowdown" {
		t.Errorf("reasons %v", gpu[1]["reasons"])
	}
	for _, key := range []string{"temp_c", "ecc_uncorrected"} {
		if v, ok := gpu[1][key]; ok {
			t.Errorf("%s is %v, and was not measured", key, v)
		}
	}
	for _, address := range []string{"0000:18:00.0", "0000:17:00.0"} {
		if links := find(row{"from": "load/pci-sysfs", "address": address}); len(links) != 2 || links[0]["link_width"] != 16.0 || links[1]["link_width"] != 8.0 || links[1]["link_gts"] != 32.0 {
			t.Errorf("%s: %v, want its link at first and when it changed", address, links)
		}
	}
	if fans := find(row{"part": "FAN1"}); len(fans) != 2 || fans[1]["fan_rpm"] != 5100.0 || fans[1]["t"] != "2026-03-01T12:00:01.500Z" {
		t.Errorf("%v", fans)
	}
	if psu := find(row{"part": "PSU1"}); len(psu) != 1 || psu[0]["health"] != "Critical" {
		t.Errorf("%v", psu)
	}
	if xid := find(row{"xid": 79.0}); len(xid) != 1 || xid[0]["uptime_s"] != 4711.1 || xid[0]["serial"] != "165001" {
		t.Errorf("%v", xid)
	}
	if grew := find(row{"counter": "ecc_corrected", "part": "DIMM A1"}); len(grew) != 1 || grew[0]["before"] != 0.0 || grew[0]["after"] != 1.0 || grew[0]["delta"] != 1.0 {
		t.Errorf("%v\n%s", grew, out.String())
	}
}

// TestTelemetryOfLittle: no profile and no samples make no rows and no error; what cannot
// be written is an error.
func TestTelemetryOfLittle(t *testing.T) {
	var out bytes.Buffer
	if err := WriteTelemetry(&out, &Record{}, nil); err != nil || out.Len() != 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
	full := errors.New("no space left on device")
	if err := WriteTelemetry(failingWriter{full}, telemetryRecord(), nil); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
