package lab

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// URIs of the Redfish BMC. No vendor lays out its tree just so.
const (
	rootURI    = "/redfish/v1"
	systemURI  = rootURI + "/Systems/1"
	chassisURI = rootURI + "/Chassis/1"
	managerURI = rootURI + "/Managers/1"
	selURI     = systemURI + "/LogServices/SEL"
	mediaURI   = managerURI + "/VirtualMedia"

	firmwareURI = rootURI + "/UpdateService/FirmwareInventory"
	registryURI = rootURI + "/Registries/LabBiosRegistry"

	mediaSlot = "CD1"
)

// Versions that SMBIOS and IPMI tell too.
const (
	biosVersion = "1.2.3"
	bmcVersion  = "2.17"
)

type object = map[string]any

// treeMaker writes the resources of one machine.
type treeMaker struct {
	spec     Spec
	hardware hardware
	sensors  *Sensors
	cards    []*pciCard
	on       bool
	tree     map[string]object
}

// redfishTree is what the machine's Redfish BMC serves now. What it says agrees
// with what the machine's firmware, its PCI bus and its IPMI BMC say.
func (m *Machine) redfishTree() (redfishtest.Tree, error) {
	m.mu.Lock()
	t := &treeMaker{spec: m.spec, hardware: m.hardware.clone(), sensors: m.sensors, cards: m.cards, on: m.vm != nil, tree: map[string]object{}}
	m.mu.Unlock()
	for _, part := range []func(){
		t.services, t.system, t.chassis, t.manager, t.processors, t.memory, t.storage, t.network, t.devices, t.readings, t.supplies, t.bios, t.firmware,
	} {
		part()
	}
	out := make(redfishtest.Tree, len(t.tree))
	for uri, body := range t.tree {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("the Redfish BMC of %s: %s: %w", m.spec.Name, uri, err)
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
func (t *treeMaker) collection(uri, kind string, members ...string) {
	t.tree[uri] = object{
		"@odata.type": "#" + kind + "." + kind, "@odata.id": uri, "Name": kind,
		"Members@odata.count": len(members), "Members": uris(members),
	}
}

// uri is a link.
func uri(to string) object { return object{"@odata.id": to} }

func uris(to []string) []object {
	out := make([]object, len(to))
	for i, u := range to {
		out[i] = uri(u)
	}
	return out
}

func status(health string) object { return object{"State": "Enabled", "Health": health} }

func absent() object { return object{"State": "Absent"} }

func location(label, kind string) object {
	return object{"PartLocation": object{"ServiceLabel": label, "LocationType": kind}}
}

// worst is the health of all sensors together.
func (t *treeMaker) worst() string {
	worst := "OK"
	for _, s := range t.sensors.list {
		if s.absent {
			continue
		}
		switch health := s.health(t.sensors.value(s.number)); {
		case health == "Critical":
			return health
		case health != "OK":
			worst = health
		}
	}
	return worst
}

func (t *treeMaker) services() {
	t.add(rootURI, "ServiceRoot.v1_15_0", "Root Service", object{
		"Id": "RootService", "RedfishVersion": "1.15.0", "UUID": t.spec.UUID(), "Vendor": Manufacturer, "Product": Product,
		"Systems": uri(rootURI + "/Systems"), "Chassis": uri(rootURI + "/Chassis"), "Managers": uri(rootURI + "/Managers"),
		"Tasks": uri(rootURI + "/TaskService"), "SessionService": uri(rootURI + "/SessionService"), "AccountService": uri(rootURI + "/AccountService"),
		"EventService": uri(rootURI + "/EventService"), "UpdateService": uri(rootURI + "/UpdateService"), "Registries": uri(rootURI + "/Registries"),
		"Links": object{"Sessions": uri(rootURI + "/SessionService/Sessions")},
	})
	t.add(rootURI+"/SessionService", "SessionService.v1_1_8", "Session Service", object{
		"ServiceEnabled": true, "SessionTimeout": 300, "Sessions": uri(rootURI + "/SessionService/Sessions"), "Status": status("OK"),
	})
	t.collection(rootURI+"/SessionService/Sessions", "SessionCollection")
	t.add(rootURI+"/TaskService", "TaskService.v1_2_0", "Task Service", object{"ServiceEnabled": true, "Tasks": uri(rootURI + "/TaskService/Tasks")})
	t.collection(rootURI+"/TaskService/Tasks", "TaskCollection")
	account := rootURI + "/AccountService/Accounts/2" // IPMI's user 2
	t.add(rootURI+"/AccountService", "AccountService.v1_10_0", "Account Service", object{
		"ServiceEnabled": true, "MinPasswordLength": 8, "MaxPasswordLength": 20, "Accounts": uri(rootURI + "/AccountService/Accounts"),
	})
	t.collection(rootURI+"/AccountService/Accounts", "ManagerAccountCollection", account)
	t.add(account, "ManagerAccount.v1_8_0", "User Account", object{
		"UserName": BMCUser, "RoleId": "Administrator", "Enabled": true, "Locked": false, "Password": nil, "PasswordChangeRequired": false,
	})
	t.add(rootURI+"/EventService", "EventService.v1_8_0", "Event Service", object{
		"ServiceEnabled": true, "ServerSentEventUri": rootURI + "/EventService/SSE",
		"Actions": object{"#EventService.SubmitTestEvent": object{"target": rootURI + "/EventService/Actions/EventService.SubmitTestEvent"}},
	})
}

func (t *treeMaker) system() {
	s := t.spec
	t.collection(rootURI+"/Systems", "ComputerSystemCollection", systemURI)
	t.add(systemURI, "ComputerSystem.v1_20_0", "System", object{
		"SystemType": "Physical", "Manufacturer": Manufacturer, "Model": Product, "SKU": SKU, "SerialNumber": s.Serial(), "UUID": s.UUID(),
		"AssetTag": s.AssetTag(), "HostName": "", "BiosVersion": biosVersion, "PowerState": power(t.on), "LastResetTime": "2026-01-01T00:00:00Z",
		"LocationIndicatorActive": false, "Status": status(t.worst()),
		"ProcessorSummary": object{"Count": 1, "Model": processorModel, "Status": status("OK")},
		"MemorySummary":    object{"TotalSystemMemoryGiB": float64(t.hardware.memory()) / 1024, "Status": status("OK")},
		"Boot": object{
			"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None", "BootSourceOverrideMode": s.mode(), "HttpBootUri": "",
			"BootSourceOverrideTarget@Redfish.AllowableValues": s.targets(),
			"BootSourceOverrideMode@Redfish.AllowableValues":   []string{s.mode()},
		},
		"Processors": uri(systemURI + "/Processors"), "Memory": uri(systemURI + "/Memory"), "Storage": uri(systemURI + "/Storage"),
		"EthernetInterfaces": uri(systemURI + "/EthernetInterfaces"), "Bios": uri(systemURI + "/Bios"),
		"LogServices": uri(systemURI + "/LogServices"), "VirtualMedia": uri(mediaURI),
		"Links": object{"Chassis": uris([]string{chassisURI}), "ManagedBy": uris([]string{managerURI})},
		"Actions": object{"#ComputerSystem.Reset": object{
			"target":                            systemURI + "/Actions/ComputerSystem.Reset",
			"ResetType@Redfish.AllowableValues": []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart", "PowerCycle", "PushPowerButton"},
		}},
	})
	t.collection(systemURI+"/LogServices", "LogServiceCollection", selURI)
	t.add(selURI, "LogService.v1_4_0", "System Event Log", object{
		"LogEntryType": "SEL", "MaxNumberOfRecords": selLimit, "OverWritePolicy": "WrapsWhenFull", "ServiceEnabled": true, "Status": status("OK"),
		"DateTime": "2026-01-01T00:00:00Z", "DateTimeLocalOffset": "+00:00", "Entries": uri(selURI + "/Entries"),
		"Actions": object{"#LogService.ClearLog": object{"target": selURI + "/Actions/LogService.ClearLog"}},
	})
	t.collection(selURI+"/Entries", "LogEntryCollection")
}

func power(on bool) string {
	if on {
		return "On"
	}
	return "Off"
}

func (t *treeMaker) chassis() {
	s := t.spec
	t.collection(rootURI+"/Chassis", "ChassisCollection", chassisURI)
	t.add(chassisURI, "Chassis.v1_22_0", "Chassis", object{
		"ChassisType": "RackMount", "Manufacturer": Manufacturer, "Model": Product, "SerialNumber": s.ChassisSerial(), "PartNumber": "CHASSIS-PN",
		"AssetTag": s.AssetTag(), "PowerState": power(t.on), "LocationIndicatorActive": false, "Status": status(t.worst()),
		"Sensors": uri(chassisURI + "/Sensors"), "Thermal": uri(chassisURI + "/Thermal"), "Power": uri(chassisURI + "/Power"),
		"NetworkAdapters": uri(chassisURI + "/NetworkAdapters"), "PCIeDevices": uri(chassisURI + "/PCIeDevices"),
		"Links": object{"ComputerSystems": uris([]string{systemURI}), "ManagedBy": uris([]string{managerURI})},
	})
}

func (t *treeMaker) manager() {
	s := t.spec
	ethernet := managerURI + "/EthernetInterfaces/1"
	t.collection(rootURI+"/Managers", "ManagerCollection", managerURI)
	t.add(managerURI, "Manager.v1_19_0", "Manager", object{
		"ManagerType": "BMC", "Manufacturer": Manufacturer, "Model": "Lab BMC", "FirmwareVersion": bmcVersion, "UUID": s.UUID(), "PowerState": "On",
		"DateTime": "2026-01-01T00:00:00Z", "DateTimeLocalOffset": "+00:00", "Status": status("OK"),
		"EthernetInterfaces": uri(managerURI + "/EthernetInterfaces"), "NetworkProtocol": uri(managerURI + "/NetworkProtocol"), "VirtualMedia": uri(mediaURI),
		"SerialConsole": object{"ServiceEnabled": true, "MaxConcurrentSessions": 1, "ConnectTypesSupported": []string{"IPMI"}},
		"Links":         object{"ManagerForServers": uris([]string{systemURI}), "ManagerForChassis": uris([]string{chassisURI})},
		"Actions":       object{"#Manager.Reset": object{"target": managerURI + "/Actions/Manager.Reset", "ResetType@Redfish.AllowableValues": []string{"GracefulRestart", "ForceRestart"}}},
	})
	t.collection(managerURI+"/EthernetInterfaces", "EthernetInterfaceCollection", ethernet)
	t.add(ethernet, "EthernetInterface.v1_9_0", "Dedicated port", object{
		"InterfaceEnabled": true, "LinkStatus": "LinkUp", "SpeedMbps": 1000, "MACAddress": s.BMCMAC(), "PermanentMACAddress": s.BMCMAC(), "Status": status("OK"),
		"IPv4Addresses": []object{{"Address": s.BMCIP(), "SubnetMask": "255.255.255.0", "AddressOrigin": "Static", "Gateway": BMCNetworkAddress}},
	})
	t.add(managerURI+"/NetworkProtocol", "ManagerNetworkProtocol.v1_9_0", "Network Protocol", object{
		"HTTPS": object{"ProtocolEnabled": true, "Port": 443}, "IPMI": object{"ProtocolEnabled": true, "Port": 623}, "Status": status("OK"),
	})
	slot := mediaURI + "/" + mediaSlot
	t.collection(mediaURI, "VirtualMediaCollection", slot)
	t.add(slot, "VirtualMedia.v1_6_0", "Virtual CD", object{
		"MediaTypes": []string{"CD", "DVD"}, "Inserted": false, "Image": nil, "ImageName": nil, "ConnectedVia": "NotConnected", "WriteProtected": true,
		"TransferMethod": "Upload", "Actions": object{
			"#VirtualMedia.InsertMedia": object{"target": slot + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia":  object{"target": slot + "/Actions/VirtualMedia.EjectMedia"},
		},
	})
}
