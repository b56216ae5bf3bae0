package redfish

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"
)

const (
	// ipmiPatience is how long an answer to one command may take. A busy BMC needs
	// seconds for a sensor record; one that says nothing for this long is away.
	ipmiPatience = 20 * time.Second
	// ipmiIdle is when a session counts as forgotten: BMCs drop one that was silent
	// for 60 s (IPMI 2.0, 6.12.15).
	ipmiIdle = 50 * time.Second
	// maxDatagram is more than any RMCP+ datagram holds.
	maxDatagram = 4096
)

// ipmiSession is one RMCP+ session over UDP. It is our own, built from the wire
// formats, keys and ciphers of go-ipmi, because the client of that library (v0.9.1)
// takes answers without checking their signature and takes unencrypted ones, ends
// the process on a datagram that is too short to decrypt, draws the vectors of its
// cipher from the clock, and tries every cipher suite with a wrong password.
type ipmiSession struct {
	cfg     Config
	conn    net.Conn
	setup   chan ipmiFrame // answers outside of a session
	answers chan ipmiAnswer
	console chan types.SOLPayloadPacket
	refused chan struct{} // the BMC's address says that nobody listens
	closing chan struct{}
	ended   chan struct{} // the reader is through

	mu        sync.Mutex // guards what follows; the keys change once, when the session begins
	keys      *ipmiKeys
	local     uint32 // session id by which the BMC speaks to us
	remote    uint32 // session id by which we speak to the BMC
	sequence  uint32 // of our last datagram
	heard     uint32 // of the BMC's last datagram
	request   uint8  // 6 bits: tells an answer's request
	privilege types.PrivilegeLevel
	guid      [16]byte // as the BMC gave it in the handshake
	last      time.Time
	hold      SessionHold // what is remembered of the session; may be nil
	touched   time.Time
}

// ipmiAnswer is one answer to a command.
type ipmiAnswer struct {
	request, netFn, cmd, code uint8
	data                      []byte
}

// dialIPMI opens the socket; nothing is sent.
func dialIPMI(ctx context.Context, cfg Config) (*ipmiSession, error) {
	conn, err := cfg.Dial(ctx, "udp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("BMC %s: %w: %w; check the name, and whether IPMI (UDP) gets through", cfg.Addr, ErrUnreachable, err)
	}
	s := &ipmiSession{
		cfg: cfg, conn: conn, refused: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
		setup: make(chan ipmiFrame, 8), answers: make(chan ipmiAnswer, 8), console: make(chan types.SOLPayloadPacket, 64),
	}
	go s.read()
	return s, nil
}

// read takes every datagram from the BMC until the socket is closed. What fits
// nowhere is dropped: the sender repeats it, or it was none of the BMC's.
func (s *ipmiSession) read() {
	defer close(s.ended)
	buf := make([]byte, maxDatagram)
	for {
		n, err := s.conn.Read(buf)
		if err == nil {
			s.take(append([]byte(nil), buf[:n]...))
			continue
		}
		if errors.Is(err, syscall.ECONNREFUSED) { // ICMP, about something that was sent before
			offer(s.refused, struct{}{})
		}
		select {
		case <-s.closing:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *ipmiSession) take(datagram []byte) {
	s.mu.Lock()
	keys := s.keys
	s.mu.Unlock()
	if f, sealed, err := parseFrame(datagram); err != nil || !sealed {
		if err != nil {
			f, err = parseProbe(datagram)
		}
		if err == nil && keys == nil {
			offer(s.setup, f)
		}
		return
	}
	if keys == nil {
		return
	}
	f, err := keys.open(datagram)
	if err != nil || !s.fresh(f) {
		return
	}
	if f.kind == types.PayloadTypeIPMI {
		if a, err := parseAnswer(f.payload); err == nil {
			offer(s.answers, a)
		}
	}
	var p types.SOLPayloadPacket
	if f.kind == types.PayloadTypeSOL && p.Unpack(f.payload) == nil {
		offer(s.console, p)
	}
}

func offer[T any](to chan<- T, v T) {
	select {
	case to <- v:
	default:
	}
}

// fresh refuses datagrams that were heard already: the number by which an answer is
// told has six bits only, so an old one could be played again. BMCs that do not
// count at all send 0.
func (s *ipmiSession) fresh(f ipmiFrame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.session != s.local || f.sequence != 0 && int32(f.sequence-s.heard) <= 0 {
		return false
	}
	s.heard, s.last = f.sequence, time.Now()
	return true
}

// parseAnswer takes an IPMI message apart (IPMI 2.0, 13.8).
func parseAnswer(b []byte) (ipmiAnswer, error) {
	var m types.IPMIResponse
	if err := m.Unpack(b); err != nil || len(b) < 8 {
		return ipmiAnswer{}, errFrame
	}
	return ipmiAnswer{request: m.RequesterSequence, netFn: uint8(m.NetFn), cmd: m.Command, code: m.CompletionCode, data: m.Data}, nil
}

// send implements ipmiLink. A command that only asks is sent again, with pauses that
// double, until it is answered; one that acts is one datagram.
func (s *ipmiSession) send(ctx context.Context, c ipmiCommand) ([]byte, error) {
	drain(s.answers)
	request := s.nextRequest()
	message := packRequest(c, request)
	limit := s.patience()
	var answer ipmiAnswer
	err := resend(ctx, limit, c.once, func() error { return s.write(types.PayloadTypeIPMI, message) }, func(ctx context.Context) error {
		for {
			select {
			case answer = <-s.answers:
				if answer.request == request && answer.netFn == c.netFn|1 && answer.cmd == c.cmd {
					return nil
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("BMC %s: %s: %w", s.cfg.Addr, c.name, context.Cause(ctx))
	case err != nil:
		return nil, &lostError{silent: true, error: fmt.Errorf("%w: BMC %s silent for %s after %s; if it is restarting, wait and ask again", ErrUnreachable, s.cfg.Addr, limit, c.name)}
	}
	s.used()
	if answer.code != 0 {
		return nil, fmt.Errorf("BMC %s: %w", s.cfg.Addr, &ipmiError{command: c.name, code: answer.code})
	}
	return answer.data, nil
}

func (s *ipmiSession) patience() time.Duration { return min(s.cfg.Timeout, ipmiPatience) }

// packRequest writes an IPMI message from a remote console to the BMC.
func packRequest(c ipmiCommand, request uint8) []byte {
	m := types.IPMIRequest{
		ResponderAddr: types.BMC_SA, NetFn: types.NetFn(c.netFn), ResponderLUN: c.lun,
		RequesterAddr: types.RemoteConsole_SWID, RequesterSequence: request, Command: c.cmd, CommandData: c.data,
	}
	m.ComputeChecksum()
	return m.Pack()
}

func (s *ipmiSession) nextRequest() uint8 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request = (s.request + 1) & 0x3f
	return s.request
}

// write seals a payload with a number of its own, so that a BMC does not take a
// repetition for a replay.
func (s *ipmiSession) write(kind types.PayloadType, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		return errors.New("no session")
	}
	s.sequence++
	datagram, err := s.keys.seal(kind, s.remote, s.sequence, payload)
	if err != nil {
		return err
	}
	_, _ = s.conn.Write(datagram) // a failure shows in the silence, and passes: ICMP of an earlier datagram comes here
	return nil
}

// resend writes and waits until wait has what it waits for or limit is over. Unless
// it is to be sent once, it is sent again after a tenth of the limit, then with
// pauses that double.
func resend(ctx context.Context, limit time.Duration, once bool, write func() error, wait func(context.Context) error) error {
	all, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for gap := limit / 10; ; gap *= 2 {
		if err := write(); err != nil {
			return err
		}
		turn, done := all, func() {}
		if !once {
			turn, done = context.WithTimeout(all, gap)
		}
		err := wait(turn)
		done()
		if err == nil || all.Err() != nil {
			return err
		}
	}
}

func drain[T any](from <-chan T) {
	for {
		select {
		case <-from:
		default:
			return
		}
	}
}

// stale reports that the BMC has probably forgotten the session.
func (s *ipmiSession) stale() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.last) > ipmiIdle
}

func closeSession(id uint32) ipmiCommand {
	return ipmiCommand{name: "Close Session", netFn: netFnApp, cmd: cmdCloseSession, data: binary.LittleEndian.AppendUint32(nil, id)}
}

// forget asks the BMC once to end the session, and waits for no answer: it was silent
// before.
func (s *ipmiSession) forget() {
	s.mu.Lock()
	id := s.remote
	s.mu.Unlock()
	_ = s.write(types.PayloadTypeIPMI, packRequest(closeSession(id), s.nextRequest()))
	s.letGo(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = nil
}

// close ends the session at the BMC and closes the socket, with a deadline of its
// own, because it matters most after a cancellation.
func (s *ipmiSession) close() error {
	s.mu.Lock()
	open, id := s.keys != nil, s.remote
	s.mu.Unlock()
	var err error
	if open {
		ctx, cancel := context.WithTimeout(context.Background(), min(s.patience(), ipmiClose))
		defer cancel()
		_, err = s.send(ctx, closeSession(id))
		if codeOf(err) != 0 {
			err = nil // it is closed, or was not known any more
		}
	}
	s.letGo(err == nil)
	close(s.closing)
	socket := s.conn.Close()
	<-s.ended
	if err != nil {
		return fmt.Errorf("close the session at BMC %s: it ends by itself within a minute: %w", s.cfg.Addr, err)
	}
	return socket
}
