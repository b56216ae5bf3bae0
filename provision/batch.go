package provision

import (
	"net"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
)

// Batch is the machines of one job. Its name is its identity: a file with the
// name of an open run resumes that run.
type Batch struct {
	Name     string          `json:"name"`
	Profile  string          `json:"profile,omitempty"`      // default of the machines
	Spec     string          `json:"spec,omitempty"`         // default of the machines
	Workflow string          `json:"workflow"`               // its name
	Own      *Plan           `json:"own_workflow,omitempty"` // where it is one of the batch's own
	Customer string          `json:"customer,omitempty"`
	Order    string          `json:"order,omitempty"`
	Stage    string          `json:"stage,omitempty"` // factory, goods-in, site, after repair
	Racks    map[string]Rack `json:"racks,omitempty"`
	PDUs     map[string]PDU  `json:"pdus,omitempty"`
	Limits   Limits          `json:"limits"`
	Netboot  Netboot         `json:"netboot,omitzero"`
	Firmware FirmwareWish    `json:"firmware,omitzero"`

	Diagnostics DiagnosticsWish `json:"diagnostics,omitzero"`
	Network     NetworkWish     `json:"network,omitzero"`
	Notify      NotifyWish      `json:"notify,omitzero"`

	Machines []Machine `json:"machines"`

	// Resolved are the profiles and specs that the machines are judged with, by
	// the SHA-256 of their bytes, so that a run needs no library any more.
	Resolved map[string][]byte `json:"resolved,omitempty"`
	// Arrived is what the run before found on each machine, for what puts it back.
	Arrived map[string]Facts `json:"arrived,omitempty"`
	// Planned is what the run may change on each machine, where it holds to a plan file
	// (PlanFile.Held); nil = it holds to none. Submitted again without, it stays.
	Planned map[string][]Change `json:"planned,omitempty"`
	// Source is the file that the batch was read from.
	Source string `json:"source,omitempty"`
	// Confirmed says that a person agreed to machines of an open run changing
	// their identity (serial, BMC, UUID).
	Confirmed bool `json:"-"`
	// Again asks for a new run where the last one of this name is finished.
	Again bool `json:"-"`
	// Until is when work on the run ends this time; zero = when it is done.
	Until time.Time `json:"-"`
}

// Rack is what the batch says of one rack.
type Rack struct {
	KW float64 `json:"kw,omitempty"` // power budget in kW; 0 = none stated
}

// PDU is what the batch says of one power distribution unit: a feed of its racks.
type PDU struct {
	KW    float64  `json:"kw"`              // power budget in kW
	Racks []string `json:"racks,omitempty"` // whose machines it feeds, but for those that name their own
}

// Limits bound what goes on at once.
type Limits struct {
	Parallel int      `json:"parallel,omitempty"`  // machines worked on at once; 0 means 16
	Poll     Duration `json:"poll,omitempty"`      // between two questions to a BMC or host; 0 means 3 s
	Stagger  Duration `json:"stagger,omitempty"`   // between two machines of a rack or PDU that are switched on or reset; 0 means 1 s
	Load     Duration `json:"load,omitempty"`      // under load, instead of the spec's soak; the report says so
	Tries    int      `json:"tries,omitempty"`     // of a step that has more than one; 0 means its own
	BMCReset Duration `json:"bmc_reset,omitempty"` // for a BMC that was reset to come back; 0 means 15 min, below 0 it is not reset
	DeadMan  Duration `json:"dead_man,omitempty"`  // a load goes on that long without word from us; 0 means 15 min
}

// Netboot says how machines reach this rackproof over HTTP.
type Netboot struct {
	Listen string `json:"listen,omitempty"` // host:port; port 0 or none = chosen once per run; host "" = the address facing each BMC
	Images string `json:"images,omitempty"` // folder of images; "" = <state>/images
}

// fixed reports whether a DHCP server can be told where we listen.
func (n Netboot) fixed() bool {
	host, port, err := net.SplitHostPort(n.Listen)
	return err == nil && host != "" && port != "" && port != "0"
}

// Machine is one server as the batch names it, with the defaults laid under.
type Machine struct {
	Name    string   `json:"name"`
	BMC     string   `json:"bmc"` // host or host:port
	Serial  string   `json:"serial,omitempty"`
	UUID    string   `json:"uuid,omitempty"`
	Rack    string   `json:"rack,omitempty"`
	U       int      `json:"u,omitempty"`
	PDUs    []string `json:"pdus,omitempty"` // that feed it; with one of them lost the others carry it
	MAC     string   `json:"mac,omitempty"`  // of the NIC that boots
	Host    string   `json:"host,omitempty"` // where SSH answers: address, or address:port
	System  string   `json:"system,omitempty"`
	Via     string   `json:"via,omitempty"` // bastion before BMC and host: [user@]host[:port], or an alias of the ssh config
	Profile string   `json:"profile"`
	Spec    string   `json:"spec"`
	Login   BMCLogin `json:"bmc_login"`
	SSH     SSH      `json:"ssh"`
	Boot    Boot     `json:"boot"`
	Reboots int      `json:"reboots,omitempty"` // reboot cycles instead of the spec's; 0 = the spec's

	// RAID are the volumes that it is to have, an empty list none; nil leaves that open.
	RAID []RAIDWish `json:"raid,omitzero"`

	// Network is what the BMC's own port is to be; nil leaves it alone.
	Network *redfish.NetworkWish `json:"bmc_network,omitempty"`

	// WriteDisks are serial numbers of NVMe drives that may be written over, if they are
	// empty and the spec asks for writes.
	WriteDisks []string `json:"write_disks,omitempty"`

	// Wipe are the disks that step wipe erases; nil = none.
	Wipe *burnin.Wiping `json:"wipe,omitempty"`

	// MIGTest lets the GPUs be cut into the profile's instances behind the burn-in.
	MIGTest bool `json:"mig_test,omitempty"`

	// Cables is where the cable of a network port ends by the plan of the hall: "leaf12
	// Ethernet7", by the port's name in the host's system.
	Cables map[string]string `json:"cables,omitempty"`

	Expect profiles.Expect         `json:"expect,omitzero"`
	Images map[string]FirmwareFile `json:"images,omitempty"` // newest firmware of its model in the batch's folder, by component

	Poll          Duration `json:"poll,omitempty"`           // of the batch
	ProfileSHA256 string   `json:"profile_sha256,omitempty"` // key of Batch.Resolved
	SpecSHA256    string   `json:"spec_sha256,omitempty"`
	LoadedWatts   float64  `json:"loaded_watts,omitempty"` // of the profile; 0 = not stated
	Minutes       int      `json:"minutes,omitempty"`      // expected burn-in of profile and spec
}

// BMCLogin is how to log in to a BMC. User and Password are references, never
// secrets.
type BMCLogin struct {
	Protocol Protocol `json:"protocol,omitempty"` // "" = redfish
	User     Ref      `json:"user"`
	Password Ref      `json:"password"`
	New      Ref      `json:"new_password,omitempty"` // that step credentials gives it; "" = it keeps its own
	TLS      string   `json:"tls"`                    // "pin", "insecure" or "ca:FILE"; nothing over IPMI
	Legacy   bool     `json:"tls_legacy,omitempty"`   // also TLS 1.0 and RSA key exchange
	SHA256   string   `json:"sha256,omitempty"`       // of the certificate to find at the first visit, lower-case hex
}

// SSH is how to log in to the booted host.
type SSH struct {
	User       string `json:"user"`
	Key        Ref    `json:"key"` // private key, PEM; "" = agent
	Port       int    `json:"port"`
	KnownHosts string `json:"known_hosts,omitempty"` // "" = the user's own
}

// Boot is what the machine is to boot for the burn-in.
type Boot struct {
	Image  string     `json:"image,omitempty"`
	Method BootMethod `json:"method"`
	// Console keeps what the host sends to its serial console while it boots.
	Console bool `json:"console,omitempty"`
}

// BootMethod is a way to bring the host up.
type BootMethod string

// The ways to bring a host up.
const (
	BootAuto     BootMethod = "auto"          // with an image uefi-http or virtual-media as the BMC offers it, or pxe where netboot.listen and mac are stated; else disk
	BootUEFIHTTP BootMethod = "uefi-http"     // the BMC gives the firmware a boot URI
	BootMedia    BootMethod = "virtual-media" // the BMC shows the host a CD that it fetches from us
	BootPXE      BootMethod = "pxe"           // the BMC says PXE, and the DHCP server that is there leads to us
	BootDisk     BootMethod = "disk"          // the installed system
	BootNone     BootMethod = "none"          // the machine is up; nothing is done
)

const (
	defaultParallel = 16
	defaultSpec     = "standard"
	defaultWorkflow = "qualify"
	// SimulatedImage is the image of the simulated rack: there is nothing to
	// serve but the script and the seed.
	SimulatedImage = "simulated"
)

// fromUs reports that the host boots an image that this rackproof serves.
func (m BootMethod) fromUs() bool { return m == BootUEFIHTTP || m == BootMedia || m == BootPXE }

// Find returns the machine called name.
func (b *Batch) Find(name string) (Machine, bool) {
	for _, m := range b.Machines {
		if m.Name == name {
			return m, true
		}
	}
	return Machine{}, false
}

// judgeBy takes over what m is judged by, and nothing else.
func (m *Machine) judgeBy(o Machine) {
	m.Profile, m.ProfileSHA256, m.Spec, m.SpecSHA256 = o.Profile, o.ProfileSHA256, o.Spec, o.SpecSHA256
	m.Expect, m.LoadedWatts, m.Minutes, m.Images, m.Cables = o.Expect, o.LoadedWatts, o.Minutes, o.Images, o.Cables
}

// Where is the place as people say it: "R12 U07", or "".
func (m Machine) Where() string { return place(m.Rack, m.U) }
