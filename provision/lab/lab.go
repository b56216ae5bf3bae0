package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// DefaultDir is the lab's state folder.
const DefaultDir = "/run/rackproof-lab"

// Options say which lab to build.
type Options struct {
	Dir      string   `json:"dir"`
	Machines int      `json:"machines"`
	Firmware Firmware `json:"firmware"`
	GPUs     int      `json:"gpus"`
	Netboot  bool     `json:"netboot"` // serve the image; otherwise rackproof does
	Image    string   `json:"image"`   // folder of the netboot image
	Cache    string   `json:"cache"`   // where images are kept; "" = the user's cache folder
}

// Specs are the machines of the lab.
func (o Options) Specs() ([]Spec, error) {
	if o.Machines < 1 || o.Machines > MaxMachines {
		return nil, usagef("%d machines; give 1 to %d", o.Machines, MaxMachines)
	}
	specs := make([]Spec, o.Machines)
	for i := range specs {
		s := NewSpec(i+1, o.Dir)
		s.Firmware, s.GPUs = o.Firmware, o.GPUs
		if err := s.Check(); err != nil {
			return nil, &UsageError{err.Error()}
		}
		specs[i] = s
	}
	return specs, nil
}

// Lab is what the supervisor holds.
type Lab struct {
	options  Options
	pid      int // as the host knows it
	started  time.Time
	log      *slog.Logger
	machines []*Machine

	quit   context.CancelFunc // ends the supervisor
	timers sync.WaitGroup
	life   context.Context //nolint:containedctx // the supervisor's life, for what a request begins and does not wait for

	mu   sync.Mutex
	stop map[string][]func() error // by machine: what ends its BMC
}

// Machine finds a machine by name.
func (l *Lab) Machine(name string) (*Machine, error) {
	var names []string
	for _, m := range l.machines {
		if m.spec.Name == name {
			return m, nil
		}
		names = append(names, m.spec.Name)
	}
	return nil, usagef("there is no machine %q; there is %s", name, strings.Join(names, ", "))
}

// startBMC starts both BMCs of a machine, unless they run.
func (l *Lab) startBMC(ctx context.Context, m *Machine) error {
	l.mu.Lock()
	runs := len(l.stop[m.spec.Name]) > 0
	l.mu.Unlock()
	if runs {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	for _, start := range []func(context.Context, *Machine) (func() error, error){startIPMI, startRedfish} {
		stop, err := start(ctx, m)
		if err != nil {
			return errors.Join(fmt.Errorf("BMC of %s: %w", m.spec.Name, err), l.stopBMC(m))
		}
		l.mu.Lock()
		l.stop[m.spec.Name] = append(l.stop[m.spec.Name], stop)
		l.mu.Unlock()
	}
	return nil
}

// stopBMC ends both BMCs of a machine. Those that do not run are no error.
func (l *Lab) stopBMC(m *Machine) error {
	l.mu.Lock()
	stops := l.stop[m.spec.Name]
	delete(l.stop, m.spec.Name)
	l.mu.Unlock()
	var errs []error
	for _, stop := range stops {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}

// later does f after d unless the lab ends before.
func (l *Lab) later(d time.Duration, f func(context.Context)) {
	l.timers.Go(func() {
		if wait(l.life, d) == nil {
			f(l.life)
		}
	})
}

// close powers everything off and ends the BMCs.
func (l *Lab) close() error {
	l.timers.Wait()
	var errs []error
	for _, m := range l.machines {
		errs = append(errs, l.stopBMC(m), m.PowerOff(context.Background(), "down"), m.console.close())
	}
	return errors.Join(errs...)
}

// emptyDir makes the state folder and removes what a lab that crashed left in
// it. The caller holds the lock.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the lab's folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("the lab's folder: %w", err)
	}
	for _, e := range entries {
		if e.Name() == lockFile || e.Name() == serveLog {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("the lab's folder: %w", err)
		}
	}
	return nil
}
