package provision

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"

	"github.com/rackproof/rackproof/burnin/shell"
	"github.com/rackproof/rackproof/redfish"
)

// Bastions are the SSH connections through which BMCs are reached, one for each bastion,
// opened when it is first needed and again when it was lost. They log in as ssh does,
// with the user's agent, keys, ssh config and known_hosts.
type Bastions struct {
	Log  *slog.Logger
	Open func(ctx context.Context, via string) (Bastion, error) // nil = SSH

	mu   sync.Mutex
	open map[string]Bastion
}

// Bastion is a host from which TCP connections can be opened.
type Bastion interface {
	Name() string
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	Close() error
}

// Dialer opens connections through via. An error of the bastion itself is a
// *redfish.HopError; another one is what the bastion says of the BMC.
func (b *Bastions) Dialer(via string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		for again := false; ; again = true {
			hop, err := b.get(ctx, via)
			if err != nil {
				return nil, &redfish.HopError{Hop: via, Err: err}
			}
			conn, err := hop.DialContext(ctx, network, addr)
			switch {
			case !errors.Is(err, shell.ErrLost):
				return conn, err
			case again:
				return nil, &redfish.HopError{Hop: via, Err: err}
			}
			b.drop(via, hop)
		}
	}
}

func (b *Bastions) get(ctx context.Context, via string) (Bastion, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if hop := b.open[via]; hop != nil {
		return hop, nil
	}
	open := b.Open
	if open == nil {
		open = func(ctx context.Context, via string) (Bastion, error) {
			return shell.DialSSH(ctx, shell.SSHConfig{Addr: via, Log: b.Log})
		}
	}
	hop, err := open(ctx, via)
	if err != nil {
		return nil, err
	}
	if b.open == nil {
		b.open = map[string]Bastion{}
	}
	b.open[via] = hop
	return hop, nil
}

// drop closes a connection that was lost, unless it was opened anew meanwhile.
func (b *Bastions) drop(via string, hop Bastion) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[via] == hop {
		delete(b.open, via)
	}
	_ = hop.Close()
}

// Close ends all connections.
func (b *Bastions) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, hop := range b.open {
		errs = append(errs, hop.Close())
	}
	b.open = nil
	return errors.Join(errs...)
}
