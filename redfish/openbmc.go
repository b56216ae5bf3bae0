package redfish

import (
	"cmp"
	"context"
	"slices"
)

// openbmc is bmcweb. It has one system and BootProgress, a settings object where it
// has BIOS attributes, and often no override at all (IBM's build): the base reads
// all of that.
type openbmc struct{ base }

// tray is bmcweb as NVIDIA ships it, whoever builds the server: GB200 NVL and GH200
// trays (BMC GB200Nvl-24.12, GH200-24.05), Supermicro's GB300 (root Vendor
// Supermicro, Product "GB NVL": libredfish #90), BlueField (BF-24.10). Captures of
// the first two and of BlueField-3 are in NVIDIA/libredfish, tests/mockups.
type tray struct{ openbmc }

// identify: System_0 of a GB200 or GH200 has neither serial nor model; the board's
// are those of the accelerator baseboard beside it, which is also what its chassis
// shows.
func (tray) identify(ctx context.Context, c *Client, _ systemDoc, _ []*chassisDoc, id *Identity) {
	for _, board := range each[systemDoc](ctx, c, c.baseboards, &gaps{}) {
		if board == nil {
			continue
		}
		id.Manufacturer = cmp.Or(id.Manufacturer, board.Manufacturer.clean())
		id.Model = cmp.Or(id.Model, board.Model.clean())
		id.BoardSerial = cmp.Or(id.BoardSerial, board.SerialNumber.clean())
	}
	// What System_0 links as its chassis is the BMC's own module.
	all, err := c.members(ctx, c.root.Chassis)
	i := slices.IndexFunc(all, func(l link) bool { return l.id() == "Chassis_0" })
	if err != nil || i < 0 {
		return
	}
	for _, ch := range each[chassisDoc](ctx, c, all[i:i+1], &gaps{}) {
		if ch != nil {
			id.ChassisSerial = cmp.Or(ch.SerialNumber.clean(), id.ChassisSerial)
		}
	}
}

// postDone: BlueField-3 says "OEM" in BootProgress and "OsIsRunning" beside it.
func (tray) postDone(host systemDoc) (done, known bool) {
	switch host.Progress.value.OEM {
	case "":
		return false, false
	case "OsIsRunning":
		return true, true
	}
	return false, true
}

// intents are those of NVIDIA's trays, which have their attributes under the names
// of one UEFI.
func (tray) intents() []intentTable { return nvidia{}.intents() }
