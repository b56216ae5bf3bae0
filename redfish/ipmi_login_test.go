package redfish_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/rackproof/rackproof/redfish"
)

func TestIPMICipherSuite(t *testing.T) {
	for _, c := range []struct {
		name   string
		offers []types.CipherSuiteID
		want   string
	}{
		{"17 first", []types.CipherSuiteID{3, 17}, "cipher suite 17"},
		{"3 where there is no 17", []types.CipherSuiteID{3}, "cipher suite 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t, func(b *board) { b.bmc.SetCipherSuites(c.offers) })
			if got := b.open(t).Transport(); !strings.Contains(got, c.want) || !strings.Contains(got, "not encrypted by TLS") {
				t.Errorf("transport is %q, wanted %s", got, c.want)
			}
		})
	}
}

// A BMC that answers with less than was asked for is not given in to.
func TestIPMIWeakSuiteRefused(t *testing.T) {
	b := startBoard(t)
	b.socket.set(func(l *lossy) {
		l.change = func(d []byte) []byte {
			if len(d) >= 52 && d[5] == byte(types.PayloadTypeRmcpOpenSessionResponse) {
				d[16+12+4], d[16+20+4], d[16+28+4] = 0, 0, 0 // suite 0
			}
			return d
		}
	})
	_, err := redfish.OpenIPMI(t.Context(), b.config(nil))
	if !errors.Is(err, redfish.ErrUnsupported) || !strings.Contains(err.Error(), "neither cipher suite 17 nor 3") {
		t.Errorf("err = %v, wanted a refusal of weak suites", err)
	}
}

func TestIPMIPrivilegeFallsToOperator(t *testing.T) {
	b := startBoard(t)
	cfg := b.config(nil)
	cfg.User = operator
	c := b.openWith(t, cfg)
	if got := c.Transport(); !strings.Contains(got, "privilege operator") {
		t.Errorf("transport is %q, wanted privilege operator", got)
	}
	if err := c.SetPower(t.Context(), redfish.PowerOn); err != nil {
		t.Error("an operator may switch power:", err)
	}
}

// refusals is a redfish.RefusalStore in memory.
type refusals struct{ until time.Time }

func (r *refusals) Refused(string, string, string) (time.Time, bool) {
	return r.until, !r.until.IsZero()
}

func (r *refusals) Refuse(string, string, string) error {
	r.until = time.Now().Add(time.Minute)
	return nil
}

func TestIPMIWrongPassword(t *testing.T) {
	for _, c := range []struct{ name, user, password string }{
		{"password", user, "wrong"},
		{"user", "nobody", password},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t)
			var log bytes.Buffer
			cfg := b.config(&log)
			cfg.User, cfg.Password = c.user, c.password
			cfg.Refusals = &refusals{}
			if _, err := redfish.OpenIPMI(t.Context(), cfg); !errors.Is(err, redfish.ErrAuth) || !strings.Contains(err.Error(), "one try, I stop here") {
				t.Errorf("err = %v, wanted ErrAuth", err)
			}
			sent := b.socket.count()
			_, err := redfish.OpenIPMI(t.Context(), cfg)
			if !errors.Is(err, redfish.ErrAuth) || !strings.Contains(err.Error(), "not asked again before") {
				t.Errorf("second err = %v, wanted ErrAuth from memory", err)
			}
			if b.socket.count() != sent {
				t.Error("the BMC was asked a second time within its lockout window")
			}
			if strings.Contains(log.String()+err.Error(), c.password) {
				t.Error("the password stands in a log or an error")
			}
		})
	}
}

func TestIPMIPasswordTooLong(t *testing.T) {
	b := startBoard(t)
	cfg := b.config(nil)
	cfg.Password = "twenty-one-bytes-long"
	_, err := redfish.OpenIPMI(t.Context(), cfg)
	if !errors.Is(err, redfish.ErrBadValue) || !strings.Contains(err.Error(), "has 21 bytes, and IPMI 2.0 takes 20 (IPMI 1.5: 16)") {
		t.Errorf("err = %v, wanted the limit", err)
	}
	cfg.Password, cfg.User = password, "seventeen-letters"
	if _, err := redfish.OpenIPMI(t.Context(), cfg); !errors.Is(err, redfish.ErrBadValue) {
		t.Errorf("err = %v, wanted ErrBadValue for the user name", err)
	}
	if b.socket.sent != 0 {
		t.Error("something was sent")
	}
}

func TestIPMIOnly15(t *testing.T) {
	b := startBoard(t)
	b.socket.set(func(l *lossy) {
		l.change = func(d []byte) []byte {
			if d[4] == 0 && len(d) > 24 { // the answer to the probe: no extended capabilities
				d[4+10+8] &^= 0x80
			}
			return d
		}
	})
	_, err := redfish.OpenIPMI(t.Context(), b.config(nil))
	if !errors.Is(err, redfish.ErrUnsupported) || !strings.Contains(err.Error(), "IPMI 1.5 only") {
		t.Errorf("err = %v, wanted IPMI 1.5", err)
	}
}

func TestIPMIUnreachable(t *testing.T) {
	silent, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	gone, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	for _, c := range []struct{ name, addr, words string }{
		{"silent", silent.LocalAddr().String(), "silent for 300ms"},
		{"nobody listens", gone.LocalAddr().String(), "refused IPMI"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := redfish.OpenIPMI(t.Context(), redfish.Config{Addr: c.addr, User: user, Password: password, Timeout: 300 * time.Millisecond})
			if !errors.Is(err, redfish.ErrUnreachable) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("err = %v, wanted ErrUnreachable: %s", err, c.words)
			}
		})
	}
}

// Lost datagrams are sent again, at every stage of the handshake.
func TestIPMILossyHandshake(t *testing.T) {
	for lost := range 5 {
		b := startBoard(t)
		n := 0
		b.socket.set(func(l *lossy) {
			l.change = func(d []byte) []byte {
				n++
				if n == lost+1 {
					return nil
				}
				return d
			}
		})
		cfg := b.config(nil)
		cfg.Timeout = time.Second
		c, err := redfish.OpenIPMI(t.Context(), cfg)
		if err != nil {
			t.Errorf("answer %d lost: %v", lost+1, err)
			continue
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestIPMICancelled(t *testing.T) {
	b := startBoard(t)
	c := b.open(t)
	b.socket.set(func(l *lossy) { l.silent = true })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := c.Power(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, wanted the deadline", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("a cancelled question took %s", took)
	}
	b.socket.set(func(l *lossy) { l.silent = false })
}

// A session that the BMC has dropped is opened anew, and the question asked again.
func TestIPMISessionForgotten(t *testing.T) {
	b := startBoard(t)
	cfg := b.config(nil)
	cfg.Timeout = 300 * time.Millisecond
	c := b.openWith(t, cfg)
	b.dropSession(t)
	if state, err := c.Power(t.Context()); err != nil || state != redfish.Off {
		t.Errorf("power is %s, %v; wanted Off over a new session", state, err)
	}
}

// dropSession makes the BMC forget the session that it heard last, as a restart of it does.
func (b *board) dropSession(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.bmc.Sessions.Close(b.session); err != nil {
		t.Fatal(err)
	}
}

// What is not signed with the keys of the session is not listened to.
func TestIPMIForgedAnswer(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
	}{
		{"one bit turned", func(d []byte) []byte { d[20] ^= 1; return d }},
		{"signature cut off", func(d []byte) []byte { return d[:len(d)-16] }},
		{"in the clear", func(d []byte) []byte { d[5] &^= 0xc0; return d }},
		{"short", func(d []byte) []byte { return d[:17] }},
		{"empty", func([]byte) []byte { return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t)
			cfg := b.config(nil)
			cfg.Timeout = 200 * time.Millisecond
			client := b.openWith(t, cfg)
			b.socket.set(func(l *lossy) {
				l.change = func(d []byte) []byte {
					if len(d) > 5 && d[5]&0x3f == 0 && d[5]&0xc0 != 0 {
						return c.change(bytes.Clone(d))
					}
					return d
				}
			})
			if state, err := client.Power(t.Context()); !errors.Is(err, redfish.ErrUnreachable) {
				t.Errorf("power is %s, %v; wanted no answer", state, err)
			}
			b.socket.set(func(l *lossy) { l.change = nil })
		})
	}
}

func TestIPMIBusy(t *testing.T) {
	b := startBoard(t)
	asked := 0
	b.set(0x06, 0x37, func([]byte) ([]byte, types.CompletionCode) {
		if asked++; asked == 1 {
			return nil, types.CodeNodeBusy
		}
		return bytes.Repeat([]byte{0x47}, 16), types.CodeOK
	})
	got := b.open(t).Fingerprint()
	b.alter(func() {
		if got != "" && asked != 2 {
			t.Errorf("a busy BMC was asked %d times, wanted 2", asked)
		}
	})
}

// No file, log line or error holds the password.
func TestIPMISecret(t *testing.T) {
	var log bytes.Buffer
	b := startBoard(t)
	c := b.openWith(t, b.config(&log))
	_, _ = c.Inventory(t.Context())
	_, _ = c.Sensors(t.Context())
	_, err := c.BIOS(t.Context())
	text := log.String() + err.Error()
	for key, body := range c.Recorded() {
		text += key + string(body)
	}
	if strings.Contains(text, password) {
		t.Error("the password stands in a log, an error or the evidence")
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*ipmi*pass*")); len(left) > 0 {
		t.Error("files are left:", left)
	}
}
