package redfish

import (
	"context"
	"fmt"
)

// updating reads the state of iLO's update service, since it makes no task of an update.
// The words are those of its schema (HpeiLOUpdateServiceExt 2.3.0, iLO5 2.72): documented
// there, "Idle" alone was seen.
func (hpe) updating(ctx context.Context, c *Client) (updateState, error) {
	var doc struct {
		Oem oemDoc `json:"Oem"`
	}
	if _, err := c.get(ctx, c.root.Update, &doc); err != nil {
		return updateRuns, err
	}
	var ext struct {
		State  text `json:"State"`
		Result maybe[struct {
			ID text `json:"MessageId"`
		}] `json:"Result"`
	}
	oem(doc.Oem, "Hpe", &ext)
	switch ext.State {
	case "Uploading", "Verifying", "Writing", "Updating":
		return updateRuns, nil
	case "Error":
		return updateRuns, fmt.Errorf("BMC %s: %w: the update service says %s", c.cfg.Addr, ErrJobFailed, firstOf(string(ext.Result.value.ID), "Error"))
	}
	return updateEnded, nil
}
