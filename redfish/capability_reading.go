package redfish

import (
	"context"
	"fmt"
)

// readings: in which forms each chassis tells what it measures.
func (k *card) readings(ctx context.Context) {
	var unread gaps
	chassis := unique(k.host.Links.value.Chassis)
	for i, ch := range each[chassisDoc](ctx, k.c, chassis, &unread) {
		if ch == nil {
			continue
		}
		var forms []string
		for _, form := range []struct {
			name string
			at   link
		}{
			{"Sensors", ch.Sensors},
			{"Thermal", ch.Thermal},
			{"Power", ch.Power},
			{"ThermalSubsystem", ch.Cooling},
			{"PowerSubsystem", ch.Subsystem},
			{"EnvironmentMetrics", ch.Metrics},
		} {
			if form.at != "" {
				forms = append(forms, form.name)
			}
		}
		k.say("readings", "chassis "+chassis[i].id(), chassis[i], forms...)
	}
	for _, why := range unread.list {
		k.unknown("readings", "chassis", k.c.system, why)
	}
	var doc struct {
		Enabled flag `json:"ServiceEnabled"`
	}
	if k.read(ctx, "readings", "telemetry service", k.c.root.Telemetry, &doc) {
		k.yesNo("readings", "telemetry service", k.c.root.Telemetry, doc.Enabled)
	}
}

// logs: each log, which of them hold hardware events, and what can be collected for the
// vendor's support.
func (k *card) logs(ctx context.Context) {
	var unread gaps
	owners, err := k.c.logOwners(ctx, &unread)
	if err != nil {
		k.failed("logs", "services", k.c.system, err)
		return
	}
	for _, o := range owners {
		docs, uris := resources[logServiceDoc](ctx, k.c, o.service, &unread)
		for i, d := range docs {
			if d == nil {
				continue
			}
			words := []string{string(d.Entry)}
			switch {
			case d.Enabled.ok && !d.Enabled.value:
				words = append(words, "off")
			case d.Entries != "" && k.c.behaviour.hardwareLog(*d, o.owner):
				words = append(words, "read for hardware events")
			case d.Entries != "":
				words = append(words, "entries")
			}
			if n := d.Max.positive(); n != nil {
				words = append(words, fmt.Sprintf("at most %d", *n))
			}
			k.say("logs", o.owner+" "+firstOf(string(d.ID), uris[i].id()), uris[i], words...)
		}
	}
	for _, why := range unread.list {
		k.unknown("logs", "services", k.c.system, why)
	}
	ways, err := k.c.diagnosticWays(ctx)
	if err != nil {
		k.failed("logs", "diagnostics", k.c.system, err)
		return
	}
	for _, w := range ways {
		k.say("logs", "collects "+w.Name, link(firstOf(string(w.file), w.action)), w.What, w.Known)
	}
}
