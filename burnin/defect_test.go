package burnin_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
)

// edit replaces the first match of a pattern in some evidence; "$1" means a group.
type edit struct{ ref, pattern, with string }

func (e edit) apply(t *testing.T, rec *burnin.Record) {
	t.Helper()
	ev := evidenceOf(t, rec, e.ref)
	re := regexp.MustCompile(e.pattern)
	at := re.FindSubmatchIndex(ev.Out)
	if at == nil {
		t.Fatalf("%s holds no %q", e.ref, e.pattern)
	}
	out := slices.Clone(ev.Out[:at[0]])
	out = re.Expand(out, []byte(e.with), ev.Out, at)
	ev.Out = append(out, ev.Out[at[1]:]...)
}

// One value that is not what it should be, in one page of a healthy record: the
// machine fails where the page shows damage, and is never passed where it shows that
// nothing was measured.
func TestDefects(t *testing.T) {
	base, to := healthyHGX(t)
	rows := []struct {
		name  string
		want  burnin.Result
		edits []edit
	}{
		{"a GPU is gone after the load", burnin.Failed, []edit{
			{"after/nvidia-smi", `(?s)\t<gpu id="00000000:4B:00\.0">.*?</gpu>\n`, ""},
			{"after/nvidia-smi", `<attached_gpus>8<`, "<attached_gpus>7<"},
		}},
		{"a GPU is there twice and another not", burnin.Failed, []edit{{"after/nvidia-smi", `<gpu id="00000000:4B:00\.0">`, `<gpu id="00000000:3A:00.0">`}}},
		{"remapping failed", burnin.Failed, []edit{{"after/nvidia-smi", `(<remapped_row_failure>)No`, "${1}Yes"}}},
		{"remapping is not told", burnin.Incomplete, []edit{{"after/nvidia-smi", `(<remapped_row_failure>)No`, "${1}N/A"}}},
		{"a remap is pending", burnin.Failed, []edit{{"before/nvidia-smi", `(<remapped_row_pending>)No`, "${1}Yes"}}},
		{"DRAM counter reads N/A, SRAM zero", burnin.Incomplete, []edit{{"after/nvidia-smi", `(<dram_uncorrectable>)0`, "${1}N/A"}}},
		{"one half of the SRAM counter is empty", burnin.Incomplete, []edit{{"after/nvidia-smi", `(<sram_uncorrectable_parity>)0`, "${1}"}}},
		{"a field reads ERR!", burnin.Failed, []edit{{"after/nvidia-smi", `(<gpu_temp>)\d+ C`, "${1}ERR!"}}},
		{"ECC is off after the next reset", burnin.Failed, []edit{{"after/nvidia-smi", `(<pending_ecc>)Enabled`, "${1}Disabled"}}},
		{"MIG is on", burnin.Failed, []edit{{"after/nvidia-smi", `(<current_mig>)Disabled`, "${1}Enabled"}}},
		{"the fabric has no room", burnin.Failed, []edit{{"after/nvidia-smi", `(<status>)Success`, "${1}Insufficient Resources"}}},
		{"the replay counter was reset", burnin.Incomplete, []edit{{"after/nvidia-smi", `(<replay_counter>)\d+`, "${1}0"}}},
		{"the replay counter reads N/A", burnin.Incomplete, []edit{{"after/nvidia-smi", `(<replay_counter>)\d+`, "${1}N/A"}}},
		{"less memory", burnin.Failed, []edit{{"after/nvidia-smi", `(?s)(<fb_memory_usage>\s*<total>)\d+`, "${1}80000"}}},
		{"a link is down after the load", burnin.Failed, []edit{{"after/nvlink", `Link 3: 26\.562 GB/s`, "Link 3: <inactive>"}}},
		{"a link is slow", burnin.Failed, []edit{{"after/nvlink", `Link 3: 26\.562 GB/s`, "Link 3: 1.562 GB/s"}}},
		{"a link has a decimal comma", burnin.Incomplete, []edit{{"after/nvlink", `Link 3: 26\.562 GB/s`, "Link 3: 26,562 GB/s"}}},
		{"a link counted a replay", burnin.Failed, []edit{{"after/nvlink-errors", `(Link 4: Replay Errors: )0`, "${1}1"}}},
		{"a link's counter was reset", burnin.Incomplete, []edit{{"before/nvlink-errors", `(Link 4: Replay Errors: )0`, "${1}5"}}},
		{"a link's counter is full", burnin.Incomplete, []edit{
			{"before/nvlink-errors", `(Link 4: CRC Errors: )0`, "${1}65535"}, {"after/nvlink-errors", `(Link 4: CRC Errors: )0`, "${1}65535"},
		}},
		{"a link has no counters any more", burnin.Incomplete, []edit{{"after/nvlink-errors", `(?m)^.*Link 4: .*\n.*Link 4: .*\n.*Link 4: .*\n`, ""}}},
		{"a pair is joined by PCIe", burnin.Failed, []edit{{"after/gpu-topology", `NV18`, "SYS"}}},
		{"a cell of the matrix is empty", burnin.Incomplete, []edit{{"after/gpu-topology", `NV18`, "N/A"}}},
		{"a DIMM is missing", burnin.Failed, []edit{{"before/dmidecode", `(?s)(Size: )64 GB`, "${1}No Module Installed"}}},
		{"a DIMM was not sized", burnin.Incomplete, []edit{{"before/dmidecode", `(?s)(Size: )64 GB`, "${1}Unknown"}}},
		{"a DIMM without ECC", burnin.Failed, []edit{{"before/dmidecode", `Total Width: 80 bits`, "Total Width: 64 bits"}}},
		{"memory without ECC", burnin.Failed, []edit{{"before/dmidecode", `(Error Correction Type: )\S.*`, "${1}None"}}},
		{"a DIMM lost data", burnin.Failed, []edit{{"after/edac", "(\tmc0/dimm0\t0\t)0", "${1}1"}}},
		{"a DIMM's counter cannot be read", burnin.Incomplete, []edit{{"after/edac", "(\tmc0/dimm0\t0\t)0", "${1}"}}},
		{"a GPU left the bus, then came back", burnin.Failed, []edit{{"after/kernel-log", `\n\z|\n(#rackproof-end)`, "\n[  300.100000] NVRM: Xid (PCI:0000:4b:00): 79, GPU has fallen off the bus.\n$1"}}},
		{"the log forgot its beginning", burnin.Incomplete, []edit{{"before/kernel-log", `Linux version`, "Linux"}}},
		{"a fatal error on a link", burnin.Failed, []edit{{"after/pci-sysfs", "(aer\t0000:4b:00.0\tfatal\t[A-Z]\\w+\t)0", "${1}1"}}},
		{"a link at half its width", burnin.Failed, []edit{{"load/pci-sysfs", `(dev	0000:4b:00\.0	.*?current_link_width=)16`, "${1}8"}}},
		{"a drive lost data", burnin.Failed, []edit{{"after/smartctl@nvme3", `("media_errors": )0`, "${1}1"}}},
		{"a drive does not tell its media errors", burnin.Incomplete, []edit{{"after/smartctl@nvme3", `("media_errors": )0`, `${1}"N/A"`}}},
		{"a drive's lines are missing", burnin.Incomplete, []edit{{"after/pci-sysfs", `(?m)^dev	0000:4c:00\.0	.*\n(?:(?:aer|nvme|blk)	0000:4c:00\.0	.*\n)*`, ""}}},
		{"gpu_burn found a fault and ended with 0", burnin.Failed, []edit{{"load/gpu-burn", `GPU 0: OK`, "GPU 0: FAULTY"}}},
		{"gpu_burn counted a wrong result", burnin.Failed, []edit{{"load/gpu-burn", `errors: 0 `, "errors: 1  (WARNING!)"}}},
		{"a GPU did not compute", burnin.Failed, []edit{{"load/gpu-burn", `(?s)proc'd: \d+ \(\d+(.*?)proc'd: \d+ \(\d+(.*?)proc'd: \d+ \(\d+`, "proc'd: 0 (0${1}proc'd: 0 (0${2}proc'd: 0 (0"}}},
		{"a GPU copies slowly", burnin.Failed, []edit{{"load/nvbandwidth", `"55.2"`, `"27.6"`}}},
		{"a copy was waived", burnin.Incomplete, []edit{{"load/nvbandwidth", `Passed`, "Waived"}}},
		{"a pair was not measured", burnin.Incomplete, []edit{{"load/nvbandwidth", `"38\d\.\d+"`, `"N/A"`}}},
		{"the fabric is slow", burnin.Failed, []edit{{"load/nccl", `476.20`, "365.20"}}},
		{"the GPUs were not compared", burnin.Incomplete, []edit{{"load/nccl", `476\.20      0`, "476.20    N/A"}}},
		{"the diagnostic failed a GPU", burnin.Failed, []edit{{"load/dcgm", `"Pass"`, `"Fail"`}}},
		{"the diagnostic skipped a GPU", burnin.Incomplete, []edit{{"load/dcgm", `"Pass"`, `"Skip"`}}},
		{"BMC and host are two machines", burnin.Failed, []edit{
			{"bmc/bmc-inventory", `("UUID":")[0-9a-f]{8}`, "${1}00000001"},
			{"bmc/bmc-inventory", `("MACAddress":"..:..:..:)..`, "${1}00"},
			{"bmc/bmc-inventory", `("SerialNumber":")SIM`, "${1}XIM"},
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			rec := copyRecord(base)
			for _, e := range row.edits {
				e.apply(t, rec)
			}
			if j := to.of(rec); j.Result != row.want {
				t.Errorf("result %s, want %s: %s", j.Result, row.want, describe(j))
			}
		})
	}
}

// What real, healthy machines show and other tools took for a fault.
func TestHealthyNoise(t *testing.T) {
	base, to := healthyHGX(t)
	all := func(from, with string) func(*burnin.Record) {
		return func(rec *burnin.Record) {
			for _, e := range rec.Evidence {
				e.Out = bytes.ReplaceAll(e.Out, []byte(from), []byte(with))
			}
		}
	}
	rows := []struct {
		name   string
		change func(*burnin.Record)
	}{
		{"lines end in CR LF", all("\n", "\r\n")},
		{"replays grew a little", func(rec *burnin.Record) {
			edit{"after/nvidia-smi", `(<replay_counter>)\d+`, "${1}120"}.apply(t, rec)
			edit{"before/nvidia-smi", `(<replay_counter>)\d+`, "${1}106"}.apply(t, rec)
		}},
		{"GPU errors were corrected", func(rec *burnin.Record) {
			edit{"after/nvidia-smi", `(<dram_correctable>)0`, "${1}3"}.apply(t, rec)
		}},
		{"the error log of a drive has entries", func(rec *burnin.Record) {
			for _, ref := range []string{"before/smartctl@nvme3", "after/smartctl@nvme3"} {
				edit{ref, `("num_err_log_entries": )\d+`, "${1}17"}.apply(t, rec)
			}
		}},
		{"links idle at the first generation", func(rec *burnin.Record) {
			edit{"before/pci-sysfs", `(dev	0000:4b:00\.0	.*?current_link_speed=)32\.0`, "${1}2.5"}.apply(t, rec)
			edit{"after/nvidia-smi", `(<current_link_gen>)5`, "${1}1"}.apply(t, rec)
		}},
		{"an application ended with an error on a GPU that the driver explains", func(rec *burnin.Record) {
			edit{"after/kernel-log", `\n\z|\n(#rackproof-end)`, "\n[  300.100000] NVRM: Xid (PCI:0000:4b:00): 43, pid=811, name=a.out, Ch 00000008\n$1"}.apply(t, rec)
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			rec := copyRecord(base)
			row.change(rec)
			if j := to.of(rec); j.Result != burnin.Passed {
				t.Error(describe(j))
			}
		})
	}
}

// A healthy machine of every profile that ships passes without a waiver, as it is ordered, which is what the profile
// itself says and no more.
func TestHealthyLibrary(t *testing.T) {
	lib := shippedLibrary()
	spec, err := lib.Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lib.ProfileNames() {
		if name == "lab-vm" {
			continue // it is judged on the lab's machine itself
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for its disk most of the time
			p, err := lib.Profile(name)
			if err != nil {
				t.Fatal(err)
			}
			m, err := nodetest.New(name, "bench", 11)
			if err != nil {
				t.Fatal(err)
			}
			if j := burnin.Judge(burnRecord(t, m, p, burnin.Loads()), p, spec); j.Result != burnin.Passed || strings.Contains(describe(j), "warn") {
				t.Error(describe(j))
			}
		})
	}
}

// Cards without NVLink, fabric or MIG, whose links idle slowly, pass as they are.
func TestHealthyModels(t *testing.T) {
	for _, model := range nodetest.Models() {
		t.Run(model, func(t *testing.T) {
			rec, to := healthyRecord(t, model, burnin.Loads(), nil)
			if j := to.of(rec); j.Result != burnin.Passed || strings.Contains(describe(j), "warn") {
				t.Error(describe(j))
			}
		})
	}
}
