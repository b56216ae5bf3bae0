package redfish

import (
	"context"
	"fmt"
)

// supermicro is X11 to X14 and H12 to H14. Fixture: SYS-821GE-TNHR, BMC
// 11.01.01, BIOS 1.4.
type supermicro struct{ base }

// identify finds the board's serial in the chassis' Oem part.
func (supermicro) identify(_ context.Context, _ *Client, _ systemDoc, chassis []*chassisDoc, id *Identity) {
	for _, ch := range chassis {
		if ch == nil {
			continue
		}
		var ext struct {
			Board text `json:"BoardSerialNumber"`
		}
		oem(ch.Oem, "Supermicro", &ext)
		id.BoardSerial = firstOf(id.BoardSerial, ext.Board.clean())
	}
}

// gpus reads the PCIe devices of the chassis: the processors of a SYS-821GE are
// its two CPUs, and the eight modules of its HGX board are devices GPU1 to GPU8,
// numbered by Oem.Supermicro.GPUSlot.
func (s supermicro) gpus(ctx context.Context, c *Client, procs []*processorDoc, unread *gaps) []GPU {
	gpus := s.base.gpus(ctx, c, procs, unread)
	known := map[string]bool{}
	for _, g := range gpus {
		known[g.Serial] = true
	}
	for _, ch := range c.chassis(ctx, unread) {
		if ch == nil || ch.Devices == "" {
			continue
		}
		devices, uris := collection[deviceDoc](ctx, c, ch.Devices, unread)
		for i, d := range devices {
			if d == nil || d.absent() {
				continue
			}
			var ext map[string]number
			oem(d.Oem, "Supermicro", &ext)
			slot, module := ext["GPUSlot"]
			serial := d.SerialNumber.clean()
			if !module || serial != "" && known[serial] {
				continue
			}
			g := GPU{Part: d.part(uris[i]), Firmware: d.Firmware.clean()}
			g.Label = uris[i].id()
			if slot.ok {
				g.Label = fmt.Sprintf("GPU%.0f", slot.value)
			}
			gpus = append(gpus, g)
		}
	}
	return gpus
}

// bootMode: without the mode Supermicro falls back to Legacy (Redfishtool #106).
func (supermicro) bootMode() bool { return true }
