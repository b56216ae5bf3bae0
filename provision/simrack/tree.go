package simrack

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// URIs of a simulated machine's tree, laid out as a Supermicro BMC of this
// generation does (SYS-821GE-TNHR, BMC 11.01.01): GPUs are not among the
// processors but PCIe devices of the chassis, named by GPUSlot.
const (
	root         = "/redfish/v1"
	systemURI    = root + "/Systems/1"
	chassisURI   = root + "/Chassis/1"
	managerURI   = root + "/Managers/1"
	backplaneURI = root + "/Chassis/NVMeSSD.0.Group.0.StorageBackplane"
	firmwareURI  = root + "/UpdateService/FirmwareInventory"
	registryURI  = "/registries/BiosAttributeRegistry.1.0.0.json"
)

type object = map[string]any

// treeMaker writes the resources of one machine.
type treeMaker struct {
	m    *nodetest.Machine
	tree map[string]object
}

// Tree is what the BMC of m serves: its identity, power, boot and BIOS resources
// and an inventory that agrees with what the node prints. Every resource is
// written by us and says in its Description or PartNumber that it is simulated.
func Tree(m *nodetest.Machine) (redfishtest.Tree, error) {
	t := &treeMaker{m: m, tree: map[string]object{}}
	t.services()
	t.system()
	t.chassis()
	t.power()
	t.thermal()
	t.log()
	t.manager()
	t.processors()
	t.gpus()
	t.memory()
	t.storage()
	t.network()
	t.bios()
	t.firmware()
	t.accounts()
	out := make(redfishtest.Tree, len(t.tree))
	for uri, body := range t.tree {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("simulated BMC of %s: %s: %w", m.Name, uri, err)
		}
		out[uri] = b
	}
	return out, nil
}

// add puts one resource at uri. kind is its type with version, "Memory.v1_11_0".
func (t *treeMaker) add(uri, kind, name string, body object) {
	short, _, _ := strings.Cut(kind, ".")
	body["@odata.type"] = "#" + kind + "." + short
	body["@odata.id"] = uri
	if _, ok := body["Id"]; !ok {
		body["Id"] = uri[strings.LastIndexByte(uri, '/')+1:]
	}
	body["Name"] = name
	t.tree[uri] = body
}

// collection puts a collection of members at uri.
func (t *treeMaker) collection(uri, kind string, members []string) {
	t.tree[uri] = object{
		"@odata.type": "#" + kind + "." + kind, "@odata.id": uri, "Name": kind,
		"Members@odata.count": len(members), "Members": links(members),
	}
}

func link(uri string) object { return object{"@odata.id": uri} }

func links(uris []string) []object {
	out := make([]object, len(uris))
	for i, u := range uris {
		out[i] = link(u)
	}
	return out
}

func enabled() object { return object{"State": "Enabled", "Health": "OK"} }

func upperMAC(mac string) string { return strings.ToUpper(mac) }

func (t *treeMaker) services() {
	t.add(root, "ServiceRoot.v1_9_0", "Root Service (simulated)", object{
		"Id": "ServiceRoot", "RedfishVersion": "1.11.0", "UUID": t.m.UUID,
		"Systems": link(root + "/Systems"), "Chassis": link(root + "/Chassis"), "Managers": link(root + "/Managers"),
		"Tasks": link(root + "/TaskService"), "SessionService": link(root + "/SessionService"), "UpdateService": link(root + "/UpdateService"),
		"Registries": link(root + "/Registries"), "AccountService": link(root + "/AccountService"),
		"Links": object{"Sessions": link(root + "/SessionService/Sessions")},
		"Oem":   object{"Supermicro": object{"Simulated": true}},
	})
	t.collection(root+"/Systems", "ComputerSystemCollection", []string{systemURI})
	t.add(root+"/SessionService", "SessionService.v1_1_7", "Session Service", object{
		"Status": enabled(), "ServiceEnabled": true, "SessionTimeout": 300, "Sessions": link(root + "/SessionService/Sessions"),
	})
	t.collection(root+"/SessionService/Sessions", "SessionCollection", nil)
	t.add(root+"/TaskService", "TaskService.v1_1_5", "Tasks Service", object{"ServiceEnabled": true, "Tasks": link(root + "/TaskService/Tasks")})
	t.collection(root+"/TaskService/Tasks", "TaskCollection", nil)
}

func (t *treeMaker) system() {
	m := t.m
	t.add(systemURI, "ComputerSystem.v1_14_0", "System", object{
		"Description": "Simulated server", "Status": enabled(), "SystemType": "Physical", "PowerState": "On",
		"SerialNumber": m.SystemSerial, "PartNumber": m.Product + "-SIM", "Manufacturer": m.Manufacturer, "Model": m.Product,
		"SKU": "SIMULATED", "UUID": m.UUID, "BiosVersion": m.BIOSVersion, "AssetTag": "SIMULATED",
		"IndicatorLED": "Off", "LocationIndicatorActive": false,
		"ProcessorSummary": object{"Count": m.CPU.Sockets, "Model": m.CPU.Model, "Status": enabled()},
		"MemorySummary":    object{"TotalSystemMemoryGiB": m.RAMGiB(), "Status": enabled()},
		"BootProgress":     object{"LastState": "OSRunning"},
		"LastResetTime":    "2026-01-05T07:00:00Z",
		"Boot": object{
			"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideMode": "UEFI", "BootSourceOverrideTarget": "None", "HttpBootUri": nil,
			"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"None", "Pxe", "Cd", "Usb", "Hdd", "BiosSetup", "UefiBootNext", "UefiHttp"},
			"BootOptions": link(systemURI + "/BootOptions"), "BootOrder": []string{"Boot0001", "Boot0002"},
		},
		"Processors": link(systemURI + "/Processors"), "Memory": link(systemURI + "/Memory"), "Storage": link(systemURI + "/Storage"),
		"EthernetInterfaces": link(systemURI + "/EthernetInterfaces"), "Bios": link(systemURI + "/Bios"),
		"VirtualMedia": link(managerURI + "/VirtualMedia"), "LogServices": link(systemURI + "/LogServices"),
		"Links": object{"Chassis": links([]string{chassisURI}), "ManagedBy": links([]string{managerURI})},
		"Actions": object{"#ComputerSystem.Reset": object{
			"target": systemURI + "/Actions/ComputerSystem.Reset", "@Redfish.ActionInfo": systemURI + "/ResetActionInfo",
		}},
	})
	t.add(systemURI+"/ResetActionInfo", "ActionInfo.v1_1_2", "Reset Action Info", object{"Parameters": []object{{
		"Name": "ResetType", "Required": true, "DataType": "String",
		"AllowableValues": []string{"On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi", "ForceOn", "PowerCycle"},
	}}})
	t.collection(systemURI+"/BootOptions", "BootOptionCollection", []string{systemURI + "/BootOptions/Boot0001", systemURI + "/BootOptions/Boot0002"})
	t.add(systemURI+"/BootOptions/Boot0001", "BootOption.v1_0_4", "Boot Option", object{
		"BootOptionEnabled": true, "BootOptionReference": "Boot0001", "DisplayName": "UEFI OS (simulated installed system)",
	})
	t.add(systemURI+"/BootOptions/Boot0002", "BootOption.v1_0_4", "Boot Option", object{
		"BootOptionEnabled": true, "BootOptionReference": "Boot0002", "DisplayName": "UEFI PXE IPv4 " + upperMAC(m.NICs[0].MACs[0]),
	})
}

func (t *treeMaker) chassis() {
	m := t.m
	members := []string{chassisURI, backplaneURI}
	t.add(chassisURI, "Chassis.v1_14_0", "Computer System Chassis", object{
		"ChassisType": "RackMount", "Manufacturer": m.Manufacturer, "Model": m.Board, "SerialNumber": m.ChassisSerial, "PartNumber": m.ChassisPart,
		"AssetTag": "SIMULATED", "IndicatorLED": "Off", "LocationIndicatorActive": false, "PowerState": "On", "Status": enabled(),
		"Power": link(chassisURI + "/Power"), "Thermal": link(chassisURI + "/Thermal"), "PCIeDevices": link(chassisURI + "/PCIeDevices"), "NetworkAdapters": link(chassisURI + "/NetworkAdapters"),
		"Links": object{"ComputerSystems": links([]string{systemURI}), "ManagedBy": links([]string{managerURI})},
		"Oem":   object{"Supermicro": object{"BoardSerialNumber": m.BoardSerial}},
	})
	if m.BaseboardSerial != "" {
		members = append(members, root+"/Chassis/UBB_1")
		t.add(root+"/Chassis/UBB_1", "Chassis.v1_11_0", "GPU Baseboard", object{
			"ChassisType": "Zone", "Manufacturer": "NVIDIA", "Model": "HGX_H100", "SerialNumber": m.BaseboardSerial, "PartNumber": "SIMULATED",
		})
	}
	t.collection(root+"/Chassis", "ChassisCollection", members)
}

func (t *treeMaker) manager() {
	t.collection(root+"/Managers", "ManagerCollection", []string{managerURI})
	t.add(managerURI, "Manager.v1_11_0", "Manager", object{
		"Description": "Simulated BMC", "ManagerType": "BMC", "UUID": t.m.UUID, "Model": "ASPEED", "FirmwareVersion": t.m.BMCVersion, "Status": enabled(),
		"DateTime": "2026-01-05T07:00:00Z", "DateTimeLocalOffset": "+00:00",
		"EthernetInterfaces": link(managerURI + "/EthernetInterfaces"), "VirtualMedia": link(managerURI + "/VirtualMedia"),
		"Actions": object{"#Manager.Reset": object{
			"target": managerURI + "/Actions/Manager.Reset", "ResetType@Redfish.AllowableValues": []string{"GracefulRestart", "ForceRestart"},
		}},
		"LogServices": link(managerURI + "/LogServices"), "NetworkProtocol": link(managerURI + "/NetworkProtocol"),
		"Links": object{"ManagerForServers": links([]string{systemURI}), "ManagerForChassis": links([]string{chassisURI})},
	})
	t.dump()
	drive := managerURI + "/VirtualMedia/VirtualMedia1"
	t.collection(managerURI+"/VirtualMedia", "VirtualMediaCollection", []string{drive})
	t.add(drive, "VirtualMedia.v1_4_1", "Virtual Removable Media", object{
		"MediaTypes": []string{"CD", "DVD", "Floppy", "USBStick"}, "Inserted": false, "Image": nil, "ImageName": nil, "ConnectedVia": "NotConnected",
		"Actions": object{"#VirtualMedia.InsertMedia": object{"target": drive + "/Actions/VirtualMedia.InsertMedia"}},
	})
	t.collection(managerURI+"/EthernetInterfaces", "EthernetInterfaceCollection", []string{managerURI + "/EthernetInterfaces/1"})
	t.add(managerURI+"/EthernetInterfaces/1", "EthernetInterface.v1_6_3", "Manager Ethernet Interface", object{
		"Status": enabled(), "LinkStatus": "LinkUp", "MACAddress": upperMAC(t.m.BMCMAC), "SpeedMbps": 1000,
		"IPv4Addresses": []object{{"Address": "192.0.2.1", "SubnetMask": "255.255.255.0", "AddressOrigin": "DHCP", "Gateway": "192.0.2.254"}},
	})
}
