package burnin

import (
	"errors"
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

// ibBandwidth asks how much each pair of ports moves one way. Who is paired with whom
// is not a matter of one machine: the evidence is of what was run between two.
var ibBandwidth = Check{
	Name:   "ib.bandwidth",
	Title:  "Pairs of InfiniBand ports move as much as their rate allows",
	Probes: []string{IBBandwidth.Spec.Name},
	Judge:  judgeIBBandwidth,
}

func judgeIBBandwidth(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "ib.bandwidth"
	var out []Finding
	for _, phase := range machinePhases {
		pairs := ReadAll(r, IBBandwidth, phase)
		for _, instance := range sortedKeys(pairs) {
			pair := pairs[instance]
			name := firstWord(instance, pair.Value.Device)
			part := ibPart
			if name != "" {
				part = Part{Class: ClassCable, Name: "InfiniBand port " + name}
			}
			if instance == pairNetwork {
				part.Name = "network"
			}
			f := About(check, "bandwidth", part, pair.Ref)
			f.Peer = pair.Value.Peer
			if phase != PhaseLoad {
				f.ID += "/" + string(phase)
			}
			out = append(out, pair.Value.judge(f, pair.Err, p.IB.Bandwidth))
		}
	}
	f := About(check, "bandwidth", ibPart)
	switch {
	case len(out) == 0 && p.IB.Bandwidth.Set():
		return []Finding{f.Missing(fmt.Errorf("ib-bandwidth: %w: no partner, so no pair of ports was measured (rackproof burnin --peer, or ib: {loopback: true} of the profile)", ErrNotRun))}
	case len(out) == 0:
		return []Finding{f.NotHere("the profile has no limit of bandwidth, and no pair of ports was measured")}
	}
	return out
}

func (v PairRate) judge(f Finding, err error, limit *profiles.Limit) Finding {
	switch {
	case err != nil:
		return f.absent(err, limit)
	case v.Both:
		return f.absent(errors.New("both ways were measured at once, and the limit is of one"), limit)
	case !v.Rate.Set || v.Rate.V == 0:
		return f.absent(errors.New("nothing was moved"), limit)
	}
	return f.Number(v.Rate.V, profiles.GbPerSecond, limit).Because("%.1f Gb/s by %s", v.Rate.V, v.Tool)
}
