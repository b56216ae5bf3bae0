package provision

import (
	"context"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// Burner burns a booted node in and keeps what it measures. It may be called
// again for an attempt that was interrupted, and then picks up what still runs
// on the node. When ctx ends it takes the loads down.
type Burner interface {
	Burn(context.Context, BurnIn) error
}

// BurnIn is one burn-in of one machine.
type BurnIn struct {
	Node     burnin.Shell
	Sources  []burnin.Source                                   // beside the node: the BMC
	Freeze   func(context.Context) ([]*burnin.Evidence, error) // what the BMC knows of a fault under load; may be nil
	Store    *burnin.Store
	Profile  *profiles.Profile
	Spec     *profiles.Spec
	Run      RunID
	Attempt  int
	Record   burnin.Machine  // machine.json
	Version  string          // of rackproof
	Duration time.Duration   // of the loads; 0 = by the spec
	DeadMan  time.Duration   // a load goes on that long without word from us; 0 = burnin's own
	Carried  *burnin.Carried // hours of the attempts before; may be nil
	// Narrow leaves out what a retest need not measure again; see burnin.BurnOptions.
	Narrow   func(*burnin.Record, []burnin.Load) ([]burnin.Load, error)
	Consent  burnin.Consent // to what may be written on the host
	Permit   *Permit        // for what Consent and Wipe destroy; nil: nothing
	Wipe     *Wipe          // disks to be erased; nothing is put under load then
	Progress func(text string, until time.Time)
}
