package redfish

import "context"

// socket is LANInterface in the Oem part of the BMC's port: Dedicated, Shared or
// Failover, which is the default. Seen on an X12 with schema v1_0_2; setting it is
// documented there, not seen.
func (supermicro) socket(ctx context.Context, c *Client, port, _ link) (socketMode, error) {
	var ext struct {
		Now text `json:"LANInterface"`
	}
	err := c.portOem(ctx, port, "Supermicro", &ext)
	if err != nil || ext.Now == "" {
		return socketMode{}, err
	}
	return socketMode{uri: port, now: ext.Now.clean(), body: map[string]any{
		"Oem": map[string]any{"Supermicro": map[string]any{"LANInterface": dedicatedPort}},
	}}, nil
}
