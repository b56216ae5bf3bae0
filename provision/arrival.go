package provision

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// Factory is a machine as the record of an earlier test has it: what its BMC listed then,
// and until when its log was read.
type Factory struct {
	Tree  burnin.BMCTree
	Ended time.Time
}

// PartLog is the Part of a Comparison that tells of the BMC's log.
const PartLog = "log"

// FactoryLine makes of the record of a machine what is to arrive. A record without its
// BMC's inventory says nothing of that: an error.
func FactoryLine(rec *burnin.Record) (OrderLine, error) {
	read := burnin.Read(burnin.NewReadings(rec), burnin.BMCInventory, burnin.PhaseBMC)
	if !read.OK() {
		return OrderLine{}, fmt.Errorf("the record of %s has no inventory of its BMC: %w", rec.Meta.Machine, read.Err)
	}
	id := read.Value.Identity
	l := OrderLine{Name: rec.Meta.Machine, Rack: rec.Machine.Rack, U: rec.Machine.U, Factory: &Factory{Tree: read.Value, Ended: rec.Meta.Ended}}
	for _, e := range rec.Evidence {
		if rec.Meta.Ended.IsZero() && e.Started.After(l.Factory.Ended) { // nothing was loaded
			l.Factory.Ended = e.Started
		}
	}
	for _, serial := range []string{rec.Machine.Wanted.Serial, id.SystemSerial, id.SKU, id.ChassisSerial} {
		switch {
		case serial == "" || strings.EqualFold(serial, l.Serial):
		case l.Serial == "":
			l.Serial = serial
		default:
			l.Also = append(l.Also, serial)
		}
	}
	if l.Serial == "" {
		return OrderLine{}, fmt.Errorf("the record of %s has no serial number of it, by which it could be found", rec.Meta.Machine)
	}
	return l, nil
}

// compareFactory compares, part by part and by serial number, what a BMC lists with what
// the record of the machine has. Only what both tell is compared; the rest is not told.
func (v *askedBMC) compareFactory(f Factory) []Comparison {
	then, now := f.Tree, v.tree
	var out []Comparison
	for _, k := range []struct {
		kind      PartKind
		was, here []burnin.BMCPart
	}{{KindGPU, then.GPUs, now.GPUs}, {KindDIMM, then.DIMMs, now.DIMMs}, {KindDrive, then.Drives, now.Drives}, {KindPSU, then.PSUs, now.PSUs}} {
		m := moves{kind: k.kind, was: present(k.was), here: present(k.here)}
		m.doubt = listing{kind: k.kind, off: v.power != redfish.On, gaps: gapsOf(k.kind, append(now.Partial, v.inv.Partial...))}.doubt()
		out = append(out, m.compare())
	}
	return append(out, compareMACs(then.Identity.NICMACs, now.Identity.NICMACs), compareLog(v.log, v.logGap, f.Ended))
}

func present(parts []burnin.BMCPart) []burnin.BMCPart {
	return slices.DeleteFunc(slices.Clone(parts), func(p burnin.BMCPart) bool { return !p.Present })
}

// moves are the parts of one kind, then and now.
type moves struct {
	kind      PartKind
	was, here []burnin.BMCPart
	doubt     string // why a part may be there that is not listed; "" = it is not
}

func (m moves) compare() Comparison {
	c := Comparison{Part: string(m.kind), Ordered: many(len(m.was), m.kind), Here: many(len(m.here), m.kind), Verdict: AsExpected}
	if len(m.was)+len(m.here) == 0 {
		c.Verdict, c.Text = NotTold, fmt.Sprintf("the BMC lists no %s, neither then nor now", m.kind)
		return c
	}
	differs, untold := m.lost()
	differs = append(differs, m.added()...)
	switch {
	case len(differs) > 0:
		c.Verdict, c.Text = Differs, strings.Join(append(differs, untold...), "; ")
	case len(untold) > 0:
		c.Verdict, c.Text = NotTold, strings.Join(untold, "; ")
	}
	return c
}

// lost goes through the parts that were there.
func (m moves) lost() (differs, untold []string) {
	nameless := 0
	for _, was := range m.was {
		if was.Serial == "" {
			nameless++
			continue
		}
		what := fmt.Sprintf("%s %s S/N %s", m.kind, was.Label, was.Serial)
		at := slices.IndexFunc(m.here, func(p burnin.BMCPart) bool { return p.Serial == was.Serial })
		place := slices.IndexFunc(m.here, func(p burnin.BMCPart) bool { return p.Label == was.Label })
		switch {
		case at >= 0 && m.here[at].Label == was.Label:
		case at >= 0:
			differs = append(differs, fmt.Sprintf("%s is at %s now", what, m.here[at].Label))
		case place >= 0 && m.here[place].Serial == "":
			untold = append(untold, fmt.Sprintf("%s: the BMC tells no serial number of it now", what))
		case place >= 0:
			differs = append(differs, fmt.Sprintf("%s is gone, in its place is S/N %s", what, m.here[place].Serial))
		case m.doubt != "":
			untold = append(untold, what+" is not listed"+m.doubt)
		default:
			differs = append(differs, what+" is missing")
		}
	}
	if nameless > 0 {
		untold = append(untold, fmt.Sprintf("of %d %s the record has no serial number, so they may be others: %d then, %d now", nameless, plural(nameless, m.kind), len(m.was), len(m.here)))
	}
	return differs, untold
}

// added are the parts that came to where none was.
func (m moves) added() (out []string) {
	for _, p := range m.here {
		known := slices.ContainsFunc(m.was, func(was burnin.BMCPart) bool {
			return was.Label == p.Label || p.Serial != "" && was.Serial == p.Serial
		})
		if !known {
			out = append(out, fmt.Sprintf("%s %s S/N %s was not there", m.kind, p.Label, or(p.Serial, "not told")))
		}
	}
	return out
}

// compareMACs compares the ports that the BMC lists of the host.
func compareMACs(was, here []string) Comparison {
	c := Comparison{Part: string(KindNIC), Ordered: fmt.Sprintf("%d MACs", len(was)), Here: fmt.Sprintf("%d MACs", len(here)), Verdict: AsExpected}
	var gone, fresh []string
	for _, mac := range was {
		if !slices.Contains(here, mac) {
			gone = append(gone, mac)
		}
	}
	for _, mac := range here {
		if !slices.Contains(was, mac) {
			fresh = append(fresh, mac)
		}
	}
	switch {
	case len(was) == 0 || len(here) == 0:
		c.Verdict, c.Text = NotTold, fmt.Sprintf("the BMC lists %d ports of the host now, %d then: its NICs are not compared", len(here), len(was))
	case len(gone)+len(fresh) > 0:
		c.Verdict, c.Text = Differs, fmt.Sprintf("ports that are gone: %s; that were not there: %s", or(strings.Join(gone, ", "), "none"), or(strings.Join(fresh, ", "), "none"))
	}
	return c
}

// compareLog tells what the BMC has logged since. It is told, not judged: taking a machine
// from its power is logged as a failure too.
func compareLog(log []redfish.LogEntry, gap string, since time.Time) Comparison {
	count := map[string]int{}
	worst := ""
	for _, e := range log {
		if since.IsZero() || e.Time.IsZero() || !e.Time.After(since) {
			continue
		}
		count[or(e.Severity, "no severity")]++
		if e.Severity == "Critical" {
			worst = fmt.Sprintf("; last critical: %s %s %s", e.Time.UTC().Format(time.RFC3339), e.Sensor, e.Event)
		}
	}
	c := Comparison{Part: PartLog, Verdict: AsExpected, Ordered: "since " + since.UTC().Format(time.RFC3339), Here: "nothing new"}
	if since.IsZero() {
		c.Ordered, c.Here = "not known", "the record does not say when it ended"
		return c
	}
	var words []string
	for _, severity := range slices.Sorted(maps.Keys(count)) {
		words = append(words, fmt.Sprintf("%d %s", count[severity], severity))
	}
	if len(words) > 0 {
		c.Here = strings.Join(words, ", ") + worst
	}
	if gap != "" {
		c.Here += " (not all could be read: " + gap + ")"
	}
	return c
}
