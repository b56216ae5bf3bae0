package redfish

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// logPlace is a log service that holds hardware events.
type logPlace struct {
	service link
	owner   string // "system", "manager", "chassis", "baseboard"
}

// logServiceDoc is one LogService.
type logServiceDoc struct {
	ID       text   `json:"Id"`
	Entry    text   `json:"LogEntryType"`
	Entries  link   `json:"Entries"`
	Enabled  flag   `json:"ServiceEnabled"`
	DateTime text   `json:"DateTime"`
	Offset   text   `json:"DateTimeLocalOffset"`
	Max      number `json:"MaxNumberOfRecords"`
	Actions  maybe[struct {
		Collect maybe[collectDoc] `json:"#LogService.CollectDiagnosticData"`
	}] `json:"Actions"`
}

// hardwareLog takes the system event log wherever it stands, and the event log of
// a system, which is all that OpenBMC has. Left out are logs of logins and of the
// BMC's own acts (audit, journal), dumps, and the manager's event log, in which
// sessions come and go.
func (base) hardwareLog(svc logServiceDoc, owner string) bool {
	switch id := strings.ToLower(string(svc.ID)); {
	case svc.Entry == "SEL", id == "sel":
		return true
	case owner == "system" || owner == "baseboard":
		return id == "eventlog"
	}
	return false
}

// Log reads the hardware events that the BMC has logged since a moment, over all
// logs that hold such events, as they stand: no order is promised. since is by our
// clock, and compared by that of each log, which the BMC tells; the times of entries
// are by the BMC's clock (see Clock). A zero since asks for all. Entries without a
// time, because they were logged before the BMC had its clock, are among them where
// they stand near what was asked for. Only pages that can hold such entries are read, from the
// newest side; $filter is never used, since a wrongly empty answer looks like a
// quiet log. With a PartialError there are the entries that could be read. The
// error wraps ErrUnsupported where the BMC has no such log.
func (c *Client) Log(ctx context.Context, since time.Time) ([]LogEntry, error) {
	var unread gaps
	places, err := c.logPlaces(ctx, &unread)
	if err != nil {
		return nil, err
	}
	var list []LogEntry
	for _, p := range places {
		entries, err := c.readLog(ctx, p, since)
		list = append(list, entries...)
		if err != nil {
			unread.add(p.service, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return list, fmt.Errorf("BMC %s: log: %w", c.cfg.Addr, context.Cause(ctx))
	}
	if len(places) == 0 && len(unread.list) == 0 {
		return nil, fmt.Errorf("BMC %s: log of hardware events: %w", c.cfg.Addr, ErrUnsupported)
	}
	return list, unread.partial(c)
}

// logPlaces finds the logs of hardware events once.
func (c *Client) logPlaces(ctx context.Context, unread *gaps) ([]logPlace, error) {
	c.plan.mu.Lock()
	known := c.plan.logs
	c.plan.mu.Unlock()
	if known != nil {
		return known, nil
	}
	owners, err := c.logOwners(ctx, unread)
	if err != nil {
		return nil, err
	}
	var places []logPlace
	for _, o := range owners {
		docs, uris := resources[logServiceDoc](ctx, c, o.service, unread)
		for i, d := range docs {
			if d != nil && d.Entries != "" && c.behaviour.hardwareLog(*d, o.owner) {
				places = append(places, logPlace{uris[i], o.owner})
			}
		}
	}
	if len(unread.list) == 0 {
		c.plan.mu.Lock()
		c.plan.logs = places
		c.plan.mu.Unlock()
	}
	return places, nil
}

// logOwners are the collections of log services of the host, its managers, its
// chassis and its accelerator baseboards; each once, for some BMCs link all of
// them to one (XCC).
func (c *Client) logOwners(ctx context.Context, unread *gaps) ([]logPlace, error) {
	host, err := c.host(ctx)
	if err != nil {
		return nil, err
	}
	all := []logPlace{{host.Logs, "system"}}
	for _, m := range each[managerDoc](ctx, c, unique(host.Links.value.ManagedBy), unread) {
		if m != nil {
			all = append(all, logPlace{m.Logs, "manager"})
		}
	}
	for _, ch := range each[chassisDoc](ctx, c, unique(host.Links.value.Chassis), unread) {
		if ch != nil {
			all = append(all, logPlace{ch.Logs, "chassis"})
		}
	}
	for _, board := range c.baseboards {
		var doc systemDoc
		if _, err := c.get(ctx, board, &doc); err != nil {
			if host.power() != Off { // off hosts answer 503 for their baseboard (DGX H100)
				unread.add(board, err)
			}
			continue
		}
		all = append(all, logPlace{doc.Logs, "baseboard"})
	}
	seen := map[link]bool{"": true}
	var owners []logPlace
	for _, o := range all {
		if !seen[o.service] {
			seen[o.service] = true
			owners = append(owners, o)
		}
	}
	return owners, nil
}

// readLog reads one log since a moment of our clock.
func (c *Client) readLog(ctx context.Context, p logPlace, since time.Time) ([]LogEntry, error) {
	var svc logServiceDoc
	if _, err := c.get(ctx, p.service, &svc); err != nil {
		return nil, err
	}
	if svc.Enabled.ok && !svc.Enabled.value {
		return nil, errors.New("the log is switched off")
	}
	offset := string(svc.Offset)
	apart := c.clockApart(ctx, parseTime(string(svc.DateTime), offset))
	if !since.IsZero() {
		now, err := c.now(ctx)
		if err != nil {
			c.cfg.Log.WarnContext(ctx, "the BMC's clock is taken for ours", "bmc", c.cfg.Addr, "err", err)
			now = time.Now()
		}
		since = since.Add(time.Until(now) + apart)
	}
	docs, err := c.logEntries(ctx, svc.Entries, since, offset)
	name := firstOf(string(svc.ID), p.service.id())
	list := make([]LogEntry, 0, len(docs))
	for _, d := range docs {
		e := d.entry(name, offset)
		e.Event = c.record.literal(e.Event)
		if !e.Time.IsZero() {
			e.Time = e.Time.Add(-apart)
		}
		list = append(list, e)
	}
	return list, err
}

// ownClock is the least difference at which a log counts by another clock than the
// manager; slow BMCs show smaller ones of one clock.
const ownClock = 10 * time.Minute

// clockApart is by how much a log's clock is ahead of the manager's: the controller
// of an HGX baseboard keeps its own.
func (c *Client) clockApart(ctx context.Context, own time.Time) time.Duration {
	if own.IsZero() {
		return 0
	}
	bmc, err := c.now(ctx)
	if err != nil || own.Sub(bmc).Abs() <= ownClock {
		return 0
	}
	return own.Sub(bmc)
}
