package redfish

import "context"

// acReset is iLO's AuxCycle, an action of the system's Oem part. Listed by iLO5 2.72
// (DL385 Gen10 Plus v2); not seen to work.
func (hpe) acReset(ctx context.Context, c *Client) (acReset, error) {
	var doc struct {
		Oem oemDoc `json:"Oem"`
	}
	if _, err := c.get(ctx, c.system, &doc); err != nil {
		return acReset{}, err
	}
	var ext struct {
		Actions maybe[struct {
			Reset maybe[actionDoc] `json:"#HpeComputerSystemExt.SystemReset"`
		}] `json:"Actions"`
	}
	oem(doc.Oem, "Hpe", &ext)
	return ext.Actions.value.Reset.value.offers("AuxCycle"), nil
}
