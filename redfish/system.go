package redfish

import (
	"context"
	"fmt"
	"strings"
)

// baseboard recognises the ComputerSystem that stands for an accelerator
// baseboard. It has Power, a Bios link and sometimes the first place in the
// list, and it is not the host.
func baseboard(l link) bool {
	return strings.HasPrefix(strings.ToUpper(l.id()), "HGX_")
}

// chooseSystem decides on exactly one host system, or refuses. Acting on the
// wrong one, or on all, is how racks get powered down.
func (c *Client) chooseSystem(ctx context.Context) (systemDoc, error) {
	all, err := c.members(ctx, c.root.Systems)
	if err != nil {
		return systemDoc{}, fmt.Errorf("list the systems: %w", err)
	}
	var candidates links
	for _, l := range all {
		switch {
		case baseboard(l): // not even when asked for by name
			c.baseboards = append(c.baseboards, l)
		case c.cfg.System == "" || l.id() == c.cfg.System:
			candidates = append(candidates, l)
		}
	}
	if len(candidates) == 1 {
		return c.take(ctx, candidates[0])
	}
	if len(candidates) == 0 {
		return systemDoc{}, c.ambiguous(all)
	}
	return c.single(ctx, all, candidates)
}

// single picks the one candidate that can be reset and booted. One that cannot
// be read might be the host, so it stands against a decision.
func (c *Client) single(ctx context.Context, all, candidates links) (systemDoc, error) {
	var unread gaps
	var fit links
	docs := each[systemDoc](ctx, c, candidates, &unread)
	for i, doc := range docs {
		switch {
		case doc == nil:
			fit = append(fit, candidates[i])
		case strings.EqualFold(string(doc.Type), "DPU"): // a smart NIC's own computer
		case doc.Actions.value.Reset.ok && doc.Boot.ok:
			fit = append(fit, candidates[i])
		}
	}
	if len(fit) != 1 {
		return systemDoc{}, c.ambiguous(all)
	}
	return c.take(ctx, fit[0])
}

func (c *Client) take(ctx context.Context, l link) (systemDoc, error) {
	c.system = l
	doc, err := c.host(ctx)
	if err != nil {
		return doc, fmt.Errorf("read system %s: %w", l.id(), err)
	}
	return doc, nil
}

func (c *Client) ambiguous(all links) error {
	ids := make([]string, len(all))
	for i, l := range all {
		ids[i] = l.id()
	}
	wanted := ""
	if c.cfg.System != "" {
		wanted = fmt.Sprintf(" named %q", c.cfg.System)
	}
	return fmt.Errorf("BMC %s: %w%s among [%s]; nothing was done. Name it with `system:` in the batch file or --system",
		c.cfg.Addr, ErrAmbiguousSystem, wanted, strings.Join(ids, ", "))
}
