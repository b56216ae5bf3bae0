package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/provision"
)

// erasing are the disks that a run writes over, machine by machine.
type erasing struct {
	disks int
	names []string // "r12u07: S6CKNN0T500123, S6CKNN0T500124"
}

func (e *erasing) add(machine string, serials []string) {
	if len(serials) > 0 {
		e.disks += len(serials)
		e.names = append(e.names, machine+": "+strings.Join(serials, ", "))
	}
}

// erasedBy counts by the plan, or by the batch where there is none.
func erasedBy(planned *provision.PlanFile, b *provision.Batch, w provision.Workflow, sel provision.Selector) erasing {
	var e erasing
	if planned != nil {
		for _, m := range planned.Machines {
			var serials []string
			for _, ch := range m.Changes {
				if ch.What == provision.PlanDisk && m.Problem == "" && !slices.Contains(serials, ch.Now) {
					serials = append(serials, ch.Now)
				}
			}
			e.add(m.Machine, serials)
		}
		return e
	}
	sel.Only = "" // a state is no reason to leave a machine's disks uncounted
	for _, m := range b.Machines {
		if sel.Match(&provision.MachineRun{Machine: m}) {
			e.add(m.Name, m.Written(w))
		}
	}
	return e
}

// agreeToErase refuses a run that writes over another number of disks than was stated. A
// finished run touches none.
func (c *carry) agreeToErase(ctx context.Context, e erasing, f runFlags, batch string) error {
	if e.disks == f.eraseDisks {
		return nil
	}
	if run, err := c.latest(ctx, batch); err != nil || run != nil && run.Finished() && !f.again {
		return err
	}
	which := "none"
	if e.disks > 0 {
		which = strings.Join(e.names, "; ")
	}
	return usageError(fmt.Errorf("the run would write over %d disks (%s), and --erase-disks states %d; nothing was changed", e.disks, which, f.eraseDisks),
		fmt.Sprintf("look at them with rackproof plan, then state --erase-disks %d", e.disks))
}
