package redfish_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/rackproof/rackproof/redfish"
)

// capture is what a console wrote, and when something is there.
type capture struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newCapture() *capture { return &capture{more: make(chan struct{}, 1000)} }

func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
	return c.text.Write(b)
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// waitFor waits until the text stands in the capture.
func (c *capture) waitFor(t *testing.T, text string) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for !strings.Contains(c.String(), text) {
		select {
		case <-c.more:
		case <-limit:
			t.Fatalf("the console shows %q, wanted %q", c.String(), text)
		}
	}
}

func TestIPMIConsole(t *testing.T) {
	b := startBoard(t)
	client := b.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	out, done := newCapture(), make(chan error, 1)
	go func() { done <- client.Console(ctx, out) }()
	var want strings.Builder
	for i := range 40 { // more than the numbers of packets
		line := "[    " + strings.Repeat("x", i) + "] kernel line\r\n"
		want.WriteString(line)
		b.console.FeedRX([]byte(line))
		out.waitFor(t, line)
	}
	if state, err := client.Power(t.Context()); err != nil || state != redfish.Off {
		t.Errorf("beside the console power is %s, %v", state, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("a console that was stopped ends with %v", err)
	}
	if got := out.String(); got != want.String() {
		t.Errorf("console shows %q", got)
	}
	if id := b.bmc.SOL.ActiveSessionID(1); id != 0 {
		t.Error("the console was not given back")
	}
	if typed := b.console.TXString(); typed != "" {
		t.Errorf("%q was typed", typed)
	}
}

// Acknowledgements that are lost make the BMC repeat itself; that is written once.
func TestIPMIConsoleRepeats(t *testing.T) {
	b := startBoard(t)
	client := b.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, done := newCapture(), make(chan error, 1)
	n := 0
	b.socket.set(func(l *lossy) {
		l.change = func(d []byte) []byte {
			if n++; d[5]&0x3f == byte(types.PayloadTypeSOL) && n%2 == 0 {
				return nil
			}
			return d
		}
	})
	go func() { done <- client.Console(ctx, out) }()
	for _, word := range []string{"one ", "two ", "three ", "four "} {
		b.console.FeedRX([]byte(word))
		out.waitFor(t, word)
	}
	cancel()
	if err := <-done; err != nil || out.String() != "one two three four " {
		t.Errorf("console shows %q, %v", out.String(), err)
	}
}

func TestIPMIConsoleInUse(t *testing.T) {
	b := startBoard(t)
	first, second := b.open(t), b.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, done := newCapture(), make(chan error, 1)
	go func() { done <- first.Console(ctx, out) }()
	b.console.FeedRX([]byte("login:"))
	out.waitFor(t, "login:")
	if err := second.Console(ctx, newCapture()); !errors.Is(err, redfish.ErrSessionLimit) || !strings.Contains(err.Error(), "in use by another session") {
		t.Errorf("err = %v, wanted that it is in use", err)
	}
	cancel()
	<-done
}

// What a process that died left behind is taken over: the session of this user from
// this address whose socket is gone.
func TestIPMIConsoleLeftBehind(t *testing.T) {
	for _, c := range []struct {
		name  string
		alive bool
	}{{"its socket is gone", false}, {"its socket is there", true}} {
		t.Run(c.name, func(t *testing.T) {
			other, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			port := other.LocalAddr().(*net.UDPAddr).Port
			if !c.alive {
				_ = other.Close()
			}
			defer func() { _ = other.Close() }()
			b := startBoard(t, func(b *board) { b.otherConsole(uint16(port)) })
			client := b.open(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out, done := newCapture(), make(chan error, 1)
			go func() { done <- client.Console(ctx, out) }()
			if c.alive {
				if err := <-done; !errors.Is(err, redfish.ErrSessionLimit) {
					t.Errorf("err = %v, wanted that it is in use", err)
				}
				return
			}
			for range 1000 {
				if len(b.commands("06/48")) > 1 {
					break
				}
				select {
				case err := <-done:
					t.Fatal(err)
				case <-time.After(5 * time.Millisecond):
				}
			}
			if got := b.commands("06/49"); len(got) != 1 {
				t.Errorf("deactivations: %v, wanted one", got)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// otherConsole gives the console to another session of the same user and address, at
// a port.
func (b *board) otherConsole(port uint16) {
	taken := true
	b.answers[[2]uint8{0x06, 0x48}] = func([]byte) ([]byte, types.CompletionCode) {
		if taken {
			return nil, 0x80
		}
		return make([]byte, 12), types.CodeOK
	}
	b.answers[[2]uint8{0x06, 0x49}] = func([]byte) ([]byte, types.CompletionCode) { taken = false; return nil, types.CodeOK }
	b.answers[[2]uint8{0x06, 0x4b}] = func([]byte) ([]byte, types.CompletionCode) {
		return []byte{9, 9, 9, 9, 1, 0, 0, 0, 0, 0, 0, 0}, types.CodeOK
	}
	b.answers[[2]uint8{0x06, 0x3d}] = func(req []byte) ([]byte, types.CompletionCode) {
		self := []byte{1, 4, 2, 2, 4, 0x11, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0}
		if req[0] == 0 {
			return append(self, 0, 0), types.CodeOK
		}
		return binary.LittleEndian.AppendUint16(self, port), types.CodeOK
	}
}

func TestIPMIConsoleUnsupported(t *testing.T) {
	for _, code := range []types.CompletionCode{0x81, types.CodeInvalidCommand} {
		b := startBoard(t, func(b *board) { b.answers[[2]uint8{0x06, 0x48}] = refuse(code) })
		if err := b.open(t).Console(t.Context(), newCapture()); !errors.Is(err, redfish.ErrUnsupported) {
			t.Errorf("0x%02x: err = %v, wanted ErrUnsupported", uint8(code), err)
		}
	}
}

// A BMC that restarts under the console: it is opened anew.
func TestIPMIConsoleSessionLost(t *testing.T) {
	b := startBoard(t)
	cfg := b.config(nil)
	cfg.Timeout = 200 * time.Millisecond
	client := b.openWith(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	out, done := newCapture(), make(chan error, 1)
	go func() { done <- client.Console(ctx, out) }()
	b.console.FeedRX([]byte("before "))
	out.waitFor(t, "before ")
	b.dropSession(t)
	if _, err := client.Power(t.Context()); err != nil { // sees that the session is gone
		t.Fatal(err)
	}
	b.console.FeedRX([]byte("after"))
	out.waitFor(t, "after")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
