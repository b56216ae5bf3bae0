package redfish

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// BIOS is the BIOS of the host as the BMC tells it.
type BIOS struct {
	Attributes map[string]any `json:"attributes"`            // in force; values are string, json.Number, bool or nil
	Pending    map[string]any `json:"pending,omitempty"`     // staged for the next reset
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
	// Round is 1 for what can be set now. One of a later round is locked until
	// what the rounds before it set is in force; whether that needs a reset of its
	// own depends on the BMC.
	Round int `json:"round"`
}

// Rounds is how many resets the changes need at most: 0 where nothing changes, 1
// where nothing depends on anything. A BMC that takes dependent values together
// needs one for all of them.
func Rounds(changes []BIOSChange) int {
	most := 0
	for _, ch := range changes {
		most = max(most, ch.Round)
	}
	return most
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
	secure   secureBoot
	flat     bool // attributes stand beside Id and Name (iLO4)
}

// waits reports whether an attribute is still to be set, although it may read as if
// it were: iDRAC shows pending values as current before their job has run
// (libredfish #25, FIELD-QUIRKS 42). Its settings object lists them until then.
func (p biosPlace) waits(name string) bool {
	_, listed := p.bios.Pending[name]
	return listed
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
	attrs, flat := attributes(a.body)
	place := biosPlace{settings: doc.Settings.value.Object, flat: flat, bios: BIOS{
		Attributes: attrs, Registry: string(doc.Registry), ApplyTimes: doc.Settings.value.ApplyTimes,
	}}
	if err := c.readPending(ctx, host.Bios, &place); err != nil {
		return biosPlace{}, err
	}
	if err := c.readSecureBoot(ctx, host.Secure, &place); err != nil {
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
		place.settings = uri
		place.listed, _ = attributes(a.body)
		place.etag = firstOf(string(tag.ETag), a.header.Get("ETag"))
		return nil
	}
	if place.settings != "" {
		if err := read(place.settings); err != nil {
			return fmt.Errorf("read the pending BIOS values: %w", err)
		}
	}
	for i := 0; place.settings == "" && i < len(settingsNames); i++ {
		if err := read(link(strings.TrimRight(string(bios), "/") + "/" + settingsNames[i])); err != nil && !isAbsent(err) {
			return fmt.Errorf("look for the pending BIOS values: %w", err)
		}
	}
	place.bios.ReadOnly = place.settings == ""
	place.bios.Pending = map[string]any{}
	for name, value := range place.listed {
		if c.behaviour.showsEarly() || !equalValue(place.bios.Attributes[name], value) {
			place.bios.Pending[name] = value
		}
	}
	return nil
}

// attributes takes them out of a Bios body: null means none, and a value may
// stand in an object (Cray EX235n writes {"current_value": …}). An iLO4 has no
// Attributes and its settings at the top (ansible #48296): flat.
func attributes(body []byte) (attrs map[string]any, flat bool) {
	doc := object(body)
	found, _ := doc["Attributes"].(map[string]any)
	if _, has := doc["Attributes"]; !has && doc["AttributeRegistry"] != nil {
		found, flat = topLevel(doc), true
	}
	attrs = map[string]any{}
	for name, value := range found {
		if inner, ok := value.(map[string]any); ok {
			value = inner["current_value"]
		}
		attrs[name] = value
	}
	return attrs, flat
}

// topLevel are the scalars of a resource that are none of the protocol's.
func topLevel(doc map[string]any) map[string]any {
	found := map[string]any{}
	for name, value := range doc {
		switch value.(type) {
		case map[string]any, []any:
			continue
		}
		own := []string{"Id", "Name", "Description", "AttributeRegistry", "Type", "Modified"}
		if !strings.Contains(name, "@") && !slices.Contains(own, name) {
			found[name] = value
		}
	}
	return found
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
