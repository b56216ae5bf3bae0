package redfish

import (
	"context"
	"encoding/json"
)

// diagnostics: an XCC has its first failure data (FFDC) two ways, by its own action
// and, from XCC2 on by its documents, by the standard one, whose log stands with the
// system. The vendor's job names the file; the log has one entry for all files.
func (l lenovo) diagnostics(ctx context.Context, c *Client, services []collectService, unread *gaps) []diagnosticWay {
	ways := l.base.diagnostics(ctx, c, services, unread)
	for _, action := range c.lenovoExports(ctx, unread) {
		ways = append(ways, diagnosticWay{
			Diagnostic: Diagnostic{
				Name: "ffdc", What: "first failure data of the XCC", Usual: true, Known: string(documented),
				Source: "lenovo/python-redfish-lenovo, lenovo_export_ffdc_data.py; the action was seen on a ThinkSystem SR670 V2",
			},
			action: action, place: lenovoFile,
			body: map[string]any{"InitializationNeeded": true, "DataCollectionType": "ProcessorDump"},
		})
	}
	for _, s := range services {
		if s.owner == "system" && s.takes("Manager") {
			way := s.manager("first failure data of the XCC, by the standard action", documented,
				"XCC2 REST API, Collect BMC diagnostic data; the action was seen on a ThinkSystem SR670 V2")
			way.Usual = len(ways) == 0
			ways = append(ways, way)
		}
	}
	return ways
}

// lenovoExports are the actions that export FFDC.
func (c *Client) lenovoExports(ctx context.Context, unread *gaps) []string {
	host, err := c.host(ctx)
	if err != nil {
		unread.add(c.system, err)
		return nil
	}
	var places links
	for _, m := range each[managerDoc](ctx, c, host.Links.value.ManagedBy, unread) {
		if m == nil {
			continue
		}
		var ext struct {
			Data link `json:"ServiceData"`
		}
		if oem(m.Oem, "Lenovo", &ext); ext.Data != "" {
			places = append(places, ext.Data)
		}
	}
	type serviceData struct {
		Actions maybe[struct {
			Export maybe[actionDoc] `json:"#LenovoServiceData.ExportFFDCData"`
		}] `json:"Actions"`
	}
	var actions []string
	for _, d := range each[serviceData](ctx, c, places, unread) {
		if d != nil && d.Actions.value.Export.value.Target != "" {
			actions = append(actions, string(d.Actions.value.Export.value.Target))
		}
	}
	return actions
}

// lenovoFile is where a finished job names its file.
func lenovoFile(job []byte) string {
	var doc struct {
		Oem oemDoc `json:"Oem"`
	}
	var ext struct {
		File maybe[struct {
			Path text `json:"Path"`
		}] `json:"FFDCForDownloading"`
	}
	_ = json.Unmarshal(job, &doc)
	oem(doc.Oem, "Lenovo", &ext)
	return string(ext.File.value.Path)
}
