package redfish

import (
	"context"
	"strings"
)

// nvidia is the DGX with AMI firmware. Fixture: DGX H100, BMC 23.11.20, BIOS
// 1.1.3. Its GPUs are on Systems/HGX_Baseboard_0 and labelled SXM1 to SXM8,
// which the base reads; boot overrides and BIOS values go to settings objects,
// which the base follows by link.
type nvidia struct{ ami }

// identify: the CPU baseboard and its serial are a chassis of their own, which
// the chassis DGX contains. What System shows as its serial is this one.
func (nvidia) identify(ctx context.Context, c *Client, _ systemDoc, chassis []*chassisDoc, id *Identity) {
	for _, ch := range chassis {
		if ch == nil {
			continue
		}
		for _, l := range ch.Links.value.Contains {
			if !strings.Contains(l.id(), "CPUBaseboard") {
				continue
			}
			for _, board := range each[chassisDoc](ctx, c, links{l}, &gaps{}) {
				if board != nil {
					id.BoardSerial = firstOf(id.BoardSerial, board.SerialNumber.clean())
				}
			}
		}
	}
}
