package provision

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/rackproof/rackproof/burnin/shell"
	"github.com/rackproof/rackproof/redfish"
)

// Bastions are the SSH connections through which BMCs are reached, one for each bastion,
// opened when it is first needed and again when it was lost. They log in as ssh does,
// with the user's agent, keys, ssh config and known_hosts.
type Bastions struct {
	Log  *slog.Logger
	Open func(ctx context.Context, via string) (Bastion, error) // nil = SSH

	mu     sync.Mutex
	ways   map[string]*way
	closed bool
}

// Bastion is a host from which TCP connections can be opened.
type Bastion interface {
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	Close() error
}

// way is one bastion, as it was opened or is about to be.
type way struct {
	ready chan struct{} // closed when hop or err is there
	hop   Bastion
	err   error
	until time.Time // err counts until then
}

const (
	// behindWait is how long a BMC may take to accept a connection from its bastion,
	// which by itself would wait for minutes.
	behindWait = 15 * time.Second
	// refusalKept is for how long a bastion that has refused us is not asked again: four
	// hundred BMCs behind it would look like an attack.
	refusalKept = time.Minute
)

// Dialer opens connections through via. An error of the bastion itself is a
// *redfish.HopError; another one is what the bastion says of the BMC.
func (b *Bastions) Dialer(via string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		for again := false; ; again = true {
			w, err := b.way(ctx, via)
			if err != nil {
				return nil, hopError(ctx, via, err)
			}
			limited, cancel := context.WithTimeout(ctx, behindWait)
			conn, err := w.hop.DialContext(limited, network, addr)
			late := limited.Err() != nil && ctx.Err() == nil
			cancel()
			switch {
			case errors.Is(err, shell.ErrForbidden):
				return nil, hopError(ctx, via, err)
			case late && err != nil && !errors.Is(err, shell.ErrLost):
				return nil, &net.OpError{Op: "dial", Net: network, Err: context.DeadlineExceeded}
			case err == nil:
				return &behind{Conn: conn, via: via}, nil
			case !errors.Is(err, shell.ErrLost):
				return nil, err
			}
			b.drop(via, w)
			if again {
				return nil, hopError(ctx, via, err)
			}
		}
	}
}

// behind is a connection through a bastion, whose end is blamed on the right one.
type behind struct {
	net.Conn
	via string
}

func (c *behind) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.blame(err)
}

func (c *behind) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.blame(err)
}

func (c *behind) blame(err error) error {
	if errors.Is(err, shell.ErrLost) {
		return &redfish.HopError{Hop: c.via, Err: err}
	}
	return err
}

// hopError blames the bastion, unless it was we who gave up.
func hopError(ctx context.Context, via string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &redfish.HopError{Hop: via, Err: err}
}

// way gives the connection to a bastion. Who comes while it is being opened waits for
// the same one, and others are not held up.
func (b *Bastions) way(ctx context.Context, via string) (*way, error) {
	b.mu.Lock()
	w := b.ways[via]
	if w == nil || w.stale() {
		if b.closed {
			b.mu.Unlock()
			return nil, net.ErrClosed
		}
		w = &way{ready: make(chan struct{})}
		if b.ways == nil {
			b.ways = map[string]*way{}
		}
		b.ways[via] = w
		go b.open(context.WithoutCancel(ctx), via, w) // it bounds its own time
	}
	b.mu.Unlock()
	select {
	case <-w.ready:
		return w, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stale reports an attempt that failed and no longer counts.
func (w *way) stale() bool {
	select {
	case <-w.ready:
		return w.err != nil && !time.Now().Before(w.until)
	default:
		return false
	}
}

func (b *Bastions) open(ctx context.Context, via string, w *way) {
	open := b.Open
	if open == nil {
		open = func(ctx context.Context, via string) (Bastion, error) {
			return shell.DialSSH(ctx, shell.SSHConfig{Addr: via, Log: b.Log})
		}
	}
	hop, err := open(ctx, via)
	b.mu.Lock()
	defer b.mu.Unlock()
	defer close(w.ready)
	switch {
	case err != nil:
		w.err = err
		if refusedUs(err) {
			w.until = time.Now().Add(refusalKept)
		}
	case b.closed:
		w.err = errors.Join(net.ErrClosed, hop.Close())
	default:
		w.hop = hop
	}
}

// refusedUs reports an error that asking again does not mend.
func refusedUs(err error) bool {
	_, config := errors.AsType[*shell.ConfigError](err)
	return config || errors.Is(err, shell.ErrAuth) || errors.Is(err, shell.ErrHostKey) || errors.Is(err, shell.ErrForbidden)
}

// drop closes a connection that was lost, unless it was opened anew meanwhile.
func (b *Bastions) drop(via string, w *way) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ways[via] == w {
		delete(b.ways, via)
		_ = w.hop.Close()
	}
}

// Close ends all connections; one that is being opened ends as soon as it is.
func (b *Bastions) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	var errs []error
	for _, w := range b.ways {
		select {
		case <-w.ready:
			if w.hop != nil {
				errs = append(errs, w.hop.Close())
			}
		default:
		}
	}
	b.ways = nil
	return errors.Join(errs...)
}

// dialer opens connections through a bastion of this Bench.
func (b *Bench) dialer(via string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bastions == nil {
		b.bastions = &Bastions{Log: b.Log}
	}
	return b.bastions.Dialer(via)
}
