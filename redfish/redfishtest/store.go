package redfishtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// store lays this BMC's changes over the shared tree.
type store struct {
	base    Tree
	changed Tree // a nil body: removed
}

func newStore(base Tree) *store { return &store{base: base, changed: Tree{}} }

// canonical is the key of a URI: no trailing slash, no fragment. Case and
// escapes stay: HPE serves both /Systems/1 and /systems/1/bios.
func canonical(uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	path, query, _ := strings.Cut(uri, "?")
	if path != "/" {
		path = strings.TrimRight(path, "/")
	}
	if query == "" {
		return path
	}
	return path + "?" + query
}

// find resolves a requested URI to a stored one, without a query that is no page
// of its own ($expand, $select).
func (s *store) find(uri string) (string, bool) {
	key := canonical(uri)
	candidates := []string{key}
	if plain, err := url.PathUnescape(key); err == nil {
		candidates = append(candidates, plain)
	}
	if path, _, ok := strings.Cut(key, "?"); ok {
		candidates = append(candidates, canonical(path))
	}
	for _, c := range candidates {
		if _, ok := s.raw(c); ok {
			return c, true
		}
	}
	return key, false
}

func (s *store) raw(key string) (json.RawMessage, bool) {
	if body, ok := s.changed[key]; ok {
		return body, body != nil
	}
	body, ok := s.base[key]
	return body, ok
}

// object decodes a resource, keeping numbers as they were written.
func (s *store) object(uri string) (map[string]any, error) {
	key, ok := s.find(uri)
	if !ok {
		return nil, fmt.Errorf("the tree has no %s", uri)
	}
	raw, _ := s.raw(key)
	object, err := decodeObject(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", uri, err)
	}
	return object, nil
}

func (s *store) put(uri string, object map[string]any) error {
	raw, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("%s: %w", uri, err)
	}
	s.changed[canonical(uri)] = raw
	return nil
}

func decodeObject(raw []byte) (map[string]any, error) {
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err := decoder.Decode(&object)
	return object, err
}

// Update changes the served body of a resource, for instance to take a DIMM
// out. What the BMC itself keeps (power, boot override, BIOS attributes,
// locator) is laid over the body: set it with the Set methods instead.
func (b *BMC) Update(uri string, change func(body map[string]any)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, _ := b.store.find(uri)
	object, err := b.store.object(key)
	if err != nil {
		return err
	}
	change(object)
	return b.store.put(key, object)
}

// Put adds a resource, or replaces it. Where its parent is a collection that
// does not list it, it is listed.
func (b *BMC) Put(uri string, body map[string]any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := canonical(uri)
	if err := b.store.put(key, body); err != nil {
		return err
	}
	return b.enlist(key)
}

// enlist makes the collection above a resource list it.
func (b *BMC) enlist(key string) error {
	parent := path.Dir(key)
	collection, err := b.store.object(parent)
	members, ok := collection["Members"].([]any)
	if err != nil || !ok || slices.ContainsFunc(members, func(m any) bool { return canonical(link(m)) == key }) {
		return nil
	}
	members = append(members, map[string]any{"@odata.id": key})
	collection["Members"], collection["Members@odata.count"] = members, len(members)
	return b.store.put(parent, collection)
}

// Remove takes a resource off the BMC; its URI answers 404 from now on. Links
// to it stay, as they do in the field (FIELD-QUIRKS 9).
func (b *BMC) Remove(uri string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, _ := b.store.find(uri)
	b.store.changed[key] = nil
}

// URIs lists what the BMC serves, sorted.
func (b *BMC) URIs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := maps.Clone(b.store.base)
	maps.Copy(all, b.store.changed)
	maps.DeleteFunc(all, func(_ string, body json.RawMessage) bool { return body == nil })
	return slices.Sorted(maps.Keys(all))
}

// at walks nested objects by key; nil when a step is missing.
func at(value any, path ...string) any {
	for _, key := range path {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

func text(value any, path ...string) string {
	s, _ := at(value, path...).(string)
	return s
}

// link is the @odata.id at path, which some BMCs serve as a bare string
// (FIELD-QUIRKS 5).
func link(value any, path ...string) string {
	v := at(value, path...)
	if s, ok := v.(string); ok {
		return s
	}
	return text(v, "@odata.id")
}
