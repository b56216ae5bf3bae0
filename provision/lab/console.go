package lab

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// consoleHistory is how much a new listener of the console is shown.
const consoleHistory = 64 << 10

// console is a machine's serial line as its BMC has it: it is there whether the
// machine is on or not, several may listen and type, and all of it is in
// serial.log.
type console struct {
	log *os.File
	ln  net.Listener // where BMCs connect; nil = nowhere

	mu        sync.Mutex
	line      net.Conn // to QEMU; nil = off
	listeners map[io.WriteCloser]chan []byte
	history   []byte
}

// newConsole appends to the log at path.
func newConsole(path string) (*console, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("serial log: %w", err)
	}
	return &console{log: f, listeners: map[io.WriteCloser]chan []byte{}}, nil
}

// attach carries what QEMU writes until QEMU ends.
func (c *console) attach(line net.Conn) {
	c.mu.Lock()
	c.line = line
	c.mu.Unlock()
	b := make([]byte, 4096)
	for {
		n, err := line.Read(b)
		c.spread(b[:n])
		if err != nil {
			break
		}
	}
	c.mu.Lock()
	if c.line == line {
		c.line = nil
	}
	c.mu.Unlock()
	_ = line.Close()
}

// spread gives b to the log and to everyone who listens. One who does not keep
// up is dropped: the machine never waits for its console.
func (c *console) spread(b []byte) {
	if len(b) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.log.Write(b) // a full disk must not stop the machine
	c.history = append(c.history, b...)
	if over := len(c.history) - consoleHistory; over > 0 {
		c.history = append([]byte(nil), c.history[over:]...)
	}
	for w, ch := range c.listeners {
		select {
		case ch <- append([]byte(nil), b...):
		default:
			delete(c.listeners, w)
			close(ch)
		}
	}
}

// connect lets rw listen and type until it ends. With history it is shown what
// was written last.
func (c *console) connect(rw io.ReadWriteCloser, history bool) {
	const backlog = 1024 // of at most 4 KiB
	ch := make(chan []byte, backlog)
	c.mu.Lock()
	if history && len(c.history) > 0 {
		ch <- append([]byte(nil), c.history...)
	}
	c.listeners[rw] = ch
	c.mu.Unlock()
	go func() {
		for b := range ch {
			if _, err := rw.Write(b); err != nil {
				break
			}
		}
		_ = rw.Close()
	}()
	_, _ = io.Copy(typist{c}, rw)
	c.mu.Lock()
	if _, ok := c.listeners[rw]; ok {
		delete(c.listeners, rw)
		close(ch)
	}
	c.mu.Unlock()
	_ = rw.Close()
}

// typist writes to the machine; what is typed while it is off is lost.
type typist struct{ c *console }

func (t typist) Write(b []byte) (int, error) {
	t.c.mu.Lock()
	line := t.c.line
	t.c.mu.Unlock()
	if line != nil {
		_, _ = line.Write(b)
	}
	return len(b), nil
}

// serve lets everyone who connects listen, until the listener is closed.
func (c *console) serve(ln net.Listener) error {
	for {
		conn, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("console: %w", err)
		}
		go c.connect(conn, false)
	}
}

// close ends everyone who listens.
func (c *console) close() error {
	if c.ln != nil {
		_ = c.ln.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for w, ch := range c.listeners {
		delete(c.listeners, w)
		close(ch)
		_ = w.Close()
	}
	return c.log.Close()
}
