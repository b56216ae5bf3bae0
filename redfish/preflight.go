package redfish

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ObstacleKind is what kind of thing is in the way.
type ObstacleKind string

// The kinds of obstacle.
const (
	LockedDown    ObstacleKind = "lockdown"       // a person locked the configuration
	PendingJob    ObstacleKind = "pending-job"    // a job of the BMC waits
	RunningJob    ObstacleKind = "running-job"    // one runs, and perhaps flashes
	PendingValues ObstacleKind = "pending-values" // BIOS values of somebody else wait for a reset
	NoLicence     ObstacleKind = "licence"
	NotOffered    ObstacleKind = "not-offered"
)

// Obstacle is what would stop a change, or be carried along by it, found before
// anything is changed.
type Obstacle struct {
	Kind   ObstacleKind `json:"kind"`
	What   string       `json:"what"`
	Do     string       `json:"do"`
	Stops  []string     `json:"stops"` // of "bios", "boot", "firmware", "bmc-network"; empty: a remark
	Source string       `json:"source"`
}

func (o Obstacle) String() string { return o.What + ": " + o.Do }

// Preflight looks for lockdown, jobs and values that wait, and licences, with reads
// alone. What cannot be read is logged and stops nothing: the change itself will
// tell.
func (c *Client) Preflight(ctx context.Context) ([]Obstacle, error) {
	host, err := c.host(ctx)
	if err != nil {
		return nil, err
	}
	found := c.behaviour.obstacles(ctx, c, host)
	if !host.Boot.value.boot().Supported {
		// IBM's bmcweb builds removed every override property (bmcweb #209).
		boot, err := c.Boot(ctx)
		if err == nil && !boot.Supported {
			found = append(found, Obstacle{
				Kind: NotOffered, What: "the BMC has no boot override", Do: "use the BIOS boot order or virtual media",
				Stops: []string{"boot"}, Source: string(c.system),
			})
		}
	}
	if host.Bios != "" {
		place, err := c.biosPlace(ctx)
		if err != nil {
			c.cfg.Log.WarnContext(ctx, "BIOS not looked at", "bmc", c.cfg.Addr, "err", err)
		}
		found = append(found, place.obstacles(host.Bios, err)...)
	}
	return found, ctx.Err()
}

func (p biosPlace) obstacles(uri link, err error) []Obstacle {
	switch {
	case err != nil:
		return nil
	case p.bios.ReadOnly && len(p.bios.Attributes) > 0:
		return []Obstacle{{
			Kind: NotOffered, What: "BIOS attributes can be read and not set", Do: "set them in the setup screen",
			Stops: []string{"bios"}, Source: string(uri),
		}}
	case len(p.bios.Pending) > 0:
		names := slices.Sorted(maps.Keys(p.bios.Pending))
		more := ""
		if len(names) > 3 {
			more = fmt.Sprintf(" and %d more", len(names)-3)
			names = names[:3]
		}
		return []Obstacle{{
			Kind: PendingValues, What: "BIOS values wait for a reset: " + strings.Join(names, ", ") + more,
			Do: "any reset puts them into force; `rackproof bmc ADDR bios discard` takes them back", Source: string(p.settings),
		}}
	}
	return nil
}

// obstacles are the tasks that have not ended: a reset would cut them.
func (base) obstacles(ctx context.Context, c *Client, _ systemDoc) []Obstacle {
	var service struct {
		Tasks link `json:"Tasks"`
	}
	if c.root.Tasks == "" {
		return nil
	}
	if _, err := c.get(ctx, c.root.Tasks, &service); err != nil {
		return nil // not every BMC that links a task service has one
	}
	return c.waitingJobs(ctx, service.Tasks)
}

// waitingJobs lists those of a task or job collection that have not ended.
func (c *Client) waitingJobs(ctx context.Context, collection link) []Obstacle {
	var unread gaps
	jobs, uris := resources[jobDoc](ctx, c, collection, &unread)
	unread.log(ctx, c)
	var found []Obstacle
	for i, j := range jobs {
		if j == nil {
			continue
		}
		state := firstOf(string(j.TaskState), string(j.State))
		if ended, _ := c.verdict(*j, state, string(uris[i])); ended || state == "" {
			continue
		}
		o := Obstacle{Kind: PendingJob, Source: string(uris[i])}
		o.What = fmt.Sprintf("%s %s is %s", uris[i].id(), firstOf(string(j.Name), string(j.Type), "of the BMC"), state)
		switch state {
		case "Pending", "Scheduled", "New", "Scheduling", "ReadyForExecution", "WaitingForReset", "Suspended":
			o.Do = "a reset runs it; or delete it"
			if j.Type == "BIOSConfiguration" { // iDRAC refuses more values then: SYS011
				o.Stops = []string{"bios"}
			}
		default:
			o.Kind, o.Do = RunningJob, "wait until it has ended"
			o.Stops = []string{"bios", "boot", "firmware", "bmc-network"}
		}
		found = append(found, o)
	}
	return found
}
