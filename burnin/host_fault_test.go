package burnin

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// hostFault is the healthy host with something wrong.
type hostFault struct {
	name  string
	edits []gpuEdit
	drop  []string
	setup func(*Record)
	spec  *profiles.Spec
	want  map[string]string // everything else must stay good, unless loosely

	loosely bool
}

func swap(ref, old, changed string) gpuEdit { return gpuEdit{ref: ref, old: old, new: changed} }

func TestFaultyHost(t *testing.T) {
	for _, c := range hostFaults() {
		t.Run(c.name, func(t *testing.T) {
			rec := hostNode(t)
			for _, e := range c.edits {
				e.apply(t, rec)
			}
			drop(t, rec, c.drop...)
			if c.setup != nil {
				c.setup(rec)
			}
			spec := c.spec
			if spec == nil {
				spec = newGPUParts
			}
			wantAnswers(t, judged(t, rec, gpuProfile(t, "host-node"), spec, hostChecks()...), c.want, !c.loosely)
		})
	}
}

func hostFaults() []hostFault {
	all := [][]hostFault{identityFaults(), memoryFaults(), memoryErrorFaults(), linkFaults(), linkErrorFaults(), driveFaults(), gdsFaults()}
	var out []hostFault
	for _, some := range all {
		out = append(out, some...)
	}
	return out
}

func identityFaults() []hostFault {
	return []hostFault{
		{
			name:  "the batch means another machine",
			setup: func(rec *Record) { rec.Machine.Wanted = WantedIdentity{Serial: "EXS0002"} },
			want:  map[string]string{"identity/serial/machine": "fail"},
		},
		{
			name:  "the sticker shows the chassis serial",
			setup: func(rec *Record) { rec.Machine.Wanted = WantedIdentity{Serial: " exc0001 "} },
		},
		{
			name: "uuid and mac of the batch, uuid in the other byte order",
			setup: func(rec *Record) {
				rec.Machine.Wanted = WantedIdentity{UUID: "33221100-5544-7766-8899-AABBCCDDEEFF", MAC: "7C-C2-55-00-00-07"}
			},
			want: map[string]string{"identity/uuid/machine": "pass", "identity/mac/machine": "pass", "identity/serial/machine": "not_applicable"},
		},
		{
			name:  "the batch names a port of the host",
			setup: func(rec *Record) { rec.Machine.Wanted.MAC = "7c:c2:55:00:10:01" },
			want:  map[string]string{"identity/mac/machine": "pass"},
		},
		{
			name:  "the batch names a port of another host",
			setup: func(rec *Record) { rec.Machine.Wanted.MAC = "7c:c2:55:00:99:99" },
			want:  map[string]string{"identity/mac/machine": "fail"},
		},
		{
			name: "crossed cables: the BMC is that of the neighbour",
			edits: []gpuEdit{
				swap("bmc/bmc-inventory", "33221100-5544-7766-8899-AABBCCDDEEFF", "33221100-5544-7766-8899-AABBCCDDEE00"),
				swap("bmc/bmc-inventory", "7C:C2:55:00:00:07", "7C:C2:55:00:00:08"),
				swap("bmc/bmc-inventory", `"EXS0001 "`, `"EXS0002"`),
				swap("bmc/bmc-inventory", `"EXC0001"`, `"EXC0002"`),
			},
			want: map[string]string{"identity/bmc_host/machine": "fail"},
		},
		{
			name: "placeholders on both sides, and nothing else to compare",
			edits: []gpuEdit{
				swap("bmc/bmc-inventory", "33221100-5544-7766-8899-AABBCCDDEEFF", "03000200-0400-0500-0006-000700080009"),
				swap("bmc/bmc-inventory", `"EXS0001 "`, `"To be filled by O.E.M."`),
				swap("bmc/bmc-inventory", `"EXC0001"`, `"0000000000"`),
			},
			drop: []string{"before/bmc-lan"},
			want: map[string]string{"identity/bmc_host/machine": "not_run"},
		},
		{
			name: "a token came back from the host, the board was swapped",
			edits: []gpuEdit{
				swap("bmc/bmc-inventory", "33221100-5544-7766-8899-AABBCCDDEEFF", "33221100-5544-7766-8899-AABBCCDDEE00"),
			},
			setup: func(rec *Record) { rec.Machine.Proof = "one-time token over HTTP boot" },
			want:  map[string]string{"identity/bmc_host/machine": "warn"},
		},
		{
			name: "the BMC was not asked",
			drop: []string{"bmc/bmc-inventory"},
			want: map[string]string{
				"identity/bmc_host/machine":      "not_run",
				"memory.population/count/memory": "pass",
			},
		},
		{
			name:  "a host alone has no BMC to be compared with",
			drop:  []string{"bmc/bmc-inventory", "before/bmc-lan"},
			setup: func(rec *Record) { rec.Meta.Coverage = CoverHost },
			want:  map[string]string{"identity/bmc_host/machine": "not_applicable"},
		},
	}
}

const moduleB2 = "P2-DIMMB1"

func memoryFaults() []hostFault {
	gone := []gpuEdit{
		{ref: "before/dmidecode", old: "Size: 32 GB", new: "Size: No Module Installed", nth: 3},
	}
	return []hostFault{
		{
			name:  "a DIMM is missing, and the BMC sees it",
			edits: gone,
			want: map[string]string{
				"memory.population/count/memory":             "fail",
				"memory.population/total/memory":             "fail",
				"memory.population/present/DIMM " + moduleB2: "fail",
				"memory.population/channels/memory of CPU 2": "fail",
			},
		},
		{
			name:  "a DIMM is missing, named by its twins on the other CPU",
			edits: gone,
			drop:  []string{"bmc/bmc-inventory"},
			want: map[string]string{
				"identity/bmc_host/machine":                  "not_run",
				"memory.population/count/memory":             "fail",
				"memory.population/total/memory":             "fail",
				"memory.population/present/DIMM " + moduleB2: "fail",
				"memory.population/channels/memory of CPU 2": "fail",
			},
		},
		{
			name: "a DIMM is too small and too slow, another has no ECC",
			edits: []gpuEdit{
				swap("before/dmidecode", "Size: 32 GB", "Size: 16384 MB"),
				swap("before/dmidecode", "Configured Memory Speed: 4800 MT/s", "Configured Clock Speed: 4400 MHz"),
				{ref: "before/dmidecode", old: "Total Width: 80 bits", new: "Total Width: 64 bits", nth: 1},
			},
			want: map[string]string{
				"memory.population/size/DIMM P1-DIMMA1": "fail", "memory.population/total/memory": "fail",
				"memory.ecc/speed/DIMM P1-DIMMA1": "fail", "memory.ecc/ecc_width/DIMM P1-DIMMB1": "fail",
			},
		},
		{
			name: "no error correction, widths not told",
			edits: []gpuEdit{
				swap("before/dmidecode", "Error Correction Type: Multi-bit ECC", "Error Correction Type: None"),
				swap("before/dmidecode", "Total Width: 80 bits", "Total Width: Unknown"),
				swap("before/dmidecode", "Configured Memory Speed: 4800 MT/s", "Configured Memory Speed: Unknown"),
			},
			want: map[string]string{
				"memory.ecc/error_correction/memory": "fail", "memory.ecc/ecc_width/DIMM P1-DIMMA1": "not_run",
				"memory.ecc/speed/DIMM P1-DIMMA1": "not_run",
			},
		},
		{
			name: "no tables in the kernel: the BMC counts, and ECC is open",
			setup: func(rec *Record) {
				replace(rec, "before/dmidecode", "# dmidecode 3.4\n# No SMBIOS nor DMI entry point found, sorry.\n")
			},
			want: map[string]string{
				"memory.population/count/memory": "pass", "memory.ecc/error_correction/memory": "not_run",
				"memory.ecc/ecc_width/memory": "not_run", "memory.ecc/speed/memory": "not_run",
			},
		},
	}
}

// replace gives evidence another output; it must be there.
func replace(rec *Record, ref, out string) {
	for _, e := range rec.Evidence {
		if e.Ref() == ref {
			e.Out = []byte(out)
			return
		}
	}
	panic("the case has no " + ref)
}

func memoryErrorFaults() []hostFault {
	const oneCE = "[  700.000000] EDAC MC1: 1 CE memory read error on P2-DIMMA1 (channel:0 slot:0)\n"
	return []hostFault{
		{
			name:  "corrected errors grew",
			edits: []gpuEdit{swap("after/edac", "mc1/dimm0\t0\t0", "mc1/dimm0\t31\t0")},
			want:  map[string]string{"memory.errors/corrected/DIMM P2-DIMMA1": "fail"},
		},
		{
			name: "corrected errors were there before and did not grow",
			edits: []gpuEdit{
				swap("before/edac", "mc1/dimm0\t0\t0", "mc1/dimm0\t31\t0"), swap("after/edac", "mc1/dimm0\t0\t0", "mc1/dimm0\t31\t0"),
			},
			want: map[string]string{"memory.errors/corrected/DIMM P2-DIMMA1": "pass"},
		},
		{
			name:  "one uncorrected error is one too many, even if a reset hides it",
			edits: []gpuEdit{swap("before/edac", "mc0/dimm1\t0\t0", "mc0/dimm1\t0\t1")},
			want:  map[string]string{"memory.errors/uncorrected/DIMM P1-DIMMB1": "fail"},
		},
		{
			name:  "errors that the controller assigns to no DIMM",
			edits: []gpuEdit{swap("after/edac", "mc0\t0\t0\t0\t0", "mc0\t2\t0\t2\t0")},
			want:  map[string]string{"memory.errors/corrected/memory behind controller mc0": "fail"},
		},
		{
			name:  "no controller is no zero",
			setup: func(rec *Record) { replace(rec, "after/edac", "#rackproof-edac 1\n#rackproof-edac-end 0\n") },
			want:  map[string]string{"memory.errors/uncorrected/memory": "not_run", "memory.errors/corrected/memory": "not_run"},
		},
		{
			name: "the counters were not read behind the load",
			drop: []string{"after/edac"},
			want: map[string]string{"memory.errors/uncorrected/memory": "not_run", "memory.errors/corrected/memory": "not_run"},
		},
		{
			name:  "the log has an error that the counters do not have",
			edits: []gpuEdit{swap("after/kernel-log", "[  900.100000]", oneCE+"[  900.100000]")},
			want:  map[string]string{"memory.errors/corrected_events/DIMM P2-DIMMA1": "fail"},
		},
		{
			name: "the processor corrected an error of its own cache, which is no module's",
			edits: []gpuEdit{swap("after/kernel-log", "[  900.100000]",
				"[  700.000000] mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 1: 9c00000000010151\n[  900.100000]")},
			want: map[string]string{"memory.errors/corrected_events/processors": "fail"},
		},
		{
			name: "a machine check that is announced and told",
			edits: []gpuEdit{swap("after/kernel-log", "[  900.100000]", "[  700.000000] mce: [Hardware Error]: Machine check events logged\n"+
				"[  700.000001] mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 1: 9c00000000010151\n[  900.100000]")},
			want: map[string]string{"memory.errors/corrected_events/processors": "fail"},
		},
		{
			name: "a machine check that nobody tells, beside an error",
			edits: []gpuEdit{
				swap("after/kernel-log", "[  900.100000]",
					"[  600.000000] mce: [Hardware Error]: Machine check events logged\n[  700.000000] some line\n"+oneCE+"[  900.100000]"),
				swap("after/kernel-log", "[  700.000000] some line\n", strings.Repeat("[  700.000000] some line\n", 9)),
			},
			want: map[string]string{"memory.errors/corrected_events/DIMM P2-DIMMA1": "fail", "memory.errors/events/memory": "not_run"},
		},
		{
			name: "an error in a log that is not whole",
			edits: []gpuEdit{
				swap("after/kernel-log", "[  900.100000]", oneCE+"[  900.100000]"),
				swap("after/kernel-log", "Linux version", "Linux"), swap("after/kernel-log", "[   12.500000]", "[  600.500000]"),
			},
			want: map[string]string{"memory.errors/corrected_events/DIMM P2-DIMMA1": "fail", "memory.errors/events/memory": "not_run", "kernel.log/log/machine": "not_run"},
		},
		{
			name:  "the firmware reports a loss of data",
			edits: []gpuEdit{swap("after/kernel-log", "[  900.100000]", "[  800.000000] {1}[Hardware Error]: event severity: recoverable\n[  900.100000]")},
			want:  map[string]string{"memory.errors/uncorrected_events/memory": "fail"},
		},
		{
			name:  "the ring buffer has forgotten its beginning, and the earlier reading has it",
			edits: []gpuEdit{swap("after/kernel-log", "Linux version", "Linux")},
		},
		{
			name: "the ring buffer has forgotten what was between",
			edits: []gpuEdit{
				swap("after/kernel-log", "Linux version", "Linux"), swap("after/kernel-log", "[   12.500000]", "[  600.500000]"),
			},
			want: map[string]string{"memory.errors/events/memory": "not_run", "kernel.log/log/machine": "not_run"},
		},
		{
			name: "rasdaemon has old events",
			edits: []gpuEdit{
				swap("before/ras", "No MCE errors.", "MCE events:\n1 2026-01-01 10:00:00 +0000 error: Corrected error, no action required., CPU 2, mci CECC\n"),
				swap("after/ras", "No MCE errors.", "MCE events:\n1 2026-01-01 10:00:00 +0000 error: Corrected error, no action required., CPU 2, mci CECC\n"),
			},
			want: map[string]string{"memory.errors/corrected_events/memory": "pass"},
		},
	}
}
