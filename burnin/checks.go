package burnin

// Checks is the explicit, ordered list of all checks. The order is that of the
// report: what machine it is, then memory, links, GPUs, drives.
func Checks() []Check {
	return []Check{
		identity,
		processors,
		memoryPopulation,
		memoryECC,
		memoryErrors,
		memoryStress,
		memoryBandwidth,
		pcieLink,
		pcieErrors,
		pcieACS,
		gpuCount,
		gpuDriver,
		gpuMemory,
		gpuECC,
		gpuRemap,
		gpuXID,
		gpuMIG,
		gpuClocks,
		gpuThermal,
		gpuPower,
		gpuNVLink,
		gpuNVLinkErrors,
		gpuTopology,
		gpuFabric,
		nvmeCount,
		nvmeHealth,
		nvmeLink,
		nvmeThroughput,
		raid,
		nicLink,
		ibLink,
		gdsSupport,
		kernelLog,
		firmware,
		bmcSensors,
		bmcSEL,
	}
}
