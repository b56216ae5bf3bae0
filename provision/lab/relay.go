package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// relayIdle is how long a client's way through the relay is kept.
const relayIdle = 5 * time.Minute

// maxPacket holds any IPMI packet.
const maxPacket = 4096

// relay carries UDP between a BMC's address and ipmi_sim, which cannot be made
// slow by itself.
type relay struct {
	front   *net.UDPConn
	backend netip.AddrPort
	done    sync.WaitGroup
	life    context.Context //nolint:containedctx // ends with close
	end     context.CancelFunc

	mu    sync.Mutex
	late  time.Duration // before each answer
	paths map[netip.AddrPort]*net.UDPConn
}

// startRelay listens at one address until it is closed, for what is at another,
// both with the same port.
func startRelay(ctx context.Context, listen, backend string, port uint16) (*relay, error) {
	at, err := netip.ParseAddr(listen)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	to, err := netip.ParseAddr(backend)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	front, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, port)))
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	r := &relay{front: front, backend: netip.AddrPortFrom(to, port), paths: map[netip.AddrPort]*net.UDPConn{}}
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	r.done.Go(r.requests)
	return r, nil
}

// setLate makes every answer from now on late by d.
func (r *relay) setLate(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = d
}

// requests carries what clients send.
func (r *relay) requests() {
	packet := make([]byte, maxPacket)
	for {
		n, client, err := r.front.ReadFromUDPAddrPort(packet)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP error of a client that left
		}
		path, err := r.path(client)
		if err == nil {
			_, _ = path.Write(packet[:n]) // a lost packet is sent again, as on any network
		}
	}
}

// path is the client's own socket towards ipmi_sim, so that answers find back.
func (r *relay) path(client netip.AddrPort) (*net.UDPConn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if path := r.paths[client]; path != nil {
		return path, nil
	}
	path, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(r.backend))
	if err != nil {
		return nil, err
	}
	if r.life.Err() != nil {
		return nil, errors.Join(net.ErrClosed, path.Close())
	}
	r.paths[client] = path
	answers := make(chan answerPacket, 64)
	r.done.Go(func() { r.collect(client, path, answers) })
	r.done.Go(func() { r.deliver(client, answers) })
	return path, nil
}

// answerPacket waits for its time.
type answerPacket struct {
	due  time.Time
	data []byte
}

// collect reads the answers to one client until it is silent for long.
func (r *relay) collect(client netip.AddrPort, path *net.UDPConn, answers chan<- answerPacket) {
	defer close(answers)
	packet := make([]byte, maxPacket)
	for {
		_ = path.SetReadDeadline(time.Now().Add(relayIdle))
		n, err := path.Read(packet)
		if err != nil && r.life.Err() == nil && !isTimeout(err) && !errors.Is(err, net.ErrClosed) {
			if wait(r.life, 10*time.Millisecond) == nil {
				continue // ipmi_sim was not there: refused
			}
		}
		if err != nil {
			break
		}
		r.mu.Lock()
		due := time.Now().Add(r.late)
		r.mu.Unlock()
		select {
		case answers <- answerPacket{due, append([]byte(nil), packet[:n]...)}:
		default: // far too many: lost
		}
	}
	r.mu.Lock()
	delete(r.paths, client)
	r.mu.Unlock()
	_ = path.Close()
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// deliver sends answers in their order, each at its time.
func (r *relay) deliver(client netip.AddrPort, answers <-chan answerPacket) {
	for a := range answers {
		if left := time.Until(a.due); left > 0 && wait(r.life, left) != nil {
			continue
		}
		_, _ = r.front.WriteToUDPAddrPort(a.data, client)
	}
}

// close ends it and waits for that.
func (r *relay) close() error {
	r.end()
	err := r.front.Close()
	r.mu.Lock()
	for _, path := range r.paths {
		_ = path.SetReadDeadline(time.Unix(1, 0)) // wakes its reader, which closes it
	}
	r.mu.Unlock()
	r.done.Wait()
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	return nil
}
