package lab

import (
	"context"
	"fmt"
)

// applyLive puts what QEMU's command line cannot say into a VM that has just
// started.
func (h hardware) applyLive(ctx context.Context, v *vm) error {
	if h.drive.missing {
		return nil
	}
	return v.setDrive(ctx, drive{}, h.drive)
}

// setDrive brings the faulty drive from one state to another.
func (v *vm) setDrive(ctx context.Context, from, to drive) error {
	if from.critical != to.critical {
		if err := v.qmp.set(ctx, "/machine/peripheral/"+faultyDrive, "smart_critical_warning", to.critical); err != nil {
			return err
		}
	}
	if from.iops != to.iops {
		limits := map[string]any{"id": faultyDrive, "bps": 0, "bps_rd": 0, "bps_wr": 0, "iops": to.iops, "iops_rd": 0, "iops_wr": 0}
		if err := v.qmp.do(ctx, "block_set_io_throttle", limits, nil); err != nil {
			return err
		}
	}
	if from.bad != to.bad {
		return v.setBadSector(ctx, from.bad, to.bad)
	}
	return nil
}

// setBadSector makes reads of one sector fail, by putting QEMU's blkdebug
// between the drive and its file. 0 takes it out.
func (v *vm) setBadSector(ctx context.Context, from, to int64) error {
	file, bad := faultyDrive+"-file", faultyDrive+"-bad"
	reopen := func(on string) step {
		return step{"blockdev-reopen", map[string]any{"options": []any{map[string]any{"driver": "raw", "node-name": faultyDrive + "-raw", "file": on}}}}
	}
	var steps []step
	if from != 0 {
		steps = append(steps, reopen(file), step{"blockdev-del", map[string]any{"node-name": bad}})
	}
	if to != 0 {
		const ioError = 5 // EIO: NVMe answers "unrecovered read error"
		rule := map[string]any{"event": "none", "iotype": "read", "errno": ioError, "sector": to, "once": false}
		steps = append(steps, step{"blockdev-add", map[string]any{
			"driver": "blkdebug", "node-name": bad, "image": file, "inject-error": []any{rule},
		}}, reopen(bad))
	}
	return v.steps(ctx, steps...)
}

// plug puts the faulty drive into its slot, or pulls it. The host's kernel takes
// some seconds to notice.
func (v *vm) plug(ctx context.Context, s Spec, in bool) error {
	if !in {
		return v.qmp.do(ctx, "device_del", map[string]any{"id": faultyDrive}, nil)
	}
	err := v.qmp.do(ctx, "device_add", map[string]any{
		"driver": "nvme", "id": faultyDrive, "drive": faultyDrive + "-raw", "serial": s.DriveSerial(1), "bus": portOf(faultyDrive),
	}, nil)
	if err != nil {
		return fmt.Errorf("%w; is the old drive out yet? Try again in some seconds", err)
	}
	return nil
}
