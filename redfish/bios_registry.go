package redfish

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// registry is what the BMC says about its BIOS attributes. It is advice: an
// entry that makes no sense is left out and never hides the others.
type registry struct {
	name     string
	from     link // where it was read
	entries  map[string]registryEntry
	byTarget map[string][]dependency
	// shown: attributes carry the display name of an enumeration value. A
	// SYS-821GE lists values "0" and "1", shown and set as "Disabled" and
	// "Enabled".
	shown bool
}

type registryEntry struct {
	Name      text   `json:"AttributeName"`
	Type      text   `json:"Type"`
	Display   text   `json:"DisplayName"`
	ReadOnly  flag   `json:"ReadOnly"`
	Immutable flag   `json:"Immutable"`
	GrayOut   flag   `json:"GrayOut"`
	Lower     number `json:"LowerBound"`
	Upper     number `json:"UpperBound"`
	MinLength number `json:"MinLength"`
	MaxLength number `json:"MaxLength"`
	Pattern   text   `json:"ValueExpression"`
	Step      number `json:"ScalarIncrement"`
	Values    list[struct {
		Name    text `json:"ValueName"`
		Display text `json:"ValueDisplayName"`
	}] `json:"Value"`
}

// registryOf finds and reads the registry that the BIOS names. Its absence is no
// error: then values are typed by the ones in force.
func (c *Client) registryOf(ctx context.Context, name string, attributes map[string]any) registry {
	reg, ok := c.registries.find(name)
	if !ok {
		var err error
		if reg, err = c.readRegistry(ctx, name); err != nil {
			c.cfg.Log.InfoContext(ctx, "BIOS registry not readable, values are typed by those in force", "bmc", c.cfg.Addr, "registry", name, "err", err)
			return registry{name: name}
		}
		c.registries.add(name, reg)
	}
	reg.shown = reg.showsDisplayNames(attributes)
	return reg
}

func (c *Client) readRegistry(ctx context.Context, name string) (registry, error) {
	files, err := c.members(ctx, c.root.Regs)
	if err != nil {
		return registry{}, err
	}
	file, ok := registryFile(files, name)
	if !ok {
		return registry{}, fmt.Errorf("no registry %s among %d", name, len(files))
	}
	var doc struct {
		Location list[struct {
			Language text `json:"Language"`
			URI      link `json:"Uri"`
		}] `json:"Location"`
	}
	if _, err := c.get(ctx, file, &doc); err != nil {
		return registry{}, err
	}
	var uri link
	for _, l := range doc.Location {
		if uri == "" || strings.HasPrefix(string(l.Language), "en") {
			uri = l.URI
		}
	}
	var body json.RawMessage
	if _, err := c.get(ctx, uri, &body); err != nil {
		return registry{}, err
	}
	reg := parseRegistry(name, body)
	reg.from = uri
	return reg, nil
}

// registryFile picks the BIOS registry. Its name and that in the Bios resource
// differ in version (iDRAC: v1_0_3 and v1_0_0) or in case (iLO).
func registryFile(files links, name string) (link, bool) {
	stem := func(s string) string {
		s = strings.ToLower(s)
		if i := strings.Index(s, ".v"); i > 0 {
			s = s[:i]
		}
		return strings.TrimRight(s, ".0123456789")
	}
	for _, same := range []func(id string) bool{
		func(id string) bool { return strings.EqualFold(id, name) },
		func(id string) bool { return name != "" && stem(id) == stem(name) },
		func(id string) bool { return strings.HasPrefix(strings.ToLower(id), "biosattributeregistry") },
	} {
		if i := slices.IndexFunc(files, func(l link) bool { return same(l.id()) }); i >= 0 {
			return files[i], true
		}
	}
	return "", false
}

func parseRegistry(name string, body []byte) registry {
	var doc struct {
		Entries maybe[struct {
			Attributes   list[registryEntry] `json:"Attributes"`
			Dependencies list[dependencyDoc] `json:"Dependencies"`
		}] `json:"RegistryEntries"`
	}
	_ = json.Unmarshal(body, &doc)
	reg := registry{name: name, entries: map[string]registryEntry{}, byTarget: map[string][]dependency{}}
	for _, d := range dependencies(doc.Entries.value.Dependencies) {
		reg.byTarget[d.to] = append(reg.byTarget[d.to], d)
	}
	for _, e := range doc.Entries.value.Attributes {
		if e.Name != "" {
			reg.entries[string(e.Name)] = e
		}
	}
	return reg
}

func (r registry) showsDisplayNames(attributes map[string]any) bool {
	names, displays := 0, 0
	for key, value := range attributes {
		s, ok := value.(string)
		if !ok {
			continue
		}
		for _, v := range r.entries[key].Values {
			switch {
			case s == string(v.Name):
				names++
			case s == string(v.Display):
				displays++
			}
		}
	}
	return displays > names
}

// coerce brings a wish into the type of the attribute, or says what is allowed.
func (r registry) coerce(name string, want, now any) (any, error) {
	e, known := r.entries[name]
	kind := string(e.Type)
	if !known {
		kind = kindOf(now)
	}
	switch kind {
	case "Enumeration":
		return r.enumeration(e, want)
	case "Integer":
		return e.integer(want)
	case "Boolean":
		if b, ok := asBool(want); ok {
			return b, nil
		}
		return nil, fmt.Errorf("%w: %v; allowed are true and false", ErrBadValue, want)
	case "Password":
		return nil, fmt.Errorf("%w: it is a password, which is not set as an attribute", ErrBadValue)
	}
	return e.text(want)
}

// kindOf types an attribute without registry entry by its value in force.
func kindOf(now any) string {
	switch now.(type) {
	case bool:
		return "Boolean"
	case json.Number:
		return "Integer"
	}
	return "String"
}

func (r registry) enumeration(e registryEntry, want any) (any, error) {
	words := []string{fmt.Sprint(want)}
	if b, ok := want.(bool); ok { // YAML reads "on" and "off" as such
		words = map[bool][]string{true: {"Enabled", "Enable", "On", "True", "Yes"}, false: {"Disabled", "Disable", "Off", "False", "No"}}[b]
	}
	var allowed []string
	for _, v := range e.Values {
		word := string(v.Name)
		if r.shown {
			word = string(v.Display)
		}
		allowed = append(allowed, word)
		for _, w := range words {
			if strings.EqualFold(w, string(v.Name)) || strings.EqualFold(w, string(v.Display)) {
				return word, nil
			}
		}
	}
	if len(allowed) == 0 {
		return words[0], nil
	}
	return nil, fmt.Errorf("%w: %v; allowed are %s", ErrBadValue, want, strings.Join(allowed, ", "))
}

func (e registryEntry) integer(want any) (any, error) {
	v, ok := asInt(want)
	bounds := ""
	if e.Lower.ok || e.Upper.ok {
		bounds = fmt.Sprintf(" from %.0f to %.0f", e.Lower.value, e.Upper.value)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %v; allowed are whole numbers%s", ErrBadValue, want, bounds)
	}
	// Grace's UEFI writes -1 for an upper bound of 2^32-1.
	bounded := e.Upper.ok && (!e.Lower.ok || e.Upper.value >= e.Lower.value)
	if e.Lower.ok && float64(v) < e.Lower.value || bounded && float64(v) > e.Upper.value {
		return nil, fmt.Errorf("%w: %d; allowed are whole numbers%s", ErrBadValue, v, bounds)
	}
	if step := int64(e.Step.value); step > 1 && (v-int64(e.Lower.value))%step != 0 {
		return nil, fmt.Errorf("%w: %d; allowed are whole numbers%s in steps of %d", ErrBadValue, v, bounds, step)
	}
	return v, nil
}

func (e registryEntry) text(want any) (any, error) {
	s := fmt.Sprint(want)
	n := float64(len([]rune(s)))
	if n > 0 && e.MinLength.ok && n < e.MinLength.value || e.MaxLength.ok && e.MaxLength.value > 0 && n > e.MaxLength.value {
		return nil, fmt.Errorf("%w: %q; allowed are %.0f to %.0f characters", ErrBadValue, s, e.MinLength.value, e.MaxLength.value)
	}
	// An iLO's UrlBootFile takes only what ends in .iso or .efi, and says so only
	// here. An expression that is none is no reason to refuse.
	if pattern, err := regexp.Compile(string(e.Pattern)); n > 0 && err == nil && !pattern.MatchString(s) {
		return nil, fmt.Errorf("%w: %q; allowed is what matches %s", ErrBadValue, s, e.Pattern)
	}
	return s, nil
}

func asBool(v any) (value, ok bool) {
	var f flag
	_ = f.UnmarshalJSON([]byte(fmt.Sprint(v)))
	return f.value, f.ok
}

func asInt(v any) (int64, bool) {
	s := strings.TrimSpace(fmt.Sprint(v))
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}
