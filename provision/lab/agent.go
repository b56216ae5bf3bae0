package lab

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// agent runs shell lines as root in the booted host, through a virtio serial
// port. Only the lab's image listens there: it is how faults are put in that
// happen inside the host. For each line it writes the output and "rc=N".
type agent struct {
	mu   sync.Mutex // one line at a time
	conn net.Conn
	r    *bufio.Reader
}

func newAgent(c net.Conn) *agent { return &agent{conn: c, r: bufio.NewReader(c)} }

// agentLimit bounds a line without a deadline of its own.
const agentLimit = 20 * time.Second

var errNoAgent = errors.New("the agent in the host does not answer; has the lab's image booted?")

// run executes one line and returns its output. A status other than 0 is an
// error.
func (a *agent) run(ctx context.Context, line string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.bound(ctx)()
	// A line that nobody reads stays in the socket and would run when the next
	// image boots. So ask first whether somebody is there.
	if _, _, err := a.exchange("true"); err != nil {
		return "", err
	}
	out, rc, err := a.exchange(line)
	if err != nil {
		return "", err
	}
	if rc != 0 {
		return out, fmt.Errorf("in the host, status %d: %s", rc, strings.TrimSpace(out))
	}
	return out, nil
}

// launch executes a line that does not come back, such as one that ends the
// kernel.
func (a *agent) launch(ctx context.Context, line string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.bound(ctx)()
	if _, _, err := a.exchange("true"); err != nil {
		return err
	}
	_, err := a.conn.Write([]byte(line + "\n"))
	return err
}

// bound ends reads and writes with ctx; call what it returns at the end.
func (a *agent) bound(ctx context.Context) func() {
	limit := time.Now().Add(agentLimit)
	if d, ok := ctx.Deadline(); ok {
		limit = d
	}
	_ = a.conn.SetDeadline(limit)
	stop := context.AfterFunc(ctx, func() { _ = a.conn.SetDeadline(time.Unix(1, 0)) })
	return func() {
		stop()
		_ = a.conn.SetDeadline(time.Time{})
	}
}

// exchange sends a line behind a mark and reads up to its status. What comes
// before the mark belongs to an earlier line that was given up.
func (a *agent) exchange(line string) (string, int, error) {
	mark := "mark-" + rand.Text()
	if _, err := fmt.Fprintf(a.conn, "echo %s; %s\n", mark, line); err != nil {
		return "", 0, fmt.Errorf("%w (%w)", errNoAgent, err)
	}
	var out strings.Builder
	seen := false
	for {
		text, err := a.r.ReadString('\n')
		if err != nil {
			return "", 0, fmt.Errorf("%w (%w)", errNoAgent, err)
		}
		text = strings.TrimRight(text, "\r\n")
		if !seen {
			seen = text == mark
			continue
		}
		if rc, ok := strings.CutPrefix(text, "rc="); ok {
			if n, err := strconv.Atoi(rc); err == nil {
				return out.String(), n, nil
			}
		}
		out.WriteString(text + "\n")
	}
}

func (a *agent) close() { _ = a.conn.Close() }
