package lab

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// The wire between ipmi_sim and a virtual machine's KCS interface (QEMU's
// ipmi-bmc-extern): a sequence number, network function and LUN, command, data
// and checksum; a byte ends it, some bytes are escaped.
const (
	wireMessageEnd = 0xa0
	wireCommandEnd = 0xa1
	wireEscape     = 0xaa
)

// IPMI: Set SEL Time (IPMI 2.0 clause 31.11).
const (
	netFnStorage  = 0x0a
	cmdSetSELTime = 0x49
)

// setClock sets the BMC's clock, which otherwise counts from the start of this
// computer. It does so over the machine's KCS interface, before QEMU uses it, and
// returns when ipmi_sim has answered.
func (s *ipmiSim) setClock(ctx context.Context) error {
	conn, err := s.dialKCS(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(time.Now().Unix()))
	if _, err := conn.Write(wireMessage(1, netFnStorage, cmdSetSELTime, data)); err != nil {
		return err
	}
	answer, err := readWire(bufio.NewReader(conn))
	if err != nil {
		return err
	}
	if len(answer) < 5 || answer[2] != cmdSetSELTime || answer[3] != 0 {
		return fmt.Errorf("set SEL time: answer % x", answer)
	}
	return nil
}

// dialKCS waits until ipmi_sim listens.
func (s *ipmiSim) dialKCS(ctx context.Context) (net.Conn, error) {
	address := fmt.Sprintf("127.0.0.1:%d", s.machine.spec.KCSPort())
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) {
			return conn, err
		}
		select {
		case <-s.done:
			return nil, errors.New("it has ended")
		default:
		}
		if waited := wait(ctx, 20*time.Millisecond); waited != nil {
			return nil, errors.Join(err, waited)
		}
	}
}

func wireMessage(sequence, netFn, command byte, data []byte) []byte {
	plain := append([]byte{sequence, netFn << 2, command}, data...)
	plain = append(plain, checksum(plain))
	var out []byte
	for _, b := range plain {
		if b == wireMessageEnd || b == wireCommandEnd || b == wireEscape {
			out = append(out, wireEscape, b|0x10)
			continue
		}
		out = append(out, b)
	}
	return append(out, wireMessageEnd)
}

// readWire reads until the end of the first message; what is said about the
// interface itself is passed over.
func readWire(r *bufio.Reader) ([]byte, error) {
	const longest = 512
	var message []byte
	escaped := false
	for len(message) < longest {
		b, err := r.ReadByte()
		switch {
		case err != nil:
			return nil, err
		case b == wireMessageEnd:
			return message, nil
		case b == wireCommandEnd:
			message = message[:0]
		case b == wireEscape:
			escaped = true
		case escaped:
			message, escaped = append(message, b&^0x10), false
		default:
			message = append(message, b)
		}
	}
	return nil, errors.New("a message without an end")
}
