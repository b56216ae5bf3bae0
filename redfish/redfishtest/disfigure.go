package redfishtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// disfigure does to a body what some BMCs do: wrong types, missing keys, broken
// syntax. Inventory only: the shape of service root and sessions is sound
// everywhere, and BIOS attributes have faults of their own.
func (b *BMC) disfigure(key string, raw []byte) []byte {
	if on, ok := b.faults["invalid-json"]; ok && key == cmp.Or(canonical(on.value), b.firstDIMM()) {
		b.faults.fire("invalid-json")
		return trailingComma(raw)
	}
	if !strings.HasPrefix(key, b.systemsURI+"/") && !strings.HasPrefix(key, "/redfish/v1/Chassis/") {
		return raw
	}
	var changes []func(key string, value any) (any, bool)
	for _, d := range disfigurements {
		if _, ok := b.faults.fire(d.fault); ok {
			changes = append(changes, d.change)
		}
	}
	if len(changes) == 0 {
		return raw
	}
	object, err := decodeObject(raw)
	if err != nil {
		return raw
	}
	for _, change := range changes {
		walk(object, change)
	}
	out, err := json.Marshal(object)
	if err != nil {
		return raw
	}
	return out
}

// disfigurements change one property; false drops it.
var disfigurements = []struct {
	fault  string
	change func(key string, value any) (any, bool)
}{
	{"na-numbers", func(key string, value any) (any, bool) {
		if key == "MemberId" {
			return 0, true
		}
		if _, ok := value.(json.Number); !ok || strings.Contains(key, "@") {
			return value, true
		}
		if len(key)%2 == 0 { // either form, but the same one at every reading
			return "", true
		}
		return "N/A", true
	}},
	{"string-numbers", func(key string, value any) (any, bool) {
		if n, ok := value.(json.Number); ok && !strings.Contains(key, "@") {
			return fmt.Sprint(n), true
		}
		return value, true
	}},
	{"empty-arrays-for-objects", func(key string, value any) (any, bool) {
		if _, ok := value.(map[string]any); !ok {
			return value, true
		}
		switch {
		case key == "PartLocation":
			return []any{value}, true
		case slices.Contains(optionalObjects, key):
			return []any{}, true
		}
		return value, true
	}},
	{"missing-status", func(key string, value any) (any, bool) { return value, key != "Status" }},
}

// optionalObjects are those that were seen as [] and a few of their kind; none
// that a client needs in order to find its way.
var optionalObjects = []string{"PCIeDevice", "PCIeInterface", "PowerSubsystem", "Metrics", "MemoryLocation", "ProcessorId", "Certificates"}

// walk applies change to every property, outermost first; BIOS attributes are left alone.
func walk(object map[string]any, change func(key string, value any) (any, bool)) {
	for key, value := range object {
		if key == "Attributes" {
			continue
		}
		next, keep := change(key, value)
		if !keep {
			delete(object, key)
			continue
		}
		object[key] = next
		walkInto(next, change)
	}
}

func walkInto(value any, change func(key string, value any) (any, bool)) {
	switch v := value.(type) {
	case map[string]any:
		walk(v, change)
	case []any:
		for _, member := range v {
			walkInto(member, change)
		}
	}
}

func trailingComma(raw []byte) []byte {
	end := bytes.LastIndexByte(raw, '}')
	if end < 0 {
		return raw
	}
	return slices.Concat(raw[:end], []byte(",\n}"), raw[end+1:])
}

// firstDIMM is the default victim of invalid-json.
func (b *BMC) firstDIMM() string {
	for _, s := range b.systems {
		system, err := b.store.object(s.uri)
		if err != nil {
			continue
		}
		collection, err := b.store.object(link(system, "Memory"))
		if err != nil {
			continue
		}
		if members, _ := collection["Members"].([]any); len(members) > 0 {
			return canonical(link(members[0]))
		}
	}
	return ""
}
