package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/rackproof/rackproof/provision/netboot"
)

// ownBoot serves the lab's image to its machines, so that one that boots by PXE
// comes up without rackproof. It listens where a rackproof in the lab would.
type ownBoot struct {
	server *netboot.Server
	image  string
	key    string // that opens the hosts

	mu    sync.Mutex
	boots map[string]int // by machine, counted
}

// startOwnBoot opens a boot for each machine at each of its starts.
func (l *Lab) startOwnBoot(ctx context.Context) (func() error, error) {
	key, err := os.ReadFile(filepath.Join(l.options.Dir, HostKeyFile+".pub"))
	if err != nil {
		return nil, fmt.Errorf("serve the image: %w", err)
	}
	b := &ownBoot{
		server: &netboot.Server{Addr: netbootAddress, Images: filepath.Dir(l.options.Image), State: filepath.Join(l.options.Dir, "netboot.json"), Log: l.log},
		image:  filepath.Base(l.options.Image), key: string(key), boots: map[string]int{},
	}
	if err := b.server.Start(ctx); err != nil {
		return nil, err
	}
	for _, m := range l.machines {
		m.OnChange(func() {
			if !m.On() {
				return
			}
			if err := b.open(m.spec); err != nil {
				l.log.Error("serve the image", "machine", m.spec.Name, "err", err)
			}
		})
	}
	return b.server.Close, nil
}

// open lets a machine boot once. Its firmware asks seconds later.
func (b *ownBoot) open(s Spec) error {
	b.mu.Lock()
	b.boots[s.Name]++
	n := b.boots[s.Name]
	b.mu.Unlock()
	t, err := b.server.Ticket(s.Name, n, b.image, b.key)
	if err != nil {
		return err
	}
	return b.server.ExpectPXE(t.Token, s.HostMAC(), s.UUID())
}
