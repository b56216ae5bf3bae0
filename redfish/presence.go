package redfish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// Presence is what answered a presence ping.
type Presence string

// The answers to a presence ping. No answer is none: datagrams get lost, and a BMC
// need not answer.
const (
	IPMIPresent Presence = "ipmi"   // a BMC that speaks IPMI over LAN
	RMCPPresent Presence = "rmcp"   // one that answers and says that it does not
	PortClosed  Presence = "closed" // a machine without a service there
	Silent      Presence = ""
)

const (
	pingTries = 2 // a datagram may get lost once
	pingWait  = time.Second
	rmcpPort  = "623"
)

// Ping sends an RMCP presence ping (IPMI 2.0, 13.2.3): one datagram, and one more
// where nothing came back for a second. Nothing is logged in to, and nothing is
// secret in it. addr is an address, with a port where that is not 623. The error is
// that of ctx or of our own network; a machine that says nothing is [Silent].
func Ping(ctx context.Context, addr string) (Presence, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		addr = net.JoinHostPort(trimBrackets(addr), rmcpPort)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", addr)
	if err != nil {
		return Silent, fmt.Errorf("presence ping of %s: %w", addr, err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	for tag := range byte(pingTries) {
		if found, err := pingOnce(conn, tag); found != Silent || err != nil {
			return found, err
		}
		if ctx.Err() != nil {
			return Silent, context.Cause(ctx)
		}
	}
	return Silent, nil
}

func pingOnce(conn net.Conn, tag byte) (Presence, error) {
	_ = conn.SetDeadline(time.Now().Add(pingWait))
	if _, err := conn.Write(presencePing(tag)); err != nil {
		return closedOr(err)
	}
	answer := make([]byte, 64)
	for {
		n, err := conn.Read(answer)
		if err != nil {
			return closedOr(err)
		}
		if found, ok := parsePong(answer[:n]); ok {
			return found, nil
		}
	}
}

// closedOr reads a failed exchange: refused is an answer, and time that passed is
// none.
func closedOr(err error) (Presence, error) {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return PortClosed, nil
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return Silent, nil
	}
	return Silent, fmt.Errorf("presence ping: %w", err)
}

// asf is the head of every presence message: RMCP of class ASF without an
// acknowledgement, then the number of ASF's owner (ASF 2.0, 3.2.4).
var asf = []byte{6, 0, 0xff, 6, 0, 0, 0x11, 0xbe}

const (
	asfPing = 0x80
	asfPong = 0x40
	pongLen = 28   // with its head
	entity  = 20   // of the supported entities in it
	hasIPMI = 0x80 // there
)

func presencePing(tag byte) []byte { return append(bytes.Clone(asf), asfPing, tag, 0, 0) }

// parsePong reads a presence pong. Its tag is not compared: a late pong to the first
// ping tells as much.
func parsePong(b []byte) (Presence, bool) {
	if len(b) < pongLen || b[0] != asf[0] || b[3] != asf[3] || !bytes.Equal(b[4:8], asf[4:]) || b[8] != asfPong {
		return Silent, false
	}
	if b[entity]&hasIPMI == 0 {
		return RMCPPresent, true
	}
	return IPMIPresent, true
}
