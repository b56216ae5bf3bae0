package lab

import (
	"context"
	"errors"
	"fmt"
)

// driveFaults are those of the second NVMe.
func driveFaults() []Fault {
	return []Fault{
		{
			Name: "nvme-critical", Value: "[BITS], default 4 (reliability degraded)", Does: "SMART shows a critical warning",
			put: driveFault(4, 0xff, func(d *drive, n int) { d.critical = byte(n) }), heal: healDrive,
		},
		{
			Name: "nvme-medium-error", Value: "[SECTOR], default 409600", Does: "a sector cannot be read, and the host tries to",
			put: mediumError, heal: healDrive,
		},
		{
			Name: "nvme-slow", Value: "[IOPS], default 20", Does: "the drive does no more operations a second",
			put: driveFault(20, 1_000_000, func(d *drive, n int) { d.iops = n }), heal: healDrive,
		},
		{
			Name: "nvme-missing", Does: "the drive is pulled; the kernel notices after some seconds",
			put: driveFault(1, 1, func(d *drive, _ int) { d.missing = true }), heal: healDrive,
		},
	}
}

// mediumError spoils a sector. A load of seconds reads a part of the drive only, so the
// host reads the sector now, as a filesystem on it would; one that is off or has another
// image meets it when it does.
func mediumError(ctx context.Context, l *Lab, m *Machine, value string) (string, error) {
	spoil := driveFault(409600, driveSize/512-1, func(d *drive, n int) { d.bad = int64(n) })
	if note, err := spoil(ctx, l, m, value); err != nil || !m.On() {
		return note, err
	}
	m.mu.Lock()
	sector := m.hardware.drive.bad
	m.mu.Unlock()
	err := m.inHost(ctx, fmt.Sprintf("for d in /dev/nvme[0-9]n1; do dd if=$d of=/dev/null bs=512 skip=%d count=1 iflag=direct 2>/dev/null; done; true", sector))
	if errors.Is(err, errNoAgent) {
		return "The host has not read it yet.", nil
	}
	return "", err
}

// driveFault makes the change of a number from 1 to most.
func driveFault(def, most int, change func(*drive, int)) putFault {
	return func(ctx context.Context, _ *Lab, m *Machine, value string) (string, error) {
		n, err := number(value, def, 1, most)
		if err != nil {
			return "", err
		}
		return "", m.changeDrive(ctx, func(d *drive) { change(d, n) })
	}
}

func healDrive(ctx context.Context, _ *Lab, m *Machine) error {
	return m.changeDrive(ctx, func(d *drive) { *d = drive{} })
}

// changeDrive changes the drive now, if the machine is on, and for later starts.
func (m *Machine) changeDrive(ctx context.Context, change func(*drive)) error {
	return m.change(ctx, func() (bool, error) {
		m.mu.Lock()
		from := m.hardware.drive
		m.mu.Unlock()
		to := from
		change(&to)
		if v := m.running(); v != nil {
			if err := v.moveDrive(ctx, m.spec, from, to); err != nil {
				return false, fmt.Errorf("%s %s: %w", m.spec.Name, faultyDrive, err)
			}
		}
		m.mu.Lock()
		m.hardware.drive = to
		m.mu.Unlock()
		return false, nil
	})
}

// moveDrive changes a running machine's drive. What is not in its slot has no
// SMART data and no speed.
func (v *vm) moveDrive(ctx context.Context, s Spec, from, to drive) error {
	switch {
	case from.missing && to.missing:
		return nil
	case to.missing:
		return v.plug(ctx, s, false)
	case from.missing:
		if err := v.plug(ctx, s, true); err != nil {
			return err
		}
		from = drive{bad: from.bad} // blkdebug stayed with the file
	}
	return v.setDrive(ctx, from, to)
}
