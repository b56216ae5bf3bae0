package redfish

import "context"

// ami is MegaRAC, which many makers of boards ship: DGX H100, Gigabyte (H262-Z63,
// BIOS C27), ASRock Rack, QuantaGrid (S74G-2U). Its boot overrides and BIOS values
// go to settings objects ("SD"), which the base follows by link, looks for where
// the link is missing (Gigabyte) and takes from a refusal (ASRock); a PATCH wants
// If-Match with a strong tag, which the base sends.
type ami struct{ base }

// offerMedia switches AMI's remote media on. A DGX H100 (BMC 23.11.20) shows
// RMediaStatus Disabled and an empty collection of drives, and its ActionInfo says
// of EnableRMedia that drives are listed only after it. Documented there, not seen
// to work.
func (ami) offerMedia(ctx context.Context, c *Client) (bool, error) { return c.enableRMedia(ctx) }

// ways of AMI's MegaRAC, on which the DGX H100 is.
func (ami) ways() []way {
	return []way{
		{"boot URI", "HttpBootUri", seen, documented, "captured tree nvidia_viking (DGX H100, BMC 23.11.20); DSP0268"},
		{"remote-media switch", "EnableRMedia", seen, documented, "captured tree nvidia_viking: ActionInfo"},
	}
}
