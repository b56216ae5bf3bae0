package redfish

import (
	"context"
	"fmt"
	"net/http"
)

func (c *Client) enableRMedia(ctx context.Context) (bool, error) {
	type manager struct {
		Actions maybe[struct {
			Oem maybe[struct {
				Enable maybe[actionDoc] `json:"#AMIVirtualMedia.EnableRMedia"`
			}] `json:"Oem"`
		}] `json:"Actions"`
		Oem oemDoc `json:"Oem"`
	}
	host, err := c.host(ctx)
	if err != nil {
		return false, err
	}
	offered := false
	for _, m := range each[manager](ctx, c, host.Links.value.ManagedBy, &gaps{}) {
		if m == nil {
			continue
		}
		var ext struct {
			Media maybe[struct {
				Status text `json:"RMediaStatus"`
			}] `json:"VirtualMedia"`
		}
		oem(m.Oem, "Ami", &ext)
		target := m.Actions.value.Oem.value.Enable.value.Target
		if target == "" || ext.Media.value.Status != "Disabled" {
			continue
		}
		c.cfg.Log.InfoContext(ctx, "remote media is switched on at the BMC", "bmc", c.cfg.Addr)
		_, err := c.actAfterPOST(ctx, call{method: http.MethodPost, uri: string(target), body: map[string]string{"RMediaState": "Enable"}})
		if err != nil && !isLost(err) {
			return offered, fmt.Errorf("switch remote media on: %w", err)
		}
		offered = true
	}
	return offered, nil
}
