package redfish

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// PartialError says what a reading of sensors or logs lacks. What could be read
// is returned beside it.
type PartialError struct {
	Addr    string
	Missing []string // "uri: why"
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("BMC %s: not all was read: %s", e.Addr, strings.Join(e.Missing, "; "))
}

// plan is what does not change between two readings, so that the next one asks
// only for what does.
type plan struct {
	mu      sync.Mutex
	chassis []*chassisDoc
	logs    []logPlace
	bare    map[link]bool  // collections that $expand leaves as links
	singles map[link]links // of a collection that is read one by one, what Vitals reads
	skew    *time.Duration
}

// maxSingles bounds the sensors that are read one by one. The most seen is 404.
const maxSingles = 512

// Sensors reads temperatures, fans, voltages, powers and the state of the power
// supplies of the host's chassis, with the BMC's own limits, in the fewest
// requests that the BMC allows: its Sensors collections where $expand works, else
// the two bodies Thermal and Power, else each sensor for itself, else the
// subsystems, which know no limits. The first call also asks for the host and its
// chassis. What a GPU module's own chassis measures is left to its driver. With a
// PartialError there are the sensors that could be read.
func (c *Client) Sensors(ctx context.Context) ([]Sensor, error) {
	var unread gaps
	chassis, err := c.readingChassis(ctx, &unread)
	if err != nil {
		return nil, err
	}
	var list []Sensor
	for _, ch := range chassis {
		list = append(list, c.chassisSensors(ctx, ch, &unread)...)
	}
	list = withoutTwins(list)
	if err := ctx.Err(); err != nil {
		return list, fmt.Errorf("BMC %s: sensors: %w", c.cfg.Addr, context.Cause(ctx))
	}
	if len(list) == 0 && len(unread.list) == 0 {
		return nil, fmt.Errorf("BMC %s: sensors: %w: its chassis link to none", c.cfg.Addr, ErrUnsupported)
	}
	return list, unread.partial(c)
}

func (g *gaps) partial(c *Client) error {
	if len(g.list) == 0 {
		return nil
	}
	slices.Sort(g.list)
	return &PartialError{Addr: c.cfg.Addr, Missing: slices.Compact(g.list)}
}

// addOffered is add for what a chassis links to: a link that leads to nothing is of
// what this BMC does not offer, and no gap in what it does (FIELD-QUIRKS 9).
func (g *gaps) addOffered(uri link, err error) {
	if statusOf(err) != http.StatusNotFound {
		g.add(uri, err)
	}
}

// withoutTwins drops a sensor that two chassis show by one URI.
func withoutTwins(list []Sensor) []Sensor {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s Sensor) bool {
		twin := seen[s.Source+"\x00"+s.Name]
		seen[s.Source+"\x00"+s.Name] = true
		return twin
	})
}

// measures reports whether a chassis links to anything that is measured.
func (ch *chassisDoc) measures() bool {
	return ch.Sensors != "" || ch.Thermal != "" || ch.Power != "" || ch.Cooling != "" || ch.Subsystem != "" || ch.Metrics != ""
}

// readingChassis are the chassis of the host that measure something; where none
// does, those inside them.
func (c *Client) readingChassis(ctx context.Context, unread *gaps) ([]*chassisDoc, error) {
	c.plan.mu.Lock()
	defer c.plan.mu.Unlock()
	if c.plan.chassis != nil {
		return c.plan.chassis, nil
	}
	host, err := c.host(ctx)
	if err != nil {
		return nil, err
	}
	blank := func(ch *chassisDoc) bool { return ch == nil || !ch.measures() }
	all := each[chassisDoc](ctx, c, unique(host.Links.value.Chassis), unread)
	found := slices.DeleteFunc(slices.Clone(all), blank)
	if len(found) == 0 {
		var inside links
		for _, ch := range all {
			if ch != nil {
				inside = append(inside, ch.Links.value.Contains...)
			}
		}
		found = slices.DeleteFunc(each[chassisDoc](ctx, c, unique(inside), unread), blank)
	}
	if len(unread.list) == 0 {
		c.plan.chassis = found
	}
	return found, nil
}

func (c *Client) chassisSensors(ctx context.Context, ch *chassisDoc, unread *gaps) []Sensor {
	list := c.thermalSensors(ctx, ch.Thermal, unread)
	measured := len(list) > 0
	list = append(list, c.powerSensors(ctx, ch, unread)...)
	if measured {
		return list
	}
	// The newer collection comes second: a SYS-821GE (BMC 11.01.01) has a battery in
	// it and nothing else, while its Thermal and Power have everything.
	singles := c.expandedSensors(ctx, ch.Sensors, unread)
	if len(singles) == 0 {
		singles = c.singleSensors(ctx, ch.Sensors, unread)
	}
	if len(singles) > 0 {
		return append(singles, slices.DeleteFunc(list, func(s Sensor) bool { return s.Kind != Discrete })...)
	}
	return append(list, c.subsystemSensors(ctx, ch, unread)...)
}

// expandedSensors reads a whole collection of sensors, or nothing where $expand
// is not offered or does not work.
func (c *Client) expandedSensors(ctx context.Context, uri link, unread *gaps) []Sensor {
	docs, ok := expanded(ctx, c, uri, sensorDoc.given, unread)
	if !ok {
		return nil
	}
	list := make([]Sensor, 0, len(docs))
	for _, d := range docs {
		list = append(list, d.sensor(d.URI))
	}
	return list
}

// singleSensors reads the sensors of a collection one by one, bounded.
func (c *Client) singleSensors(ctx context.Context, uri link, unread *gaps) []Sensor {
	if uri == "" {
		return nil
	}
	all, err := c.members(ctx, uri)
	if err != nil {
		unread.addOffered(uri, err)
	}
	if len(all) > maxSingles {
		unread.add(uri, fmt.Errorf("it lists %d sensors, and only %d are read one by one", len(all), maxSingles))
		all = all[:maxSingles]
	}
	var list []Sensor
	for i, d := range each[sensorDoc](ctx, c, all, unread) {
		if d != nil {
			list = append(list, d.sensor(all[i]))
		}
	}
	c.planVitals(uri, list)
	return list
}

// thermalSensors reads the older body with all temperatures and fans.
func (c *Client) thermalSensors(ctx context.Context, uri link, unread *gaps) []Sensor {
	if uri == "" {
		return nil
	}
	var doc thermalDoc
	if _, err := c.get(ctx, uri, &doc); err != nil {
		unread.addOffered(uri, err)
		return nil
	}
	return doc.sensors(uri)
}

// powerSensors reads voltages, consumption and supplies: from the older body, and
// the supplies from the subsystem where that body has none (DGX H100).
func (c *Client) powerSensors(ctx context.Context, ch *chassisDoc, unread *gaps) []Sensor {
	var doc powerDoc
	if ch.Power != "" {
		if _, err := c.get(ctx, ch.Power, &doc); err != nil {
			unread.addOffered(ch.Power, err)
		}
	}
	list := doc.sensors(ch.Power)
	if len(doc.Supplies) > 0 || ch.Subsystem == "" {
		return list
	}
	var sub powerSubsystemDoc
	if _, err := c.get(ctx, ch.Subsystem, &sub); err != nil {
		unread.addOffered(ch.Subsystem, err)
		return list
	}
	for i, r := range sub.Redundancy {
		list = append(list, r.sensor("PowerSupply", fragment(ch.Subsystem, "PowerSupplyRedundancy", i)))
	}
	docs, uris := resources[supplyDoc](ctx, c, sub.Supplies, unread)
	for i, d := range docs {
		if d != nil {
			list = append(list, d.sensors(uris[i])...)
		}
	}
	return list
}

// subsystemSensors reads what is left where a chassis has neither Sensors nor
// Thermal: readings without limits, and the state of the fans.
func (c *Client) subsystemSensors(ctx context.Context, ch *chassisDoc, unread *gaps) []Sensor {
	var list []Sensor
	if ch.Cooling != "" {
		var sub coolingDoc
		if _, err := c.get(ctx, ch.Cooling, &sub); err != nil {
			unread.addOffered(ch.Cooling, err)
		}
		if sub.Metrics != "" {
			var doc thermalMetricsDoc
			if _, err := c.get(ctx, sub.Metrics, &doc); err != nil {
				unread.addOffered(sub.Metrics, err)
			}
			list = append(list, doc.sensors(sub.Metrics)...)
		}
		docs, uris := resources[fanDoc](ctx, c, sub.Fans, unread)
		for i, d := range docs {
			if d != nil {
				list = append(list, d.sensor(uris[i]))
			}
		}
	}
	if len(list) > 0 || ch.Metrics == "" {
		return list
	}
	var doc environmentDoc
	if _, err := c.get(ctx, ch.Metrics, &doc); err != nil {
		unread.addOffered(ch.Metrics, err)
	}
	return doc.sensors(ch.Metrics)
}
