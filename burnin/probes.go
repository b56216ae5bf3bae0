package burnin

// Probes is the explicit, ordered list of what is run on a node. Cheap and
// harmless ones come first, so that a machine that hangs in a vendor's tool has
// already told what it is.
func Probes() []ProbeSpec {
	return []ProbeSpec{
		OSInfo.Spec,
		LSCPU.Spec,
		Dmidecode.Spec,
		PCISysfs.Spec,
		LSPCI.Spec,
		EDAC.Spec,
		RAS.Spec,
		KernelLog.Spec,
		Pstore.Spec,
		BlockDevices.Spec,
		NVMeList.Spec,
		NVMeSmart.Spec,
		Smartctl.Spec,
		RAIDStatus.Spec,
		IPMILan.Spec,
		IBStatus.Spec,
		Ethtool.Spec,
		LLDP.Spec,
		NvidiaSMI.Spec,
		NVLink.Spec,
		NVLinkErrors.Spec,
		GPUTopology.Spec,
		MIGDevices.Spec,
		FabricManager.Spec,
		GDSCheck.Spec,
		GDSStats.Spec,
		Filesystems.Spec,
		ContainerGPUs.Spec,
		ServiceAnswers.Spec,
	}
}
