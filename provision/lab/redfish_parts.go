package lab

import (
	"fmt"
	"maps"
	"strings"
)

// processorModel is what QEMU's EPYC says of itself.
const processorModel = "AMD EPYC Processor"

// GPUSerial is the serial number of GPU i, from 0: what its inventory ROM would
// say. The stand-in nvidia-smi prints the same.
func (s Spec) GPUSerial(i int) string { return fmt.Sprintf("16500%02d%06d", s.N, i+1) }

func (t *treeMaker) processors() {
	members := []string{systemURI + "/Processors/CPU0"}
	t.add(members[0], "Processor.v1_17_0", "Processor", object{
		"ProcessorType": "CPU", "ProcessorArchitecture": "x86", "InstructionSet": "x86-64", "Manufacturer": "AMD", "Model": processorModel, "Socket": "CPU0",
		"TotalCores": 2, "TotalThreads": 2, "Location": location("CPU0", "Socket"), "Status": status("OK"),
	})
	socket := systemURI + "/Processors/CPU1"
	members = append(members, socket)
	t.add(socket, "Processor.v1_17_0", "Processor", object{"ProcessorType": "CPU", "Socket": "CPU1", "Location": location("CPU1", "Socket"), "Status": absent()})
	for i, c := range t.gpus() {
		uri := fmt.Sprintf("%s/Processors/GPU%d", systemURI, i)
		members = append(members, uri)
		t.add(uri, "Processor.v1_17_0", fmt.Sprintf("GPU%d", i), object{
			"ProcessorType": "GPU", "Manufacturer": "NVIDIA", "Model": gpuModel, "SerialNumber": t.spec.GPUSerial(i), "PartNumber": gpuPart,
			"Location": location(fmt.Sprintf("GPU%d", i), "Slot"), "Status": status("OK"),
			"SystemInterface": object{"InterfaceType": "PCIe", "PCIe": pcie(c)},
		})
	}
	t.collection(systemURI+"/Processors", "ProcessorCollection", members...)
}

// What the GPUs are, as their inventory ROM would say.
const (
	gpuModel = "H100 80GB HBM3"
	gpuPart  = "2330-885-A1"
)

// gpus are the machine's cards that are GPUs.
func (t *treeMaker) gpus() []*pciCard {
	var gpus []*pciCard
	for _, c := range t.cards {
		if strings.HasPrefix(c.name, "gpu") {
			gpus = append(gpus, c)
		}
	}
	return gpus
}

// pcie is a card's link as its switch board sees it.
func pcie(c *pciCard) object {
	now := c.function.negotiated()
	return object{
		"PCIeType": fmt.Sprintf("Gen%d", now.speed), "MaxPCIeType": fmt.Sprintf("Gen%d", rootPortLink.speed),
		"LanesInUse": now.width, "MaxLanes": rootPortLink.width,
	}
}

// devices are the cards in the slots.
func (t *treeMaker) devices() {
	var members []string
	for i, c := range t.gpus() {
		uri := fmt.Sprintf("%s/PCIeDevices/GPU%d", chassisURI, i)
		members = append(members, uri)
		t.add(uri, "PCIeDevice.v1_11_0", fmt.Sprintf("GPU%d", i), object{
			"DeviceType": "SingleFunction", "Manufacturer": "NVIDIA", "Model": gpuModel, "SerialNumber": t.spec.GPUSerial(i), "PartNumber": gpuPart,
			"Location": location(fmt.Sprintf("GPU%d", i), "Slot"), "PCIeInterface": pcie(c), "Status": status("OK"),
		})
	}
	t.collection(chassisURI+"/PCIeDevices", "PCIeDeviceCollection", members...)
}

func (t *treeMaker) memory() {
	var members []string
	for i, d := range t.hardware.dimms {
		uri := fmt.Sprintf("%s/Memory/%s", systemURI, d.Slot)
		members = append(members, uri)
		body := object{"DeviceLocator": d.Slot, "Location": location(d.Slot, "Slot"), "MemoryLocation": object{"Socket": 0, "Channel": i, "Slot": 0}}
		if d.SizeMB == 0 {
			body["Status"] = absent()
		} else {
			correction, bus := "NoECC", 64
			if d.ECC {
				correction, bus = "MultiBitECC", 72
			}
			maps.Copy(body, object{
				"Status": status("OK"), "CapacityMiB": d.SizeMB, "MemoryType": "DRAM", "MemoryDeviceType": "DDR5", "BaseModuleType": "RDIMM",
				"DataWidthBits": 64, "BusWidthBits": bus, "ErrorCorrection": correction, "RankCount": 2,
				"OperatingSpeedMhz": d.SpeedMTs, "AllowedSpeedsMHz": []int{d.SpeedMTs},
				"Manufacturer": d.Manufacturer, "SerialNumber": d.Serial, "PartNumber": d.PartNumber,
			})
		}
		t.add(uri, "Memory.v1_17_0", d.Slot, body)
	}
	t.collection(systemURI+"/Memory", "MemoryCollection", members...)
}

func (t *treeMaker) storage() {
	unit := systemURI + "/Storage/NVMe"
	var drives []string
	for i := range 2 {
		uri := fmt.Sprintf("%s/Drives/NVMe%d", unit, i)
		drives = append(drives, uri)
		body := object{"PhysicalLocation": location(fmt.Sprintf("Bay %d", i), "Bay"), "Status": absent()}
		if name := fmt.Sprintf("nvme%d", i); name != faultyDrive || !t.hardware.drive.missing {
			health := "OK"
			if name == faultyDrive && t.hardware.drive.critical != 0 {
				health = "Critical"
			}
			maps.Copy(body, object{
				"Manufacturer": "QEMU", "Model": "QEMU NVMe Ctrl", "SerialNumber": t.spec.DriveSerial(i), "Revision": "1.0", "CapacityBytes": int64(driveSize),
				"Protocol": "NVMe", "MediaType": "SSD", "Status": status(health), "FailurePredicted": health != "OK",
			})
		}
		t.add(uri, "Drive.v1_17_0", fmt.Sprintf("NVMe%d", i), body)
	}
	t.collection(systemURI+"/Storage", "StorageCollection", unit)
	t.add(unit, "Storage.v1_15_0", "NVMe", object{"Status": status("OK"), "Drives": uris(drives)})
}

// network is the NIC that netboots and the fabric card, which has no Ethernet
// address.
func (t *treeMaker) network() {
	mac := t.spec.HostMAC()
	host := systemURI + "/EthernetInterfaces/NIC0"
	t.collection(systemURI+"/EthernetInterfaces", "EthernetInterfaceCollection", host)
	t.add(host, "EthernetInterface.v1_9_0", "NIC0", object{"MACAddress": mac, "PermanentMACAddress": mac, "LinkStatus": "LinkUp", "Status": status("OK")})

	nic, fabric := chassisURI+"/NetworkAdapters/NIC0", chassisURI+"/NetworkAdapters/Fabric0"
	t.collection(chassisURI+"/NetworkAdapters", "NetworkAdapterCollection", nic, fabric)
	t.add(nic, "NetworkAdapter.v1_9_0", "NIC0", object{
		"Manufacturer": "Red Hat", "Model": "Virtio network device", "Status": status("OK"), "Ports": uri(nic + "/Ports"),
		"Controllers": []object{{"Location": location("NIC0", "Embedded")}},
	})
	t.collection(nic+"/Ports", "PortCollection", nic+"/Ports/1")
	t.add(nic+"/Ports/1", "Port.v1_9_0", "Port 1", object{
		"LinkStatus": "LinkUp", "LinkNetworkTechnology": "Ethernet", "Ethernet": object{"AssociatedMACAddresses": []string{mac}},
	})
	t.add(fabric, "NetworkAdapter.v1_9_0", "Fabric0", object{
		"Manufacturer": "NVIDIA", "Model": "ConnectX-7", "Status": status("OK"),
		"Controllers": []object{{"Location": location("Fabric0", "Slot"), "FirmwarePackageVersion": fabricFirmware}},
	})
}

// fabricFirmware is what the fabric card has until it is updated.
const fabricFirmware = "28.39.1002"

func (t *treeMaker) firmware() {
	components := []struct{ id, name, version, of string }{
		{"BIOS", "BIOS", biosVersion, systemURI + "/Bios"},
		{"BMC", "BMC", bmcVersion, managerURI},
		{"FabricNIC", "ConnectX-7 Fabric0", fabricFirmware, chassisURI + "/NetworkAdapters/Fabric0"},
	}
	var members []string
	for _, c := range components {
		at := firmwareURI + "/" + c.id
		members = append(members, at)
		t.add(at, "SoftwareInventory.v1_10_0", c.name, object{
			"Version": c.version, "Updateable": c.id == "FabricNIC", "RelatedItem": uris([]string{c.of}), "Status": status("OK"),
		})
	}
	t.collection(firmwareURI, "SoftwareInventoryCollection", members...)
	const service = rootURI + "/UpdateService"
	t.add(service, "UpdateService.v1_11_0", "Update Service", object{
		"ServiceEnabled": true, "FirmwareInventory": uri(firmwareURI), "MultipartHttpPushUri": service + "/upload", "Status": status("OK"),
		"Actions": object{"#UpdateService.SimpleUpdate": object{
			"target": service + "/Actions/UpdateService.SimpleUpdate", "TransferProtocol@Redfish.AllowableValues": []string{"HTTP", "HTTPS"},
		}},
	})
}
