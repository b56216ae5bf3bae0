package redfish

import (
	"context"
	"fmt"
)

// lamp is a locator LED: where it is and how it reads.
type lamp struct {
	uri  link
	etag string
	flag flag // LocationIndicatorActive, where the BMC has it
	led  text // IndicatorLED, the older property
}

func (l lamp) there() bool { return l.flag.ok || l.led.clean() != "" }

// Locator reads whether the locator LED is on. It wraps ErrUnsupported where
// there is none.
func (c *Client) Locator(ctx context.Context) (bool, error) {
	l, err := c.lamp(ctx)
	if err != nil {
		return false, err
	}
	return l.lit(c.behaviour), nil
}

func (l lamp) lit(b behaviour) bool {
	if l.flag.ok {
		return l.flag.value
	}
	_, off := b.led()
	return string(l.led) != off && l.led != "Off"
}

// SetLocator switches the locator LED and reads it back. Put it back as found.
func (c *Client) SetLocator(ctx context.Context, on bool) error {
	l, err := c.lamp(ctx)
	if err != nil || l.lit(c.behaviour) == on {
		return err
	}
	body := map[string]any{"LocationIndicatorActive": on}
	if !l.flag.ok {
		lit, off := c.behaviour.led()
		body = map[string]any{"IndicatorLED": map[bool]string{true: lit, false: off}[on]}
	}
	a, sent := c.patchAnswer(ctx, l.uri, l.etag, body)
	set, err := c.readBack(ctx, a, func() (bool, error) {
		after, err := c.lamp(ctx)
		return err == nil && after.lit(c.behaviour) == on, err
	})
	if err != nil {
		return fmt.Errorf("read the locator LED back: %w", err)
	}
	if !set {
		return fmt.Errorf("BMC %s: locator LED: %w", c.cfg.Addr, cmpError(sent, fmt.Errorf("accepted, but nothing changed")))
	}
	return nil
}

func (c *Client) lamp(ctx context.Context) (lamp, error) {
	host, err := c.host(ctx)
	if err != nil {
		return lamp{}, err
	}
	l := lamp{uri: c.system, etag: string(host.ETag), flag: host.Locator, led: host.LED}
	if l.there() {
		return l, nil
	}
	var unread gaps
	uris := host.Links.value.Chassis
	for i, ch := range each[chassisDoc](ctx, c, uris, &unread) {
		if ch == nil {
			continue
		}
		if l = (lamp{uri: uris[i], flag: ch.Locator, led: ch.LED}); l.there() {
			return l, nil
		}
	}
	return lamp{}, fmt.Errorf("BMC %s: %w: no locator LED", c.cfg.Addr, ErrUnsupported)
}
