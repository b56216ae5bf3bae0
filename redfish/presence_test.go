package redfish

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"
)

// ponger answers datagrams with what reply makes of them, nil for silence.
func ponger(t *testing.T, reply func([]byte) []byte) string {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		b := make([]byte, 64)
		for {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			if answer := reply(b[:n]); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

func pong(entities byte) []byte {
	b := append(bytes.Clone(asf), asfPong, 0, 0, 16)
	b = append(b, 0, 0, 0x11, 0xbe, 0, 0, 0, 0, entities, 0)
	return append(b, make([]byte, 6)...)
}

func TestPing(t *testing.T) {
	ping := []byte{6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 0, 0, 0}
	lost := 0
	for _, c := range []struct {
		name  string
		reply func([]byte) []byte
		want  Presence
	}{
		{"IPMI", func(b []byte) []byte {
			if !bytes.Equal(b, ping) {
				t.Errorf("ping % x", b)
			}
			return pong(0x81)
		}, IPMIPresent},
		{"without IPMI", func([]byte) []byte { return pong(1) }, RMCPPresent},
		{"the first ping lost", func([]byte) []byte {
			if lost++; lost == 1 {
				return nil
			}
			return pong(0x81)
		}, IPMIPresent},
		{"an echo", slices.Clone[[]byte], Silent},
		{"silent", func([]byte) []byte { return nil }, Silent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // silence takes its time
			if got, err := Ping(t.Context(), ponger(t, c.reply)); got != c.want || err != nil {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := conn.LocalAddr().String()
	_ = conn.Close()
	if got, err := Ping(t.Context(), addr); got != PortClosed || err != nil {
		t.Errorf("closed port: %q, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got, err := Ping(ctx, ponger(t, func([]byte) []byte { return nil })); got != Silent || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %q, %v", got, err)
	}
}

func FuzzPong(f *testing.F) {
	f.Add(pong(0x81))
	f.Add(pong(0)[:27])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if found, ok := parsePong(b); ok != (found != Silent) || ok && len(b) < pongLen {
			t.Errorf("% x: %q, %v", b, found, ok)
		}
	})
}
