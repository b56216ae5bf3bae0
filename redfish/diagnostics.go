package redfish

import (
	"context"
	"fmt"
	"strings"
)

// Diagnostic is a collection for the vendor's support that a BMC offers.
type Diagnostic struct {
	Name   string `json:"name"`
	What   string `json:"what"`
	Usual  bool   `json:"usual"`  // collected where none is named
	Known  string `json:"known"`  // seen: in a capture of such a machine; documented: in the source
	Source string `json:"source"` // of how it is asked for
}

// diagnosticWay is how one is had: a file that lies ready, or an action, and behind it
// the file that its job or a log names.
type diagnosticWay struct {
	Diagnostic
	file    link
	action  string
	body    any
	entries link                    // of the log whose new entry holds the file
	place   func(job []byte) string // where a finished job names the file; nil: as the standard does
}

// collectDoc is LogService.CollectDiagnosticData (DSP8010, LogService 1.2).
type collectDoc struct {
	Target text  `json:"target"`
	Info   link  `json:"@Redfish.ActionInfo"`
	Types  words `json:"DiagnosticDataType@Redfish.AllowableValues"`
	OEM    words `json:"OEMDiagnosticDataType@Redfish.AllowableValues"`
}

// collectService is a log service that collects.
type collectService struct {
	owner   string // "manager", "system" or "baseboard"
	id      string // of the owner
	service string // its own Id
	entries link
	collectDoc
}

// Diagnostics lists what the BMC can collect. It changes nothing.
func (c *Client) Diagnostics(ctx context.Context) ([]Diagnostic, error) {
	ways, err := c.diagnosticWays(ctx)
	list := make([]Diagnostic, len(ways))
	for i, w := range ways {
		list[i] = w.Diagnostic
	}
	return list, err
}

func (c *Client) diagnosticWays(ctx context.Context) ([]diagnosticWay, error) {
	var unread gaps
	services, err := c.collectServices(ctx, &unread)
	if err != nil {
		return nil, err
	}
	ways := c.behaviour.diagnostics(ctx, c, services, &unread)
	unread.log(ctx, c)
	return ways, ctx.Err()
}

// diagnostics are those of the standard: what a manager collects about itself, and
// vendors' types that the service lists. A dump of the host is never asked for, since
// some crash it for that.
func (base) diagnostics(_ context.Context, _ *Client, services []collectService, _ *gaps) []diagnosticWay {
	var ways []diagnosticWay
	for _, s := range services {
		if s.owner == "manager" && s.takes("Manager") {
			ways = append(ways, s.manager("the BMC's own dump", seen, "the LogService schema of DSP8010; the action was seen on DGX H100, its answer was not"))
		}
	}
	return append(ways, boardDumps(services)...)
}

// takes reports whether a type may be asked for: where the service lists none, all may.
func (s collectService) takes(kind string) bool {
	for _, t := range s.Types {
		if strings.EqualFold(t, kind) {
			return true
		}
	}
	return len(s.Types) == 0
}

// manager is the way to a dump of a manager.
func (s collectService) manager(what string, known standing, source string) diagnosticWay {
	return diagnosticWay{
		Diagnostic: Diagnostic{Name: "manager-" + s.id, What: what, Usual: true, Known: string(known), Source: source},
		action:     string(s.Target), entries: s.entries, body: map[string]string{"DiagnosticDataType": "Manager"},
	}
}

// collectServices finds the log services that collect: of the host, its managers, its
// accelerator baseboards and theirs.
func (c *Client) collectServices(ctx context.Context, unread *gaps) ([]collectService, error) {
	host, err := c.host(ctx)
	if err != nil {
		return nil, err
	}
	type place struct {
		owner, id string
		logs      link
	}
	places := []place{{"system", c.system.id(), host.Logs}}
	managers := append(links{}, host.Links.value.ManagedBy...)
	for i, board := range each[systemDoc](ctx, c, c.baseboards, unread) {
		if board != nil {
			places = append(places, place{"baseboard", c.baseboards[i].id(), board.Logs})
			managers = append(managers, board.Links.value.ManagedBy...)
		}
	}
	managers = unique(managers)
	for i, m := range each[managerDoc](ctx, c, managers, unread) {
		if m != nil {
			places = append(places, place{"manager", managers[i].id(), m.Logs})
		}
	}
	var found []collectService
	known := map[text]bool{"": true}
	for _, p := range places {
		docs, _ := resources[logServiceDoc](ctx, c, p.logs, unread)
		for _, d := range docs {
			if d == nil || known[d.Actions.value.Collect.value.Target] {
				continue
			}
			known[d.Actions.value.Collect.value.Target] = true
			s := collectService{p.owner, p.id, string(d.ID), d.Entries, d.Actions.value.Collect.value}
			c.readTypes(ctx, &s, unread)
			found = append(found, s)
		}
	}
	return found, nil
}

// readTypes takes the types from the action's parameters, where they stand there.
func (c *Client) readTypes(ctx context.Context, s *collectService, unread *gaps) {
	if s.Info == "" {
		return
	}
	var info struct {
		Parameters list[struct {
			Name    text  `json:"Name"`
			Allowed words `json:"AllowableValues"`
		}] `json:"Parameters"`
	}
	if _, err := c.get(ctx, s.Info, &info); err != nil {
		unread.add(s.Info, err)
		return
	}
	for _, p := range info.Parameters {
		switch p.Name {
		case "DiagnosticDataType":
			s.Types = append(s.Types, p.Allowed...)
		case "OEMDiagnosticDataType":
			s.OEM = append(s.OEM, p.Allowed...)
		}
	}
}

// findWay finds a collection by its name.
func (c *Client) findWay(ctx context.Context, name string) (diagnosticWay, error) {
	ways, err := c.diagnosticWays(ctx)
	if err != nil {
		return diagnosticWay{}, err
	}
	var names []string
	for _, w := range ways {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	if len(ways) == 0 {
		return diagnosticWay{}, fmt.Errorf("BMC %s: diagnostics: %w", c.cfg.Addr, ErrUnsupported)
	}
	return diagnosticWay{}, fmt.Errorf("BMC %s: diagnostics %q: %w: it offers %s", c.cfg.Addr, name, ErrBadValue, strings.Join(names, ", "))
}
