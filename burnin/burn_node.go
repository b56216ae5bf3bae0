package burnin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// leaveNode leaves the node as it was found, also after a cancelled context. What
// keeps us from it is noted and no error: the node's dead-man timer ends all.
func (b *burn) leaveNode(ctx context.Context) {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if _, err := ReleaseNode(clean, b.node.Shell, b.Root, b.Run); err != nil {
		b.note("the folder on the node was not removed: " + err.Error())
	}
}

// takeNode acquires the node. A load of ours that was cut (by the dead-man timer,
// by a stop) is cleared away and begins anew.
func (b *burn) takeNode(ctx context.Context) (*nodeFolder, error) {
	claim := Claim{Run: b.Run, Attempt: b.Attempt, Owner: b.Owner, DeadMan: b.DeadMan, Root: b.Root}
	folder, err := acquire(ctx, b.node.Shell, claim)
	if err != nil {
		return nil, err
	}
	if folder.again && cut(folder.ended) != nil {
		b.note("the earlier load was cut (" + folder.ended + ")")
		if err := b.takeCut(ctx, folder); err != nil {
			return nil, err
		}
		if _, err := ReleaseNode(ctx, b.node.Shell, b.Root, b.Run); err != nil {
			return nil, err
		}
		if folder, err = acquire(ctx, b.node.Shell, claim); err != nil {
			return nil, err
		}
	}
	if folder.again && streamID(b.Store) == folder.id {
		b.remark("picked up the running load")
		return folder, nil
	}
	// What was fetched earlier is of another folder, which is gone.
	if streamID(b.Store) != "" {
		if err := b.salvage(SpanStop); err != nil {
			return nil, err
		}
	}
	if folder.again {
		return folder, nil
	}
	return folder, b.gpusFree(ctx)
}

// gpusFree refuses to load GPUs on which somebody works.
func (b *burn) gpusFree(ctx context.Context) error {
	if !b.facts.Has("nvidia-smi") {
		return nil
	}
	err := gpusIdle(ctx, b.node.Shell)
	if errors.Is(err, ErrGPUBusy) {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		_, _ = ReleaseNode(release, b.node.Shell, b.Root, b.Run)
	}
	return err
}

// gpusIdle is ErrGPUBusy where somebody works on the GPUs.
func gpusIdle(ctx context.Context, sh Shell) error {
	out, err := sh.Run(ctx, Command{
		Line:     nodeLine("gpu-work", nil, "exec nvidia-smi --query-compute-apps=pid,process_name --format=csv,noheader"),
		Deadline: 20 * time.Second,
	})
	if err != nil && out.Ended != EndedTimeout {
		return err
	}
	if work := bytes.TrimSpace(out.Out); out.Ended == EndedExit && out.Exit != nil && *out.Exit == 0 && len(work) > 0 {
		return fmt.Errorf("%w%s. Wait for it or end it, then start again", ErrGPUBusy, firstLine(work))
	}
	return nil
}

// takeCut keeps what a load of ours has shown that was cut while nobody watched.
func (b *burn) takeCut(ctx context.Context, folder *nodeFolder) error {
	if streamID(b.Store) != folder.id { // nothing of it was fetched: we never saw it run
		return nil
	}
	stream, err := openStream(b.Store, folder.id)
	if err != nil {
		return err
	}
	r := &loadRun{burn: b, folder: folder, stream: stream}
	if err := r.rest(ctx); err != nil {
		return err
	}
	by := SpanStop
	if folder.ended == endedDeadMan {
		by = SpanDeadMan
	}
	return b.salvage(by)
}
