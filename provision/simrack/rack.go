package simrack

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/rackproof/rackproof/burnin/nodetest"
)

// Options say what rack to build. The zero value of every field but Machines is
// usable.
type Options struct {
	Machines   []MachineSpec
	Seed       uint64
	PowerDelay time.Duration // from the accepted act to the changed power state; 0 = 300 ms
	POSTDelay  time.Duration // from power or reset to the boot; 0 = 700 ms
	Latency    time.Duration // added to every answer of a BMC
	Load       time.Duration // of the burn-in that BatchYAML asks for; 0 = 6 s
	Log        *slog.Logger  // nil: no log
}

// MachineSpec is one machine of the rack.
type MachineSpec struct {
	Name  string
	Model string // of nodetest.Models; "" = the first
	Fault string // of nodetest.FaultNames or redfishtest.FaultNames; "" = healthy
	Rack  string // "" = by order, five machines a rack
	U     int    // 0 = by order
}

// Info is what people know of a machine before they ask it.
type Info struct {
	Name    string   `json:"name"`
	Profile string   `json:"profile"`
	BMC     string   `json:"bmc"`  // host:port
	Host    string   `json:"host"` // address
	Port    int      `json:"port"` // of SSH
	Serial  string   `json:"serial"`
	MAC     string   `json:"mac"` // of the NIC that boots
	Rack    string   `json:"rack"`
	U       int      `json:"u"`
	DIMMs   int      `json:"dimms"` // as ordered
	DIMMGiB int      `json:"dimm_gib"`
	Drives  int      `json:"drives"`
	Disks   []string `json:"disks"` // serial numbers of the drives
	PSUs    int      `json:"psus"`
	Fault   string   `json:"fault,omitempty"`
}

// Rack is a running simulated rack. All methods are safe for concurrent use.
type Rack struct {
	login    Login
	seed     uint64
	load     time.Duration
	boots    *reservation // where a rackproof serves their boots
	order    []string
	machines map[string]*machine
}

// Login is what opens the rack's BMCs and installed systems.
type Login struct {
	User, Password string
	Key            string // private key of root, PEM
}

// Names of the environment variables that BatchYAML refers to.
const (
	EnvUser     = "RACKPROOF_SIM_USER"
	EnvPassword = "RACKPROOF_SIM_PASSWORD" //nolint:gosec // the name of a variable
	EnvKey      = "RACKPROOF_SIM_KEY"
)

// Start builds the rack and puts every machine on the network: BMC on, host off.
// It stops when ctx ends or Close is called.
func Start(ctx context.Context, opts Options) (*Rack, error) {
	opts = opts.withDefaults()
	login, err := newLogin()
	if err != nil {
		return nil, err
	}
	r := &Rack{login: login, seed: opts.Seed, load: opts.Load, machines: map[string]*machine{}}
	var ports portFinder
	if r.boots, err = ports.find(ctx); err != nil {
		return nil, fmt.Errorf("simulated rack: %w", err)
	}
	for i, spec := range opts.Machines {
		spec = spec.Placed(i)
		if r.machines[spec.Name] != nil {
			return nil, fmt.Errorf("simulated rack: two machines are called %q", spec.Name)
		}
		host, err := ports.find(ctx)
		if err == nil {
			r.machines[spec.Name], err = startMachine(ctx, spec, host, login, opts)
		}
		if err != nil {
			return nil, multierror.Append(fmt.Errorf("simulated rack: %s: %w", spec.Name, err), r.Close()).ErrorOrNil()
		}
		r.order = append(r.order, spec.Name)
	}
	return r, nil
}

// Close takes every machine off the network.
func (r *Rack) Close() error {
	var errs *multierror.Error
	errs = multierror.Append(errs, r.boots.hold.Close())
	for _, name := range slices.Sorted(maps.Keys(r.machines)) {
		errs = multierror.Append(errs, r.machines[name].close())
	}
	return errs.ErrorOrNil()
}

// Machines lists the machines in their order.
func (r *Rack) Machines() []Info {
	list := make([]Info, len(r.order))
	for i, name := range r.order {
		list[i] = r.machines[name].info()
	}
	return list
}

// Login is what opens the rack. Never log it.
func (r *Rack) Login() Login { return r.login }

// Credentials are the environment variables that BatchYAML refers to.
func (r *Rack) Credentials() map[string]string {
	return map[string]string{EnvUser: r.login.User, EnvPassword: r.login.Password, EnvKey: r.login.Key}
}

// Acts counts by machine what was done to it and took effect: the acts of its BMC
// (redfishtest.BMC.Acts) and those of its host ("host.boot", of these
// "host.boot.http", "host.boot.cd" and "host.boot.disk", and "host.load.NAME" for each load).
func (r *Rack) Acts() map[string]map[string]int {
	all := map[string]map[string]int{}
	for name, m := range r.machines {
		all[name] = m.acts()
	}
	return all
}

// Busy lists the machines on whose host anything of rackproof runs now.
func (r *Rack) Busy() []string {
	var busy []string
	for _, name := range r.order {
		if r.machines[name].node.Busy() {
			busy = append(busy, name)
		}
	}
	return busy
}

// Sessions is how many sessions are open on the BMCs.
func (r *Rack) Sessions() int {
	n := 0
	for _, m := range r.machines {
		n += m.bmc.OpenSessions()
	}
	return n
}

// SetFault plants a fault, "" takes every fault away. What is soldered or plugged
// is only seen after the next boot, as on real hardware.
func (r *Rack) SetFault(machine, fault string) error {
	m, err := r.find(machine)
	if err != nil {
		return err
	}
	return m.plant(fault, r.seed)
}

// Repair does what hands do: the fault is gone after the next boot.
func (r *Rack) Repair(machine string) error { return r.SetFault(machine, "") }

func (r *Rack) find(name string) (*machine, error) {
	m := r.machines[name]
	if m == nil {
		return nil, fmt.Errorf("no simulated machine %q", name)
	}
	return m, nil
}

func (o Options) withDefaults() Options {
	if o.PowerDelay == 0 {
		o.PowerDelay = 300 * time.Millisecond
	}
	if o.POSTDelay == 0 {
		o.POSTDelay = 700 * time.Millisecond
	}
	if o.Load == 0 {
		o.Load = 6 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Placed fills in what s leaves open, for the machine that is the i-th of a rack.
func (s MachineSpec) Placed(i int) MachineSpec {
	if s.Model == "" {
		s.Model = nodetest.Models()[0]
	}
	if s.Rack == "" {
		s.Rack = fmt.Sprintf("R%d", 12+i/perRack)
	}
	if s.U == 0 {
		s.U = 1 + i%perRack*units
	}
	if s.Name == "" {
		s.Name = fmt.Sprintf("%su%02d", strings.ToLower(s.Rack), s.U)
	}
	return s
}

// A machine of eight height units: five fill a rack.
const (
	units   = 8
	perRack = 5
)

func newLogin() (Login, error) {
	key, err := newKey()
	if err != nil {
		return Login{}, err
	}
	secret := make([]byte, 12)
	if _, err := rand.Read(secret); err != nil {
		return Login{}, fmt.Errorf("simulated rack: %w", err)
	}
	return Login{User: "admin", Password: "sim-" + hex.EncodeToString(secret), Key: string(key)}, nil
}

// A host keeps its address while it is off, and then nothing listens there; the
// boots of a rackproof that was killed keep theirs until it comes back. Ports
// below those that systems give to outgoing connections (from 32768 on Linux) stay
// free meanwhile, but for other racks on this machine: so a rack holds the same
// port of UDP, where nobody else would be, for as long as it lives.
const (
	firstPort = 20000
	portSpan  = 9000
)

// reservation is an address that is ours while nobody listens there.
type reservation struct {
	addr string
	hold net.PacketConn
}

type portFinder struct{ next int }

func (p *portFinder) find(ctx context.Context) (*reservation, error) {
	var lc net.ListenConfig
	for range portSpan {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort+p.next%portSpan)
		p.next++
		hold, err := lc.ListenPacket(ctx, "udp", addr)
		if err != nil {
			continue
		}
		l, err := lc.Listen(ctx, "tcp", addr)
		if err != nil {
			_ = hold.Close()
			continue
		}
		return &reservation{addr: addr, hold: hold}, l.Close()
	}
	return nil, fmt.Errorf("no free port from %d to %d", firstPort, firstPort+portSpan-1)
}
