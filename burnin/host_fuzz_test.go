package burnin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzzParser feeds a parser with what is left of good output. It must not panic, and
// must give the same answer twice: judging is pure.
func fuzzParser(f *testing.F, probe string, seeds ...string) {
	f.Helper()
	parse := hostParsers()[probe]
	files, err := filepath.Glob(filepath.Join("testdata", "host-node", "*", probe+"*.out"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		first := parse(&Evidence{Out: out, Ended: EndedUnknown})
		second := parse(&Evidence{Out: out, Ended: EndedUnknown})
		if (first == nil) != (second == nil) {
			t.Errorf("two readings of one output differ: %v and %v", first, second)
		}
	})
}

func FuzzLSPCI(f *testing.F) {
	fuzzParser(f, "lspci", "00:01.0 PCI bridge [0604]: Example [8086:352a] (rev ff)\n\tBus: primary=00, secondary=00, subordinate=19\n\t\tLnkSta:\tSpeed 32GT/s, Width x63\n", "19:00.0 0302: 10de:2330\n")
}

func FuzzPCISysfs(f *testing.F) {
	fuzzParser(f, "pci-sysfs", drivePage("temp\t0000:19:00.0\tnvme0\t33850\n"), pciSysfsHead+"\ndev\t0000:19:00.0\tparent=0000:19:00.0\nslot\t0000:19\tx\nblk\t0000:19:00.0\tnvmecn\t1\t2\t3\n"+pciSysfsEnd+"1\n")
}

func FuzzDmidecode(f *testing.F) {
	fuzzParser(f, "dmidecode", "Handle 0x0, DMI type 99999999999999999999, 1 bytes\nMemory Device\n\tSize: 9999999999999 TB\n")
}

func FuzzEDAC(f *testing.F) {
	fuzzParser(f, "edac", "mc1: csrow1: CPU_SrcID#1_Channel#1_DIMM#0: 31 Corrected Errors\n")
}

func FuzzRAS(f *testing.F) {
	fuzzParser(f, "ras", "MCE events:\n1 .. error: Corrected error, CECC\n", "Label\tCE\tUE\nx\t1\t2\n")
}

func FuzzKernelLog(f *testing.F) {
	fuzzParser(f, "kernel-log", "[    1.0] nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 32\n[    2.0] NVRM: Xid (PCI:0000:61:00 GPU-I:05): 145, RLW_CTRL Nonfatal XC0\n", "[    1.0] NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.\n", "3,1,99999999999999999999,-;EDAC MC0: 1 UE x\n")
}

func FuzzFio(f *testing.F) {
	fuzzParser(f, "fio", "fio: err=5/file\n"+fioPage(fioJob), fioPage(`{"jobname":"x","error":"1"}`), "{\n\"jobs\": [{\"read\": {\"bw\": 1e999}}]}")
}

func FuzzMemoryStress(f *testing.F) {
	fuzzParser(f, "memory-stress", satBegin+satGood, satBegin+satFaultLine+satBad)
}

func FuzzNVBandwidth(f *testing.F) {
	fuzzParser(f, "nvbandwidth", copyText, copyJSON("Passed", "55.1", "55.2"), `{"nvbandwidth":{"testcases":[{"name":7,"bandwidth_matrix":[["1e999",[]],[]]}]}}`, "Running x.\n0\n0 1 2\nWaived\n")
}

func FuzzNCCL(f *testing.F) {
	fuzzParser(f, "nccl", ncclNew, ncclOld, "# busbw busbw busbw\n1 2 3\n# Out of bounds values : x\n")
}

func FuzzDCGM(f *testing.F) {
	fuzzParser(f, "dcgm", dcgmPage("Pass", ""), `{"DCGM GPU Diagnostic":{"test_categories":[{"tests":[{"name":"PCIe","results":[{"gpu_ids":"0,99999999","status":1,"warnings":"x"}]}]}]}}`)
}

func FuzzGPUBurn(f *testing.F) {
	fuzzParser(f, "gpu-burn", burnGood, "GPU 63: x (UUID: GPU-1)\r1.0%  proc'd: -1 (0 Gflop/s)   errors: -1  (DIED!)  temps: -- \nTested 9 GPUs:\nGPU 999999: OK\n")
}

func FuzzStressNG(f *testing.F) {
	fuzzParser(f, "stress-ng", "stress-ng: fail:  [1] cpu: x\nstress-ng: info:  [1] successful run completed in 1s\n")
}

func FuzzStressNGMemory(f *testing.F) {
	fuzzParser(f, "stress-ng-memory", vmTaken+vmHogs+vmMetric+vmCounts+vmSuccess, vmHogs+vmBits, "stress-ng: info:  [1] dispatching hogs: 99999999999999999999 vm\nstress-ng: info:  [1] passed: -1\n")
}

func FuzzNVMeWrite(f *testing.F) {
	fuzzParser(f, "nvme-write", "#nvme-write disk nvme0n1 A B\n"+fioPage(fioJob), "#nvme-write refused disk A: x\n", "#nvme-write disk nvme0n1 A\n{\n")
}

func FuzzGPUFryer(f *testing.F) {
	fuzzParser(f, "gpu-fryer", fryerHead+fryerBoth+fryerTail+fryerWell, fryerCrash, "GPU #999999: 1 Gflops/s (min: 1, max: 1, dev: 1)\nThrottling HW: true, Thermal SW: true, Thermal HW: true\n")
}

func FuzzPstore(f *testing.F) {
	fuzzParser(f, "pstore", "#rackproof-pstore 2026-11-30T10:00:00Z /sys/fs/pstore/dmesg-efi-1\nPanic#1 Part1\n<0>[    9.0] Kernel panic - not syncing: x\n#rackproof-pstore-end\n", "#rackproof-pstore - \n")
}

func FuzzConsole(f *testing.F) {
	fuzzParser(f, "console", "\x1b[2J\x1b[01;01Hlogin: \r\n[   9.000000] Kernel panic - not syncing: x\r\n")
}

func FuzzLSCPU(f *testing.F) {
	fuzzParser(f, "lscpu", `{"lscpu":[{"field":"CPU(s):","data":"8","children":[]}]}`, "CPU(s): 8\n")
}

func FuzzOS(f *testing.F) { fuzzParser(f, "os", "kernel=6.12\nuptime=1 2\ndmi.product_uuid=x\n") }

func FuzzNVMeList(f *testing.F) {
	fuzzParser(f, "nvme-list", `{"Devices":[{"Controller":"nvme0","SerialNumber":"S","Namespaces":[{"PhysicalSize":"1e400"}]}]}`)
}

func FuzzNVMeSmart(f *testing.F) {
	fuzzParser(f, "nvme-smart", `{"critical_warning":{"value":"0x"},"avail_spare":-1,"media_errors":1e999}`, "available_spare : 100%\n")
}

func FuzzSmartctl(f *testing.F) { fuzzParser(f, "smartctl") }

func FuzzBlockDevices(f *testing.F) {
	fuzzParser(f, "block-devices", `{"blockdevices":[{"name":"sda","size":"9M","children":[null,{"children":[]}]}]}`)
}

func FuzzGDSCheck(f *testing.F) { fuzzParser(f, "gdscheck") }

func FuzzBMCLan(f *testing.F) { fuzzParser(f, "bmc-lan") }

func FuzzBMCInventory(f *testing.F) {
	fuzzParser(f, "bmc-inventory", `{"/a":{"@odata.type":"#Power.v1","PowerSupplies":[{},[],null]},"/b":{"@odata.type":"#PCIeDevice.v1","Oem":{"X":{"GPUSlot":"3"}}}}`)
}

// FuzzHostChecks judges broken evidence: no check may panic, and a cut output never
// passes what the whole one fails.
func FuzzHostChecks(f *testing.F) {
	f.Add("pci-sysfs", 300)
	f.Add("dmidecode", 2000)
	f.Add("kernel-log", 40)
	f.Fuzz(func(t *testing.T, probe string, cut int) {
		rec := hostNode(t)
		for _, e := range rec.Evidence {
			if e.Probe == strings.TrimSpace(probe) && cut >= 0 && cut < len(e.Out) {
				e.Out = e.Out[:cut]
			}
		}
		r := NewReadings(rec)
		for _, c := range hostChecks() {
			if len(c.Judge(r, gpuProfile(t, "host-node"), newGPUParts)) == 0 {
				t.Errorf("%s gives no answer", c.Name)
			}
		}
	})
}
