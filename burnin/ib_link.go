package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// ibLink asks whether as many InfiniBand ports have a link, at the rate ordered, as
// the profile wants, and whether they kept it. Which of equal adapters is a rail and
// which serves storage no tool shows: so their number counts, and a port without a
// link is only blamed where one is missing.
var ibLink = Check{
	Name:   "ib.link",
	Title:  "InfiniBand ports are linked at their rate, without a break",
	Probes: []string{IBStatus.Spec.Name},
	AtBoot: []string{"ports", "state", "rate"},
	Same:   true,
	Judge:  judgeIBLink,
}

var ibPart = Part{Class: ClassNIC, Name: "InfiniBand ports"}

func judgeIBLink(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "ib.link"
	readings := phaseReadings(r, IBStatus)
	count := About(check, "ports", ibPart, refsOf(readings)...)
	names := ibNames(readings)
	if !p.IB.Ports.Set() && !p.IB.Rate.Set() && len(names) == 0 {
		return []Finding{count.NotHere("the profile names no InfiniBand")}
	}
	if len(readings) == 0 {
		return []Finding{count.absent(fmt.Errorf("ib-status: %w", ErrNotRun), p.IB.Ports)}
	}
	out := []Finding{worstOf(readings, count, func(f Finding, v IBReport) Finding { return v.count(f, &p.IB) })}
	out = append(out, ibPanics(readings, p)...)
	for _, name := range names {
		part := ibPortPart(readings, name)
		about := func(quantity string) Finding { return About(check, quantity, part, refsOf(readings)...) }
		out = append(out,
			worstOf(readings, about("state"), func(f Finding, v IBReport) Finding { return v.state(f, name, &p.IB) }),
			worstOf(readings, about("rate"), func(f Finding, v IBReport) Finding { return v.rate(f, name, &p.IB) }))
		for _, c := range ibCounters {
			out = append(out, ibChange(about(c.quantity), readings, name, c.name, c.limit(&p.IB))...)
		}
	}
	if !p.IB.Ports.Set() && !p.IB.Rate.Set() && !p.IB.LinkDowned.Set() && !p.IB.SymbolErrors.Set() {
		for i := range out { // nothing is asked of these ports
			out[i].Scope = profiles.Recorded
		}
	}
	return out
}

// ibCounters are the counters of a port whose growth is told.
var ibCounters = []struct {
	quantity, name string
	limit          func(*profiles.IB) *profiles.Limit
}{
	{"link_downed", "link_downed", func(b *profiles.IB) *profiles.Limit { return b.LinkDowned }},
	{"symbol_errors", "symbol_error", func(b *profiles.IB) *profiles.Limit { return b.SymbolErrors }},
	{"recoveries", "link_error_recovery", func(*profiles.IB) *profiles.Limit { return nil }},
	{"receive_errors", "port_rcv_errors", func(*profiles.IB) *profiles.Limit { return nil }},
}

// ibNames are the InfiniBand ports that any reading shows.
func ibNames(readings []Reading[IBReport]) []string {
	var names []string
	for _, reading := range readings {
		for i := range reading.Value.Ports {
			if p := &reading.Value.Ports[i]; p.InfiniBand() {
				names = append(names, p.Name())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func ibPortPart(readings []Reading[IBReport], name string) Part {
	part := Part{Class: ClassCable, Name: "InfiniBand port " + name}
	for _, reading := range readings {
		if p := reading.Value.At(name); p != nil && p.Address != "" {
			part.Address = p.Address
		}
	}
	return part
}

// good reports whether a port counts as one of those that the profile wants.
func (p *IBPort) good(want *profiles.IB) bool {
	return p.InfiniBand() && p.Active() && (!want.Rate.Set() || p.Rate.Set && p.Rate.V >= want.Rate.Number(profiles.GbPerSecond))
}

// up and down count the ports that are good and those without a link.
func (r *IBReport) up(want *profiles.IB) (good, down int) {
	for i := range r.Ports {
		switch p := &r.Ports[i]; {
		case p.good(want):
			good++
		case p.InfiniBand() && !p.Active():
			down++
		}
	}
	return good, down
}

// short is how many links are missing, of those that are shown.
func (r *IBReport) short(want *profiles.IB) int {
	if !want.Ports.Set() || want.Ports.Relation == profiles.Max {
		return 0
	}
	good, _ := r.up(want)
	return max(0, int(want.Ports.Number(profiles.Count))-good)
}

// count judges how many ports are active at their rate. A list that may have been
// cut can prove that there are enough, never that there are too few.
func (r *IBReport) count(f Finding, want *profiles.IB) Finding {
	good, _ := r.up(want)
	f = f.Number(float64(good), profiles.Count, want.Ports)
	if f.Verdict != Fail {
		return f
	}
	switch {
	case len(r.Ports) == 0 && r.Complete:
		return f.Missing(errors.New("the kernel shows no RDMA device: load the driver of the adapters (mlx5_ib), and test again"))
	case !r.Complete:
		return f.Missing(fmt.Errorf("%d good ports are shown, and the list is not known to be whole", good))
	}
	return f.Because("%d of %s InfiniBand ports are active%s%s", good, want.Ports, atRate(want), r.others(want))
}

func atRate(want *profiles.IB) string {
	if !want.Rate.Set() {
		return ""
	}
	return " at " + want.Rate.String()
}

// others says how the ports are that do not count.
func (r *IBReport) others(want *profiles.IB) string {
	var words []string
	for i := range r.Ports {
		switch p := &r.Ports[i]; {
		case p.good(want):
		case !p.InfiniBand():
			words = append(words, p.Name()+" is "+p.Layer)
		case p.Active():
			words = append(words, fmt.Sprintf("%s has %g Gb/s", p.Name(), p.Rate.V))
		default:
			words = append(words, p.Name()+" is "+p.words())
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "; " + strings.Join(words, ", ")
}

// words are the states of a port, as people read them: "down, polling".
func (p *IBPort) words() string {
	return strings.Join(withoutBlanks([]string{p.State, p.Physical}), ", ")
}

// state judges one port: a missing link is a fault where the profile is owed one.
func (r *IBReport) state(f Finding, name string, want *profiles.IB) Finding {
	p := r.At(name)
	if p == nil {
		return r.gone(f, want)
	}
	f.Measured = p.words()
	switch {
	case p.State == "":
		return f.absent(fmt.Errorf("the state of %s is not shown", name), want.Ports)
	case !want.Ports.Set():
		return f.recorded()
	case p.Active():
		return f.against(want.Ports).decide(true)
	case r.short(want) == 0:
		return f.NotHere("no link on this port, and as many as the profile wants have one")
	case !r.Complete && !r.textOnly():
		return f.Missing(fmt.Errorf("%s is %s, and whether that is one link too few is not known: the list was cut", name, p.words()))
	}
	return f.Judged(Fail, fmt.Sprintf("the port is %s, and the profile wants %s links", p.words(), want.Ports))
}

// gone is a port of one reading that another no longer shows.
func (r *IBReport) gone(f Finding, want *profiles.IB) Finding {
	if r.Complete && want.Ports.Set() {
		return f.Judged(Fail, "the port was there, and is gone")
	}
	return f.absent(errors.New("the port is not shown in every reading"), want.Ports)
}

// textOnly reports whether a tool printed this whose output has no end mark: what it
// shows is all that there is to go by.
func (r *IBReport) textOnly() bool {
	return !slices.ContainsFunc(r.Ports, func(p IBPort) bool { return p.Counters != nil })
}

// rate judges the speed of a port that has a link: a slower one is a fault where the
// missing links are not explained by ports that have none.
func (r *IBReport) rate(f Finding, name string, want *profiles.IB) Finding {
	p := r.At(name)
	switch {
	case p == nil || !p.Active():
		return f.NotHere("no link on this port")
	case !p.Rate.Set:
		return f.absent(p.Rate.Absent("the rate of "+name), want.Rate)
	}
	f = f.Number(p.Rate.V, profiles.GbPerSecond, want.Rate)
	if f.Verdict != Fail {
		return f
	}
	short := r.short(want)
	_, down := r.up(want)
	switch {
	case want.Ports.Set() && short <= down:
		f.Scope = profiles.Recorded
		return f.NotHere("slower than the rails, and none of these is missing for it")
	case !r.Complete && !r.textOnly():
		return f.Missing(fmt.Errorf("%s has %g Gb/s, and whether it is one of the ports that the profile means is not known: the list was cut", name, p.Rate.V))
	}
	return f
}

// ibPanics are devices that a tool could not read to the end.
func ibPanics(readings []Reading[IBReport], p *profiles.Profile) []Finding {
	verdict := Warn
	if p.IB.Ports.Set() {
		verdict = Fail
	}
	for _, reading := range readings {
		if len(reading.Value.Failed) == 0 {
			continue
		}
		f := About("ib.link", "readable", ibPart, reading.Ref)
		f.Measured = reading.Value.Failed[0]
		return []Finding{f.Judged(verdict, "an InfiniBand device could not be read: "+reading.Value.Failed[0])}
	}
	return nil
}

// ibChange judges the growth of a counter of a port over the run.
func ibChange(f Finding, readings []Reading[IBReport], name, counter string, limit *profiles.Limit) []Finding {
	var values []Opt[float64]
	for _, reading := range readings {
		if !reading.OK() {
			return []Finding{f.absent(reading.Err, limit)}
		}
		if p := reading.Value.At(name); p != nil {
			values = append(values, p.Counters[counter])
		}
	}
	if len(values) == 0 || !limit.Set() && !values[len(values)-1].Set {
		return nil
	}
	f = f.change(values[0], values[len(values)-1], len(values) > 1, limit)
	if f.Verdict == Fail && counter == "link_downed" {
		return []Finding{f.Because("the link was lost %v times during the test", f.Measured)}
	}
	return []Finding{f}
}
