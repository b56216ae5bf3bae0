package redfish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// BIOS is the BIOS of the host as the BMC tells it.
type BIOS struct {
	Attributes map[string]any `json:"attributes"`            // in force; values are string, json.Number, bool or nil
	Pending    map[string]any `json:"pending,omitempty"`     // staged for the next reset, only what differs
	Registry   string         `json:"registry,omitempty"`    // name of the attribute registry
	ReadOnly   bool           `json:"read_only,omitempty"`   // no settings object was found
	ApplyTimes []string       `json:"apply_times,omitempty"` // declared; empty means none declared
}

// BIOSChange is one attribute that is to change.
type BIOSChange struct {
	Attribute string `json:"attribute"` // the name that this BMC uses
	Now       any    `json:"now"`
	Want      any    `json:"want"`
	Display   string `json:"display,omitempty"` // as the setup screen names it
}

// Unmapped is an intent that has no attribute on this machine.
type Unmapped struct {
	Intent  string   `json:"intent"`
	Value   string   `json:"value"`
	Why     string   `json:"why"`
	Nearest []string `json:"nearest,omitempty"` // attributes with similar names
}

// biosPlace is what one look at the BIOS found.
type biosPlace struct {
	bios     BIOS
	settings link   // "" where there is none
	etag     string // of settings
	listed   map[string]any
}

// BIOS reads the attributes in force and those that wait for a reset.
func (c *Client) BIOS(ctx context.Context) (BIOS, error) {
	place, err := c.biosPlace(ctx)
	return place.bios, err
}

func (c *Client) biosPlace(ctx context.Context) (biosPlace, error) {
	host, err := c.host(ctx)
	if err != nil {
		return biosPlace{}, err
	}
	if host.Bios == "" {
		return biosPlace{}, fmt.Errorf("BMC %s: %w: no BIOS attributes", c.cfg.Addr, ErrUnsupported)
	}
	var doc struct {
		Registry text               `json:"AttributeRegistry"`
		Settings maybe[settingsDoc] `json:"@Redfish.Settings"`
	}
	a, err := c.get(ctx, host.Bios, &doc)
	if err != nil {
		return biosPlace{}, err
	}
	place := biosPlace{settings: doc.Settings.value.Object, bios: BIOS{
		Attributes: attributes(a.body), Registry: string(doc.Registry), ApplyTimes: doc.Settings.value.ApplyTimes,
	}}
	if err := c.readPending(ctx, host.Bios, &place); err != nil {
		return biosPlace{}, err
	}
	return place, nil
}

// settingsNames are tried where the link is missing: a Gigabyte board serves
// Bios/SD and names no settings object.
var settingsNames = []string{"SD", "Settings", "Pending"}

func (c *Client) readPending(ctx context.Context, bios link, place *biosPlace) error {
	var tag struct {
		ETag text `json:"@odata.etag"`
	}
	read := func(uri link) error {
		a, err := c.get(ctx, uri, &tag)
		if err != nil {
			return err
		}
		place.settings, place.listed = uri, attributes(a.body)
		place.etag = firstOf(string(tag.ETag), a.header.Get("ETag"))
		return nil
	}
	if place.settings != "" {
		if err := read(place.settings); err != nil {
			return fmt.Errorf("read the pending BIOS values: %w", err)
		}
	}
	for i := 0; place.settings == "" && i < len(settingsNames); i++ {
		_ = read(link(strings.TrimRight(string(bios), "/") + "/" + settingsNames[i]))
	}
	place.bios.ReadOnly = place.settings == ""
	place.bios.Pending = map[string]any{}
	for name, value := range place.listed {
		if !equalValue(place.bios.Attributes[name], value) {
			place.bios.Pending[name] = value
		}
	}
	return nil
}

// attributes takes them out of a Bios body: null means none, and a value may
// stand in an object (Cray EX235n writes {"current_value": …}).
func attributes(body []byte) map[string]any {
	doc := object(body)
	found, _ := doc["Attributes"].(map[string]any)
	out := map[string]any{}
	for name, value := range found {
		if inner, ok := value.(map[string]any); ok {
			value = inner["current_value"]
		}
		out[name] = value
	}
	return out
}

// equalValue compares by value: 4, 4.0 and json.Number("4") are one. Absent and
// null are one too.
func equalValue(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if x, ok := a.(bool); ok {
		y, ok := b.(bool)
		return ok && x == y
	}
	if _, text := a.(string); !text {
		if _, text := b.(string); !text {
			x, okX := asInt(a)
			y, okY := asInt(b)
			if okX && okY {
				return x == y
			}
		}
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// PlanBIOS types the wishes by the registry and returns those that differ from
// what is in force, in the order of their names. It asks and changes nothing.
// An unknown or read-only attribute and a value that is not allowed are errors
// wrapping ErrBadValue, all at once, with what would be allowed.
func (c *Client) PlanBIOS(ctx context.Context, want map[string]any) ([]BIOSChange, error) {
	place, err := c.biosPlace(ctx)
	if err != nil {
		return nil, err
	}
	return c.differences(ctx, place, want, true)
}

// VerifyBIOS reads again and returns what still differs.
func (c *Client) VerifyBIOS(ctx context.Context, want map[string]any) ([]BIOSChange, error) {
	place, err := c.biosPlace(ctx)
	if err != nil {
		return nil, err
	}
	return c.differences(ctx, place, want, false)
}

func (c *Client) differences(ctx context.Context, place biosPlace, want map[string]any, writing bool) ([]BIOSChange, error) {
	reg := c.registryOf(ctx, place.bios.Registry, place.bios.Attributes)
	var changes []BIOSChange
	var wrong []error
	for _, asked := range slices.Sorted(maps.Keys(want)) {
		name, ok := resolve(asked, place.bios.Attributes, reg)
		if !ok {
			wrong = append(wrong, fmt.Errorf("BIOS attribute %q: %w: not on this machine; nearest are %s", asked, ErrBadValue,
				strings.Join(nearest(asked, place.bios.Attributes), ", ")))
			continue
		}
		now := place.bios.Attributes[name]
		value, err := reg.coerce(name, want[asked], now)
		entry := reg.entries[name]
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("BIOS attribute %s: %w", name, err))
		case equalValue(now, value):
		case writing && (entry.ReadOnly.value || entry.Immutable.value || place.bios.ReadOnly):
			wrong = append(wrong, fmt.Errorf("BIOS attribute %s: %w: read-only here, stays %v; another setting may lock it", name, ErrBadValue, now))
		default:
			changes = append(changes, BIOSChange{Attribute: name, Now: now, Want: value, Display: strings.TrimSpace(string(entry.Display))})
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("BMC %s: %w", c.cfg.Addr, errors.Join(wrong...))
	}
	return changes, nil
}

// StageBIOS writes the changes to the settings object, from where the next reset
// takes them, and returns the URI of the job that the BMC made of it, "" where it
// makes none. What already waits there is not sent again. The caller resets the
// host, then uses WaitJob and VerifyBIOS.
func (c *Client) StageBIOS(ctx context.Context, changes []BIOSChange) (job string, err error) {
	if len(changes) == 0 {
		return "", nil
	}
	place, err := c.biosPlace(ctx)
	if err != nil {
		return "", err
	}
	if place.settings == "" {
		return "", fmt.Errorf("BMC %s: %w: its BIOS has no settings object", c.cfg.Addr, ErrUnsupported)
	}
	send := map[string]any{}
	for _, ch := range changes {
		if waiting, ok := place.bios.Pending[ch.Attribute]; !ok || !equalValue(waiting, ch.Want) {
			send[ch.Attribute] = ch.Want
		}
	}
	if len(send) > 0 {
		if job, err = c.writeBIOS(ctx, place, send); err != nil {
			return "", fmt.Errorf("stage BIOS values: %w", err)
		}
	}
	return c.behaviour.commit(ctx, c, place.settings, job)
}

func (c *Client) writeBIOS(ctx context.Context, place biosPlace, send map[string]any) (job string, err error) {
	body := map[string]any{"Attributes": send}
	// An apply time that was not declared is refused (bmclib #458).
	timed := slices.Contains(place.bios.ApplyTimes, "OnReset")
	if timed {
		body["@Redfish.SettingsApplyTime"] = map[string]string{"ApplyTime": "OnReset"}
	}
	a, sent := c.patchAnswer(ctx, place.settings, place.etag, body)
	if timed && saidMessage(sent, "PropertyUnknown") {
		delete(body, "@Redfish.SettingsApplyTime")
		a, sent = c.patchAnswer(ctx, place.settings, place.etag, body)
	}
	if sent != nil && statusOf(sent) == 0 && !isLost(sent) {
		return "", sent
	}
	// What counts is what is there now, whatever the answer said.
	after, err := c.biosPlace(ctx)
	if err != nil {
		return "", fmt.Errorf("read them back: %w", errors.Join(sent, err))
	}
	if err := after.staged(send, sent); err != nil {
		return "", err
	}
	if a == nil || sent != nil {
		return "", nil
	}
	return jobOf(a), nil
}

// staged checks that what was sent waits or is in force already. Some BMCs list
// only what waits, some everything, one nothing at all.
func (p biosPlace) staged(send map[string]any, sent error) error {
	for _, name := range slices.Sorted(maps.Keys(send)) {
		listed, ok := p.listed[name]
		switch {
		case ok && !equalValue(listed, send[name]):
			return errors.Join(sent, fmt.Errorf("%s reads %v after %v was sent", name, listed, send[name]))
		case !ok && sent != nil && !equalValue(p.bios.Attributes[name], send[name]):
			return fmt.Errorf("%s is not pending: %w", name, sent)
		}
	}
	return nil
}
