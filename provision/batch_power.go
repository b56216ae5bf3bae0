package provision

import (
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

func (l *loader) racks(n ast.Node) {
	l.batch.Racks = map[string]Rack{}
	for _, p := range l.pairs(n, "racks") {
		r := Rack{}
		l.fields(p.Value, "rack "+keyOf(p), field{"kw": l.number(&r.KW)})
		l.batch.Racks[keyOf(p)] = r
	}
}

func (l *loader) pdus(n ast.Node) {
	l.batch.PDUs = map[string]PDU{}
	for _, p := range l.pairs(n, "pdus") {
		u := PDU{}
		l.fields(p.Value, "PDU "+keyOf(p), field{"kw": l.number(&u.KW), "racks": l.words(&u.Racks)})
		if u.KW == 0 {
			l.problem(p.Key, "PDU %s has no kw: say what it may carry", keyOf(p))
		}
		l.batch.PDUs[keyOf(p)] = u
	}
}

// feed gives every machine the PDUs of its rack, where it names none of its own.
func (l *loader) feed() {
	known := slices.Sorted(maps.Keys(l.batch.PDUs))
	for i := range l.batch.Machines {
		m := &l.batch.Machines[i]
		for _, name := range known {
			if _, own := l.rows[i].keys["pdus"]; !own && m.Rack != "" && slices.Contains(l.batch.PDUs[name].Racks, m.Rack) {
				m.PDUs = append(m.PDUs, name)
			}
		}
		for j, name := range m.PDUs {
			switch _, ok := l.batch.PDUs[name]; {
			case !ok:
				l.add(l.rows[i].at("pdus"), "%s hangs on PDU %q, which pdus: of the batch does not name%s", m.Name, name, didYouMean(name, known))
			case slices.Contains(m.PDUs[:j], name):
				l.add(l.rows[i].at("pdus"), "%s names PDU %s twice", m.Name, name)
			}
		}
	}
}

// checkPower reports a machine that its rack or PDUs can never carry, and racks and PDUs
// on which no machine is.
func (l *loader) checkPower() {
	l.feed()
	racks, pdus := map[string]bool{}, map[string]bool{}
	for i, m := range l.batch.Machines {
		racks[m.Rack] = true
		if kw := l.batch.Racks[m.Rack].KW; kw > 0 && m.LoadedWatts > kw*1000 {
			l.add(l.rows[i].pos, "%s draws %.1f kW under load, and rack %s has %.1f kW", m.Name, m.LoadedWatts/1000, m.Rack, kw)
		}
		for _, name := range m.PDUs {
			pdus[name] = true
			if kw := l.batch.PDUs[name].KW; kw > 0 && m.share(m.LoadedWatts) > kw*1000 {
				l.add(l.rows[i].pos, "%s draws %.1f kW under load, of which PDU %s carries %.1f kW when another one is lost, and it has %.1f kW",
					m.Name, m.LoadedWatts/1000, name, m.share(m.LoadedWatts)/1000, kw)
			}
		}
	}
	used := slices.Sorted(maps.Keys(racks))
	for rack := range l.batch.Racks {
		if !racks[rack] {
			l.add(l.top["racks"], "no machine stands in rack %q%s", rack, didYouMean(rack, used))
		}
	}
	for name, p := range l.batch.PDUs {
		for _, rack := range p.Racks {
			if !racks[rack] {
				l.add(l.top["pdus"], "PDU %s: no machine stands in rack %q%s", name, rack, didYouMean(rack, used))
			}
		}
		if len(p.Racks) == 0 && !pdus[name] {
			l.add(l.top["pdus"], "no machine hangs on PDU %q: name its racks, or pdus: at the machines", name)
		}
	}
}
