package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// ErrNoLab is returned when no lab runs in a state folder.
var ErrNoLab = errors.New("no lab runs; start one with `rackproof-lab up`")

// Client speaks to the supervisor of a lab that runs.
type Client struct {
	dir  string
	pid  int
	http *http.Client
}

// Open finds the lab of a state folder. It returns ErrNoLab if none runs there.
func Open(ctx context.Context, dir string) (*Client, error) {
	c := &Client{dir: dir}
	c.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) }}}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("the lab in %s: %w", dir, err)
	}
	if c.pid, err = peerPID(raw); err != nil {
		return nil, fmt.Errorf("the lab in %s: %w", dir, err)
	}
	return c, nil
}

func (c *Client) dial(ctx context.Context) (*net.UnixConn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", filepath.Join(c.dir, controlSocket))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%s: %w", c.dir, ErrNoLab)
	case err != nil:
		return nil, fmt.Errorf("the lab in %s: %w", c.dir, err)
	}
	return conn.(*net.UnixConn), nil
}

// call makes one request and decodes the answer into out, unless that is nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://lab"+path, body)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("the lab's supervisor: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		var p problem
		if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
			return fmt.Errorf("the lab's supervisor: %s", resp.Status)
		}
		if p.Usage {
			return &UsageError{p.Error}
		}
		return errors.New(p.Error)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("the lab's supervisor: %w", err)
	}
	return nil
}

// Status tells what there is.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	return s, c.call(ctx, http.MethodGet, "/status", nil, &s)
}

// Fault puts a fault into a machine, or heals it with NoFault, and returns what a
// person may want to know.
func (c *Client) Fault(ctx context.Context, machine, name, value string) (string, error) {
	var r faultReply
	return r.Note, c.call(ctx, http.MethodPost, "/fault", faultRequest{Machine: machine, Name: name, Value: value}, &r)
}

// Console connects to a machine's serial line. What was written last comes first.
func (c *Client) Console(ctx context.Context, machine string) (io.ReadWriteCloser, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://lab/console/"+machine, http.NoBody)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "console")
	if err := req.Write(conn); err != nil {
		return nil, errors.Join(fmt.Errorf("console: %w", err), conn.Close())
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("console: %w", err), conn.Close())
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return buffered{conn, r}, nil
	}
	var p problem
	err = json.NewDecoder(resp.Body).Decode(&p)
	_ = resp.Body.Close()
	_ = conn.Close()
	if err != nil || !p.Usage {
		return nil, fmt.Errorf("console: %s %s", resp.Status, p.Error)
	}
	return nil, &UsageError{p.Error}
}

// Run replaces this process by argv inside the lab's network namespace. It
// returns only if that is not possible.
func (c *Client) Run(argv []string) error { return enterNetwork(c.pid, argv) }

// downLimit is how long the supervisor has to power everything off; then it is
// killed, and the kernel ends all that is inside.
const downLimit = 20 * time.Second

// Down ends the lab, and removes its folder unless keep.
func (c *Client) Down(ctx context.Context, keep bool) error {
	asked := c.call(ctx, http.MethodPost, "/down", nil, nil)
	ended, err := waitEnd(c.pid, downLimit)
	if err != nil {
		return errors.Join(asked, err)
	}
	if !ended {
		if err := syscall.Kill(c.pid, syscall.SIGKILL); err != nil {
			return errors.Join(asked, fmt.Errorf("end the supervisor %d: %w", c.pid, err))
		}
		if ended, err = waitEnd(c.pid, downLimit); err != nil || !ended {
			return errors.Join(fmt.Errorf("the supervisor %d does not end", c.pid), err)
		}
	}
	return clean(c.dir, keep)
}

// clean removes the folder of a lab that does not run.
func clean(dir string, keep bool) error {
	if keep {
		return nil
	}
	lease, err := provision.TakeLease(dir, "lab", provision.Holder("clearing up")) // one may just be starting
	if err != nil {
		return fmt.Errorf("the lab's folder: %w", err)
	}
	defer func() { _ = lease.Release() }()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("the lab's folder: %w", err)
	}
	return nil
}

// Clean removes what a lab that crashed left in its folder. It reports whether
// there was something.
func Clean(dir string) (bool, error) {
	if _, err := os.Stat(filepath.Join(dir, lockFile)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return true, clean(dir, false)
}
