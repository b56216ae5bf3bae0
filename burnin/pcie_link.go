package burnin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// pcieLink asks whether the links of GPUs, drives and adapters, and every hop from
// them to the root port, are as wide and fast as the profile wants.
var pcieLink = Check{
	Name:   "pcie.link",
	Title:  "Links are as wide and fast as they must be, over every hop",
	Probes: []string{"pci-sysfs", "lspci", "nvidia-smi"},
	AtBoot: []string{"width", "uplink_width"},
	Same:   true,
	Judge:  judgePCIeLink,
}

// linkPart is a part whose link is judged.
type linkPart struct {
	Part
	shown   bool
	missing error // why nothing is known of a part that is not shown
}

func judgePCIeLink(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	v := viewPCIe(r)
	var out []Finding
	for _, part := range linkParts(r, p) {
		j := linkJudge{view: &v, part: part, class: pcieClassOf(p, part.Class), check: "pcie.link"}
		width, uplinks := j.width(), j.uplinks()
		if width.Verdict == Fail && len(uplinks) > 0 && !slices.ContainsFunc(uplinks, func(f Finding) bool { return f.Verdict != Pass }) {
			width.Why += ", upstream port fine"
		}
		out = append(out, width, j.speed())
		out = append(out, uplinks...)
	}
	out = append(out, watched(r, "pcie.link", machinePart, PCISysfs, wholeTree, p.Load.Silence)...)
	if len(out) == 0 {
		f := About("pcie.link", "width", machinePart)
		if v.noTrees != nil && wantsLinks(p) {
			return []Finding{f.Missing(v.noTrees)}
		}
		return []Finding{f.NotHere("no GPU, drive or adapter that the profile has limits for")}
	}
	return out
}

// wholeTree says why a sample of sysfs does not show every link, or nil.
func wholeTree(t *PCITree) error {
	if !t.Complete {
		return errors.New("the sample was cut")
	}
	return nil
}

// wantsLinks reports whether the profile has a limit for any link.
func wantsLinks(p *profiles.Profile) bool {
	return slices.ContainsFunc([]profiles.PCIeClass{p.PCIe.GPU, p.PCIe.NVMe, p.PCIe.NIC}, func(c profiles.PCIeClass) bool {
		return c.Width.Set() || c.Speed.Set() || c.UplinkWidth.Set() || c.UplinkSpeed.Set()
	})
}

func linkParts(r *Readings, p *profiles.Profile) []linkPart {
	var out []linkPart
	if noGPUs("pcie.link", p) == nil {
		for _, g := range gpuParts(r, p) {
			out = append(out, linkPart{g.Part, g.Shown, errGPUNotShown})
		}
	}
	for _, d := range nvmeParts(r, p) {
		out = append(out, linkPart{d.Part, d.Shown, errDriveNotShown})
	}
	for _, n := range nicParts(r, p) {
		out = append(out, linkPart{n.Part, n.Shown, errors.New("no evidence shows this adapter")})
	}
	return out
}

// linkJudge judges the links of one part.
type linkJudge struct {
	view  *pcieView
	part  linkPart
	class *profiles.PCIeClass
	check string
}

// width judges the part's own link in every reading: unlike speed it does not
// change when the part is idle, so the worst counts.
func (j *linkJudge) width() Finding {
	f := About(j.check, "width", j.part.Part)
	if !j.part.shown {
		return f.absent(j.part.missing, j.class.Width)
	}
	states := slices.Concat(j.view.own(j.part.Address), j.view.ofNvidia(j.part.Part))
	return j.unlessOpen(worstWidth(f, states, j.class.Width, j.noState()))
}

// unlessOpen takes back a pass where the machine was not looked at again behind the
// load: a link that was good before proves nothing about now.
func (j *linkJudge) unlessOpen(f Finding) Finding {
	if f.Verdict == Pass && j.view.open != nil {
		return f.Missing(j.view.open)
	}
	return f
}

// noState is why there is no state of a link.
func (j *linkJudge) noState() error {
	switch {
	case j.part.Address == "":
		return errors.New("the evidence gives no PCI address for it")
	case j.view.noTrees != nil:
		return j.view.noTrees
	default:
		return errors.New("no tool shows the state of its link; lspci needs root, and a virtual machine may have none")
	}
}

func worstWidth(f Finding, states []linkState, want *profiles.Limit, none error) Finding {
	worst := -1
	for i, s := range states {
		if s.dead != "" {
			f.Evidence = []string{s.ref}
			return f.Judged(Fail, deadWords(s))
		}
		if s.link.Width > 0 && (worst < 0 || s.link.Width < states[worst].link.Width) {
			worst = i
		}
	}
	if worst < 0 {
		f.Evidence = refsOfStates(states)
		return f.absent(none, want)
	}
	s := states[worst]
	f.Evidence = refsOfStates(states)
	f = f.Number(float64(s.link.Width), profiles.Lanes, want)
	if f.Verdict == Fail {
		return f.Because("trained at x%d, profile wants %sx%g, seen %s%s", s.link.Width, wantWord(want), want.Number(profiles.Lanes), whenSeen(states, s), at(s))
	}
	return f
}

func wantWord(l *profiles.Limit) string {
	if l.Relation == profiles.Min {
		return "at least "
	}
	return ""
}

// whenSeen says whether the width of s was seen idle, under load, or both.
func whenSeen(states []linkState, s linkState) string {
	var idle, loaded bool
	for _, other := range states {
		if other.link.Width == s.link.Width && other.where == s.where {
			under := strings.HasPrefix(other.ref, string(PhaseLoad)+"/")
			loaded, idle = loaded || under, idle || !under
		}
	}
	switch {
	case idle && loaded:
		return "idle and under load"
	case loaded:
		return "under load"
	default:
		return "idle"
	}
}

func deadWords(s linkState) string {
	if s.where != "" {
		return s.where + " above it: " + s.dead
	}
	return s.dead
}

func at(s linkState) string {
	if s.where == "" {
		return ""
	}
	return ", at " + s.where
}

func refsOfStates(states []linkState) []string {
	refs := make([]string, 0, len(states))
	for _, s := range states {
		refs = append(refs, s.ref)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// uplinks judges the hops between the part and its root port, where the profile has
// limits for them.
func (j *linkJudge) uplinks() []Finding {
	width, speed := About(j.check, "uplink_width", j.part.Part), About(j.check, "uplink_speed", j.part.Part)
	var out []Finding
	states, direct := j.view.uplinks(j.part.Address)
	switch {
	case !j.part.shown:
		width, speed = width.absent(j.part.missing, j.class.UplinkWidth), speed.absent(j.part.missing, j.class.UplinkSpeed)
	case len(states) == 0 && direct:
		why := "it is directly at its root port: there is no hop between"
		width, speed = width.NotHere(why), speed.NotHere(why)
	case len(states) == 0:
		err := j.noHops()
		width, speed = width.absent(err, j.class.UplinkWidth), speed.absent(err, j.class.UplinkSpeed)
	default:
		width = j.unlessOpen(worstWidth(width, states, j.class.UplinkWidth, j.noState()))
		speed = j.busySpeed(speed, states, j.class.UplinkSpeed)
	}
	if j.class.UplinkWidth.Set() {
		out = append(out, width)
	}
	if j.class.UplinkSpeed.Set() {
		out = append(out, speed)
	}
	return out
}

func (j *linkJudge) noHops() error {
	if j.part.Address == "" || j.view.noTrees != nil {
		return j.noState()
	}
	return errors.New("no port above it is shown (a virtual machine?)")
}

// stats condenses speeds.
func stats(values []float64) *Stats {
	s := &Stats{Min: math.Inf(1), N: len(values)}
	for _, v := range values {
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
		s.Mean += v / float64(len(values))
	}
	return s
}

// slower says how the samples of a link that is too slow look.
func slower(values []float64, want float64) string {
	below, turns := 0, 0
	for i, v := range values {
		if v < want {
			below++
		}
		if i > 0 && v != values[i-1] {
			turns++
		}
	}
	return fmt.Sprintf("in %d of %d samples under load, %d changes of speed", below, len(values), turns)
}
