package redfish

// Boot is the boot override of the host.
type Boot struct {
	Target      string   `json:"target"`                  // None, Pxe, UefiHttp, Cd, Hdd …
	Enabled     string   `json:"enabled"`                 // Disabled, Once, Continuous
	Mode        string   `json:"mode,omitempty"`          // UEFI, Legacy, "" where not reported
	HTTPBootURI string   `json:"http_boot_uri,omitempty"` // for UefiHttp
	Allowed     []string `json:"allowed,omitempty"`       // targets as the BMC lists them; empty means not listed
	Supported   bool     `json:"supported"`               // false: the BMC has no override properties
}
