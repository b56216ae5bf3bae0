package provision

import "time"

// supply is a rack or a PDU, with what it carries now.
type supply struct {
	budget float64 // W; 0 = none stated
	drawn  float64
	big    int
	blind  int       // loads of which nobody knows what they draw: they are alone
	last   time.Time // when the last load started
}

// load is a machine under load, with what is counted for it.
type load struct {
	machine Machine
	watts   float64 // 0 = nobody knows
	drawing drawing
}

// drawing is what the BMC of a machine under load reads of its draw.
type drawing struct {
	since time.Time // of the first reading
	peak  float64   // W
}

// drawSettles is for how long a machine is read under load before less is counted for it
// than its profile says: loads start one after the other, and hot chips draw more.
const drawSettles = 10 * time.Minute

func (d *drawing) read(watts float64) {
	if d.since.IsZero() {
		d.since = time.Now()
	}
	d.peak = max(d.peak, watts)
}

// counts is what is counted of a machine whose profile states watts (0 = it does not). More
// than is stated counts at once; less, when it has been read for drawSettles.
func (d *drawing) counts(stated float64) float64 {
	switch {
	case d.peak > 0 && time.Since(d.since) >= drawSettles, stated > 0 && d.peak > stated:
		return d.peak
	}
	return stated
}

// big counts also a machine whose profile does not say what it draws: a tripped
// breaker costs more than a wait.
func big(m Machine) bool { return m.LoadedWatts > bigWatts || m.LoadedWatts == 0 }

// share is what one of a machine's PDUs carries of it. With one of them lost the others
// carry it all, so each of two is counted with the whole.
func (m Machine) share(watts float64) float64 { return watts / float64(max(len(m.PDUs)-1, 1)) }

// carries reports whether watts more are within the budget; 0 = nobody knows how much.
func (s *supply) carries(watts float64) bool {
	if watts == 0 {
		return s.drawn == 0 && s.blind == 0
	}
	return s.blind == 0 && s.drawn+watts <= s.budget
}

// full says which supply cannot carry m now, in the words of people; "" when all can.
// Where the PDUs of a machine are stated, a rack without a budget holds nobody back.
func (g *Gate) full(m Machine) string {
	r := g.rack(m.Rack)
	switch {
	case r.budget > 0 && !r.carries(m.LoadedWatts), r.budget == 0 && len(m.PDUs) == 0 && big(m) && r.big > 0:
		return "rack " + m.Rack
	}
	for _, name := range m.PDUs {
		if p := g.pdu(name); !p.carries(m.share(m.LoadedWatts)) {
			return "PDU " + name
		}
	}
	return ""
}

// count adds what is counted for a load to its supplies, or takes it away.
func (g *Gate) count(l *load, sign float64) {
	add := func(s *supply, watts float64) {
		s.drawn += sign * watts
		if big(l.machine) {
			s.big += int(sign)
		}
		if watts == 0 {
			s.blind += int(sign)
		}
	}
	add(g.rack(l.machine.Rack), l.watts)
	for _, name := range l.machine.PDUs {
		add(g.pdu(name), l.machine.share(l.watts))
	}
}

// Draws takes what the BMC of a machine under load reads, in W.
func (g *Gate) Draws(machine string, watts float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.loads[machine]
	if l == nil {
		return
	}
	l.drawing.read(watts)
	counts := l.drawing.counts(l.watts)
	if counts == l.watts {
		return
	}
	g.count(l, -1)
	l.watts = counts
	g.count(l, 1)
	g.move()
}

func (g *Gate) rack(name string) *supply { return supplyOf(g.racks, name) }
func (g *Gate) pdu(name string) *supply  { return supplyOf(g.pdus, name) }

func supplyOf(all map[string]*supply, name string) *supply {
	s := all[name]
	if s == nil {
		s = &supply{}
		all[name] = s
	}
	return s
}
