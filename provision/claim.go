package provision

import (
	"strings"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// Claim is a share of something that machines contend for, as data for an engine that
// grants leases: it may be had while the weights of all that have the key stay within
// Limit.
type Claim struct {
	Key    string        `json:"key"`
	Weight float64       `json:"weight"`
	Limit  float64       `json:"limit"`
	Apart  time.Duration `json:"apart,omitempty"` // between two grants of the key
}

// PlaceClaim is one of the places among those worked on at once in a run.
func PlaceClaim(b *Batch, run RunID) Claim {
	parallel := b.Limits.Parallel
	if parallel <= 0 {
		parallel = defaultParallel
	}
	return Claim{Key: "run " + string(run), Weight: 1, Limit: float64(parallel)}
}

// PowerClaims are what m draws of its rack and PDUs under load. It is none for a small
// machine where no budget is stated.
func PowerClaims(b *Batch, m Machine) []Claim {
	var out []Claim
	draws := func(key string, watts, budget float64) {
		if watts == 0 { // nobody knows what it draws: it has all of it
			watts = budget
		}
		out = append(out, Claim{Key: key, Weight: watts, Limit: budget, Apart: rampPause})
	}
	switch kw := b.Racks[m.Rack].KW; {
	case kw > 0:
		draws("rack "+m.Rack, m.LoadedWatts, kw*1000)
	case len(m.PDUs) == 0 && big(m):
		draws("rack "+m.Rack, 1, 1)
	}
	for _, name := range m.PDUs {
		draws("pdu "+name, m.share(m.LoadedWatts), b.PDUs[name].KW*1000)
	}
	return out
}

// BMCClaim is the sole right to m's BMC.
func BMCClaim(m Machine) Claim {
	return Claim{Key: "bmc " + strings.ToLower(redfish.Config{Addr: m.bmcAddr(), Via: m.Via}.Key()), Weight: 1, Limit: 1}
}
