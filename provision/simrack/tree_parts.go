package simrack

import (
	"fmt"
	"maps"
)

func (t *treeMaker) processors() {
	m := t.m
	var members []string
	for i := range m.CPU.Sockets {
		uri := fmt.Sprintf("%s/Processors/%d", systemURI, i+1)
		members = append(members, uri)
		t.add(uri, "Processor.v1_10_0", "Processor", object{
			"ProcessorType": "CPU", "ProcessorArchitecture": "x86", "InstructionSet": "x86-64", "Manufacturer": "Intel(R) Corporation",
			"Model": m.CPU.Model, "Version": m.CPU.Model, "Socket": fmt.Sprintf("CPU%d", i+1), "SerialNumber": nil, "PartNumber": nil,
			"MaxSpeedMHz": m.CPU.MaxMHz, "OperatingSpeedMHz": m.CPU.MHz, "TotalCores": m.CPU.Cores, "TotalThreads": 2 * m.CPU.Cores,
			"Location": location(fmt.Sprintf("CPU %d", i+1), "Socket"), "Status": enabled(),
		})
	}
	t.collection(systemURI+"/Processors", "ProcessorCollection", members)
}

func location(label, kind string) object {
	return object{"PartLocation": object{"ServiceLabel": label, "LocationType": kind}}
}

// gpus writes GPUs as the HGX board's own controller shows them behind this BMC:
// processors of a second system, which is no host, with the label of the module;
// cards in slots are PCIe devices of the chassis.
func (t *treeMaker) gpus() {
	if t.m.GPUKind.Form == "sxm" {
		t.modules()
		t.collection(chassisURI+"/PCIeDevices", "PCIeDeviceCollection", nil)
		return
	}
	var members []string
	for i, g := range t.m.GPUs {
		uri := fmt.Sprintf("%s/PCIeDevices/GPU%d", chassisURI, i+1)
		members = append(members, uri)
		t.add(uri, "PCIeDevice.v1_5_0", fmt.Sprintf("GPU%d", i+1), object{
			"Description": "GPU Device (simulated)", "Model": t.m.GPUKind.Product, "Manufacturer": "NVIDIA", "SerialNumber": g.Serial,
			"PartNumber": t.m.GPUKind.PartNumber, "FirmwareVersion": t.m.GPUKind.VBIOS, "DeviceType": "SingleFunction", "Status": enabled(),
			"PCIeInterface": object{"PCIeType": fmt.Sprintf("Gen%d", t.m.GPUKind.Gen), "LanesInUse": g.Width, "MaxLanes": 16},
			"Oem":           object{"Supermicro": object{"GPUSlot": i + 1, "GPUVendor": "NVIDIA"}},
		})
	}
	t.collection(chassisURI+"/PCIeDevices", "PCIeDeviceCollection", members)
}

const baseboardURI = root + "/Systems/HGX_Baseboard_0"

func (t *treeMaker) modules() {
	m := t.m
	t.collection(root+"/Systems", "ComputerSystemCollection", []string{systemURI, baseboardURI})
	t.add(baseboardURI, "ComputerSystem.v1_17_0", "HGX_Baseboard_0", object{
		"Description": "Simulated GPU baseboard", "Manufacturer": "NVIDIA", "SystemType": "Physical", "PowerState": "On", "Status": enabled(),
		"UUID": "0bd0" + m.UUID[4:], "SerialNumber": m.BaseboardSerial, "Processors": link(baseboardURI + "/Processors"),
		"Links": object{"Chassis": links([]string{root + "/Chassis/UBB_1"}), "ManagedBy": links([]string{managerURI})},
	})
	members := make([]string, len(m.GPUs))
	for _, g := range m.GPUs {
		uri := fmt.Sprintf("%s/Processors/GPU_SXM_%d", baseboardURI, g.Module)
		members[g.Module-1] = uri
		t.add(uri, "Processor.v1_13_0", "Processor", object{
			"ProcessorType": "GPU", "Manufacturer": "NVIDIA", "Model": m.GPUKind.Product[len("NVIDIA "):], "SerialNumber": g.Serial,
			"PartNumber": m.GPUKind.PartNumber, "FirmwareVersion": m.GPUKind.VBIOS, "UUID": g.UUID[len("GPU-"):],
			"Location": location(g.Label, "Embedded"), "Status": enabled(), "Description": "Simulated GPU",
			"MemorySummary":   object{"ECCModeEnabled": true, "TotalMemorySizeMiB": m.GPUKind.MiB},
			"SystemInterface": object{"InterfaceType": "PCIe", "PCIe": object{"LanesInUse": g.Width, "MaxLanes": 16, "PCIeType": "Gen5", "MaxPCIeType": "Gen5"}},
		})
	}
	t.collection(baseboardURI+"/Processors", "ProcessorCollection", members)
}

func (t *treeMaker) memory() {
	var members []string
	for i, d := range t.m.DIMMs {
		uri := fmt.Sprintf("%s/Memory/%d", systemURI, i+1)
		members = append(members, uri)
		body := object{
			"DeviceLocator": d.Slot, "Location": location(d.Slot, "Slot"),
			"MemoryLocation": object{"Socket": d.Socket, "Channel": d.Channel, "Slot": i % 2},
		}
		if d.GiB == 0 {
			body["Status"] = object{"State": "Absent"}
		} else {
			maps.Copy(body, object{
				"Status": enabled(), "CapacityMiB": d.GiB * 1024, "MemoryDeviceType": "DDR5", "BaseModuleType": "RDIMM", "BusWidthBits": 80, "DataWidthBits": 64,
				"ErrorCorrection": "MultiBitECC", "Manufacturer": d.Maker, "PartNumber": d.Part, "SerialNumber": d.Serial, "RankCount": 2,
				"AllowedSpeedsMHz": []int{d.Rated}, "OperatingSpeedMhz": d.Runs,
			})
		}
		t.add(uri, "Memory.v1_11_0", "Memory", body)
	}
	t.collection(systemURI+"/Memory", "MemoryCollection", members)
}

func (t *treeMaker) storage() {
	storage := systemURI + "/Storage/NVMeSSD"
	var drives []string
	for _, d := range t.m.Drives {
		uri := fmt.Sprintf("%s/Drives/Disk.Bay.%d", backplaneURI, d.Bay)
		drives = append(drives, uri)
		t.add(uri, "Drive.v1_11_1", fmt.Sprintf("Disk.Bay.%d", d.Bay), object{
			"Manufacturer": d.Maker, "Model": d.Model, "SerialNumber": d.Serial, "Revision": d.Version, "CapacityBytes": d.Bytes,
			"Protocol": "NVMe", "MediaType": "SSD", "Status": enabled(), "FailurePredicted": d.Spare < 10, "LocationIndicatorActive": false,
			"PredictedMediaLifeLeftPercent": max(0, 100-d.Used), "PhysicalLocation": location(fmt.Sprintf("Bay %d", d.Bay), "Bay"),
		})
	}
	t.collection(systemURI+"/Storage", "StorageCollection", []string{storage})
	t.add(storage, "Storage.v1_9_0", "NVMe Storage System", object{
		"Status": enabled(), "Drives": links(drives), "Links": object{"Enclosures": links([]string{backplaneURI})},
	})
	t.collection(backplaneURI+"/Drives", "DriveCollection", drives)
	t.add(backplaneURI, "Chassis.v1_14_0", "NVMe backplane", object{
		"ChassisType": "Enclosure", "Status": enabled(), "Drives": link(backplaneURI + "/Drives"), "Links": object{"Storage": links([]string{storage})},
	})
}

func (t *treeMaker) network() {
	var adapters, interfaces []string
	for i, n := range t.m.NICs {
		uri := fmt.Sprintf("%s/NetworkAdapters/%d", chassisURI, i+1)
		adapters = append(adapters, uri)
		var ports []string
		for j, mac := range n.MACs {
			port := fmt.Sprintf("%s/Ports/%d", uri, j+1)
			ports = append(ports, port)
			t.add(port, "Port.v1_4_0", "Network Port View", object{
				"PortId": fmt.Sprint(j + 1), "LinkStatus": "LinkUp", "Ethernet": object{"AssociatedMACAddresses": []string{upperMAC(mac)}},
			})
			eth := fmt.Sprintf("%s/EthernetInterfaces/%d", systemURI, len(interfaces)+1)
			interfaces = append(interfaces, eth)
			t.add(eth, "EthernetInterface.v1_6_3", n.Label, object{"MACAddress": mac, "LinkStatus": "LinkUp", "SpeedMbps": n.Gbps * 1000, "Status": enabled()})
		}
		t.collection(uri+"/Ports", "PortCollection", ports)
		t.add(uri, "NetworkAdapter.v1_5_0", n.Label, object{
			"Manufacturer": n.Maker, "Model": n.Model, "SerialNumber": n.Serial, "PartNumber": n.Part, "Status": enabled(), "Ports": link(uri + "/Ports"),
			"Controllers": []object{{"FirmwarePackageVersion": n.Firmware, "Location": location(n.Label, "Slot"), "Links": object{"Ports": links(ports)}}},
		})
	}
	t.collection(chassisURI+"/NetworkAdapters", "NetworkAdapterCollection", adapters)
	t.collection(systemURI+"/EthernetInterfaces", "EthernetInterfaceCollection", interfaces)
}

func (t *treeMaker) firmware() {
	versions := [][2]string{{"BIOS", t.m.BIOSVersion}, {"BMC", t.m.BMCVersion}, {"CPLD_Motherboard", "F3.06.18"}}
	for i := range t.m.GPUs {
		versions = append(versions, [2]string{fmt.Sprintf("GPU%d", i+1), t.m.GPUKind.VBIOS})
	}
	var members []string
	for _, v := range versions {
		uri := firmwareURI + "/" + v[0]
		members = append(members, uri)
		t.add(uri, "SoftwareInventory.v1_3_0", v[0], object{"Version": v[1], "Manufacturer": "Simulated", "Updateable": true, "Status": enabled()})
	}
	t.collection(firmwareURI, "SoftwareInventoryCollection", members)
	t.add(root+"/UpdateService", "UpdateService.v1_9_0", "Update Service", object{"ServiceEnabled": true, "FirmwareInventory": link(firmwareURI)})
}
