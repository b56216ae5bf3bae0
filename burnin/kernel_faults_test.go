package burnin

import (
	"strings"
	"testing"
	"time"
)

// logLine puts a line into the log of the healthy host, before the load or under it.
func logLine(rec *Record, during bool, lines ...string) {
	for _, e := range rec.Evidence {
		if e.Probe != KernelLog.Spec.Name || during && e.Phase == PhaseBefore {
			continue
		}
		body, mark, _ := strings.Cut(string(e.Out), "\n#rackproof-end")
		for _, l := range lines {
			stamp := "[    5.000001] "
			if during {
				stamp = "[  901.000001] "
			}
			body += stamp + l + "\n"
		}
		e.Out = []byte(body + "\n#rackproof-end" + mark)
	}
}

// One message each, as the kernel prints it: before the test, and during it. What is
// not named is good, so a message that another check judges is not blamed here.
func TestKernelMessages(t *testing.T) {
	const machine = "/machine"
	rows := []struct {
		line           string
		id             string // of the answer
		before, during string // "" = not told
	}{
		{"Kernel panic - not syncing: Fatal machine check", "kernel.log/panic" + machine, "fail", "fail"},
		{"BUG: kernel NULL pointer dereference, address: 0000000000000008", "kernel.log/oops" + machine, "fail", "fail"},
		{"general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1] PREEMPT SMP NOPTI", "kernel.log/oops" + machine, "fail", "fail"},
		{"traps: python3[811] general protection fault ip:7f00 sp:7ffd error:0 in libc.so.6[7f00+1000]", "", "", ""},
		{"watchdog: BUG: soft lockup - CPU#7 stuck for 26s! [kworker/7:1:211]", "kernel.log/lockup/CPU#7", "warn", "fail"},
		{"watchdog: Watchdog detected hard LOCKUP on cpu 3", "kernel.log/lockup/cpu 3", "warn", "fail"},
		{"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "kernel.log/stall" + machine, "warn", "fail"},
		{"INFO: task nvidia-smi:4711 blocked for more than 120 seconds.", "kernel.log/hung_task" + machine, "warn", "fail"},
		{"WARNING: CPU: 12 PID: 1 at drivers/example/core.c:100 example_probe+0x10/0x20 [example]", "kernel.log/warning" + machine, "", "warn"},
		{"thermal thermal_zone0: critical temperature reached, shutting down", "kernel.log/overheated" + machine, "fail", "fail"},
		{"CPU3: Core temperature is above threshold, cpu clock is throttled (total events = 12)", "kernel.log/throttled" + machine, "warn", "warn"},
		{"CPU3: Core temperature/speed normal", "", "", ""},
		{"Out of memory: Killed process 811 (stressapptest) total-vm:1000kB, anon-rss:1kB", "kernel.log/out_of_memory/stressapptest", "", "not_run"},
		{"Memory cgroup out of memory: Killed process 811 (java) total-vm:1000kB", "", "", ""},
		{"stress-ng-cpu[811]: segfault at 0 ip 00005555 sp 00007ffd error 4 in stress-ng[5555+1000]", "kernel.log/load_crashed/stress-ng", "", "warn"},
		{"critical medium error, dev sda, sector 2048 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2", "kernel.log/disk_data/sda", "fail", "fail"},
		{"I/O error, dev sdb, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", "kernel.log/disk_error/sdb", "warn", "fail"},
		{"I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", "", "", ""},
		{"ata3.00: failed command: READ FPDMA QUEUED", "kernel.log/sata/ata3", "warn", "fail"},
		{"ata4: SATA link down (SStatus 0 SControl 300)", "", "", ""},
		{"EXT4-fs error (device dm-0): ext4_lookup:1785: inode #2: comm x: deleted inode referenced: 12", "kernel.log/filesystem/dm-0", "warn", "fail"},
		{"XFS (nvme0n1p2): Metadata corruption detected at xfs_agi_verify", "kernel.log/filesystem" + machine, "warn", "fail"},
		{"pcieport 0000:15:01.0: pciehp: Slot(5): Link Down", "kernel.log/hotplug/Slot(5)", "", "warn"},
		{"DMAR: [DMA Read NO_PASID] Request device [19:00.0] fault addr 0x1000 [fault reason 0x06] PTE Read access is not set", "kernel.log/iommu" + machine, "", "warn"},
		{"NETDEV WATCHDOG: ens1f0np0 (mlx5_core): transmit queue 3 timed out 5012 ms", "kernel.log/transmit_timeout/ens1f0np0", "warn", "fail"},
		{"mlx5_core 0000:19:00.0: mlx5_health_check:424: fatal error was detected by firmware", "kernel.log/adapter_health/PCIe device 0000:19:00.0", "fail", "fail"},
		{"nvme nvme1: I/O 22 QID 5 timeout, reset controller", "nvme.health/kernel_log/NVMe bay 1", "fail", "fail"},
		{"EDAC MC0: 1 UE memory read error on P2-DIMMA1", "memory.errors/uncorrected_events/DIMM P2-DIMMA1", "fail", "fail"},
		{"NVRM: Xid (PCI:0000:19:00): 79, pid=811, GPU has fallen off the bus.", "gpu.xid/xid/GPU SXM3", "fail", "fail"},
		{"pcieport 0000:16:00.0: DPC: containment event, status:0x1f01 source:0x0000", "pcie.errors/nonfatal/PCIe port 0000:16:00.0 (above GPU SXM3, NVMe bay 0, NIC port ens1f0np0)", "fail", "fail"},
	}
	p := gpuProfile(t, "host-node")
	for _, row := range rows {
		for _, during := range []bool{false, true} {
			rec := hostNode(t)
			logLine(rec, during, row.line)
			want, answer := map[string]string{}, row.before
			if during {
				answer = row.during
			}
			if answer != "" {
				want[row.id] = answer
			}
			t.Run(strings.Map(plainLetter, row.line[:min(40, len(row.line))]), func(t *testing.T) {
				wantAnswers(t, judged(t, rec, p, newGPUParts, append(hostChecks(), gpuXID)...), want, true)
			})
		}
	}
}

func plainLetter(r rune) rune {
	if strings.ContainsRune("/ :[]", r) {
		return '_'
	}
	return r
}

// What healthy servers print, at boot and behind it, means nothing.
func TestHealthyKernelMessages(t *testing.T) {
	rec := hostNode(t)
	logLine(rec, true, strings.Split(strings.TrimSpace(`
x86/cpu: SGX disabled by BIOS.
Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks possible via Spectre v2 BHB attacks!
ACPI BIOS Error (bug): Could not resolve symbol [\_SB.PC00.RP01], AE_NOT_FOUND (20220331/dswload2-162)
ACPI Error: AE_NOT_FOUND, During name lookup/catalog (20220331/psobject-220)
ERST: Error Record Serialization Table (ERST) support is initialized.
HEST: Table parsing has been initialized.
GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC.
EDAC MC0: Giving out device to module i10nm_edac controller Intel_10nm Socket#0 IMC#0: DEV 0000:fe:0c.0 (INTERRUPT)
mce: CPU0: Thermal monitoring enabled (TM1)
pcieport 0000:15:01.0: AER: enabled with IRQ 34
pcieport 0000:15:01.0: DPC: enabled with IRQ 34
pcieport 0000:15:01.0: pciehp: Slot #5 AttnBtn- PwrCtrl- MRL- AttnInd- PwrInd- HotPlug+ Surprise+ Interlock- NoCompl+ IbPresDis- LLActRep+
pci 0000:19:00.0: BAR 14: failed to assign [mem size 0x00100000]
DMAR: DRHD base: 0x000000c5ffc000 flags: 0x0
nvme nvme0: Shutdown timeout set to 10 seconds
nvme nvme0: missing or invalid SUBNQN field.
nvme nvme0: 32/0/0 default/read/poll queues
ata5: SATA link down (SStatus 0 SControl 300)
sd 6:0:0:0: [sda] Asking for cache data failed
usb 1-14.1: device descriptor read/64, error -71
IPv6: ADDRCONF(NETDEV_CHANGE): ens1f0np0: link becomes ready
mlx5_core 0000:19:00.0: firmware version: 28.39.1002
mlx5_core 0000:19:00.0: 252.048 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)
nvidia: loading out-of-tree module taints kernel.
NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.105.08
nvidia-nvswitch0: open (major=510)
perf: interrupt took too long (2505 > 2500), lowering kernel.perf_event_max_sample_rate to 79750
clocksource: Long readout interval, skipping watchdog check: cs_nsec: 1584036171 wd_nsec: 1584036160
systemd-journald[811]: /dev/kmsg buffer overrun, some messages lost.
kauditd_printk_skb: 29 callbacks suppressed
loop0: detected capacity change from 0 to 8
BERT: Error records from previous boot:
ipmi_si IPI0001:00: The BMC does not support clearing the recv irq bit, compensating, but the BMC needs to be fixed.
`), "\n")...)
	wantAnswers(t, judged(t, rec, gpuProfile(t, "host-node"), newGPUParts, append(hostChecks(), gpuXID)...), nil, true)
}

// The captures of the corpus: the first shows an XID and what its driver says of it, the
// second nothing.
func TestKernelCorpus(t *testing.T) {
	rules, err := newKernelRules(gpuProfile(t, "host-node"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"kernel/gpud-dmesg-xid119.log": 5, "kernel/gpud-kmsg.1.log": 0} {
		d, err := parseKernelLog(loose(string(corpus(t, name))))
		if err != nil {
			t.Fatal(err)
		}
		if len(d.XIDs) != want {
			t.Errorf("%s: %d XIDs, want %d", name, len(d.XIDs), want)
		}
		for _, l := range d.Lines {
			if rule, part, ok := rules.of(l.Text); ok {
				t.Errorf("%s: %q is taken for %s of %q", name, l.Text, rule, part)
			}
		}
	}
}

// A log without a reading before the load does not tell when something happened.
func TestKernelLogAlone(t *testing.T) {
	rec := hostNode(t)
	logLine(rec, true, "rcu: INFO: rcu_preempt self-detected stall on CPU", "Kernel panic - not syncing: x")
	drop(t, rec, "before/kernel-log")
	got := judged(t, rec, gpuProfile(t, "host-node"), newGPUParts, kernelLog)
	wantAnswers(t, got, map[string]string{"kernel.log/stall/machine": "not_run", "kernel.log/panic/machine": "fail", "kernel.log/log/machine": "not_run"}, true)
}

// A profile of an older version has no table, and nothing passes by it.
func TestKernelLogWithoutTable(t *testing.T) {
	p := *gpuProfile(t, "host-node")
	p.Kernel = nil
	got := judged(t, hostNode(t), &p, newGPUParts, kernelLog)
	wantAnswers(t, got, map[string]string{"kernel.log/log/machine": "not_run"}, true)
}

// A machine that restarted, and what it left behind.
func TestRestart(t *testing.T) {
	const first, second = "11111111-0000", "22222222-0000"
	began := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	boots := func(rec *Record, before, load, after string) {
		rec.Meta.Started = began
		for _, e := range rec.Evidence {
			switch e.Phase {
			case PhaseBefore:
				e.BootID = before
			case PhaseLoad:
				e.BootID = load
			case PhaseAfter:
				e.BootID = after
			case PhaseBMC: // has no boot
			}
		}
	}
	crash := func(phase Phase, probe, text string) func(*Record) {
		return func(rec *Record) {
			boots(rec, first, first, first)
			probe, instance, _ := strings.Cut(probe, "@")
			rec.Evidence = append(rec.Evidence, &Evidence{Probe: probe, Instance: instance, Phase: phase, Source: FromSSH, Ended: EndedExit, Exit: new(int), Out: []byte(text)})
		}
	}
	pstore := func(when string) string {
		return "#rackproof-pstore " + when + " /sys/fs/pstore/dmesg-efi-1\nPanic#1 Part1\n<0>[  301.000000] Kernel panic - not syncing: Fatal exception\n\n#rackproof-pstore-end\n\n#rackproof-end 0\n"
	}
	for _, c := range []struct {
		name   string
		change func(*Record)
		want   map[string]string
	}{
		{"one boot", func(rec *Record) { boots(rec, first, first, first) }, map[string]string{"kernel.log/restart/machine": "pass"}},
		{"no page tells of its boot", func(rec *Record) { boots(rec, "", "", "") }, map[string]string{"kernel.log/restart/machine": "not_run"}},
		{"no page behind the load tells of its boot", func(rec *Record) { boots(rec, first, first, "") }, map[string]string{"kernel.log/restart/machine": "not_run"}},
		{"no page before the load tells of its boot", func(rec *Record) { boots(rec, "", first, first) }, map[string]string{"kernel.log/restart/machine": "not_run"}},
		{"loose files tell of no boot", func(rec *Record) {
			boots(rec, "", "", "")
			rec.Meta.Coverage = CoverPartial
		}, map[string]string{"kernel.log/restart/machine": "not_applicable"}},
		{"another boot behind the load", func(rec *Record) { boots(rec, first, first, second) }, map[string]string{"kernel.log/restart/machine": "fail"}},
		{"another boot before the load", func(rec *Record) { boots(rec, first, second, second) }, map[string]string{"kernel.log/restart/machine": "fail"}},
		{"one page of another boot", func(rec *Record) {
			boots(rec, first, first, first)
			rec.Evidence[0].BootID = second
		}, map[string]string{"kernel.log/restart/machine": "pass"}},
		{"measured anew", func(rec *Record) {
			boots(rec, first, first, first)
			rec.Meta.Restarts = []Restart{{Seen: began, From: second, To: first}}
		}, map[string]string{"kernel.log/restart/machine": "warn"}},
		{"died since the attempt began", crash(PhaseAfter, "pstore", pstore("2026-11-30T10:05:00Z")), map[string]string{"kernel.log/crash/machine, /sys/fs/pstore/dmesg-efi-1": "fail"}},
		{"died long before", crash(PhaseBefore, "pstore", pstore("2026-10-01T10:05:00Z")), map[string]string{"kernel.log/crash/machine, /sys/fs/pstore/dmesg-efi-1": "warn"}},
		{"died, nobody knows when", crash(PhaseBefore, "pstore", pstore("-")), map[string]string{"kernel.log/crash/machine, /sys/fs/pstore/dmesg-efi-1": "warn"}},
		{"nothing left behind", crash(PhaseBefore, "pstore", "#rackproof-pstore-end\n\n#rackproof-end 0\n"), nil},
		{"died on the console", crash(PhaseBMC, "console", "\x1b[2Jnode login: \r\n[  301.000000][  T811] Kernel panic - not syncing: Fatal machine check\r\n"), map[string]string{"kernel.log/crash/machine, console": "fail"}},
		{"died on the console under test", crash(PhaseBMC, "console@burn-in", "[  301.000000] Kernel panic - not syncing: sysrq triggered crash\r\n"), map[string]string{"kernel.log/crash/machine, console burn-in": "fail"}},
		{"died on a console whose session was lost", func(rec *Record) {
			crash(PhaseBMC, "console", "node login: \r\n[  301.000000] Kernel panic - not syncing: Fatal exception\r\n")(rec)
			last := rec.Evidence[len(rec.Evidence)-1]
			last.Ended, last.Exit, last.Err = EndedLost, nil, []byte("the BMC closed the session\n")
		}, map[string]string{"kernel.log/crash/machine, console": "fail"}},
		{"a quiet console", crash(PhaseBMC, "console", "node login: \r\n"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := hostNode(t)
			c.change(rec)
			wantAnswers(t, judged(t, rec, gpuProfile(t, "host-node"), newGPUParts, kernelLog), c.want, true)
		})
	}
}

// Every check that a rule of the shipped table names is one of ours and reads the log.
func TestKernelRulesNameChecks(t *testing.T) {
	p := gpuProfile(t, "hgx-h100-8")
	reads := map[string]bool{"": true}
	for _, c := range Checks() {
		for _, probe := range c.Probes {
			reads[c.Name] = reads[c.Name] || probe == KernelLog.Spec.Name
		}
	}
	for name, rule := range p.Kernel {
		if !reads[rule.Check] {
			t.Errorf("kernel message %s belongs to %s, which does not read the log", name, rule.Check)
		}
	}
}
