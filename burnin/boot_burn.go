package burnin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

const (
	// bootMost is how long a machine may take to come back: big ones train their memory
	// for a quarter of an hour.
	bootMost = 45 * time.Minute
	// bootPause is between two questions whether it is back, and bootSettle what links and
	// services get to come up behind SSH.
	bootPause  = 3 * time.Second
	bootSettle = time.Minute
)

// Restarting is a restart that is ordered, or about to be.
type Restarting struct {
	Boot   int       `json:"boot"`    // from 1
	BootID string    `json:"boot_id"` // in which it is ordered
	At     time.Time `json:"at"`
}

// Reboots restarts a machine that was burned in by its own system, until it was started
// as often as was asked then, and stores what is there behind each start. It goes on where
// an earlier call ended, in whichever process.
func Reboots(ctx context.Context, o BurnOptions) error {
	b := &burn{BurnOptions: o, node: o.Node}
	if b.Log == nil {
		b.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	if b.meta, _, err = b.Store.Meta(); err != nil {
		return err
	}
	for len(b.meta.Boots) < b.meta.Reboots {
		n := len(b.meta.Boots) + 1
		b.node.tell(Progress{Phase: Boot{Boot: n}.Phase(), Doing: fmt.Sprintf("restart %d of %d", n, b.meta.Reboots)})
		boot, err := b.reboot(ctx, n)
		if err == nil {
			err = CollectBoot(ctx, b.node, b.Store, boot)
		}
		if err != nil {
			return fmt.Errorf("restart %d of %d: %w", n, b.meta.Reboots, err)
		}
		if b.meta, _, err = b.Store.Meta(); err != nil {
			return err
		}
	}
	return nil
}

// reboot brings the machine into another boot. One that was ordered before rackproof was
// interrupted is not ordered twice: the boot id tells.
func (b *burn) reboot(ctx context.Context, n int) (Boot, error) {
	r := b.meta.Restarting
	if r == nil || r.Boot != n {
		if err := Idle(ctx, b.node.Shell, Claim{Run: b.Run, Attempt: b.Attempt, Owner: b.Owner, Root: b.Root}); err != nil {
			return Boot{}, err
		}
		facts, err := b.node.Facts(ctx)
		if err != nil {
			return Boot{}, err
		}
		if facts.BootID == "" {
			return Boot{}, errors.New("the machine does not tell in which boot it is, so nothing would show that it was restarted")
		}
		r = &Restarting{Boot: n, BootID: facts.BootID, At: time.Now().UTC()}
		if err := b.setMeta(func(m *Meta) { m.Restarting = r }); err != nil {
			return Boot{}, err
		}
	}
	if err := Reboot(ctx, b.node.Shell, r.BootID); err != nil && ctx.Err() != nil {
		return Boot{}, err
	} else if err != nil { // it may be on its way down
		b.Log.Warn("no answer to the order to restart", "err", err)
	}
	id, err := b.awaitBoot(ctx, r.BootID)
	boot := Boot{Boot: n, Kind: profiles.Warm, From: r.BootID, BootID: id, Down: r.At, Up: time.Now().UTC()}
	if err != nil {
		return boot, err
	}
	return boot, pause(ctx, bootSettle)
}

// awaitBoot waits until the machine answers from another boot, and returns its id.
func (b *burn) awaitBoot(ctx context.Context, from string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, bootMost)
	defer cancel()
	for {
		facts, err := b.node.Facts(limited)
		switch {
		case err == nil && facts.BootID != "" && facts.BootID != from:
			return facts.BootID, nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case limited.Err() != nil && err != nil:
			return "", fmt.Errorf("%w within %s: %w", ErrNodeLost, bootMost, err)
		case limited.Err() != nil:
			return "", fmt.Errorf("it still answers from the boot before, %s after it was told to restart: look at its console", bootMost)
		}
		if err := pause(limited, bootPause); err != nil && ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
}

// RebootNotice says that the machine will be restarted n times; "" for none.
func RebootNotice(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" Then will reboot the machine %s.", plural(n, "time"))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
