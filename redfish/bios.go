package redfish

// BIOS is the BIOS of the host as the BMC tells it.
type BIOS struct {
	Attributes map[string]any `json:"attributes"`            // in force; values are string, json.Number, bool or nil
	Pending    map[string]any `json:"pending,omitempty"`     // staged for the next reset, only what differs
	Registry   string         `json:"registry,omitempty"`    // name of the attribute registry
	ReadOnly   bool           `json:"read_only,omitempty"`   // no settings object was found
	ApplyTimes []string       `json:"apply_times,omitempty"` // declared; empty means none declared
}

// BIOSChange is one attribute that is to change.
type BIOSChange struct {
	Attribute string `json:"attribute"` // the name that this BMC uses
	Now       any    `json:"now"`
	Want      any    `json:"want"`
	Display   string `json:"display,omitempty"` // as the setup screen names it
}

// Unmapped is an intent that has no attribute on this machine.
type Unmapped struct {
	Intent  string   `json:"intent"`
	Value   string   `json:"value"`
	Why     string   `json:"why"`
	Nearest []string `json:"nearest,omitempty"` // attributes with similar names
}
