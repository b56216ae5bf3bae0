package burnin

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// teachable are the quantities that good nodes can teach a limit of: what they measured, and the limit's place in a
// profile. Damage and wear are not among them: what is healthy there is known, and no batch may teach otherwise.
var teachable = []struct {
	check, quantity, path string
	relation              profiles.Relation
	unit                  profiles.Unit
}{
	{"gpu.memory", "memory", "gpu.memory", profiles.Min, profiles.MiB},
	{"gpu.memory", "bar1", "gpu.bar1", profiles.Min, profiles.MiB},
	{"gpu.nvlink", "links", "nvlink.links", profiles.Equal, profiles.Count},
	{"gpu.nvlink", "rate", "nvlink.rate", profiles.Min, profiles.GBPerSecond},
	{"memory.population", "count", "memory.dimms", profiles.Equal, profiles.Count},
	{"memory.population", "total", "memory.total", profiles.Min, profiles.GiB},
	{"memory.ecc", "speed", "memory.speed", profiles.Min, profiles.MTPerSecond},
	{"nvme.count", "count", "nvme.count", profiles.Equal, profiles.Count},
	{"nvme.throughput", "read", "nvme.read_rate", profiles.Min, profiles.MBPerSecond},
	{"nvme.throughput", "iops", "nvme.read_iops", profiles.Min, profiles.IOPS},
	{"nic.link", "count", "nic.count", profiles.Equal, profiles.Count},
	{"nic.link", "speed", "nic.port_speed", profiles.Min, profiles.GbPerSecond},
}

// Lesson is how limits are learned.
type Lesson struct {
	Base    *profiles.Profile // what is known already; its limits stand, and no learned floor goes below one
	Spec    *profiles.Spec
	Spreads float64 // how many spreads below the median a node may still be
	Consent string  // who agrees to learn of one delivery, or of fewer nodes than Learn asks for, and why; "" = nobody
}

// LearnedLimit is one limit that nodes taught, and what it would have let pass.
type LearnedLimit struct {
	Path                                 string
	Limit                                *profiles.Limit
	Values                               int     // parts measured
	Lowest, Median, Spread, Floor, Slack float64 // Slack: how far below the median a part still passes, in per cent
}

// LearnNodes is the least number of nodes that a limit is learned of without a word of consent: of fewer, a median
// says nothing about which of them is the odd one (the check `outlier` asks for as many).
const LearnNodes = 4

// Learn proposes limits from the records of good nodes: the median, less so many spreads (1.4826 times the median
// deviation), and never above the lowest that was measured or below what the base says with a source. Counts are
// learned where all agree. A node that does not pass the base is no good node and an error, as are simulated ones,
// a machine that comes twice, and nodes of one delivery (the order in machine.json), unless somebody consents.
func Learn(nodes []*Record, l Lesson) ([]LearnedLimit, error) {
	orders, err := l.fit(nodes)
	if err != nil {
		return nil, err
	}
	values, nodesWith, machines := map[string][]float64{}, map[string]int{}, map[string]string{}
	for _, rec := range nodes {
		j := Judge(rec, l.Base, l.Spec)
		if err := teaches(rec.Machine.Name, j, machines); err != nil {
			return nil, err
		}
		here := map[string]bool{}
		for _, f := range j.Findings {
			if v, ok := f.Measured.(float64); ok && f.NotRun == "" {
				key := f.Check + "/" + f.Quantity + " " + f.Unit
				values[key], here[key] = append(values[key], v), true
			}
		}
		for key := range here {
			nodesWith[key]++
		}
	}
	var out []LearnedLimit
	for _, q := range teachable {
		one := LearnedLimit{Path: q.path}
		key := q.check + "/" + q.quantity + " " + string(q.unit)
		if nodesWith[key] < len(nodes) || !one.measure(values[key], q.relation, l.Spreads) || !one.above(l.Base.Limit(q.path), q.unit) {
			continue
		}
		one.Limit = &profiles.Limit{
			Relation: q.relation, Value: profiles.Quantity{Value: one.Floor, Unit: q.unit}, Provenance: profiles.FromMeasured,
			Source: l.source(one, len(nodes), orders, q.unit),
		}
		out = append(out, one)
	}
	return out, nil
}

// teaches says why nothing can be learned of a node, or nil: it failed or did not pass, it is no hardware, or it is a
// machine that is among machines, which are nodes by serial number, already.
func teaches(node string, j Judgement, machines map[string]string) error {
	if bad := slices.IndexFunc(j.Findings, func(f Finding) bool { return f.Verdict == Fail }); bad >= 0 {
		return fmt.Errorf("%s is no good node: %s; leave it out", node, j.Findings[bad].Sentence())
	}
	id := j.Machine.Identity
	serial := firstWord(id.SystemSerial, firstWord(id.ChassisSerial, id.UUID))
	switch {
	case j.Simulated || j.StandIn:
		return fmt.Errorf("%s was measured on a simulated machine or by stand-ins for its tools, which teach nothing about hardware; leave it out", node)
	case j.Result != Passed && j.Result != PassedWithDeviations:
		return fmt.Errorf("%s did not pass: %s; complete its test, or leave it out", node, j.Line)
	case serial == "":
		return fmt.Errorf("%s tells no serial number, so that nothing says that it is a machine of its own; leave it out", node)
	case machines[serial] != "":
		return fmt.Errorf("%s and %s are one machine, with the serial number %s; leave one out", machines[serial], node, serial)
	}
	machines[serial] = node
	return nil
}

// fit says of which orders the nodes are, or why nothing can be learned of them.
func (l Lesson) fit(nodes []*Record) ([]string, error) {
	orders := map[string]bool{}
	for _, rec := range nodes {
		if rec.Machine.Order != "" {
			orders[rec.Machine.Order] = true
		}
	}
	switch {
	case len(nodes) == 0:
		return nil, fmt.Errorf("no node to learn of")
	case strings.TrimSpace(l.Consent) != "":
	case len(nodes) < LearnNodes:
		return nil, fmt.Errorf("%d nodes are too few to tell which is the odd one; give %d, or a word of consent", len(nodes), LearnNodes)
	case len(orders) < 2:
		return nil, fmt.Errorf("the nodes are of %d deliveries by their orders; one delivery can be bad as a whole: give nodes of two, or a word of consent", len(orders))
	}
	return sortedKeys(orders), nil
}

// measure works out the floor, and says whether there is anything to learn.
func (o *LearnedLimit) measure(have []float64, r profiles.Relation, spreads float64) bool {
	o.Values, o.Lowest, o.Median = len(have), slices.Min(have), median(have)
	if r == profiles.Equal {
		o.Floor = o.Lowest
		return o.Lowest == slices.Max(have) && o.Lowest > 0
	}
	o.Spread = spread(have, o.Median)
	o.Floor = math.Floor(1000*math.Min(o.Lowest, o.Median-spreads*o.Spread)) / 1000
	return o.Floor > 0
}

// above is false where the base says as much already, or more: its limit stands then.
func (o *LearnedLimit) above(base *profiles.Limit, unit profiles.Unit) bool {
	if base.Set() && (base.Relation == profiles.Equal || o.Floor <= base.Number(unit)) {
		return false
	}
	if o.Median > 0 {
		o.Slack = 100 * (o.Median - o.Floor) / o.Median
	}
	return true
}

func (l Lesson) source(o LearnedLimit, nodes int, orders []string, unit profiles.Unit) string {
	text := fmt.Sprintf("learned of %d parts of %d nodes: median %.6g, spread %.3g, lowest %.6g %s", o.Values, nodes, o.Median, o.Spread, o.Lowest, unit)
	if len(orders) > 0 {
		text += "; orders " + strings.Join(orders, ", ")
	}
	if l.Consent != "" {
		text += "; consent: " + strings.TrimSpace(l.Consent)
	}
	return text
}

// median of values that are not empty; they keep their order.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
