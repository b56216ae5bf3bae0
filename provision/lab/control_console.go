package lab

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// handleConsole gives the connection to the machine's console.
func (l *Lab) handleConsole(w http.ResponseWriter, r *http.Request) {
	m, err := l.Machine(r.PathValue("machine"))
	if err != nil {
		answer(w, nil, err)
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		answer(w, nil, err)
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: console\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	m.console.connect(buffered{conn, buf.Reader}, true)
}

// buffered is a connection whose first bytes were read already.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// serveConsole offers the console on the port that ipmi_sim's SOL connects to.
func (m *Machine) serveConsole(ctx context.Context) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", m.spec.SOLPort()))
	if err != nil {
		return fmt.Errorf("%s: console: %w", m.spec.Name, err)
	}
	m.console.ln = ln
	go func() {
		if err := m.console.serve(ln); err != nil {
			m.log.Error("console", "err", err)
		}
	}()
	return nil
}
