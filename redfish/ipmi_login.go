package redfish

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/bougou/go-ipmi/pkg/crypto"
	"github.com/bougou/go-ipmi/pkg/rmcpplus"
	"github.com/bougou/go-ipmi/pkg/types"
)

const (
	ipmiClose       = 3 * time.Second
	cmdCapabilities = 0x38 // Get Channel Authentication Capabilities
	cmdPrivilege    = 0x3b // Set Session Privilege Level
	cmdCloseSession = 0x3c
	ipmiPasswordMax = 20 // bytes, IPMI 2.0; IPMI 1.5 takes 16
	ipmiUserMax     = rmcpplus.MaxUserNameLength
)

var (
	errIPMISuite     = errors.New("cipher suite refused")
	errIPMIPrivilege = errors.New("privilege refused")
)

// login finds out whether the BMC speaks IPMI 2.0, then opens a session with the
// best cipher suite and privilege that it takes. Only refusals that come before the
// password is looked at are followed by another try.
func (s *ipmiSession) login(ctx context.Context) error {
	if err := s.probe(ctx); err != nil {
		return err
	}
	var last error
	for _, suite := range ipmiSuites {
		for _, level := range []types.PrivilegeLevel{types.PrivilegeLevelAdministrator, types.PrivilegeLevelOperator} {
			err := s.open(ctx, suite, level)
			if err == nil {
				return s.raise(ctx, level)
			}
			last = err
			if errors.Is(err, errIPMISuite) {
				break
			}
			if !errors.Is(err, errIPMIPrivilege) {
				return err
			}
		}
		if errors.Is(last, errIPMIPrivilege) {
			return fmt.Errorf("BMC %s: %w: user %q may log in neither as administrator nor as operator (%w); give it that privilege for IPMI over LAN",
				s.cfg.Addr, ErrUnsupported, s.cfg.User, last)
		}
	}
	return fmt.Errorf("BMC %s: %w: it takes neither cipher suite 17 nor 3 (%w), and weaker ones are never used; enable 17 or 3 for IPMI over LAN",
		s.cfg.Addr, ErrUnsupported, last)
}

// ask sends a message of the handshake until its answer comes.
func (s *ipmiSession) ask(ctx context.Context, what string, datagram []byte, want types.PayloadType) ([]byte, error) {
	drain(s.setup)
	drain(s.refused)
	limit := s.patience()
	var payload []byte
	refused := false
	err := resend(ctx, limit, false, func() error { _, _ = s.conn.Write(datagram); return nil }, func(ctx context.Context) error {
		for {
			select {
			case f := <-s.setup:
				if f.kind == want {
					payload = f.payload
					return nil
				}
			case <-s.refused:
				refused = true
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("BMC %s: %s: %w", s.cfg.Addr, what, context.Cause(ctx))
	case refused:
		return nil, &lostError{error: fmt.Errorf("%w: BMC %s refused IPMI: it is not enabled over LAN, or the BMC is starting", ErrUnreachable, s.cfg.Addr)}
	case err != nil:
		return nil, &lostError{silent: true, error: fmt.Errorf("%w: BMC %s silent for %s (%s, UDP); switched off, not this VLAN, or IPMI over LAN is disabled", ErrUnreachable, s.cfg.Addr, limit, what)}
	}
	return payload, nil
}

// open carries out the handshake: open session, RAKP 1 to 4 (IPMI 2.0, 13.15).
func (s *ipmiSession) open(ctx context.Context, suite ipmiSuite, level types.PrivilegeLevel) error {
	h := rakp{suite: suite, user: s.cfg.User, kuid: crypto.PadPassword20([]byte(s.cfg.Password)), local: binary.LittleEndian.Uint32(crypto.RandomBytes(4)) | 1}
	copy(h.random[:], crypto.RandomBytes(16))
	payload, err := s.ask(ctx, "open session", packFrame(types.PayloadTypeRmcpOpenSessionRequest, h.openRequest()), types.PayloadTypeRmcpOpenSessionResponse)
	if err != nil {
		return err
	}
	if err := h.opened(payload); err != nil {
		return s.refusal("open session", err)
	}
	payload, err = s.ask(ctx, "RAKP 1", packFrame(types.PayloadTypeRAKPMessage1, h.message1(level)), types.PayloadTypeRAKPMessage2)
	if err != nil {
		return err
	}
	if err := h.message2(payload); err != nil {
		return s.refusal("RAKP 2", err)
	}
	third, err := h.message3()
	if err != nil {
		return err
	}
	// From here on a session is open at the BMC, which must be known here to be
	// closed: a cancellation waits for this answer.
	payload, err = s.ask(context.WithoutCancel(ctx), "RAKP 3", packFrame(types.PayloadTypeRAKPMessage3, third), types.PayloadTypeRAKPMessage4)
	if err != nil {
		return err
	}
	if err := h.message4(payload); err != nil {
		return s.refusal("RAKP 4", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.local, s.remote, s.guid = h.keys, h.local, h.remote, h.guid
	s.sequence, s.heard, s.privilege, s.last = 0, 0, level, time.Now()
	return nil
}

// refusal words a status of the handshake. A wrong password shows before our proof
// of it is sent: the BMC's own proof in RAKP 2 does not fit.
func (s *ipmiSession) refusal(stage string, err error) error {
	status, ok := errors.AsType[*types.RmcpStatusError](err)
	if !ok {
		return fmt.Errorf("BMC %s: %s: %w", s.cfg.Addr, stage, err)
	}
	switch status.StatusCode() {
	case types.RmcpStatusCodeInvalidAuthAlg, types.RmcpStatusCodeInvalidIntegrityAlg, types.RmcpStatusCodeNoMatchingAuthPayload,
		types.RmcpStatusCodeNoMatchingIntegrityPayload, types.RmcpStatusCodeInvalidConfidentAlg, types.RmcpStatusCodeNoCipherSuiteMatch:
		return fmt.Errorf("%w: %w", errIPMISuite, err)
	case types.RmcpStatusCodeInvalidRole, types.RmcpStatusCodeUnauthorizedRoleOfPriLevel, types.RmcpStatusCodeNoResToCreateSessAtRole:
		return fmt.Errorf("%w: %w", errIPMIPrivilege, err)
	case types.RmcpStatusCodeNoResToCreateSess:
		return fmt.Errorf("BMC %s: %w (%w): close sessions, or wait a minute", s.cfg.Addr, ErrSessionLimit, err)
	case types.RmcpStatusCodeUnauthorizedName, types.RmcpStatusCodeInvalidNameLength:
		return fmt.Errorf("%w: %w", errIPMILogin, err)
	default:
	}
	// After RAKP 2 the password is known to be right, so this is a handshake that got
	// mixed up with an earlier one of a slow BMC.
	return &lostError{error: fmt.Errorf("%w properly: BMC %s ended the login at %s (%w); ask again", ErrUnreachable, s.cfg.Addr, stage, err)}
}

// raise asks for the privilege of the session, and does with operator where the
// user may not be administrator.
func (s *ipmiSession) raise(ctx context.Context, level types.PrivilegeLevel) error {
	set := func(level types.PrivilegeLevel) error {
		_, err := s.send(ctx, ipmiCommand{name: "Set Session Privilege Level", netFn: netFnApp, cmd: cmdPrivilege, data: []byte{byte(level)}})
		return err
	}
	err := set(level)
	if code := codeOf(err); level > types.PrivilegeLevelOperator && (code == codeLevelRefused || code == codeLevelExceeded || code == codePrivilege) {
		level = types.PrivilegeLevelOperator
		err = set(level)
	}
	if err != nil {
		return fmt.Errorf("privilege of the session: %w", err)
	}
	s.mu.Lock()
	s.privilege = level
	s.mu.Unlock()
	return nil
}
