package provision

import (
	"context"
	"slices"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// arrival reports whether records are compared, and no order.
func (in *Intake) arrival() bool {
	return slices.ContainsFunc(in.Order.Lines, func(l OrderLine) bool { return l.Factory != nil })
}

// readForArrival reads what a record is compared with: the inventory, by the reader that
// reads records, and the log.
func (v *askedBMC) readForArrival(ctx context.Context, c BMC) error {
	out, err := burnin.JSON(c.Recorded())
	if err != nil {
		return err
	}
	if v.tree, err = burnin.BMCInventory.Parse(&burnin.Evidence{Probe: probeInventory, Phase: burnin.PhaseBMC, Ended: burnin.EndedExit, Out: out}); err != nil {
		return err
	}
	if v.log, err = c.Log(ctx, time.Time{}); err != nil {
		v.logGap = err.Error() // what was read of it is told
	}
	return ctx.Err()
}

// compare compares the machine with its line.
func (v *askedBMC) compare(l OrderLine) []Comparison {
	if l.Factory == nil {
		return compareOrder(l, v.inv, v.power)
	}
	return append(v.compareFactory(*l.Factory), unhealthy(v.inv)...)
}
