package redfish

import (
	"context"
	"slices"
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
	id.BoardSerial = firstOf(id.BoardSerial, serialIn(chassis, func(ch *chassisDoc) string {
		boards := slices.DeleteFunc(slices.Clone(ch.Links.value.Contains), func(l link) bool {
			return !strings.Contains(l.id(), "CPUBaseboard")
		})
		return serialIn(each[chassisDoc](ctx, c, boards, &gaps{}), func(board *chassisDoc) string { return board.SerialNumber.clean() })
	}))
}
