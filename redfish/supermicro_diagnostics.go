package redfish

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// diagnostics: a SYS-821GE (BMC 11.01.01) has no CollectDiagnosticData; its dump
// service has dumps with a Download action. Those whose action wants to be told which
// file (attestation) are left out, and CreateDump of the host, of which nothing tells
// where the dump comes to lie.
func (s supermicro) diagnostics(ctx context.Context, c *Client, services []collectService, unread *gaps) []diagnosticWay {
	ways := s.base.diagnostics(ctx, c, services, unread)
	var root struct {
		Service link `json:"DumpService"`
	}
	oem(c.root.Oem, "Supermicro", &root)
	if root.Service == "" {
		return ways
	}
	var service struct {
		Dumps link `json:"Dumps"`
	}
	if _, err := c.get(ctx, root.Service, &service); err != nil {
		unread.add(root.Service, err)
		return ways
	}
	type dumpDoc struct {
		Description text                              `json:"Description"`
		Actions     maybe[map[string]json.RawMessage] `json:"Actions"`
	}
	docs, uris := resources[dumpDoc](ctx, c, service.Dumps, unread)
	for i, d := range docs {
		if d == nil {
			continue
		}
		for name, raw := range d.Actions.value {
			var action actionDoc
			if json.Unmarshal(raw, &action) != nil || !strings.HasSuffix(name, ".Download") || action.Target == "" || action.Info != "" {
				continue
			}
			ways = append(ways, diagnosticWay{
				Diagnostic: Diagnostic{
					Name: strings.ToLower(uris[i].id()), What: firstOf(string(d.Description), uris[i].id()), Usual: true, Known: string(seen),
					Source: "captured tree supermicro: " + string(uris[i]) + "; its answer was not seen, and is taken as a file or as a job that names one",
				},
				action: string(action.Target), body: struct{}{},
			})
		}
	}
	slices.SortFunc(ways, func(a, b diagnosticWay) int { return strings.Compare(a.Name, b.Name) })
	return ways
}

// postCode is what the BMC snoops on the host's port 80h ("ad" on a SYS-821GE).
func (supermicro) postCode(ctx context.Context, c *Client, host systemDoc) (string, error) {
	var unread gaps
	for _, m := range each[managerDoc](ctx, c, host.Links.value.ManagedBy, &unread) {
		if m == nil {
			continue
		}
		var ext struct {
			Snooping link `json:"Snooping"`
		}
		if oem(m.Oem, "Supermicro", &ext); ext.Snooping == "" {
			continue
		}
		var doc struct {
			Code text `json:"PostCode"`
		}
		if _, err := c.get(ctx, ext.Snooping, &doc); err != nil {
			return "", err
		}
		return string(doc.Code), nil
	}
	return "", unread.partial(c)
}
