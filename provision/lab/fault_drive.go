package lab

import (
	"context"
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
			Name: "nvme-medium-error", Value: "[SECTOR], default 409600", Does: "a sector cannot be read",
			put: driveFault(409600, driveSize/512-1, func(d *drive, n int) { d.bad = int64(n) }), heal: healDrive,
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
