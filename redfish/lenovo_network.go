package redfish

import "context"

// socket is NicMode in the Oem part of the BMC's port. Seen on an SR670 V2 with XCC
// 2.83; setting it is documented in its schema, not seen.
func (lenovo) socket(ctx context.Context, c *Client, port, _ link) (socketMode, error) {
	var ext struct {
		Mode maybe[struct {
			Now text `json:"NicMode"`
		}] `json:"InterfaceNicMode"`
	}
	err := c.portOem(ctx, port, "Lenovo", &ext)
	now := ext.Mode.value.Now.clean()
	if err != nil || now == "" {
		return socketMode{}, err
	}
	return socketMode{uri: port, now: now, body: map[string]any{
		"Oem": map[string]any{"Lenovo": map[string]any{"InterfaceNicMode": map[string]any{"NicMode": dedicatedPort}}},
	}}, nil
}
