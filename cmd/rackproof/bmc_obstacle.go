package main

import (
	"context"
	"slices"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/redfish"
)

// powerChange is the change of the verb power. No BMC says that it stops one; a job that
// runs may be flashing, and would be cut.
const powerChange = "power"

// clearOf looks for what is in the way of a change, of those that redfish.Obstacle names
// or powerChange, before anything is changed. What would stop it is an error unless the
// person goes on anyway; the rest is told.
func (a *app) clearOf(ctx context.Context, o *bmcOptions, c bmcClient, change string) error {
	asked, ok := c.(provision.Preflighter)
	if !ok {
		return nil
	}
	found, err := asked.Preflight(ctx)
	if err != nil {
		return err
	}
	for _, f := range found {
		stops := slices.Contains(f.Stops, change) || change == powerChange && f.Kind == redfish.RunningJob
		if stops && !o.anyway {
			return &exitError{
				code: exitNotFinished, Code: "in_the_way", Machine: o.addr,
				Message: f.What + "; nothing was changed", Next: f.Do + ", or go on with --anyway",
			}
		}
		a.progress("in the way: %s", f)
	}
	return nil
}
