package redfish

// PowerState is the state of the host, as Redfish words it.
type PowerState string

// PowerUnknown stands for a state that the BMC does not report.
const (
	On           PowerState = "On"
	Off          PowerState = "Off"
	PoweringOn   PowerState = "PoweringOn"
	PoweringOff  PowerState = "PoweringOff"
	PowerUnknown PowerState = "Unknown"
)

// PowerAction is what SetPower is asked to bring about.
type PowerAction string

// PowerOff asks the operating system once, then forces; Restart does not ask.
const (
	PowerOn  PowerAction = "on"
	PowerOff PowerAction = "off"
	ForceOff PowerAction = "force-off"
	Restart  PowerAction = "restart"
)
