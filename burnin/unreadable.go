package burnin

import "fmt"

// Unreadable says, for each piece of evidence in rec that its probe cannot read, why
// not: the file is of another tool, or only a part of what it printed.
func Unreadable(rec *Record) []error {
	var out []error
	readers := readers()
	for _, e := range rec.Evidence {
		read := readers[e.Probe]
		if read == nil {
			continue
		}
		if err := read(e); err != nil {
			out = append(out, fmt.Errorf("%s: not %s output, or not all of it: %w", e.Ref(), e.Probe, err))
		}
	}
	return out
}

// readers are the parsers by the names of their probes.
func readers() map[string]func(*Evidence) error {
	all := map[string]func(*Evidence) error{}
	reader(all, OSInfo)
	reader(all, LSCPU)
	reader(all, Dmidecode)
	reader(all, PCISysfs)
	reader(all, LSPCI)
	reader(all, EDAC)
	reader(all, RAS)
	reader(all, KernelLog)
	reader(all, Pstore)
	reader(all, Console)
	reader(all, BlockDevices)
	reader(all, NVMeList)
	reader(all, NVMeSmart)
	reader(all, Smartctl)
	reader(all, IPMILan)
	reader(all, IBStatus)
	reader(all, Ethtool)
	reader(all, LLDP)
	reader(all, RAIDStatus)
	reader(all, Stream)
	reader(all, IBBandwidth)
	reader(all, GDSIO)
	reader(all, Filesystems)
	reader(all, ContainerGPUs)
	reader(all, ServiceAnswers)
	reader(all, GDSStats)
	reader(all, NvidiaSMI)
	reader(all, NVLink)
	reader(all, NVLinkErrors)
	reader(all, GPUTopology)
	reader(all, MIGDevices)
	reader(all, FabricManager)
	reader(all, GDSCheck)
	reader(all, StressNG)
	reader(all, StressNGMemory)
	reader(all, MemoryStress)
	reader(all, GPUFryer)
	reader(all, Fio)
	reader(all, NVMeWrite)
	reader(all, MIGTrial)
	return all
}

func reader[T any](all map[string]func(*Evidence) error, p Probe[T]) {
	all[p.Spec.Name] = func(e *Evidence) error {
		_, err := p.Parse(e)
		return err
	}
}
