package lab

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestConsole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serial.log")
	c, err := newConsole(path)
	if err != nil {
		t.Fatal(err)
	}
	listeners := func() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.listeners) }
	listen := func(history bool) (net.Conn, *bufio.Reader) {
		near, far := connPair(t)
		before := listeners()
		go c.connect(far, history)
		within(t, 10*time.Second, func() bool { return listeners() > before }, func() string { return "nobody listens" })
		if err := near.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return near, bufio.NewReader(near)
	}
	expect := func(r *bufio.Reader, want string) {
		t.Helper()
		if got, err := r.ReadString('\n'); got != want || err != nil {
			t.Errorf("read %q, %v; want %q", got, err, want)
		}
	}
	sol, solText := listen(false) // before the machine is on
	if n, err := (typist{c}).Write([]byte("lost\n")); n != 5 || err != nil {
		t.Errorf("typed while it is off: %d, %v", n, err)
	}
	for _, boot := range []string{"first", "second"} { // a power cycle does not end it
		near, qemu := connPair(t)
		ended := make(chan struct{})
		go func() { c.attach(near); close(ended) }()
		if _, err := qemu.Write([]byte(boot + "\n")); err != nil {
			t.Fatal(err)
		}
		expect(solText, boot+"\n")
		if _, err := sol.Write([]byte("typed\n")); err != nil {
			t.Fatal(err)
		}
		expect(bufio.NewReader(qemu), "typed\n")
		if err := qemu.Close(); err != nil {
			t.Fatal(err)
		}
		<-ended
	}
	_, late := listen(true)
	expect(late, "first\n")
	expect(late, "second\n")
	if err := c.close(); err != nil {
		t.Error(err)
	}
	if _, err := late.ReadByte(); err == nil {
		t.Error("a listener outlives the console")
	}
	if b, err := os.ReadFile(path); string(b) != "first\nsecond\n" || err != nil {
		t.Errorf("log %q, %v", b, err)
	}
}

// The machine must not wait for somebody who does not read.
func TestConsoleDropsWhoDoesNotRead(t *testing.T) {
	c, err := newConsole(filepath.Join(t.TempDir(), "serial.log"))
	if err != nil {
		t.Fatal(err)
	}
	near, far := connPair(t)
	go c.connect(far, false)
	listening := func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.listeners) > 0 }
	within(t, 10*time.Second, listening, func() string { return "nobody listens" })
	for range 2000 {
		c.spread([]byte("x"))
	}
	if listening() {
		t.Error("still waited for")
	}
	_ = near.Close()
	if err := c.close(); err != nil {
		t.Error(err)
	}
}
