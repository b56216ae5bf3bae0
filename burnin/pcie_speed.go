package burnin

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// speed judges the part's own link by what it ran at while the part was busy: an
// idle GPU's link is slowed down by its driver, and that is no fault.
func (j *linkJudge) speed() Finding {
	f := About(j.check, "speed", j.part.Part)
	if !j.part.shown {
		return f.absent(j.part.missing, j.class.Speed)
	}
	states := j.view.own(j.part.Address)
	for _, s := range states {
		if s.dead != "" { // width says so
			f.Evidence = []string{s.ref}
			return f.absent(errors.New(s.dead), j.class.Speed)
		}
	}
	if j.part.Class == ClassNVMe || j.part.Class == ClassNIC {
		return j.busySpeed(f, states, j.class.Speed)
	}
	return j.gpuSpeed(f, states)
}

// gpuSpeed takes sysfs where nvidia-smi shows that the GPU was busy, else what
// nvidia-smi itself says of the link.
func (j *linkJudge) gpuSpeed(f Finding, states []linkState) Finding {
	if !j.class.Speed.Set() {
		return recordSpeed(f, append(j.view.ofNvidia(j.part.Part), states...))
	}
	fromPCI := j.busySpeed(f, states, j.class.Speed)
	if fromPCI.NotRun == "" {
		return fromPCI
	}
	busy, total := j.busyNvidia()
	if len(busy) > 0 {
		return speedOf(f, busy, j.class.Speed)
	}
	if total > 0 {
		return fromPCI.Missing(fmt.Errorf("it was not busy in any of %d readings of nvidia-smi", total))
	}
	return fromPCI
}

// busySpeed judges states of a link, of the part itself or of a hop above it, by
// those that were taken while the part was busy.
func (j *linkJudge) busySpeed(f Finding, states []linkState, want *profiles.Limit) Finding {
	if !want.Set() {
		return recordSpeed(f, states)
	}
	f.Evidence = refsOfStates(states)
	var busy []linkState
	for _, s := range states {
		if s.link.Speed > 0 && j.busyAt(s.at) {
			busy = append(busy, s)
		}
	}
	if len(busy) > 0 {
		return speedOf(f, busy, want)
	}
	if loose := looseOf(states); len(loose) > 0 {
		return looseSpeed(f, loose, want)
	}
	return f.Missing(j.notBusy(states))
}

// notBusy is why no state can be judged.
func (j *linkJudge) notBusy(states []linkState) error {
	samples := 0
	for _, s := range states {
		if !s.at.IsZero() {
			samples++
		}
	}
	switch {
	case len(states) == 0:
		return j.noState()
	case !j.class.BusyUtilisation.Set() && !j.class.BusyBytes.Set():
		return errors.New("the profile does not say when the part is busy")
	case samples == 0 && j.view.noLoad != nil:
		return fmt.Errorf("speed counts only while the part is busy: %w", j.view.noLoad)
	default:
		return fmt.Errorf("it was not busy in any of %d samples", samples)
	}
}

func recordSpeed(f Finding, states []linkState) Finding {
	for _, s := range slices.Backward(states) {
		if s.link.Speed > 0 {
			f.Evidence = []string{s.ref}
			return f.Number(s.link.Speed, profiles.GTPerSecond, nil)
		}
	}
	return f.absent(errors.New("no tool shows it"), nil)
}

// speedOf judges the slowest of the states.
func speedOf(f Finding, busy []linkState, want *profiles.Limit) Finding {
	f.Evidence = refsOfStates(busy)
	values := make([]float64, len(busy))
	slowest := 0
	for i, s := range busy {
		values[i] = s.link.Speed
		if s.link.Speed < busy[slowest].link.Speed {
			slowest = i
		}
	}
	f.Samples = stats(values)
	f = f.Number(busy[slowest].link.Speed, profiles.GTPerSecond, want)
	if f.Verdict == Fail {
		return f.Because("link ran at %g GT/s%s, profile wants %g GT/s (%s)", busy[slowest].link.Speed, at(busy[slowest]),
			want.Number(profiles.GTPerSecond), slower(values, want.Number(profiles.GTPerSecond)))
	}
	return f
}

func looseOf(states []linkState) []linkState {
	return slices.DeleteFunc(slices.Clone(states), func(s linkState) bool { return !s.loose || s.link.Speed == 0 })
}

// looseSpeed judges a capture that was handed over and does not tell how busy the
// part was: full speed is full speed, and less may be an idle part.
func looseSpeed(f Finding, states []linkState, want *profiles.Limit) Finding {
	f = speedOf(f, states, want)
	if f.Verdict == Fail {
		measured := f.Measured
		f.Samples = nil
		return f.Missing(fmt.Errorf("link at %v GT/s in a capture that does not tell whether the part was busy", measured))
	}
	f.Samples = nil
	return f
}

// busyAt reports whether the part was busy around a moment: for a GPU the readings
// of nvidia-smi on both sides show it busy, for others the bytes moved since the
// sample before. A reading without a time is never known to be busy.
func (j *linkJudge) busyAt(at time.Time) bool {
	if at.IsZero() {
		return false
	}
	if j.part.Class == ClassNVMe || j.part.Class == ClassNIC {
		return j.movedAt(at)
	}
	next := sort.Search(len(j.view.timed), func(i int) bool { return j.view.timed[i].at.After(at) })
	return next > 0 && next < len(j.view.timed) && j.busyIn(j.view.timed[next-1]) && j.busyIn(j.view.timed[next])
}

// busyIn reports whether one reading of nvidia-smi shows the GPU busy.
func (j *linkJudge) busyIn(n *nvidiaView) bool {
	g := n.log.find(gpuPart{Part: j.part.Part})
	return g != nil && isBusy(g, j.class)
}

// isBusy reports whether one reading of a GPU shows it as busy as the profile's class says.
func isBusy(g *NvidiaGPU, class *profiles.PCIeClass) bool {
	if l := class.BusyUtilisation; l.Set() && g.Utilisation.Set && g.Utilisation.V >= l.Number(profiles.Percent) {
		return true
	}
	l := class.BusyBytes
	return l.Set() && g.Transmit.Set && g.Receive.Set && g.Transmit.V+g.Receive.V >= l.Number(profiles.MBPerSecond)
}

// busyNvidia returns what nvidia-smi says of the link in readings that show the GPU
// busy, and how many readings there are. Of a row of samples the first busy one does
// not count: a link takes a moment to speed up.
func (j *linkJudge) busyNvidia() (busy []linkState, total int) {
	var prior *nvidiaView
	for i := range j.view.nvidia {
		n := j.view.nvidia[i]
		g := n.log.find(gpuPart{Part: j.part.Part})
		if g == nil || !g.LinkGen.Set {
			continue
		}
		total++
		warm := n.at.IsZero() || prior == nil || j.busyIn(prior)
		if speed := genSpeed(g.LinkGen); speed > 0 && warm && j.busyIn(n) {
			busy = append(busy, linkState{ref: n.ref, link: PCILink{Speed: speed, Width: int(g.LinkWidth.V)}, at: n.at})
		}
		if !n.at.IsZero() {
			prior = n
		}
	}
	return busy, total
}

// movedAt reports whether the part moved as many bytes as the profile calls busy
// between the sample at a moment and the one before it.
func (j *linkJudge) movedAt(at time.Time) bool {
	l := j.class.BusyBytes
	if !l.Set() {
		return false
	}
	i := sort.Search(len(j.view.samples), func(i int) bool { return !j.view.samples[i].at.Before(at) })
	if i == 0 || i == len(j.view.samples) {
		return false
	}
	prior, t := j.view.samples[i-1], j.view.samples[i]
	old, now := moved(prior.tree, j.part.Address), moved(t.tree, j.part.Address)
	seconds := t.at.Sub(prior.at).Seconds()
	if !old.Set || !now.Set || now.V < old.V || seconds <= 0 {
		return false
	}
	return float64(now.V-old.V)/seconds/1e6 >= l.Number(profiles.MBPerSecond)
}

// moved sums what all functions of a card have moved.
func moved(t *PCITree, address string) Opt[uint64] {
	var sum Opt[uint64]
	card := address[:max(0, len(address)-1)]
	for i := range t.Devices {
		d := &t.Devices[i]
		if card != "" && len(d.Address) == len(address) && d.Address[:len(card)] == card && d.Moved.Set {
			sum = Opt[uint64]{V: sum.V + d.Moved.V, Set: true}
		}
	}
	return sum
}
