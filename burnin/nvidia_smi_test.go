package burnin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nvidiaTextLog is -q of two GPUs as the text form prints it, newest spelling.
const nvidiaTextLog = `
==============NVSMI LOG==============

Timestamp                                              : Mon Nov 30 10:00:00 2026
Driver Version                                         : 610.57.04 [Deprecated; will be removed in a later version. Use KMD Version instead]
CUDA Version                                           : 13.3 [Deprecated; will be removed in a later version. Use CUDA UMD Version instead]
KMD Version                                            : 610.57.04
CUDA UMD Version                                       : 13.3

Attached GPUs                                          : 2
GPU 00000000:1B:00.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                                        : Disabled
        Pending                                        : Enabled
    MIG Device
        Index                                          : 0
        ECC Errors
            Volatile
                SRAM Uncorrectable                     : 7
    Serial Number                                      : 1650100000011
    Platform Info
        Module Id                                      : 3
    PCI
        Device Id                                      : 0x233010DE
        Bus Id                                         : 00000000:1B:00.0
        GPU Link Info
            PCIe Generation
                Max                                    : 5
                Current                                : 4
                Host Max                               : N/A
            Link Width
                Max                                    : 16x
                Current                                : 8x
        Replays Since Reset                            : 12
        Tx Throughput                                  : 250000 KB/s
    Clocks Event Reasons
        HW Slowdown                                    : Not Active
            HW Thermal Slowdown                        : Not Active
    FB Memory Usage
        Total                                          : 81559 MiB
    BAR1 Memory Usage
        Total                                          : 131072 MiB
    Utilization
        GPU                                            : 97 %
    ECC Mode
        Current                                        : Enabled
        Pending                                        : Enabled
    ECC Errors
        Volatile
            SRAM Correctable                           : 1
            SRAM Uncorrectable Parity                  : 0
            SRAM Uncorrectable SEC-DED                 : 2
            DRAM Correctable                           : 0
            DRAM Uncorrectable                         : 0
        Aggregate
            SRAM Threshold Exceeded                    : No
    Remapped Rows
        Pending                                        : No
        Remapping Failure Occurred                     : No
    GPU Power Readings
        Instantaneous Power Draw                       : 588.39 W
        Current Power Limit                            : 700.00 W
    Fabric
        State                                          : Completed
        Status                                         : Success
        Health
            Route Unhealthy                            : False
    Processes                                          : None
WARNING: infoROM is corrupted at gpu 0000:A8:00.0
GPU 00000000:A8:00.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    Remapped Rows                                      : N/A
    Processes                                          : None
`

func TestParseNvidiaText(t *testing.T) {
	t.Parallel()
	log, err := parseNvidiaSMI(&Evidence{Out: []byte(nvidiaTextLog)})
	if err != nil {
		t.Fatal(err)
	}
	if log.Driver != "610.57.04" || log.CUDA != "13.3" || !log.Complete || len(log.GPUs) != 2 {
		t.Fatalf("driver %q, CUDA %q, complete %v, %d GPUs", log.Driver, log.CUDA, log.Complete, len(log.GPUs))
	}
	if len(log.Messages) != 1 || log.Messages[0].Kind != NvidiaInfoROM || log.Messages[0].Address != "0000:a8:00.0" {
		t.Errorf("messages %+v", log.Messages)
	}
	g, second := log.GPUs[0], log.GPUs[1]
	for _, row := range []struct {
		what      string
		got, want any
	}{
		{"address", g.Address, "0000:1b:00.0"},
		{"second address", second.Address, "0000:a8:00.0"},
		{"second index", second.Index, 1},
		{"PCI id", g.PCIID, "10de:2330"},
		{"module", g.Module.V, "3"},
		{"MIG pending", g.MIG.Pending.V, "Enabled"},
		{"SRAM uncorrected of the GPU, not of its instance", g.Volatile.SRAMUncorrected.V, 2.0},
		{"DRAM uncorrected", g.Volatile.DRAMUncorrected, Opt[float64]{Set: true, Text: "0"}},
		{"aggregate that is not printed", g.Aggregate.DRAMUncorrected.Set, false},
		{"link", g.LinkGen.V, 4.0},
		{"width", g.LinkWidth.V, 8.0},
		{"replays", g.Replays.V, 12.0},
		{"transmit in MB/s", g.Transmit.V, 250.0},
		{"memory", g.Memory.V, 81559.0},
		{"utilisation", g.Utilisation.V, 97.0},
		{"power", g.PowerDraw.V, 588.39},
		{"fabric", g.FabricState.V, "Completed"},
		{"fabric health", g.FabricHealth[0].Name, "route_unhealthy"},
		{"section that reads N/A", second.RemapFailure.Text, "N/A"},
	} {
		if row.got != row.want {
			t.Errorf("%s: %v, want %v", row.what, row.got, row.want)
		}
	}
}

// nvidiaXMLLog wraps the inside of one GPU.
func nvidiaXMLLog(inside string) string {
	return "<nvidia_smi_log><driver_version>515.105.01</driver_version><attached_gpus>1</attached_gpus>" +
		`<gpu id="00000000:1B:00.0">` + inside + "</gpu></nvidia_smi_log>"
}

func TestParseNvidiaXMLDrift(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, inside string
		got          func(NvidiaGPU) any
		want         any
	}{
		{"power to 530", "<power_readings><power_draw>26.78 W</power_draw></power_readings>", func(g NvidiaGPU) any { return g.PowerDraw.V }, 26.78},
		{"power of 535", "<gpu_power_readings><power_draw>67.03 W</power_draw></gpu_power_readings>", func(g NvidiaGPU) any { return g.PowerDraw.V }, 67.03},
		{
			"power of 570, instant not measured", "<gpu_power_readings><average_power_draw>60.00 W</average_power_draw><instant_power_draw>N/A</instant_power_draw></gpu_power_readings>",
			func(g NvidiaGPU) any { return g.PowerDraw.V }, 60.0,
		},
		{"SRAM in one counter", "<ecc_errors><volatile><sram_uncorrectable>4</sram_uncorrectable></volatile></ecc_errors>", func(g NvidiaGPU) any { return g.Volatile.SRAMUncorrected.V }, 4.0},
		{
			"GPUs before Turing", "<ecc_errors><volatile><double_bit><device_memory>2</device_memory><total>5</total></double_bit></volatile></ecc_errors>",
			func(g NvidiaGPU) any { return [2]float64{g.Volatile.DRAMUncorrected.V, g.Volatile.SRAMUncorrected.V} },
			[2]float64{2, 3},
		},
		{"module of 535", "<gpu_module_id>7</gpu_module_id>", func(g NvidiaGPU) any { return g.Module.V }, "7"},
		{"remapped rows as one word", "<remapped_rows>N/A</remapped_rows>", func(g NvidiaGPU) any { return g.RemapPending.Text }, "N/A"},
		{"errors as one word", "<ecc_errors><volatile>N/A</volatile></ecc_errors>", func(g NvidiaGPU) any { return g.Volatile.DRAMUncorrected.Text }, "N/A"},
		{
			"retired pages before Ampere", "<retired_pages><double_bit_retirement><retired_count>5</retired_count><retired_pagelist>\n</retired_pagelist></double_bit_retirement><pending_retirement>Yes</pending_retirement></retired_pages>",
			func(g NvidiaGPU) any { return [2]any{g.RetiredDouble.V, g.RetirePending.V} },
			[2]any{5.0, "Yes"},
		},
		{"the same field twice, first without a value", "<serial>N/A</serial><serial>1650100000011</serial>", func(g NvidiaGPU) any { return g.Serial.V }, "1650100000011"},
		{"deprecated", "<serial>Requested functionality has been deprecated</serial>", func(g NvidiaGPU) any { return g.Serial.Set }, false},
		{"process with a name that is no XML", "<processes><process_info><process_name>a && b < c</process_name></process_info></processes><serial>1</serial>", func(g NvidiaGPU) any { return g.Serial.V }, "1"},
		{"GPU lost in every field", "<product_name>GPU is lost</product_name><serial>GPU is lost</serial>", func(g NvidiaGPU) any { return g.Lost }, "GPU is lost"},
		{"a sentence in place of fields", "\nUnable to determine the device handle for GPU 0000:1B:00.0: Unknown Error\n", func(g NvidiaGPU) any { return g.Lost != "" }, true},
		{"one field without answer", "<pci><replay_counter>[Unknown Error]</replay_counter></pci>", func(g NvidiaGPU) any { return len(g.Faults) }, 1},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			log, err := parseNvidiaSMI(&Evidence{Out: []byte(nvidiaXMLLog(row.inside))})
			if err != nil || len(log.GPUs) != 1 {
				t.Fatalf("%d GPUs: %v", len(log.GPUs), err)
			}
			if got := row.got(log.GPUs[0]); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func TestNvidiaFailures(t *testing.T) {
	t.Parallel()
	exit := func(n int) *int { return &n }
	rows := []struct {
		name, out, err string
		exit           *int
		want           NvidiaFailureKind
	}{
		{"mismatch", "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n", "", exit(18), NvidiaMismatch},
		{"mismatch, exit status unknown", "Failed to initialize NVML: Driver/library version mismatch\n", "", nil, NvidiaMismatch},
		{"driver not loaded", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n", "", exit(9), NvidiaNotLoaded},
		{"no devices", "No devices were found\n", "", exit(6), NvidiaNoDevices},
		{"on stderr", "", "Failed to initialize NVML: Unknown Error\n", exit(255), NvidiaInitFailed},
		{"no library", "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n", "", exit(12), NvidiaInitFailed},
		{"all lost", "Unable to determine the device handle for GPU0000:25:00.0: Unknown Error\n", "", exit(15), NvidiaAllLost},
		{"only the exit status tells", "\n", "", exit(15), NvidiaAllLost},
		{"permissions", "Failed to initialize NVML: Insufficient Permissions\n", "", exit(4), NvidiaNotAllowed},
	}
	for _, row := range rows {
		log, err := parseNvidiaSMI(&Evidence{Out: []byte(row.out), Err: []byte(row.err), Exit: row.exit})
		if err != nil || log.Failure == nil {
			t.Errorf("%s: no failure read: %v", row.name, err)
			continue
		}
		if log.Failure.Kind != row.want || len(log.GPUs) > 0 {
			t.Errorf("%s: %q (%s), want %q", row.name, log.Failure.Kind, log.Failure.Text, row.want)
		}
	}
	for _, out := range []string{"", "sh: nvidia-smi: not found\n", "{}", "<nvidia_smi_log>", "</nvidia_smi_log><nvidia_smi_log", "==============NVSMI LOG==============\n"} {
		if log, err := parseNvidiaSMI(&Evidence{Out: []byte(out)}); err == nil && (log.Complete || len(log.GPUs) > 0) {
			t.Errorf("%q is read as %+v", out, log)
		}
	}
}

func TestNvidiaMessages(t *testing.T) {
	t.Parallel()
	log, err := parseNvidiaSMI(&Evidence{
		Out: []byte("Unable to determine the device handle for GPU1: 0000:5F:00.0: Unknown Error\nWARNING: infoROM is corrupted at gpu 0000:67:00.0\n" +
			`<nvidia_smi_log><attached_gpus>3</attached_gpus><gpu id="0000:1B:00.0"></gpu><gpu id="0000:67:00.0"></gpu></nvidia_smi_log>` + "\nsomething else\n"),
		Err: []byte("bash: warning: setlocale\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []NvidiaMessage{
		{NvidiaLost, "0000:5f:00.0", 1, "Unable to determine the device handle for GPU1: 0000:5F:00.0: Unknown Error"},
		{NvidiaInfoROM, "0000:67:00.0", -1, "WARNING: infoROM is corrupted at gpu 0000:67:00.0"},
		{NvidiaOther, "", -1, "something else"},
	}
	if len(log.Messages) != len(want) {
		t.Fatalf("messages %+v", log.Messages)
	}
	for i := range want {
		if log.Messages[i] != want[i] {
			t.Errorf("message %d is %+v, want %+v", i, log.Messages[i], want[i])
		}
	}
	if got := log.GPUs[1].Index; got != 2 {
		t.Errorf("the GPU behind a lost one has index %d, want 2", got)
	}
}

func TestParseNvidiaCSV(t *testing.T) {
	t.Parallel()
	head := "timestamp, index, pci.bus_id, serial, utilization.gpu [%], pcie.link.gen.current, pcie.link.width.current, memory.total [MiB], ecc.errors.uncorrected.volatile.total\n"
	log, err := parseNvidiaSMI(&Evidence{Out: []byte(head +
		"2026/11/30 10:00:00.000, 0, 00000000:1B:00.0, 1650100000011, 97 %, 5, 16, 81559 MiB, 0\n" +
		"2026/11/30 10:00:00.000, 2, 00000000:A8:00.0, 1650100000012, 3, [Unknown Error], 8, 81559, [N/A]\n" +
		"Unable to determine the device handle for GPU1: 0000:5F:00.0: Unknown Error\n\n#rackproof-end 0\n")})
	if err != nil {
		t.Fatal(err)
	}
	if len(log.GPUs) != 2 || !log.Complete || len(log.Messages) != 1 || log.Messages[0].Address != "0000:5f:00.0" {
		t.Fatalf("%+v", log)
	}
	a, b := log.GPUs[0], log.GPUs[1]
	if a.Utilisation.V != 97 || a.LinkGen.V != 5 || a.Memory.V != 81559 || !a.UncorrectedTotal.Set || a.Index != 0 {
		t.Errorf("first GPU %+v", a)
	}
	if b.Utilisation.V != 3 || b.Memory.V != 81559 || b.LinkGen.Set || len(b.Faults) != 1 || b.UncorrectedTotal.Set || b.Index != 2 {
		t.Errorf("second GPU %+v", b)
	}
}

// A log that ends anywhere proves neither a whole machine nor a fault.
func TestNvidiaLogCutAnywhere(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(filepath.Join("testdata", "gpu-two-h100", "before", "nvidia-smi.out"))
	if err != nil {
		t.Fatal(err)
	}
	p := gpuProfile(t, "two-h100")
	checks := []Check{gpuCount, gpuDriver, gpuMemory, gpuECC, gpuRemap, gpuMIG, gpuFabric}
	end := strings.Index(string(whole), "</nvidia_smi_log>")
	for at := 0; at < end; at += 61 {
		found := gpuAnswers(looseGPU(map[string][]byte{"nvidia-smi": whole[:at]}), p, checks...)
		open := 0
		for id, f := range found {
			switch gpuAnswer(f) {
			case "fail":
				t.Fatalf("cut at byte %d: %s fails: %s", at, id, f.Why)
			case "not_run":
				open++
			}
		}
		if open == 0 {
			t.Fatalf("cut at byte %d: the machine passes", at)
		}
	}
}

func FuzzParseNvidiaSMI(f *testing.F) {
	f.Add(hardWork.csv())
	f.Add([]byte(strainPage))
	f.Add([]byte(nvidiaXMLLog("<serial>1</serial><remapped_rows>N/A</remapped_rows><ecc_errors><volatile><dram_uncorrectable>0</dram_uncorrectable></volatile></ecc_errors>")))
	f.Add([]byte("GPU 00000000:1B:00.0\n    Remapped Rows\n        Pending                  : No\n    Fabric    : N/A\n"))
	f.Add([]byte("index, pci.bus_id, utilization.gpu [%]\n0, 00000000:1B:00.0, 3 %\n"))
	f.Add([]byte("Failed to initialize NVML: Driver/library version mismatch\n"))
	f.Add([]byte("WARNING: infoROM is corrupted at gpu 0000:67:00.0\n<nvidia_smi_log><gpu id='0:1:2'>"))
	f.Fuzz(func(t *testing.T, out []byte) {
		log, err := parseNvidiaSMI(&Evidence{Out: out})
		if err == nil && log.Failure == nil && log.Form == "" {
			t.Errorf("read without a form: %+v", log)
		}
		for _, g := range log.GPUs {
			if g.Address != "" && normalAddress(g.Address) != g.Address {
				t.Errorf("address %q is not normal", g.Address)
			}
		}
	})
}
