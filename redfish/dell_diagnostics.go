package redfish

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// dellService is the Lifecycle Controller's service of a manager.
type dellService struct {
	Actions maybe[struct {
		Assist maybe[struct {
			Target text  `json:"target"`
			Data   words `json:"DataSelectorArrayIn@Redfish.AllowableValues"`
			Shares words `json:"ShareType@Redfish.AllowableValues"`
		}] `json:"#DellLCService.SupportAssistCollection"`
		Screen maybe[struct {
			Target text `json:"target"`
		}] `json:"#DellLCService.ExportServerScreenShot"`
	}] `json:"Actions"`
}

// dellServices are those of the managers of the host.
func (c *Client) dellServices(ctx context.Context, unread *gaps) []*dellService {
	host, err := c.host(ctx)
	if err != nil {
		unread.add(c.system, err)
		return nil
	}
	type managerOEM struct {
		Links maybe[struct {
			Oem oemDoc `json:"Oem"`
		}] `json:"Links"`
	}
	var places links
	for _, m := range each[managerOEM](ctx, c, host.Links.value.ManagedBy, unread) {
		if m == nil {
			continue
		}
		var ext struct {
			Service link `json:"DellLCService"`
		}
		if oem(m.Links.value.Oem, "Dell", &ext); ext.Service != "" {
			places = append(places, ext.Service)
		}
	}
	return each[dellService](ctx, c, places, unread)
}

// diagnostics: iDRAC9 6.00.30 (R750) has no CollectDiagnosticData, and SupportAssist
// in its place. Its finished job names the file in Location, on iDRAC10 with a 204. The
// licence agreement that it may ask for is a person's to accept. The data of the
// operating system is left out: it is the customer's.
func (d dell) diagnostics(ctx context.Context, c *Client, services []collectService, unread *gaps) []diagnosticWay {
	ways := d.base.diagnostics(ctx, c, services, unread)
	for _, s := range c.dellServices(ctx, unread) {
		if s == nil {
			continue
		}
		assist := s.Actions.value.Assist.value
		if assist.Target == "" || !slices.Contains(assist.Shares, "Local") {
			continue
		}
		var data []string
		for _, kind := range []string{"HWData", "DebugLogs", "TTYLogs", "GPULogs"} {
			if slices.Contains(assist.Data, kind) {
				data = append(data, kind)
			}
		}
		ways = append(ways, diagnosticWay{
			Diagnostic: Diagnostic{
				Name: "support-assist", What: "SupportAssist collection without the operating system's data", Usual: true, Known: string(documented),
				Source: "dell/iDRAC-Redfish-Scripting, SupportAssistCollectionLocalREDFISH.py; the action was seen on a PowerEdge R750",
			},
			action: string(assist.Target), body: map[string]any{"ShareType": "Local", "DataSelectorArrayIn": data},
		})
	}
	return ways
}

// screen is ExportServerScreenShot (seen on the R750; its answer, a PNG in base64, by
// dell/iDRAC-Redfish-Scripting, ExportServerScreenShotREDFISH.py).
func (dell) screen(ctx context.Context, c *Client) ([]byte, error) {
	var unread gaps
	defer unread.log(ctx, c)
	for _, s := range c.dellServices(ctx, &unread) {
		if s == nil || s.Actions.value.Screen.value.Target == "" {
			continue
		}
		a, err := c.t.act(ctx, call{method: http.MethodPost, uri: string(s.Actions.value.Screen.value.Target), body: map[string]string{"FileType": "ServerScreenShot"}})
		if err != nil {
			return nil, err
		}
		var doc struct {
			File string `json:"ServerScreenShotFile"`
		}
		if err := json.Unmarshal(a.body, &doc); err != nil || doc.File == "" {
			return nil, fmt.Errorf("BMC %s: %w: its answer has no picture", c.cfg.Addr, ErrUnsupported)
		}
		picture, err := base64.StdEncoding.DecodeString(doc.File)
		if err != nil {
			return nil, fmt.Errorf("BMC %s: its picture of the screen cannot be read: %w", c.cfg.Addr, err)
		}
		return picture, nil
	}
	return base{}.screen(ctx, c)
}

// postCode stands among the iDRAC's settings, as a decimal number (126 on an R750 that
// runs).
func (dell) postCode(ctx context.Context, c *Client, host systemDoc) (string, error) {
	for _, manager := range host.Links.value.ManagedBy {
		uris, err := c.dellAttributes(ctx, manager)
		if err != nil {
			return "", err
		}
		for _, l := range uris {
			a, err := c.get(ctx, l, &struct{}{})
			if err != nil {
				return "", err
			}
			attrs, _ := attributes(a.body)
			if n, err := strconv.Atoi(fmt.Sprint(attrs["SysInfo.1.POSTCode"])); err == nil {
				return fmt.Sprintf("%02x", n), nil
			}
		}
	}
	return "", nil
}
