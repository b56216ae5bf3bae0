package lab

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// udpEcho answers each packet with itself.
func udpEcho(t *testing.T, address string) uint16 {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(address)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		b := make([]byte, maxPacket)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort(b[:n], from)
		}
	}()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Port()
}

func TestRelay(t *testing.T) {
	port := udpEcho(t, "127.0.9.1")
	r, err := startRelay(t.Context(), "127.0.9.2", "127.0.9.1", port)
	if err != nil {
		t.Fatal(err)
	}
	clients := make([]net.Conn, 2)
	for i := range clients {
		if clients[i], err = net.Dial("udp", fmt.Sprintf("127.0.9.2:%d", port)); err != nil {
			t.Fatal(err)
		}
		defer clients[i].Close()
	}
	ask := func(i int, what string) {
		t.Helper()
		if _, err := clients[i].Write([]byte(what)); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(i int, want string) {
		t.Helper()
		b := make([]byte, maxPacket)
		_ = clients[i].SetReadDeadline(time.Now().Add(10 * time.Second))
		if n, err := clients[i].Read(b); err != nil || string(b[:n]) != want {
			t.Fatalf("heard %q, %v; want %q", b[:n], err, want)
		}
	}
	ask(0, "a")
	ask(1, "b")
	hear(0, "a")
	hear(1, "b")
	r.setLate(200 * time.Millisecond)
	start := time.Now()
	ask(0, "c")
	ask(0, "d")
	hear(0, "c")
	if took := time.Since(start); took < 200*time.Millisecond {
		t.Errorf("after %v", took)
	}
	hear(0, "d")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("both waited one after the other: %v", took)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if len(r.paths) != 0 {
		t.Errorf("%d ways are left", len(r.paths))
	}
}

func TestRelayThatHasNoPlace(t *testing.T) {
	port := udpEcho(t, "127.0.9.3")
	if _, err := startRelay(t.Context(), "127.0.9.3", "127.0.9.4", port); err == nil {
		t.Error("it listens where somebody else does")
	}
	if _, err := startRelay(t.Context(), "nowhere", "127.0.9.4", port); err == nil {
		t.Error("it listens nowhere")
	}
}
