package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Up builds a lab and returns when its BMCs answer; the machines are off. If a
// lab runs in the folder already, that one is returned: it is an error if it is
// not the one that was asked for. Each stage is told to tell. When ctx ends
// before the lab is ready, nothing is left.
func Up(ctx context.Context, o Options, tell func(Stage)) (Status, error) {
	if _, err := o.Specs(); err != nil {
		return Status{}, err
	}
	c, err := Open(ctx, o.Dir)
	if err == nil {
		return same(ctx, c, o)
	}
	if !errors.Is(err, ErrNoLab) {
		return Status{}, err
	}
	if err := Check(); err != nil {
		return Status{}, err
	}
	start := time.Now()
	if o.Image, err = BuildImage(ctx, ImageOptions{Cache: o.Cache}); err != nil {
		return Status{}, err
	}
	tell(Stage{Name: "netboot image", Seconds: time.Since(start).Seconds()})
	if err := supervise(ctx, o, tell); err != nil {
		return Status{}, err
	}
	if c, err = Open(ctx, o.Dir); err != nil {
		return Status{}, err
	}
	return c.Status(ctx)
}

// same returns the lab that runs, if it is built as asked.
func same(ctx context.Context, c *Client, o Options) (Status, error) {
	s, err := c.Status(ctx)
	if err != nil {
		return s, err
	}
	m := s.Machines[0]
	if len(s.Machines) != o.Machines || m.Firmware != o.Firmware || m.GPUs != o.GPUs || s.Netboot != o.Netboot {
		return s, usagef("another lab (machines %d, %s, GPUs %d, netboot %t) runs in %s; end it with `rackproof-lab down` first, or give --dir", len(s.Machines), m.Firmware, m.GPUs, s.Netboot, s.Dir)
	}
	return s, nil
}

// supervise starts the supervisor in namespaces of its own and returns when the
// lab is ready. On any error it has ended.
func supervise(ctx context.Context, o Options, tell func(Stage)) (err error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fmt.Errorf("the lab's folder: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(o.Dir, serveLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	defer func() { _ = log.Close() }()
	near, far, err := socketPair("supervisor")
	if err != nil {
		return err
	}
	defer func() { _ = near.Close() }()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, "serve")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{far}
	isolate(cmd)
	err = cmd.Start()
	_ = far.Close()
	if err != nil {
		return fmt.Errorf("start the supervisor: %w; the lab needs PID, network and mount namespaces", err)
	}
	if err := follow(ctx, near, o, tell); err != nil {
		_ = cmd.Process.Kill() // and with it all that it started
		_ = cmd.Wait()
		return errors.Join(err, clean(o.Dir, ctx.Err() == nil)) // keep the logs of a failure
	}
	return cmd.Process.Release()
}

// follow gives the supervisor its options and reads what it tells until it is
// ready.
func follow(ctx context.Context, c net.Conn, o Options, tell func(Stage)) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := json.NewEncoder(c).Encode(o); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	dec := json.NewDecoder(c)
	for {
		var r report
		err := dec.Decode(&r)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the supervisor has ended; see %s", filepath.Join(o.Dir, serveLog))
		case err != nil:
			return fmt.Errorf("the supervisor: %w", err)
		case r.Error != "":
			return errors.New(r.Error)
		case r.Ready:
			return nil
		case r.Stage != nil:
			tell(*r.Stage)
		}
	}
}
