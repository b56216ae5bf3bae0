package redfish

import (
	"context"
	"fmt"
	"slices"
)

// maxVitals bounds the sensors that Vitals reads one by one, where a BMC offers no
// other way. Fans and power supplies go first.
const maxVitals = 16

// singly marks a context whose reads go alone, one after the other.
type singly struct{}

// Vitals reads what moves while the host is under load: temperatures, fans, what power
// supplies and the chassis draw and their state. It is for reading often: it asks for one to four
// resources where Sensors does, one after the other and beside nothing else, and of a BMC
// that gives sensors only one by one for sixteen of them. Sensors must have been
// called before. With a PartialError there are those that could be read; it wraps
// ErrUnsupported where there are none.
func (c *Client) Vitals(ctx context.Context) ([]Sensor, error) {
	ctx = context.WithValue(ctx, singly{}, true)
	var unread gaps
	chassis, err := c.readingChassis(ctx, &unread)
	if err != nil {
		return nil, err
	}
	var list []Sensor
	for _, ch := range chassis {
		list = append(list, c.chassisVitals(ctx, ch, &unread)...)
	}
	list = slices.DeleteFunc(withoutTwins(list), func(s Sensor) bool { return !s.vital() })
	if err := ctx.Err(); err != nil {
		return list, fmt.Errorf("BMC %s: sensors: %w", c.cfg.Addr, context.Cause(ctx))
	}
	if len(list) == 0 && len(unread.list) == 0 {
		return nil, fmt.Errorf("BMC %s: sensors: %w: none of fans, supplies and temperatures", c.cfg.Addr, ErrUnsupported)
	}
	return list, unread.partial(c)
}

// chassisVitals goes the way of chassisSensors, without its long ends.
func (c *Client) chassisVitals(ctx context.Context, ch *chassisDoc, unread *gaps) []Sensor {
	list := c.thermalSensors(ctx, ch.Thermal, unread)
	measured := len(list) > 0
	list = append(list, c.powerSensors(ctx, ch, unread)...)
	if measured {
		return list
	}
	singles := c.expandedSensors(ctx, ch.Sensors, unread)
	if len(singles) == 0 {
		for _, uri := range c.vitalSingles(ch.Sensors) {
			var doc sensorDoc
			if _, err := c.get(ctx, uri, &doc); err != nil {
				unread.add(uri, err)
				continue
			}
			singles = append(singles, doc.sensor(uri))
		}
	}
	if len(singles) > 0 {
		return append(singles, slices.DeleteFunc(list, func(s Sensor) bool { return s.Kind != Discrete })...)
	}
	return append(list, c.subsystemSensors(ctx, ch, unread)...)
}

// vital tells what Vitals gives.
func (s Sensor) vital() bool { return s.urgency() < len(urgencies) }

// urgencies are what Vitals reads, the most wanted first.
var urgencies = []func(Sensor) bool{
	func(s Sensor) bool { return s.Kind == FanSpeed || s.Context == "Fan" },
	func(s Sensor) bool { return s.Context == "PowerSupply" },
	func(s Sensor) bool { return s.Kind == Temperature },
	func(s Sensor) bool { return s.Kind == PowerDraw },
}

func (s Sensor) urgency() int {
	for i, is := range urgencies {
		if is(s) {
			return i
		}
	}
	return len(urgencies)
}

// planVitals remembers which sensors of a collection Vitals reads, where they can only be read one
// by one.
func (c *Client) planVitals(collection link, list []Sensor) {
	vital := slices.DeleteFunc(slices.Clone(list), func(s Sensor) bool { return !s.vital() })
	slices.SortStableFunc(vital, func(a, b Sensor) int { return a.urgency() - b.urgency() })
	c.plan.mu.Lock()
	defer c.plan.mu.Unlock()
	if c.plan.singles == nil {
		c.plan.singles = map[link]links{}
	}
	var uris links
	for _, s := range vital[:min(len(vital), maxVitals)] {
		uris = append(uris, link(s.Source))
	}
	c.plan.singles[collection] = uris
}

func (c *Client) vitalSingles(collection link) links {
	c.plan.mu.Lock()
	defer c.plan.mu.Unlock()
	return c.plan.singles[collection]
}
