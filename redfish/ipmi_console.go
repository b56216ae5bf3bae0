package redfish

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"
)

const (
	cmdActivatePayload   = 0x48
	cmdDeactivatePayload = 0x49
	cmdPayloadInstance   = 0x4b

	solPayload, solInstance = 0x01, 0x01
	solSealed               = 0xc0 // encrypted and signed
	solActive               = 0x80 // completion code: another session has it
	solDisabled             = 0x81

	// consoleAlive is how often the BMC is asked something while its console is
	// silent: it drops sessions that are, and a dead one shows.
	consoleAlive = 20 * time.Second
)

// Console writes what the host sends to its serial console (Serial over LAN) to out,
// until ctx ends, which is no error. Nothing is typed. A session that the BMC forgot
// is opened anew and the console with it. A console that somebody else has is left
// to them; one that an earlier process of ours left behind is taken over. It wraps
// ErrUnsupported where there is none.
func (c *IPMI) Console(ctx context.Context, out io.Writer) error {
	for {
		s, err := c.activate(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		err = c.stream(ctx, s, out)
		if ctx.Err() != nil {
			c.deactivate(ctx)
			return nil
		}
		if !errors.Is(err, errConsoleEnded) {
			return err
		}
		c.cfg.Log.InfoContext(ctx, "console opened anew", "bmc", c.cfg.Addr)
		if err := pause(ctx, c.cfg.Poll); err != nil {
			return nil
		}
	}
}

// errConsoleEnded says that the BMC ended the console, or the session under it.
var errConsoleEnded = errors.New("console ended")

func payload(cmd uint8, name string, more ...byte) ipmiCommand {
	return ipmiCommand{name: name, netFn: netFnApp, cmd: cmd, data: append([]byte{solPayload, solInstance}, more...)}
}

// activate asks for the console, and takes it from a process of ours that is gone.
func (c *IPMI) activate(ctx context.Context) (*ipmiSession, error) {
	for try := 1; ; try++ {
		b, err := c.command(ctx, payload(cmdActivatePayload, "Activate Payload (console)", solSealed, 0, 0, 0))
		c.turn <- struct{}{}
		s, ours := c.link.(*ipmiSession)
		<-c.turn
		switch {
		case !ours:
			return nil, fmt.Errorf("BMC %s: %w: the console by way of ipmitool", c.cfg.Addr, ErrUnsupported)
		case codeOf(err) == solActive && try == 1 && c.leftBehind(ctx, s):
			c.deactivate(ctx)
			continue
		case codeOf(err) == solActive:
			return nil, fmt.Errorf("BMC %s: %w: the console is in use by another session; end that one", c.cfg.Addr, ErrSessionLimit)
		case codeOf(err) == solDisabled || notOffered(err):
			return nil, fmt.Errorf("BMC %s: %w: no serial console over LAN (%w); enable it in the BMC, and console redirection in the BIOS", c.cfg.Addr, ErrUnsupported, err)
		case err != nil:
			return nil, err
		}
		if port := s.port(); len(b) >= 10 && le16(b[8:]) != 0 && le16(b[8:]) != port {
			c.deactivate(ctx)
			return nil, fmt.Errorf("BMC %s: %w: it sends its console from UDP port %d, not %d", c.cfg.Addr, ErrUnsupported, le16(b[8:]), port)
		}
		return s, nil
	}
}

func (s *ipmiSession) port() uint16 {
	if a, ok := s.conn.RemoteAddr().(*net.UDPAddr); ok {
		return uint16(a.Port)
	}
	return 0
}

// leftBehind reports that the console belongs to a session of this user from this
// machine whose socket is gone.
func (c *IPMI) leftBehind(ctx context.Context, s *ipmiSession) bool {
	owner, err := c.command(ctx, payload(cmdPayloadInstance, "Get Payload Instance Info"))
	if err != nil || len(owner) < 4 {
		return false
	}
	s.mu.Lock()
	mine := binary.LittleEndian.Uint32(owner) == s.remote
	s.mu.Unlock()
	if mine {
		return true
	}
	self, err := c.sessionInfo(ctx, nil)
	other, err2 := c.sessionInfo(ctx, owner[:4])
	if err != nil || err2 != nil || self.user != other.user || self.origin.Addr() != other.origin.Addr() || self.origin.Addr() != s.origin().Addr() {
		return false // behind a NAT another machine may look like ours
	}
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(other.origin))
	if err != nil {
		return false // a process has it: it lives
	}
	return socket.Close() == nil
}

// deactivate gives the console back, also after a cancellation.
func (c *IPMI) deactivate(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ipmiClose)
	defer cancel()
	if _, err := c.command(ctx, payload(cmdDeactivatePayload, "Deactivate Payload (console)", 0, 0, 0, 0)); err != nil && codeOf(err) == 0 {
		c.cfg.Log.WarnContext(ctx, "console not given back; it ends with the session", "bmc", c.cfg.Addr, "err", err)
	}
}

// stream acknowledges and writes what comes. It wraps errConsoleEnded where the
// console must be opened anew.
func (c *IPMI) stream(ctx context.Context, s *ipmiSession, out io.Writer) error {
	alive := time.NewTicker(consoleAlive)
	defer alive.Stop()
	var tr solTranscript
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ended: // another session took its place
			return errConsoleEnded
		case <-alive.C:
			if _, err := c.device(ctx); err != nil {
				return err
			}
		case p := <-s.console:
			text, ack, lost := tr.take(p)
			if lost {
				c.cfg.Log.WarnContext(ctx, "console output was lost", "bmc", c.cfg.Addr)
			}
			if _, err := out.Write(text); err != nil {
				return fmt.Errorf("keep the console: %w", err)
			}
			if ack != nil {
				_ = s.write(types.PayloadTypeSOL, ack.Pack())
			}
			if p.ControlByte&solDeactivating != 0 {
				return errConsoleEnded
			}
		}
	}
}

// Bits of a console packet's status (IPMI 2.0, table 15-2).
const (
	solDeactivating = 0x10
	solOverrun      = 0x08
	solWindow       = 15 // packets are numbered 1 to 15
)

// solTranscript puts packets in order: each is acknowledged, those that come again
// are written once.
type solTranscript struct {
	last   uint8 // number of the packet that was taken last, 0 = none yet
	length int   // of it
}

// take gives the text that is new, and the acknowledgement. lost says that a packet
// is missing before this one, or that the BMC dropped output.
func (t *solTranscript) take(p types.SOLPayloadPacket) (text []byte, ack *types.SOLPayloadPacket, lost bool) {
	lost = p.ControlByte&solOverrun != 0
	if p.SequenceNumber == 0 {
		return nil, nil, lost
	}
	data := p.CharacterData[:min(len(p.CharacterData), 255)]
	ack = &types.SOLPayloadPacket{AckedSequenceNumber: p.SequenceNumber, AcceptedCharacterCount: uint8(len(data))}
	ahead := (int(p.SequenceNumber) - int(t.last) + solWindow) % solWindow
	switch {
	case t.last == 0:
	case ahead == 0: // again, perhaps with more behind
		text = data[min(t.length, len(data)):]
		t.length = max(t.length, len(data))
		return text, ack, lost
	case ahead > solWindow/2: // from before: its acknowledgement was late
		return nil, ack, lost
	case ahead > 1:
		lost = true
	}
	t.last, t.length = p.SequenceNumber, len(data)
	return data, ack, lost
}
