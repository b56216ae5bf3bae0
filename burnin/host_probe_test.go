package burnin

import (
	"reflect"
	"strings"
	"testing"
)

func loose(out string) *Evidence {
	return &Evidence{Out: []byte(out), Source: FromLoose, Ended: EndedUnknown}
}

// whole is output that our wrapper has seen to its end.
func whole(out string) *Evidence {
	exit := 0
	return &Evidence{Out: []byte(out + "\n" + endMark + "0\n"), Source: FromSSH, Ended: EndedExit, Exit: &exit}
}

func TestLSPCIForms(t *testing.T) {
	const tail = "\n\tBus: primary=00, secondary=19, subordinate=19, sec-latency=0\n\t\tLnkCap:\tPort #1, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
	for _, c := range []struct {
		name, text string
		want       PCIDevice
		dead       string // part of the reason
	}{
		{
			"pciutils 3.7 with numbers", "19:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)\n\tKernel driver in use: nvidia\n",
			PCIDevice{Address: "0000:19:00.0", Class: "0302", Vendor: "10de", Device: "2330", Name: "NVIDIA Corporation GH100 [H100 SXM5 80GB]", Parent: "0000:00:01.0", Link: PCILink{16, 8}, Driver: "nvidia"},
			"",
		},
		{
			"pciutils 3.8 without a mark, with a domain", "0000:19:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1) (prog-if 00)\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16\n\tNUMA node: 1\n\tPhysical Slot: 7\n",
			PCIDevice{Address: "0000:19:00.0", Class: "0302", Vendor: "10de", Device: "2330", Name: "NVIDIA Corporation Device", Parent: "0000:00:01.0", Link: PCILink{2.5, 16}, NUMA: Opt[int]{V: 1, Set: true, Text: " 1"}, Slot: "7"},
			"",
		},
		{
			"without numbers", "19:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)\n\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)\n",
			PCIDevice{Address: "0000:19:00.0", Class: "0302", Vendor: "10de", Device: "2330", Name: "NVIDIA Corporation Device 2330", Parent: "0000:00:01.0", Link: PCILink{32, 16}},
			"",
		},
		{
			"only numbers", "19:00.0 0302: 10de:2330 (rev a1)\n\tCapabilities: <access denied>\n",
			PCIDevice{Address: "0000:19:00.0", Class: "0302", Vendor: "10de", Device: "2330", Name: "10de:2330", Parent: "0000:00:01.0"},
			"",
		},
		{
			"off the bus: revision ff", "19:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n",
			PCIDevice{Address: "0000:19:00.0", Class: "0302", Vendor: "10de", Device: "2330", Name: "NVIDIA Corporation Device", Parent: "0000:00:01.0"},
			"header type",
		},
		{
			"off the bus: all ones in the link", "19:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)\n\t\tLnkSta:\tSpeed unknown, Width x63\n",
			PCIDevice{Address: "0000:19:00.0", Class: "0302", Vendor: "10de", Device: "2330", Name: "NVIDIA Corporation Device", Parent: "0000:00:01.0"},
			"width 63",
		},
		{
			"off the bus: a whole byte of ones", "19:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)\n\t\tLnkSta:\tSpeed unknown (overdriven), Width x255 (strange)\n",
			PCIDevice{Address: "0000:19:00.0", Class: "0302", Vendor: "10de", Device: "2330", Name: "NVIDIA Corporation Device", Parent: "0000:00:01.0"},
			"width 255",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, err := parseLSPCI(loose("00:01.0 PCI bridge [0604]: Example [8086:352a] (rev 04)" + tail + c.text))
			if err != nil {
				t.Fatal(err)
			}
			got := *tree.At("0000:19:00.0")
			if c.dead == "" != (got.Dead == "") || !strings.Contains(got.Dead, c.dead) {
				t.Errorf("dead %q, want %q", got.Dead, c.dead)
			}
			got.Dead = ""
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if tree.Complete {
				t.Error("a loose file is not known to be whole")
			}
		})
	}
}

func TestKernelLogForms(t *testing.T) {
	const xid = "NVRM: Xid (PCI:0000:61:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
	for _, c := range []struct {
		name, line string
		time       float64
	}{
		{"dmesg", "[ 7200.123456] " + xid, 7200.123456},
		{"dmesg with a caller", "[ 7200.123456][ T1234] " + xid, 7200.123456},
		{"dmesg -x", "kern  :err   : [ 7200.123456] " + xid, 7200.123456},
		{"dmesg -T", "[Sun Feb 23 16:24:18 2025] " + xid, 0},
		{"dmesg --time-format=iso", "2025-02-23T16:24:18,123456+00:00 " + xid, 0},
		{"kmsg", "3,1234,7200123456,-;" + xid, 7200.123456},
		{"journalctl", "Feb 23 16:24:18 r12u07 kernel: " + xid, 0},
		{"journalctl -o short-monotonic", "[ 7200.123456] r12u07 kernel: " + xid, 7200.123456},
		{"journalctl -o short-iso", "2025-02-23T16:24:18+0000 r12u07 kernel: " + xid, 0},
		{"syslog", "Feb 23 16:24:18 r12u07 kernel: [ 7200.123456] " + xid, 7200.123456},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := parseKernelLog(loose(c.line + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if len(d.XIDs) != 1 || d.XIDs[0].Code != 79 || d.XIDs[0].Address != "0000:61:00.0" || d.XIDs[0].Time != c.time {
				t.Errorf("XIDs %+v, want 79 at 0000:61:00.0 after %v s", d.XIDs, c.time)
			}
			if len(d.FellOff) != 1 || d.FellOff[0] != "0000:61:00.0" {
				t.Errorf("fell off %v", d.FellOff)
			}
			if d.Complete {
				t.Error("one line is no whole log")
			}
		})
	}
}

func TestKernelLogEvents(t *testing.T) {
	d, err := parseKernelLog(whole(strings.Join([]string{
		"[    0.000000] Linux version 6.12.0-example",
		"[   10.000000] NVRM: The NVIDIA GPU 0000:b3:00.0",
		"[   10.000000] NVRM: (PCI ID: 10de:2330)",
		"[   10.000000] NVRM: installed in this system has",
		"[   10.000000] NVRM: fallen off the bus and is not responding to commands.",
		"[   11.000000] nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
		"[   12.000000] nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 32 LTSSM Fault Up",
		"[   13.000000] EDAC MC1: 3 CE memory read error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x0)",
		"[   14.000000] EDAC skx MC0: 1 UE memory read error on any memory",
		"[   15.000000] mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 21: 9c00000000010151",
		"[   16.000000] mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 21: be00000000010151",
		"[   17.000000] {1}[Hardware Error]: event severity: corrected",
		"[   17.000001] {1}[Hardware Error]:   section_type: PCIe error",
		"[   18.000000] pcieport 0000:15:01.0: AER: Corrected error received: 0000:19:00.0",
		"[   19.000000] nvme 0000:18:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
		"[   20.000000] nvme0n1: I/O Cmd(0x2) @ LBA 409600, 8 blocks, I/O Error (sct 0x2 / sc 0x81) MORE",
		"[   21.000000] critical medium error, dev nvme0n1, sector 409600 op 0x0:(READ)",
	}, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	if !d.Complete {
		t.Error("the log reaches from boot to the end mark")
	}
	if !reflect.DeepEqual(d.FellOff, []string{"0000:b3:00.0"}) {
		t.Errorf("fell off %v", d.FellOff)
	}
	if len(d.SXIDs) != 2 || d.SXIDs[0].Fatal || !d.SXIDs[1].Fatal {
		t.Errorf("SXids %+v", d.SXIDs)
	}
	var kinds []EventKind
	for _, e := range d.Memory {
		kinds = append(kinds, e.Kind)
	}
	if want := []EventKind{EventCorrected, EventUncorrected, EventCorrected, EventUncorrected}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("memory events %v, want %v", kinds, want)
	}
	if e := d.Memory[0]; e.Count != 3 || e.Part != "CPU_SrcID#1_MC#0_Chan#1_DIMM#0" {
		t.Errorf("first memory event %+v", e)
	}
	if len(d.AER) != 2 || d.AER[0].Kind != EventCorrected || d.AER[0].Address != "0000:19:00.0" || d.AER[1].Kind != EventUncorrected {
		t.Errorf("AER %+v", d.AER)
	}
}

func TestSmartForms(t *testing.T) {
	want := SMARTLog{CriticalWarning: num(0), Temperature: num(38.85), Spare: num(100), SpareThreshold: num(10), PercentUsed: num(3), MediaErrors: num(0), ErrorLog: num(12), PowerOn: num(310)}
	for name, text := range map[string]string{
		"nvme-cli 1": `{"critical_warning":0,"temperature":312,"avail_spare":100,"spare_thresh":10,"percent_used":3,"media_errors":0,"num_err_log_entries":12,"power_on_hours":310}`,
		"nvme-cli 2, the warning as an object, big numbers as strings": `{"critical_warning":{"value":0,"available_spare":0,"temp_threshold":0},"temperature":312,"avail_spare":100,"spare_thresh":10,"percent_used":3,"media_errors":"0","num_err_log_entries":"12","power_on_hours":"310"}`,
		"nvme-cli 3, nested, with words and units":                     `{"nvme0":{"smart-log":{"critical_warning":"0x0","temperature":"312","avail_spare":"100%","spare_thresh":"10%","percentage_used":"3%","media_errors":0,"num_err_log_entries":12,"power_on_hours":310}}}`,
	} {
		got, err := parseNVMeSmart(loose(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for field, pair := range map[string][2]Opt[float64]{
			"warning": {got.CriticalWarning, want.CriticalWarning}, "temperature": {got.Temperature, want.Temperature}, "spare": {got.Spare, want.Spare},
			"threshold": {got.SpareThreshold, want.SpareThreshold}, "used": {got.PercentUsed, want.PercentUsed}, "media": {got.MediaErrors, want.MediaErrors},
			"errors": {got.ErrorLog, want.ErrorLog}, "hours": {got.PowerOn, want.PowerOn},
		} {
			if !pair[0].Set || pair[0].V-pair[1].V > 1e-9 || pair[1].V-pair[0].V > 1e-9 {
				t.Errorf("%s: %s is %+v, want %v", name, field, pair[0], pair[1].V)
			}
		}
	}
	text := "Smart Log for NVME device:nvme0 namespace-id:ffffffff\ncritical_warning\t\t\t: 0x4\ntemperature\t\t\t\t: 39 °C (312 K)\navailable_spare\t\t\t\t: 100%\n" +
		"available_spare_threshold\t\t: 10%\nData Units Written\t\t\t: 2,000,000 (1.02 TB)\nmedia_errors\t\t\t\t: 0\n"
	got, err := parseNVMeSmart(loose(text))
	if err != nil || got.CriticalWarning.V != 4 || got.Temperature.V != 39 || got.Written.V != 1.024 {
		t.Errorf("plain form: %+v, %v", got, err)
	}
	for name, text := range map[string]string{"no drive": "/dev/nvme0: No such file or directory", "empty object": "{}", "an array": "[]", "not a log": `{"temperature":312}`} {
		if l, err := parseNVMeSmart(loose(text)); err == nil {
			t.Errorf("%s is read as %+v", name, l)
		}
	}
}

func num(v float64) Opt[float64] { return Opt[float64]{V: v, Set: true} }

func TestSmartctlExitBits(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"device does not open":   {`{"smartctl":{"exit_status":2,"messages":[{"string":"Smartctl open device: /dev/nvme7 failed: No such device","severity":"error"}]}}`, false},
		"failing, with a log":    {`{"smartctl":{"exit_status":8},"device":{"name":"/dev/nvme7","protocol":"NVMe"},"smart_status":{"passed":false}}`, true},
		"no health at all":       {`{"smartctl":{"exit_status":0},"device":{"name":"/dev/nvme7","protocol":"NVMe"}}`, false},
		"a disk of another kind": {`{"smartctl":{"exit_status":0},"device":{"name":"/dev/sda","protocol":"ATA"}}`, true},
	} {
		l, err := parseSmartctl(loose(c.text))
		if (err == nil) != c.ok {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}
