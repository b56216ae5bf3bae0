package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rackproof/rackproof/provision"
)

// Files of the state folder.
const (
	lockFile      = "lab.lock"
	serveLog      = "serve.log"
	controlSocket = "control.sock"
	stateFile     = "lab.json"
)

// supervisorFile is the file descriptor over which `up` gives the supervisor its
// options, and the supervisor tells how far it is.
const supervisorFile = 3

// Stage is a part of building the lab that is done.
type Stage struct {
	Name    string  `json:"stage"`
	Seconds float64 `json:"seconds"`
}

// report is one line from the supervisor to `up`.
type report struct {
	Stage *Stage `json:"done,omitempty"`
	Ready bool   `json:"ready,omitempty"`
	Error string `json:"error,omitempty"`
}

// parent is `up`, as the supervisor sees it.
type parent struct {
	conn net.Conn
	enc  *json.Encoder
}

// Serve is the supervisor: the first process of the namespaces that `up` made. It
// builds the lab, and holds it until ctx ends or it is told to go. While the lab
// is not ready it ends with `up`.
func Serve(ctx context.Context, log *slog.Logger) error {
	if os.Getpid() != 1 {
		return errNotAlone // then file 3 is somebody else's
	}
	f := os.NewFile(supervisorFile, "up")
	conn, err := net.FileConn(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return errNotAlone
	}
	p := parent{conn: conn, enc: json.NewEncoder(conn)}
	defer func() { _ = conn.Close() }()
	var o Options
	dec := json.NewDecoder(conn)
	if err := dec.Decode(&o); err != nil {
		return fmt.Errorf("the lab's options: %w", err)
	}
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	ready := make(chan struct{})
	go p.watch(io.MultiReader(dec.Buffered(), conn), ready, quit)

	l := &Lab{options: o, started: time.Now(), log: log, quit: quit, life: ctx, stop: map[string][]func() error{}}
	stop, err := l.build(ctx, p)
	if err == nil {
		close(ready)
		err = p.enc.Encode(report{Ready: true})
	}
	if err != nil {
		_ = p.enc.Encode(report{Error: err.Error()}) // `up` may be gone
		return errors.Join(err, stop())
	}
	log.Info("ready")
	<-ctx.Done()
	log.Info("going down")
	return stop()
}

// watch ends the supervisor when `up` ends before the lab is ready.
func (p parent) watch(r io.Reader, ready <-chan struct{}, quit context.CancelFunc) {
	_, _ = io.Copy(io.Discard, r)
	select {
	case <-ready:
	default:
		quit()
	}
}

// done tells that a stage that began at start is done.
func (p parent) done(name string, start time.Time) error {
	if err := p.enc.Encode(report{Stage: &Stage{Name: name, Seconds: time.Since(start).Seconds()}}); err != nil {
		return fmt.Errorf("`rackproof-lab up` has ended: %w", err)
	}
	return nil
}

// build makes everything, one stage after the other. What it returns takes it
// down again, also after an error.
func (l *Lab) build(ctx context.Context, p parent) (func() error, error) {
	var undo []func() error
	down := func() error {
		var errs []error
		for _, u := range slices.Backward(undo) {
			errs = append(errs, u())
		}
		return errors.Join(errs...)
	}
	for _, s := range l.stages() {
		start := time.Now()
		u, err := s.do(ctx)
		if u != nil {
			undo = append(undo, u)
		}
		if err == nil {
			err = errors.Join(ctx.Err(), p.done(s.name, start))
		}
		if err != nil {
			return down, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return down, nil
}

// buildStage is one stage of building, with what undoes it.
type buildStage struct {
	name string
	do   func(context.Context) (undo func() error, err error)
}

// stages are the order in which a lab is built.
func (l *Lab) stages() []buildStage {
	s := []buildStage{
		{"namespaces", l.settle},
		{"state folder", l.takeDir},
		{"key for the hosts", l.makeKey},
		{"networks", l.makeNetworks},
		{"machines", l.makeMachines},
		{"DHCP and TFTP", l.startDHCP},
		{"BMCs", l.startBMCs},
	}
	if l.options.Netboot {
		s = append(s, buildStage{"netboot", l.startOwnBoot})
	}
	return append(s, buildStage{"control socket", l.startControl})
}

func (l *Lab) settle(context.Context) (func() error, error) {
	pid, err := settle()
	l.pid = pid
	return nil, err
}

func (l *Lab) takeDir(context.Context) (func() error, error) {
	lease, err := provision.TakeLease(l.options.Dir, "lab", fmt.Sprintf("pid %d", l.pid))
	if err != nil {
		return nil, err
	}
	return lease.Release, emptyDir(l.options.Dir)
}

func (l *Lab) makeKey(ctx context.Context) (func() error, error) {
	return nil, makeHostKey(ctx, l.options.Dir)
}

func (l *Lab) makeNetworks(ctx context.Context) (func() error, error) {
	specs, err := l.options.Specs()
	if err != nil {
		return nil, err
	}
	return nil, makeNetwork(ctx, specs)
}

func (l *Lab) makeMachines(ctx context.Context) (func() error, error) {
	specs, err := l.options.Specs()
	if err != nil {
		return nil, err
	}
	for _, s := range specs {
		m, err := NewMachine(s, l.log)
		if err != nil {
			return l.close, err
		}
		l.machines = append(l.machines, m)
		if err := m.serveConsole(ctx); err != nil {
			return l.close, err
		}
	}
	return l.close, nil
}

func (l *Lab) startDHCP(ctx context.Context) (func() error, error) {
	var specs []Spec
	for _, m := range l.machines {
		specs = append(specs, m.spec)
	}
	return startDnsmasq(context.WithoutCancel(ctx), l.options.Dir, specs)
}

func (l *Lab) startBMCs(ctx context.Context) (func() error, error) {
	for _, m := range l.machines {
		if err := l.startBMC(ctx, m); err != nil {
			return nil, err // close ends them
		}
	}
	return nil, nil
}

// startControl listens last: whoever can connect finds a lab that is ready.
func (l *Lab) startControl(ctx context.Context) (func() error, error) {
	if err := l.writeState(); err != nil {
		return nil, err
	}
	return l.serveControl(ctx, filepath.Join(l.options.Dir, controlSocket))
}

// writeState writes lab.json, for people and scripts.
func (l *Lab) writeState() error {
	b, err := json.MarshalIndent(l.Status(), "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", stateFile, err)
	}
	if err := os.WriteFile(filepath.Join(l.options.Dir, stateFile), append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("%s: %w", stateFile, err)
	}
	return nil
}
