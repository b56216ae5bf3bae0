package burnin

import (
	"errors"
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

const memoryBandwidthName = "memory.bandwidth"

// memoryBandwidth asks how fast the main memory is, and how much that is of what its
// channels could carry. Nobody publishes a figure for a model of server: a share of
// the arithmetic is what a profile can state.
var memoryBandwidth = Check{
	Name:   memoryBandwidthName,
	Title:  "The memory is as fast as its channels allow",
	Probes: []string{Stream.Spec.Name, Dmidecode.Spec.Name},
	Judge:  judgeMemoryBandwidth,
}

func judgeMemoryBandwidth(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = memoryBandwidthName
	stream := ReadAny(r, Stream, PhaseLoad, PhaseBefore, PhaseAfter)
	about := func(quantity string) Finding { return About(check, quantity, memoryPart, stream.Ref) }
	if !stream.OK() {
		return []Finding{about("share").absent(stream.Err, p.Memory.BandwidthShare)}
	}
	l := stream.Value
	if l.Failed != "" {
		f := about("results")
		f.Measured = l.Failed
		return []Finding{f.Judged(Fail, "the memory gave back other values than were written: "+l.Failed)}
	}
	if !l.Validated {
		return []Finding{about("share").absent(errors.New("STREAM did not say that its results are right, or did not come to its end"), p.Memory.BandwidthShare)}
	}
	triad := about("triad").number(scaled(l.Triad, 1e-3), profiles.GBPerSecond, nil)
	if l.Threads.Set {
		triad = triad.Because("STREAM with %.0f threads, arrays of %.1f GB", l.Threads.V, l.Array.V/1e9)
	}
	out := []Finding{triad}
	for _, k := range []struct {
		name string
		v    Opt[float64]
	}{{"copy", l.Copy}, {"scale", l.Scale}, {"add", l.Add}} {
		out = append(out, about(k.name).number(scaled(k.v, 1e-3), profiles.GBPerSecond, nil))
	}
	return append(out, bandwidthShare(r, about("share"), l, p))
}

// bandwidthShare judges the triad against what the channels could carry.
func bandwidthShare(r *Readings, f Finding, l StreamLog, p *profiles.Profile) Finding {
	limit := p.Memory.BandwidthShare
	most, words, ref, err := channelRate(r, p)
	f.Evidence = withoutBlanks(append(f.Evidence, ref))
	switch {
	case !l.Triad.Set:
		return f.absent(l.Triad.Absent("the triad"), limit)
	case err != nil:
		return f.absent(err, limit)
	}
	share := 100 * l.Triad.V * 1e6 / most
	if share > 100 {
		return f.absent(fmt.Errorf("%.0f MB/s is more than the channels can carry (%s): the arrays fit into a cache, make them larger", l.Triad.V, words), limit)
	}
	return f.Number(share, profiles.Percent, limit).Because("triad %.1f GB/s of %.1f GB/s: %s", l.Triad.V/1e3, most/1e9, words)
}

// channelBytes is what a channel of DDR4 or DDR5 moves in one transfer: 64 bits of
// data, as SMBIOS and the JEDEC standards of the modules have it.
const channelBytes = 8

// channelRate is what all channels with a module can carry, in bytes a second, and the
// arithmetic in words: channels, times transfers of the slowest module, times 8 bytes.
func channelRate(r *Readings, p *profiles.Profile) (rate float64, words, ref string, err error) {
	dmi := ReadAny(r, Dmidecode, PhaseBefore, PhaseAfter)
	if !dmi.OK() {
		return 0, "", "", dmi.Err
	}
	slowest := 0.0
	have := dmi.Value.Populated()
	for _, m := range have {
		if !m.Configured.Set {
			return 0, "", dmi.Ref, m.Configured.Absent("the speed of DIMM " + m.Locator)
		}
		if slowest == 0 || m.Configured.V < slowest {
			slowest = m.Configured.V
		}
	}
	channels, err := channelsWithModules(r, p, len(have))
	if err != nil {
		return 0, "", dmi.Ref, err
	}
	return float64(channels) * slowest * 1e6 * channelBytes, fmt.Sprintf("%d channels × %.0f MT/s × %d B", channels, slowest, channelBytes), dmi.Ref, nil
}

// channelsWithModules counts them by the labels of the sockets; where these do not tell
// channels apart, modules that fill all channels of the profile alike are on all of them.
func channelsWithModules(r *Readings, p *profiles.Profile, modules int) (int, error) {
	v := viewMemory(r)
	if used, err := v.channelsUsed(); err == nil {
		n := 0
		for _, channels := range used {
			n += len(channels)
		}
		if n > 0 {
			return n, nil
		}
	}
	sockets := v.cpus
	if p.Memory.ChannelsPerSocket.Set() && sockets > 0 {
		if all := sockets * int(p.Memory.ChannelsPerSocket.Number(profiles.Count)); modules > 0 && modules%all == 0 {
			return all, nil
		}
	}
	return 0, errors.New("how many channels have a module is not known: the labels of the sockets do not tell")
}
