package lab

import (
	"context"
	"fmt"
	"path/filepath"
)

// PowerOn starts the machine and uses up a one-time boot choice. A machine that
// is on stays as it is.
func (m *Machine) PowerOn(ctx context.Context, by string) error {
	return m.change(ctx, func() (bool, error) {
		if m.On() {
			return false, nil
		}
		return true, m.start(ctx, "power on", by)
	})
}

// PowerOff takes the power away and waits for the end of QEMU.
func (m *Machine) PowerOff(ctx context.Context, by string) error {
	return m.change(ctx, func() (bool, error) {
		if !m.halt() {
			return false, nil
		}
		m.note("power off by=%s", by)
		return true, nil
	})
}

// Reset starts a running machine anew and uses up a one-time boot choice. It is
// an error to reset a machine that is off.
func (m *Machine) Reset(ctx context.Context, by string) error {
	return m.change(ctx, func() (bool, error) {
		if !m.halt() {
			return false, fmt.Errorf("reset %s: %w", m.spec.Name, errOff)
		}
		return true, m.restart(ctx, by)
	})
}

// Shutdown presses the ACPI power button. It does not wait.
func (m *Machine) Shutdown(ctx context.Context, by string) error {
	v, err := m.on()
	if err != nil {
		return err
	}
	if err := v.qmp.do(ctx, "system_powerdown", nil, nil); err != nil {
		return fmt.Errorf("shut %s down: %w", m.spec.Name, err)
	}
	m.note("power button by=%s", by)
	return nil
}

// change runs f while no other change of power runs, and tells everyone when f
// says that something changed.
func (m *Machine) change(ctx context.Context, f func() (changed bool, err error)) error {
	select {
	case m.op <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%s is busy: %w", m.spec.Name, ctx.Err())
	}
	changed, err := f()
	<-m.op
	if changed {
		m.changed()
	}
	return err
}

// halt ends QEMU and reports whether it ran.
func (m *Machine) halt() bool {
	m.mu.Lock()
	v := m.vm
	m.vm = nil
	m.mu.Unlock()
	if v == nil {
		return false
	}
	v.stop()
	return true
}

// start launches QEMU. The boot choice is used up only when it came up.
func (m *Machine) start(ctx context.Context, what, by string) error {
	s, err := m.prepare()
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, m.spec.Name, err)
	}
	v, err := startVM(ctx, s, m.console)
	if err != nil {
		return err
	}
	if err := s.hardware.applyLive(ctx, v); err != nil {
		v.stop()
		return fmt.Errorf("%s %s: %w", what, m.spec.Name, err)
	}
	m.mu.Lock()
	m.vm = v
	if !s.boot.Persistent && m.boot == s.boot {
		m.boot = BootChoice{}
	}
	m.mu.Unlock()
	m.note("%s boot=%s by=%s", what, s.boot, by)
	go m.watch(v)
	return nil
}

// restart is the second half of a reset. If it fails the machine is off.
func (m *Machine) restart(ctx context.Context, by string) error {
	err := m.start(ctx, "reset", by)
	if err != nil {
		m.note("power off by=%s: %v", by, err)
	}
	return err
}

// prepare gathers what a start depends on, and writes the files that QEMU
// reads.
func (m *Machine) prepare() (start, error) {
	m.mu.Lock()
	s := start{spec: m.spec, hardware: m.hardware.clone(), boot: m.boot, cards: m.cards, media: m.media}
	m.mu.Unlock()
	var err error
	if s.smbios, err = writeSMBIOS(filepath.Join(m.spec.Dir, "smbios"), s.hardware.dimms); err != nil {
		return s, err
	}
	return s, prepareFirmware(m.spec, s.boot)
}

// watch waits for the end of a QEMU that nobody of us ended. A reset by the host
// is a start like any other: it uses the boot choice up.
func (m *Machine) watch(v *vm) {
	<-v.done
	ctx := context.Background()
	_ = m.change(ctx, func() (bool, error) { // without a deadline it waits its turn
		m.mu.Lock()
		ours := m.vm == v
		if ours {
			m.vm = nil
		}
		m.mu.Unlock()
		if !ours {
			return false, nil
		}
		v.stop()
		reason := v.ended()
		if reason == "guest-reset" {
			return true, m.restart(ctx, "host")
		}
		m.note("power off by=host reason=%s", reason)
		return true, nil
	})
}
