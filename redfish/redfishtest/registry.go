package redfishtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// registry checks a staged attribute as a BIOS does. A nil registry knows the
// types of the current values only.
type registry struct {
	attributes map[string]attribute
	depends    map[string][]dependency // by the attribute that they act on
}

type attribute struct {
	Name      string `json:"AttributeName"`
	Type      string
	ReadOnly  bool
	Default   any `json:"DefaultValue"`
	MaxLength *int
	Lower     *json.Number `json:"LowerBound"`
	Upper     *json.Number `json:"UpperBound"`
	Value     []struct {
		Name    string `json:"ValueName"`
		Display string `json:"ValueDisplayName"`
	}
}

// findRegistry follows /Registries to the BIOS registry. The name in Bios is
// not always the name that is listed (iDRAC9: v1_0_3 and v1_0_0), so the exact
// one is only preferred.
func (b *BMC) findRegistry(name string) *registry {
	var exact, near []string
	for _, uri := range slices.Sorted(maps.Keys(b.store.base)) {
		dir, file := cutLast(uri)
		if !strings.HasSuffix(strings.ToLower(dir), "/registries") ||
			!strings.HasPrefix(strings.ToLower(file), "biosattributeregistry") {
			continue
		}
		if strings.EqualFold(file, name) {
			exact = append(exact, uri)
		}
		near = append(near, uri)
	}
	for _, uri := range append(exact, near...) {
		if found := b.loadRegistry(uri, true); found != nil {
			return found
		}
	}
	return nil
}

func (b *BMC) loadRegistry(uri string, follow bool) *registry {
	key, ok := b.store.find(uri)
	if !ok {
		return nil
	}
	raw, _ := b.store.raw(key)
	var file struct {
		Location []struct {
			Language string
			URI      string `json:"Uri"`
		}
		RegistryEntries struct {
			Attributes   []attribute
			Dependencies []dependency
		}
	}
	if json.Unmarshal(raw, &file) != nil {
		return nil
	}
	if entries := file.RegistryEntries.Attributes; len(entries) > 0 {
		found := &registry{attributes: make(map[string]attribute, len(entries))}
		for _, a := range entries {
			found.attributes[a.Name] = a
		}
		found.depends = map[string][]dependency{}
		for _, d := range file.RegistryEntries.Dependencies {
			target := d.Dependency.Attribute
			found.depends[target] = append(found.depends[target], d)
		}
		return found
	}
	for _, location := range file.Location {
		if !follow || !strings.HasPrefix(location.Language, "en") {
			continue
		}
		if found := b.loadRegistry(location.URI, false); found != nil {
			return found
		}
	}
	return nil
}

// check names the problem with a value, "" when there is none. An attribute
// that the registry knows and the BIOS does not show can be set
// (FIELD-QUIRKS 47). judged are the values that decide what is locked.
func (r *registry) check(name string, value any, current, judged map[string]any) string {
	var a attribute
	known := false
	if r != nil {
		a, known = r.attributes[name]
	}
	now, shown := current[name]
	switch {
	case !known && !shown:
		return "PropertyUnknown"
	case !known:
		if kindOf(now) != kindOf(value) {
			return "PropertyValueTypeError"
		}
		return ""
	case a.Type == "Password" || r.locked(name, judged):
		return "PropertyNotWritable"
	}
	return a.check(value, now)
}

func (a attribute) check(value, now any) string {
	word, isText := value.(string)
	number, isNumber := value.(json.Number)
	_, isBool := value.(bool)
	switch a.Type {
	case "Boolean":
		if !isBool {
			return "PropertyValueTypeError"
		}
	case "Integer":
		n, err := number.Int64()
		if !isNumber || err != nil {
			return "PropertyValueTypeError"
		}
		return a.checkBounds(n)
	case "Enumeration":
		// Some registries list booleans as the values true and false of an enumeration.
		if isBool {
			return ""
		}
		if !isText {
			return "PropertyValueTypeError"
		}
		return a.checkList(word, now)
	default:
		if !isText {
			return "PropertyValueTypeError"
		}
		if a.MaxLength != nil && *a.MaxLength > 0 && len(word) > *a.MaxLength {
			return "PropertyValueFormatError"
		}
	}
	return ""
}

// checkList: SYS-821GE-TNHR numbers its values ("0", "1") and reads and writes
// their display names; which of the two counts shows the current value.
func (a attribute) checkList(word string, now any) string {
	byName, byDisplay := false, false
	for _, v := range a.Value {
		byName = byName || v.Name == now
		byDisplay = byDisplay || v.Display == now
	}
	for _, v := range a.Value {
		// A value that is hidden tells neither.
		if (byName || !byDisplay) && v.Name == word || !byName && (byDisplay || now == nil) && v.Display == word {
			return ""
		}
	}
	return "PropertyValueNotInList"
}

func (a attribute) checkBounds(n int64) string {
	bound := func(limit *json.Number) (int64, bool) {
		if limit == nil {
			return 0, false
		}
		v, err := limit.Int64()
		return v, err == nil
	}
	lower, hasLower := bound(a.Lower)
	upper, hasUpper := bound(a.Upper)
	if (hasLower && n < lower) || (hasUpper && n > upper) {
		return "PropertyValueOutOfRange"
	}
	return ""
}

func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case json.Number:
		return "number"
	default:
		return ""
	}
}

func cutLast(uri string) (dir, file string) {
	i := strings.LastIndexByte(uri, '/')
	if i < 0 {
		return "", uri
	}
	return uri[:i], uri[i+1:]
}
