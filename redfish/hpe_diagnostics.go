package redfish

import "context"

// diagnostics: the Active Health System log is a file that lies ready; all of it can be
// hundreds of MB, a week is what a support case wants. The session's token opens it.
func (h hpe) diagnostics(ctx context.Context, c *Client, services []collectService, unread *gaps) []diagnosticWay {
	ways := h.base.diagnostics(ctx, c, services, unread)
	host, err := c.host(ctx)
	if err != nil {
		unread.add(c.system, err)
		return ways
	}
	type extref struct {
		At text `json:"extref"`
	}
	type healthDoc struct {
		Links maybe[struct {
			All  maybe[extref] `json:"AHSLocation"`
			Week maybe[extref] `json:"RecentWeek"`
		}] `json:"Links"`
	}
	var places links
	for _, m := range each[managerDoc](ctx, c, host.Links.value.ManagedBy, unread) {
		if m == nil {
			continue
		}
		var ext struct {
			Links maybe[struct {
				Health link `json:"ActiveHealthSystem"`
			}] `json:"Links"`
		}
		if oem(m.Oem, "Hpe", &ext); ext.Links.value.Health != "" {
			places = append(places, ext.Links.value.Health)
		}
	}
	const source = "Links.RecentWeek and AHSLocation of a DL385 Gen10 Plus v2; HPE iLO RESTful API explained, Downloading AHS"
	for _, d := range each[healthDoc](ctx, c, places, unread) {
		if d == nil {
			continue
		}
		if at := d.Links.value.Week.value.At; at != "" {
			ways = append(ways, diagnosticWay{
				Diagnostic: Diagnostic{Name: "ahs", What: "Active Health System log of the last week", Usual: true, Known: string(documented), Source: source}, file: link(at),
			})
		}
		if at := d.Links.value.All.value.At; at != "" {
			ways = append(ways, diagnosticWay{
				Diagnostic: Diagnostic{Name: "ahs-all", What: "Active Health System log, all of it", Known: string(documented), Source: source}, file: link(at),
			})
		}
	}
	return ways
}
