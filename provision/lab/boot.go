package lab

// BootDevice is what a machine is told to start from.
type BootDevice string

// The boot devices that the lab's BMCs offer.
const (
	BootOwn   BootDevice = ""      // the firmware's own order: the first disk
	BootPXE   BootDevice = "pxe"   // the NIC of the provisioning network
	BootDisk  BootDevice = "disk"  // the first NVMe
	BootCD    BootDevice = "cd"    // virtual media
	BootHTTP  BootDevice = "http"  // UEFI HTTP boot of BootChoice.URI
	BootSetup BootDevice = "setup" // the firmware's menu
)

// BootChoice is a boot override. The zero value is none.
type BootChoice struct {
	Device     BootDevice `json:"device"`
	URI        string     `json:"uri,omitempty"` // of BootHTTP
	UEFI       bool       `json:"uefi,omitempty"`
	Persistent bool       `json:"persistent,omitempty"` // otherwise used up by the next start
}

// String is the form in chassis.log: the device, with "own" for none.
func (b BootChoice) String() string {
	if b.Device == BootOwn {
		return "own"
	}
	return string(b.Device)
}
