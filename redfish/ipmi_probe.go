package redfish

import (
	"context"
	"fmt"

	"github.com/bougou/go-ipmi/pkg/types"
)

// payloadProbe marks the answer to a probe: it is no RMCP+ payload.
const payloadProbe types.PayloadType = 0xff

// probe asks what the BMC speaks, in the form of IPMI 1.5, as the specification
// wants it before every session (IPMI 2.0, 13.15). Nothing secret is sent.
func (s *ipmiSession) probe(ctx context.Context) error {
	const thisChannel, version2 = 0x0e, 0x80
	m := packRequest(ipmiCommand{netFn: netFnApp, cmd: cmdCapabilities, data: []byte{version2 | thisChannel, byte(types.PrivilegeLevelAdministrator)}}, 0)
	session := types.SessionHeader15{PayloadLength: uint8(len(m))}
	datagram := append(append(types.NewRmcpHeader().Pack(), session.Pack()...), m...)
	answer, err := s.ask(ctx, "first question", datagram, payloadProbe)
	if err != nil {
		return err
	}
	a, err := parseAnswer(answer)
	switch {
	case err != nil, a.code != 0, len(a.data) < 4:
		return nil // odd, and no obstacle: the session will show
	case a.data[1]&0x80 == 0 || a.data[3]&0x02 == 0:
		return fmt.Errorf("BMC %s: %w: it speaks IPMI 1.5 only, which sends everything in the clear; update its firmware", s.cfg.Addr, ErrUnsupported)
	}
	return nil
}

// parseProbe reads a datagram of IPMI 1.5 that carries the answer to a probe.
func parseProbe(b []byte) (ipmiFrame, error) {
	if len(b) < rmcpBytes+types.SessionHeader15SizeMin || b[0] != types.RmcpVersion || b[3]&0x1f != rmcpClassIPMI || b[4] == byte(types.AuthTypeRMCPPlus) {
		return ipmiFrame{}, errFrame
	}
	var session types.Session15
	if err := session.Unpack(b[rmcpBytes:]); err != nil {
		return ipmiFrame{}, errFrame
	}
	a, err := parseAnswer(session.Payload)
	if err != nil || a.cmd != cmdCapabilities || a.netFn != netFnApp|1 {
		return ipmiFrame{}, errFrame
	}
	return ipmiFrame{kind: payloadProbe, payload: session.Payload}, nil
}
