package burnin

import (
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// gpuNVLink counts the active links of every GPU and takes the slowest one's raw
// rate. How many there should be is the profile's to say: 12 of 18 are right on
// some cards.
var gpuNVLink = Check{
	Name:   "gpu.nvlink",
	Title:  "Every NVLink is up at its full rate",
	Probes: []string{NVLink.Spec.Name},
	AtBoot: []string{"links"},
	Same:   true,
	Judge:  judgeGPUNVLink,
}

func judgeGPUNVLink(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "gpu.nvlink"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	if !p.NVLink.Links.Set() {
		return []Finding{About(check, "all", fleetPart(p)).NotHere("the profile has no NVLink")}
	}
	readings := phaseReadings(r, NVLink)
	if len(readings) == 0 {
		return []Finding{About(check, "all", fleetPart(p)).Missing(fmt.Errorf("nvlink: %w", ErrNotRun))}
	}
	shown, out := shownGPUs(r, p, check)
	for _, part := range shown {
		links := worstOf(readings, About(check, "links", part.Part), func(f Finding, s NVLinkStatus) Finding {
			return nvlinkLinks(f, s, part, p)
		})
		rate := worstOf(readings, About(check, "rate", part.Part), func(f Finding, s NVLinkStatus) Finding {
			return nvlinkRate(f, s, part, p)
		})
		out = append(out, ofClass(links, ClassNVLink), ofClass(rate, ClassNVLink))
	}
	return out
}

// ofClass puts a fault under another class of advice than that of the part it is told of.
func ofClass(f Finding, c Class) Finding {
	if f.Verdict == Fail {
		f.Class = c
	}
	return f
}

func nvlinkOf(s *NVLinkStatus, part gpuPart) *NVLinkGPU {
	return nvlinkIn(s.GPUs, part, func(g *NVLinkGPU) (int, string) { return g.Index, g.UUID })
}

// errNotListed is why a tool that lists GPUs says nothing of one.
var errNotListed = fmt.Errorf("the tool does not list this GPU")

func nvlinkLinks(f Finding, s NVLinkStatus, part gpuPart, p *profiles.Profile) Finding {
	g := nvlinkOf(&s, part)
	if g == nil {
		return f.Missing(errNotListed)
	}
	active, err := g.Active()
	if err != nil {
		return f.Missing(err)
	}
	down := g.down()
	f = f.Number(float64(active), profiles.Count, p.NVLink.Links)
	switch {
	case f.Verdict != Fail:
		return f
	case len(down) == 0 && !s.listed(g):
		return f.Missing(fmt.Errorf("the output ends behind %d links and does not say that it is whole", active))
	case g.None:
		return f.Because("the driver says that this GPU has no NVLink")
	case g.AllInactive:
		return f.Because("all NVLinks are inactive")
	case len(down) > 0:
		return f.Because("NVLink %s down, %d of %s up", strings.Join(down, ", "), active, p.NVLink.Links)
	}
	return f.Because("%d NVLinks up, the profile wants %s", active, p.NVLink.Links)
}

// down names the links that the tool calls inactive.
func (g *NVLinkGPU) down() []string {
	var out []string
	for _, l := range g.Links {
		if !l.Rate.Set || l.Rate.V == 0 {
			out = append(out, fmt.Sprint(l.Link))
		}
	}
	return out
}

func nvlinkRate(f Finding, s NVLinkStatus, part gpuPart, p *profiles.Profile) Finding {
	g := nvlinkOf(&s, part)
	if g == nil {
		return f.Missing(errNotListed)
	}
	var slowest *NVLinkState
	for i := range g.Links {
		if l := &g.Links[i]; l.Rate.Set && l.Rate.V > 0 && (slowest == nil || l.Rate.V < slowest.Rate.V) {
			slowest = l
		}
	}
	switch _, err := g.Active(); {
	case err != nil:
		return f.Missing(err)
	case slowest == nil:
		return f.Missing(fmt.Errorf("no link is active, so none has a rate"))
	}
	f = f.Number(slowest.Rate.V, profiles.GBPerSecond, p.NVLink.Rate)
	if f.Verdict == Fail {
		return f.Because("NVLink %d runs at %g GB/s raw, the profile wants %s", slowest.Link, slowest.Rate.V, p.NVLink.Rate)
	}
	return f
}
