package nodetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/gliderlabs/ssh"
	gossh "golang.org/x/crypto/ssh"
)

// Node is the host side of a simulated machine: nothing while it is off, an SSH
// server at a fixed address while it is up. All methods are safe for concurrent
// use.
type Node struct {
	addr string
	log  *slog.Logger

	mu      sync.Mutex
	machine *Machine
	up      *host
	starts  int    // since there is this node
	restart func() // what the operating system calls to restart the machine; nil = it cannot

	counting sync.Mutex
	counts   map[string]int
}

// Boot is how a machine comes up.
type Boot struct {
	HostKey       gossh.Signer    // of the SSH server
	AuthorizedKey gossh.PublicKey // who may log in as root; nil: nobody
	Cmdline       string          // of the kernel
	BootID        string          // new at every boot
	IOMMU         bool            // on, by the BIOS
}

// NewNode makes a node that is off and will answer at addr, a loopback host:port.
func NewNode(m *Machine, addr string, log *slog.Logger) *Node {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Node{addr: addr, machine: m, log: log.With("node", m.Name), counts: map[string]int{}}
}

// Addr is the host:port at which the node answers while it is up.
func (n *Node) Addr() string { return n.addr }

func (n *Node) act(name string) {
	n.counting.Lock()
	defer n.counting.Unlock()
	n.counts[name]++
}

// Acts counts what was done on the node in all its boots: "boot", and "load.NAME"
// for each load that was started.
func (n *Node) Acts() map[string]int {
	n.counting.Lock()
	defer n.counting.Unlock()
	return maps.Clone(n.counts)
}

// SetMachine changes the hardware; the node sees it at its next boot.
func (n *Node) SetMachine(m *Machine) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.machine = m
}

// OnRestart sets what happens when somebody lets the operating system restart the machine.
func (n *Node) OnRestart(restart func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.restart = restart
}

// Up reports whether the host answers.
func (n *Node) Up() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.up != nil
}

// Busy reports whether anything of rackproof runs on the host: a load or a sampler.
func (n *Node) Busy() bool {
	n.mu.Lock()
	up := n.up
	n.mu.Unlock()
	if up == nil {
		return false
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	return up.folder != nil && up.folder.busy(time.Now())
}

// Boot brings the host up: everything that the last one held in memory is gone.
func (n *Node) Boot(ctx context.Context, b Boot) error {
	n.Down()
	n.mu.Lock()
	defer n.mu.Unlock()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", n.addr)
	if err != nil {
		return fmt.Errorf("simulated node %s: %w", n.machine.Name, err)
	}
	n.starts++
	m := n.machine.clone()
	if m.Sometimes != nil && n.starts%3 == 0 {
		if err := m.Sometimes(m); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	n.up = newHost(m, b, n.act)
	n.up.restart = n.restart
	n.up.serve(l, b, n.log)
	n.act("boot")
	return nil
}

// Down takes the host off the network at once, with every command it runs.
func (n *Node) Down() {
	n.mu.Lock()
	up := n.up
	n.up = nil
	n.mu.Unlock()
	if up != nil {
		up.close()
	}
}

// host is one booted operating system.
type host struct {
	base   system // as booted: snapshot fills in the moment
	listen net.Listener
	server *ssh.Server
	wg     sync.WaitGroup

	mu     sync.Mutex
	folder *folder // of rackproof; one holds the node at a time
	units  []*unit // of this boot, also of folders that are gone
	count  func(act string)

	restart func() // of the machine
}

func newHost(m *Machine, b Boot, count func(string)) *host {
	h := &host{count: count}
	h.base = system{M: m.host(), Booted: time.Now(), BootID: b.BootID, Cmdline: b.Cmdline, IOMMU: b.IOMMU}
	return h
}

func (h *host) serve(l net.Listener, b Boot, log *slog.Logger) {
	h.server = &ssh.Server{
		Version: "OpenSSH_9.6 simulated",
		Handler: h.session,
		PublicKeyHandler: func(_ ssh.Context, key ssh.PublicKey) bool {
			return b.AuthorizedKey != nil && ssh.KeysEqual(key, b.AuthorizedKey)
		},
	}
	h.server.AddHostKey(b.HostKey)
	h.listen = l
	h.wg.Go(func() {
		if err := h.server.Serve(l); !errors.Is(err, ssh.ErrServerClosed) {
			log.Error("simulated node stopped serving", "err", err)
		}
	})
	log.Debug("simulated node is up", "addr", l.Addr().String(), "boot_id", b.BootID)
}

func (h *host) close() {
	_ = h.server.Close()
	_ = h.listen.Close() // the server does not know it yet when it has hardly begun
	h.wg.Wait()
}

// session answers one command.
func (h *host) session(s ssh.Session) {
	r := h.run(s.Context(), s.RawCommand(), s, s)
	if r.hang {
		<-s.Context().Done() // until the connection is gone, and with it the exit status
		return
	}
	_, _ = io.WriteString(s, r.out)
	_, _ = io.WriteString(s.Stderr(), r.err)
	_ = s.Exit(r.exit)
}

// reboot restarts the machine, where it is still in the boot that is named.
func (h *host) reboot(args []string) reply {
	switch {
	case len(args) != 1 || args[0] != h.base.BootID:
		return reply{out: "other boot\n"}
	case h.restart == nil:
		return reply{err: "reboot: not permitted\n", exit: 1}
	}
	h.count("reboot")
	go h.restart()
	return reply{out: "ordered\n"}
}

// now is the operating system at this moment.
func (h *host) now() *system {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.folder != nil {
		h.folder.expire(now)
	}
	return h.snapshot(now)
}

// snapshot is the operating system at time t. h.mu must be held.
func (h *host) snapshot(t time.Time) *system {
	s := h.base
	s.Now = t
	for _, u := range h.units {
		if u.start.After(t) {
			continue
		}
		worked := u.worked(t)
		if u.drives() {
			s.Read += worked
		}
		if !u.gpu() || u.idle {
			continue
		}
		if t.Before(u.end()) {
			s.Load = worked
		}
		if s.Fell.IsZero() && s.Worked+worked > fallAfter {
			s.Fell = u.start.Add(fallAfter - s.Worked)
		}
		s.Worked += worked
	}
	return &s
}
