package redfish

import "context"

// acReset is XCC's ACPowerCycle, an Oem action of the system. Listed by XCC 2.83
// (SR670 V2); not seen to work.
func (lenovo) acReset(ctx context.Context, c *Client) (acReset, error) {
	var doc struct {
		Actions maybe[struct {
			Oem maybe[struct {
				Reset maybe[actionDoc] `json:"#LenovoComputerSystem.SystemReset"`
			}] `json:"Oem"`
		}] `json:"Actions"`
	}
	if _, err := c.get(ctx, c.system, &doc); err != nil {
		return acReset{}, err
	}
	return doc.Actions.value.Oem.value.Reset.value.offers("ACPowerCycle"), nil
}
