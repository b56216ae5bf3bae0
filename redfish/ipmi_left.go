package redfish

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const cmdSessionInfo = 0x3d

// ipmiSessionEnd is after how long without use a BMC has surely ended a session (IPMI
// 2.0, 6.12.15: 60 s); its id may be somebody else's by then.
const ipmiSessionEnd = 70 * time.Second

const ipmiSessionURI = "ipmi:/session/"

// remember keeps the session for the case that this process is killed.
func (s *ipmiSession) remember() {
	if s.cfg.Sessions == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := SessionRecord{URI: ipmiSessionURI + fmt.Sprintf("%08x", s.remote), User: s.cfg.User, Origin: s.origin().String()}
	hold, err := s.cfg.Sessions.Keep(s.cfg.Addr, r)
	if err != nil {
		s.cfg.Log.Warn("an open session is not remembered: if this process is killed, it stays open for a minute", "bmc", s.cfg.Addr, "err", err)
		return
	}
	s.hold, s.touched = hold, time.Now()
}

// used tells the memory that the session lives.
func (s *ipmiSession) used() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hold != nil && time.Since(s.touched) > touchEvery {
		s.hold.Touch()
		s.touched = time.Now()
	}
}

// letGo ends the remembering: the session is closed, or it is left to the next
// process.
func (s *ipmiSession) letGo(closed bool) {
	s.mu.Lock()
	hold := s.hold
	s.hold = nil
	s.mu.Unlock()
	if hold == nil {
		return
	}
	end := hold.Drop
	if closed {
		end = hold.Forget
	}
	if err := end(); err != nil {
		s.cfg.Log.Warn("a session is still remembered as open", "bmc", s.cfg.Addr, "err", err)
	}
}

// sweep closes the sessions that killed processes left open at this BMC, which has
// few.
func (c *IPMI) sweep(ctx context.Context) {
	if _, ours := c.link.(*ipmiSession); !ours || c.cfg.Sessions == nil {
		return
	}
	left, err := c.cfg.Sessions.Left(c.cfg.Addr)
	if err != nil {
		c.cfg.Log.WarnContext(ctx, "sessions left open are not known", "bmc", c.cfg.Addr, "err", err)
	}
	for _, hold := range left {
		end := hold.Drop
		if c.closeLeft(ctx, hold.Record()) {
			end = hold.Forget
		}
		if err := end(); err != nil {
			c.cfg.Log.WarnContext(ctx, "a session is still remembered as open", "bmc", c.cfg.Addr, "err", err)
		}
	}
}

// closeLeft reports whether the session is no more, or never was what is there now.
func (c *IPMI) closeLeft(ctx context.Context, r SessionRecord) bool {
	hex, ours := strings.CutPrefix(r.URI, ipmiSessionURI)
	id, err := strconv.ParseUint(hex, 16, 32)
	if !ours || err != nil || time.Since(r.Used) > ipmiSessionEnd {
		return true
	}
	info, err := c.sessionInfo(ctx, binary.LittleEndian.AppendUint32(nil, uint32(id)))
	if err != nil {
		return codeOf(err) != 0 // not there, or not told: it ends by itself
	}
	if info.origin.String() != r.Origin {
		return true
	}
	_, err = c.command(ctx, closeSession(uint32(id)))
	if err == nil {
		c.cfg.Log.InfoContext(ctx, "closed the session that a killed process left", "bmc", c.cfg.Addr, "session", hex)
	}
	return err == nil || codeOf(err) != 0
}

// ipmiSessionInfo is what a BMC tells of a session.
type ipmiSessionInfo struct {
	user   byte
	origin netip.AddrPort // as the BMC sees it
}

// sessionInfo asks about a session by its id, or about this one with no id.
func (c *IPMI) sessionInfo(ctx context.Context, id []byte) (ipmiSessionInfo, error) {
	const thisSession, byID = 0x00, 0xff
	data := []byte{thisSession}
	if len(id) > 0 {
		data = append([]byte{byID}, id...)
	}
	b, err := c.command(ctx, ipmiCommand{name: "Get Session Info", netFn: netFnApp, cmd: cmdSessionInfo, data: data})
	if err != nil {
		return ipmiSessionInfo{}, err
	}
	if len(b) < 18 {
		return ipmiSessionInfo{}, fmt.Errorf("BMC %s: %w", c.cfg.Addr, &ipmiError{command: "Get Session Info", code: codeNotPresent})
	}
	ip, _ := netip.AddrFromSlice(b[6:10])
	return ipmiSessionInfo{user: b[3], origin: netip.AddrPortFrom(ip, le16(b[16:]))}, nil
}

// origin is from where the session comes, as this machine sees it.
func (s *ipmiSession) origin() netip.AddrPort {
	if a, ok := s.conn.LocalAddr().(*net.UDPAddr); ok {
		at := a.AddrPort()
		return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	}
	return netip.AddrPort{}
}
