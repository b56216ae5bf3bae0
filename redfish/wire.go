package redfish

import "encoding/json"

// The resources as they travel, reduced to the fields that are used.

type statusDoc struct {
	State  text `json:"State"`
	Health text `json:"Health"`
}

type locationDoc struct {
	Context      text `json:"PartLocationContext"`
	PartLocation maybe[struct {
		ServiceLabel text `json:"ServiceLabel"`
	}] `json:"PartLocation"`
}

// hardware is what every resource of a part has.
type hardware struct {
	ID           text               `json:"Id"`
	Name         text               `json:"Name"`
	Manufacturer text               `json:"Manufacturer"`
	Model        text               `json:"Model"`
	SerialNumber text               `json:"SerialNumber"`
	PartNumber   text               `json:"PartNumber"`
	Status       maybe[statusDoc]   `json:"Status"`
	Location     maybe[locationDoc] `json:"Location"`
	Physical     maybe[locationDoc] `json:"PhysicalLocation"`
}

// absent reports an empty slot.
func (h hardware) absent() bool { return h.Status.value.State == "Absent" }

// empty reports a resource in which the BMC filled in nothing at all.
func (h hardware) empty() bool {
	return h.Name == "" && h.Model.clean() == "" && h.SerialNumber.clean() == "" && !h.Status.ok
}

// part gives the common description; uri is where it was read.
func (h hardware) part(uri link) Part {
	p := Part{
		Name:         string(h.Name),
		Label:        h.Location.value.PartLocation.value.ServiceLabel.clean(),
		Manufacturer: h.Manufacturer.clean(),
		Model:        h.Model.clean(),
		Serial:       h.SerialNumber.clean(),
		PartNumber:   h.PartNumber.clean(),
		State:        h.Status.value.State.clean(),
		Health:       h.Status.value.Health.clean(),
		URI:          string(uri),
	}
	if p.Label == "" {
		p.Label = h.Physical.value.PartLocation.value.ServiceLabel.clean()
	}
	if p.Name == "" {
		p.Name = uri.id()
	}
	return p
}

type oemDoc = maybe[map[string]json.RawMessage]

// oem decodes one vendor's part of Oem; a missing or odd one leaves into as is.
func oem(doc oemDoc, vendor string, into any) {
	if raw, ok := doc.value[vendor]; ok {
		_ = json.Unmarshal(raw, into)
	}
}

type rootDoc struct {
	Version   text   `json:"RedfishVersion"`
	UUID      text   `json:"UUID"`
	Known     text   `json:"ServiceIdentification"`
	Vendor    text   `json:"Vendor"`
	Product   text   `json:"Product"`
	Oem       oemDoc `json:"Oem"`
	Systems   link   `json:"Systems"`
	Chassis   link   `json:"Chassis"`
	Update    link   `json:"UpdateService"`
	Tasks     link   `json:"Tasks"`
	Regs      link   `json:"Registries"`
	Service   link   `json:"SessionService"`
	Accounts  link   `json:"AccountService"`
	Jobs      link   `json:"JobService"`
	Events    link   `json:"EventService"`
	Licences  link   `json:"LicenseService"`
	Telemetry link   `json:"TelemetryService"`
	Offers    maybe[struct {
		Chassis link `json:"Chassis"`
		Expand  maybe[struct {
			All     flag `json:"ExpandAll"`
			NoLinks flag `json:"NoLinks"`
		}] `json:"ExpandQuery"`
	}] `json:"ProtocolFeaturesSupported"`
	Links maybe[struct {
		Sessions link `json:"Sessions"`
	}] `json:"Links"`
}

type settingsDoc struct {
	Object     link  `json:"SettingsObject"`
	ApplyTimes words `json:"SupportedApplyTimes"`
}

type actionDoc struct {
	Target  text  `json:"target"`
	Allowed words `json:"ResetType@Redfish.AllowableValues"`
	Info    link  `json:"@Redfish.ActionInfo"`
}

type systemDoc struct {
	hardware
	ETag      text                `json:"@odata.etag"`
	Type      text                `json:"SystemType"`
	SKU       text                `json:"SKU"`
	UUID      text                `json:"UUID"`
	AssetTag  text                `json:"AssetTag"`
	BIOS      text                `json:"BiosVersion"`
	Power     text                `json:"PowerState"`
	LastReset text                `json:"LastResetTime"`
	LED       text                `json:"IndicatorLED"`
	Locator   flag                `json:"LocationIndicatorActive"`
	Boot      maybe[bootDoc]      `json:"Boot"`
	Settings  maybe[settingsDoc]  `json:"@Redfish.Settings"`
	Oem       oemDoc              `json:"Oem"`
	Progress  maybe[progressDoc]  `json:"BootProgress"`
	Console   maybe[consoleDoc]   `json:"SerialConsole"`
	Bios      link                `json:"Bios"`
	Secure    link                `json:"SecureBoot"`
	Memory    link                `json:"Memory"`
	CPUs      link                `json:"Processors"`
	Ethernet  link                `json:"EthernetInterfaces"`
	Storage   link                `json:"Storage"`
	Logs      link                `json:"LogServices"`
	Links     maybe[systemLinks]  `json:"Links"`
	Actions   maybe[systemAction] `json:"Actions"`
}

type systemLinks struct {
	Chassis   links `json:"Chassis"`
	ManagedBy links `json:"ManagedBy"`
}

type systemAction struct {
	Reset maybe[actionDoc] `json:"#ComputerSystem.Reset"`
}

type progressDoc struct {
	LastState text `json:"LastState"`
	LastTime  text `json:"LastStateTime"`
	OEM       text `json:"OemLastState"`
}

type bootDoc struct {
	Target  *text           `json:"BootSourceOverrideTarget"` // nil where the BMC has none
	Enabled text            `json:"BootSourceOverrideEnabled"`
	Mode    text            `json:"BootSourceOverrideMode"`
	Modes   words           `json:"BootSourceOverrideMode@Redfish.AllowableValues"`
	HTTP    json.RawMessage `json:"HttpBootUri"` // null is "none set", absent is "cannot be set"
	Allowed words           `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
	Path    json.RawMessage `json:"UefiTargetBootSourceOverride"` // likewise
	Paths   words           `json:"UefiTargetBootSourceOverride@Redfish.AllowableValues"`
	Next    json.RawMessage `json:"BootNext"` // likewise
	Order   words           `json:"BootOrder"`
	Options link            `json:"BootOptions"`
}

// optionDoc is one entry of the UEFI boot order.
type optionDoc struct {
	Reference text `json:"BootOptionReference"`
	Name      text `json:"DisplayName"`
	Path      text `json:"UefiDevicePath"`
}

type chassisDoc struct {
	hardware
	SKU       text   `json:"SKU"`
	AssetTag  text   `json:"AssetTag"`
	LED       text   `json:"IndicatorLED"`
	Locator   flag   `json:"LocationIndicatorActive"`
	Power     link   `json:"Power"`
	Subsystem link   `json:"PowerSubsystem"`
	Thermal   link   `json:"Thermal"`
	Cooling   link   `json:"ThermalSubsystem"`
	Sensors   link   `json:"Sensors"`
	Metrics   link   `json:"EnvironmentMetrics"`
	Logs      link   `json:"LogServices"`
	Adapters  link   `json:"NetworkAdapters"`
	Devices   link   `json:"PCIeDevices"` // a collection; the older array of links is not used
	Oem       oemDoc `json:"Oem"`
	Links     maybe[struct {
		Drives   links `json:"Drives"`
		Contains links `json:"Contains"`
	}] `json:"Links"`
}

type managerDoc struct {
	hardware
	Firmware  text   `json:"FirmwareVersion"`
	Ethernet  link   `json:"EthernetInterfaces"`
	Protocols link   `json:"NetworkProtocol"`
	Logs      link   `json:"LogServices"`
	DateTime  text   `json:"DateTime"`
	Offset    text   `json:"DateTimeLocalOffset"`
	Oem       oemDoc `json:"Oem"`
	Links     maybe[struct {
		Oem oemDoc `json:"Oem"`
	}] `json:"Links"`

	Console maybe[consoleDoc] `json:"SerialConsole"`
	Shell   maybe[consoleDoc] `json:"CommandShell"`
	Screen  maybe[consoleDoc] `json:"GraphicalConsole"`
	Serials link              `json:"SerialInterfaces"`
}

type ethernetDoc struct {
	ID        text `json:"Id"`
	MAC       text `json:"MACAddress"`
	Permanent text `json:"PermanentMACAddress"`
	Link      text `json:"LinkStatus"`
	Enabled   flag `json:"InterfaceEnabled"`
	IPv4      list[struct {
		Address text `json:"Address"`
	}] `json:"IPv4Addresses"`
}

type processorDoc struct {
	hardware
	uri     link
	Type    text   `json:"ProcessorType"`
	Cores   number `json:"TotalCores"`
	Threads number `json:"TotalThreads"`
	MaxMHz  number `json:"MaxSpeedMHz"`
	UUID    text   `json:"UUID"`
	Version text   `json:"FirmwareVersion"`
	Socket  text   `json:"Socket"`
	CPUID   maybe[struct {
		Family text `json:"EffectiveFamily"`
	}] `json:"ProcessorId"`
	Memory maybe[struct {
		ECC   flag   `json:"ECCModeEnabled"`
		Total number `json:"TotalMemorySizeMiB"`
	}] `json:"MemorySummary"`
	Links maybe[struct {
		Memory links `json:"Memory"`
		Device link  `json:"PCIeDevice"`
	}] `json:"Links"`
}

type memoryDoc struct {
	hardware
	Locator  text    `json:"DeviceLocator"`
	Capacity number  `json:"CapacityMiB"`
	Speed    number  `json:"OperatingSpeedMhz"`
	Allowed  numbers `json:"AllowedSpeedsMHz"`
	Device   text    `json:"MemoryDeviceType"`
	ECC      text    `json:"ErrorCorrection"`
	Bus      number  `json:"BusWidthBits"`
	Data     number  `json:"DataWidthBits"`
	Ranks    number  `json:"RankCount"`
}

type driveDoc struct {
	hardware
	Bytes    number `json:"CapacityBytes"`
	Protocol text   `json:"Protocol"`
	Media    text   `json:"MediaType"`
	Revision text   `json:"Revision"`
	Firmware text   `json:"FirmwareVersion"`
}

type adapterDoc struct {
	hardware
	Ports       link `json:"Ports"`
	OldPorts    link `json:"NetworkPorts"`
	Functions   link `json:"NetworkDeviceFunctions"`
	Controllers list[struct {
		Firmware text               `json:"FirmwarePackageVersion"`
		Location maybe[locationDoc] `json:"Location"`
	}] `json:"Controllers"`
}

// portDoc is a Port, a NetworkPort or a NetworkDeviceFunction.
type portDoc struct {
	Addresses words `json:"AssociatedNetworkAddresses"`
	Ethernet  maybe[struct {
		MACs      words `json:"AssociatedMACAddresses"`
		MAC       text  `json:"MACAddress"`
		Permanent text  `json:"PermanentMACAddress"`
	}] `json:"Ethernet"`
}

type psuDoc struct {
	hardware
	ID       link   `json:"@odata.id"`
	Watts    number `json:"PowerCapacityWatts"`
	Firmware text   `json:"FirmwareVersion"`
}

type deviceDoc struct {
	hardware
	Firmware text   `json:"FirmwareVersion"`
	Oem      oemDoc `json:"Oem"`
	Slot     maybe[struct {
		Location maybe[locationDoc] `json:"Location"`
	}] `json:"Slot"`
}

type softwareDoc struct {
	hardware
	Version    text `json:"Version"`
	Updateable flag `json:"Updateable"`
}
