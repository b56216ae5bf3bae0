package redfish

import (
	"context"
	"fmt"
	"strings"
)

// socket is the iDRAC attribute NIC.1.Selection: Dedicated, or the LOM that is shared.
// Seen on an R750 with iDRAC9 6.00.30; setting it is documented by
// iDRAC-Redfish-Scripting (SetIdracLcSystemAttributesREDFISH), not seen.
func (dell) socket(ctx context.Context, c *Client, _, manager link) (socketMode, error) {
	uris, err := c.dellAttributes(ctx, manager)
	for _, uri := range uris {
		a, err := c.get(ctx, uri, &struct{}{})
		if err != nil {
			return socketMode{}, err
		}
		attrs, _ := attributes(a.body)
		if now := attrs["NIC.1.Selection"]; now != nil {
			return socketMode{uri: uri, now: fmt.Sprint(now), body: map[string]any{"Attributes": map[string]any{"NIC.1.Selection": dedicatedPort}}}, nil
		}
	}
	return socketMode{}, err
}

// dellAttributes are the resources that hold iDRAC's own attributes.
func (c *Client) dellAttributes(ctx context.Context, manager link) ([]link, error) {
	var m struct {
		Links maybe[struct {
			Oem oemDoc `json:"Oem"`
		}] `json:"Links"`
	}
	if _, err := c.get(ctx, manager, &m); err != nil {
		return nil, err
	}
	var ext struct {
		Attributes links `json:"DellAttributes"`
	}
	oem(m.Links.value.Oem, "Dell", &ext)
	var own []link
	for _, l := range ext.Attributes {
		if strings.HasPrefix(l.id(), "iDRAC") {
			own = append(own, l)
		}
	}
	return own, nil
}
