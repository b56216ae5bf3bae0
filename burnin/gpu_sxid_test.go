package burnin

import (
	"maps"
	"testing"
)

const bootLine = "[    0.000000] Linux version 6.8.0-example\n"

// kernelRun is a run whose log after it holds more lines.
func kernelRun(lines string) *Record {
	rec := &Record{Meta: Meta{Coverage: CoverHost}}
	for _, c := range []struct {
		phase Phase
		text  string
	}{{PhaseBefore, ""}, {PhaseAfter, lines}} {
		exit := 0
		rec.Evidence = append(rec.Evidence, &Evidence{
			Probe: "kernel-log", Phase: c.phase, Source: FromSSH, Ended: EndedExit, Exit: &exit,
			Out: []byte(bootLine + c.text + "\n#rackproof-end 0\n"),
		})
	}
	return rec
}

func TestXIDLines(t *testing.T) {
	const gpu, sw = "gpu.xid/xid/GPU 0000:61:00.0", "gpu.xid/sxid/NVSwitch 0000:86:00.0"
	const line = "[   50.000000] NVRM: Xid (PCI:0000:61:00): "
	const sxid = "[   50.000000] nvidia-nvswitch3: SXid (PCI:0000:86:00.0): "
	for _, c := range []struct {
		name, lines string
		want        map[string]string
	}{
		{"nothing", "", nil},
		{"fell off the bus", line + "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n", map[string]string{gpu: "fail"}},
		{"a fault of an instance of MIG", "[   50.000000] NVRM: Xid (PCI:0000:61:00 GPU-I:05): 48, pid=1, An uncorrectable double bit error\n", map[string]string{gpu: "fail"}},
		{"fatal fault of the fifth NVLink", line + "144, SAW_MVB Fatal XC0 i0 Link 00 (0x00000001 0x00000000)\n", map[string]string{gpu: "fail"}},
		{"the same, not fatal", line + "145, RLW_CTRL Nonfatal XC0 i0 Link 03 (0x00000004 0x80000000)\n", map[string]string{gpu: "warn"}},
		{"the same, with a hyphen", line + "149, NETIR_LINK_EVT Non-fatal XC0 i0 Link 03\n", map[string]string{gpu: "warn"}},
		{"the same, which does not say", line + "146, TLW_CTRL XC0 i0 Link 03\n", map[string]string{gpu: "fail"}},
		{"a not fatal one and a fatal one", line + "145, RLW_CTRL Nonfatal XC0\n" + line + "145, RLW_CTRL Fatal XC0\n", map[string]string{gpu: "fail"}},
		{"the driver asks for a reset", line + "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)\n", map[string]string{gpu: "fail"}},
		{"the driver no longer asks for one", line + "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)\n", nil},
		{"a code that nobody explains", line + "9999, something\n", map[string]string{gpu: "not_run"}},

		{"SXid, not fatal", sxid + "12028, Non-fatal, Link 32 egress non-posted PRIV error\n", map[string]string{sw: "warn"}},
		{"SXid, fatal", sxid + "20034, Fatal, Link 30 LTSSM Fault Up\n", map[string]string{sw: "fail"}},
		{"SXid with its registers", sxid + "12028, Non-fatal, Link 32\n" + sxid + "12028, Severity 0 Engine instance 32 Sub-engine instance 00\n" + sxid + "12028, Data {0x00140004, 0x00000000}\n", map[string]string{sw: "warn"}},
		{"the line counts, not the catalogue", sxid + "20034, Non-fatal, Link 30 LTSSM Fault Up\n", map[string]string{sw: "warn"}},
		{"the catalogue, where the line does not say", sxid + "22003, Link 30 Minion Halt\n", map[string]string{sw: "fail"}},
		{"the catalogue says not fatal", sxid + "20009, Link 30 RX Short Error Rate\n", map[string]string{sw: "warn"}},
		{"nobody says", sxid + "31999, Link 30\n", map[string]string{sw: "not_run"}},
		{"two switches", sxid + "20034, Fatal, Link 30\n" + "[   51.000000] nvidia-nvswitch1: SXid (PCI:0000:85:00.0): 12028, Non-fatal, Link 1\n", map[string]string{sw: "fail", "gpu.xid/sxid/NVSwitch 0000:85:00.0": "warn"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := notGoodAnswers(gpuAnswers(kernelRun(c.lines), gpuProfile(t, "one-h100"), gpuXID))
			delete(got, "gpu.xid/all/GPU 1 of 1")
			if !maps.Equal(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	found := gpuAnswers(kernelRun(sxid+"12028, Non-fatal, Link 32\n"), gpuProfile(t, "one-h100"), gpuXID)
	if f := found[sw]; f.Address != "0000:86:00.0" || f.Measured != "12028" || f.Why != "SXid 12028 egress nonposted PRIV error, not fatal" {
		t.Errorf("%+v", f)
	}
}
