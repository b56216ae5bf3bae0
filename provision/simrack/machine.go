package simrack

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// machine is a BMC and a node that are one thing.
type machine struct {
	spec    MachineSpec
	log     *slog.Logger
	bmc     *redfishtest.BMC
	node    *nodetest.Node
	place   *reservation
	diskKey ssh.Signer // host key of the installed system
	rootKey ssh.PublicKey

	mu       sync.Mutex
	hardware *nodetest.Machine
	tree     redfishtest.Tree // as last laid under the BMC
	fault    string
	boards   int // how often its board was exchanged
	iommu    bool
	counts   map[string]int
}

func startMachine(ctx context.Context, spec MachineSpec, place *reservation, login Login, opts Options) (*machine, error) {
	m := &machine{spec: spec, place: place, log: opts.Log.With("machine", spec.Name), fault: spec.Fault, iommu: true, counts: map[string]int{}}
	var err error
	if m.hardware, err = m.build(spec.Fault, opts.Seed); err != nil {
		return m, err
	}
	if m.tree, err = Tree(m.hardware); err != nil {
		return m, err
	}
	if err := m.keys(login); err != nil {
		return m, err
	}
	m.node = nodetest.NewNode(m.hardware, place.addr, m.log)
	m.node.OnRestart(func() { m.bmc.RestartHost() })
	m.bmc, err = redfishtest.Start(ctx, redfishtest.Options{
		Tree: m.tree, User: login.User, Password: login.Password, Latency: opts.Latency,
		PowerDelay: opts.PowerDelay, POSTDelay: opts.POSTDelay, TaskDelay: opts.PowerDelay,
		Faults: bmcFaults(spec.Fault), Log: m.log,
		Hooks: redfishtest.Hooks{
			OnPower: func(_ context.Context, on bool) {
				if !on {
					m.node.Down()
				}
			},
			OnReset: func(context.Context) { m.node.Down() },
			OnBoot:  m.boot,
			OnBIOS:  m.applied,
		},
	})
	return m, err
}

// build makes the hardware with a fault in it; faults of the BMC are not hardware.
func (m *machine) build(fault string, seed uint64) (*nodetest.Machine, error) {
	hw, err := nodetest.New(m.spec.Model, m.spec.Name, seed)
	if err != nil {
		return nil, err
	}
	if m.boards > 0 {
		if err := m.onNewBoard(hw, seed); err != nil {
			return nil, err
		}
	}
	if slices.Contains(nodetest.FaultNames(), fault) {
		err = hw.Break(fault)
	}
	return hw, err
}

func bmcFaults(fault string) []string {
	if fault == "" || slices.Contains(nodetest.FaultNames(), fault) {
		return nil
	}
	return []string{fault}
}

// plant replaces whatever is wrong with the machine by fault.
func (m *machine) plant(fault string, seed uint64) error {
	hw, err := m.build(fault, seed)
	if err != nil {
		return err
	}
	tree, err := Tree(hw)
	if err != nil {
		return err
	}
	for _, f := range bmcFaults(fault) {
		if err := m.bmc.SetFault(f, true); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range bmcFaults(m.fault) {
		if m.fault != fault {
			_ = m.bmc.SetFault(f, false)
		}
	}
	if err := m.relay(tree); err != nil {
		return err
	}
	m.hardware, m.fault = hw, fault
	m.node.SetMachine(hw)
	return nil
}

// relay lays the resources that changed under the running BMC.
func (m *machine) relay(tree redfishtest.Tree) error {
	for uri, body := range tree {
		if bytes.Equal(body, m.tree[uri]) {
			continue
		}
		var fresh map[string]any
		if err := json.Unmarshal(body, &fresh); err != nil {
			return err
		}
		err := m.bmc.Update(uri, func(now map[string]any) {
			clear(now)
			maps.Copy(now, fresh)
		})
		if err != nil {
			return fmt.Errorf("simulated BMC of %s: %w", m.spec.Name, err)
		}
	}
	m.tree = tree
	return nil
}

// close takes the machine off the network, also one that did not start whole.
func (m *machine) close() error {
	if m == nil {
		return nil
	}
	err := m.place.hold.Close()
	if m.bmc != nil {
		err = errors.Join(err, m.bmc.Close())
	}
	if m.node != nil {
		m.node.Down()
	}
	return err
}

func (m *machine) info() Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	host, port, _ := net.SplitHostPort(m.node.Addr())
	n, _ := strconv.Atoi(port)
	hw := m.hardware
	i := Info{
		Name: m.spec.Name, Profile: hw.Profile, BMC: m.bmc.Addr(), Host: host, Port: n, Serial: hw.SystemSerial, MAC: hw.NICs[0].MACs[0],
		Rack: m.spec.Rack, U: m.spec.U, DIMMs: len(hw.DIMMs), Drives: len(hw.Drives), Disks: serials(hw.Drives), PSUs: len(hw.PSUs), Fault: m.fault,
	}
	for _, d := range hw.DIMMs {
		i.DIMMGiB = max(i.DIMMGiB, d.GiB)
	}
	return i
}

func (m *machine) acts() map[string]int {
	all := m.bmc.Acts()
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(all, m.counts)
	for act, n := range m.node.Acts() {
		all["host."+act] = n
	}
	return all
}

func (m *machine) count(act string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[act]++
}

func (m *machine) keys(login Login) error {
	raw, err := newKey()
	if err != nil {
		return err
	}
	if m.diskKey, err = ssh.ParsePrivateKey(raw); err != nil {
		return err
	}
	root, err := ssh.ParsePrivateKey([]byte(login.Key))
	if err != nil {
		return err
	}
	m.rootKey = root.PublicKey()
	return nil
}

// newKey makes an Ed25519 key in OpenSSH's PEM form.
func newKey() ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("simulated key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(key, "simulated")
	if err != nil {
		return nil, fmt.Errorf("simulated key: %w", err)
	}
	return pem.EncodeToMemory(block), nil
}

func newBootID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	h := hex.EncodeToString(b)
	return fmt.Sprintf("%s-%s-4%s-a%s-%s", h[0:8], h[8:12], h[13:16], h[17:20], h[20:32])
}

func serials(drives []nodetest.Drive) []string {
	out := make([]string, len(drives))
	for i, d := range drives {
		out[i] = d.Serial
	}
	return out
}
