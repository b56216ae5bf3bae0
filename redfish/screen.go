package redfish

import (
	"bytes"
	"context"
	"fmt"
)

// maxScreen bounds a picture: that of a 1920 by 1200 screen without compression.
const maxScreen = 10 << 20

// Screen is a picture of the host's screen, as PNG. It wraps ErrUnsupported where the
// BMC offers none that is documented.
func (c *Client) Screen(ctx context.Context) ([]byte, error) {
	png, err := c.behaviour.screen(ctx, c)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(png, []byte("\x89PNG\r\n\x1a\n")) || len(png) > maxScreen {
		return nil, fmt.Errorf("BMC %s: picture of the screen: %w: what it gives is no PNG of a screen", c.cfg.Addr, ErrUnsupported)
	}
	return png, nil
}

func (base) screen(_ context.Context, c *Client) ([]byte, error) {
	return nil, fmt.Errorf("BMC %s: picture of the screen: %w", c.cfg.Addr, ErrUnsupported)
}
