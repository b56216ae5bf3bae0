package redfish

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// BMCs write numbers as strings, strings as numbers, "N/A" for nothing and []
// for no object. These types take what comes: a field of another shape is
// absent, and one bad field never loses the resource around it. Their
// UnmarshalJSON therefore never fails.

// text is a string, or a number or bool written out. Junk that firmware leaves
// where nobody filled a field in counts as absent.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	switch {
	case len(b) == 0:
	case b[0] == '"':
		var s string
		if json.Unmarshal(b, &s) == nil {
			*t = text(strings.TrimSpace(s))
		}
	case b[0] == '-' || b[0] >= '0' && b[0] <= '9' || b[0] == 't' || b[0] == 'f':
		*t = text(b)
	}
	return nil
}

// clean gives the text, or "" where it is one of the placeholders seen in
// captured payloads.
func (t text) clean() string {
	s := strings.TrimSpace(string(t))
	switch strings.ToLower(s) {
	case "n/a", "na", "none", "nil", "null", "unknown", "not specified", "not available", "default string",
		"to be filled by o.e.m.", "free form asset tag", "empty", "no dimm", "0123456789", "123456789", "01234567890123456789ab",
		"system serial number", "chassis serial number", "system product name":
		return ""
	}
	if s != "" && strings.Trim(s, "0") == "" || strings.Trim(s, ".- ") == "" {
		return ""
	}
	return s
}

// number is a JSON number or a string that holds one.
type number struct {
	value float64
	ok    bool
}

func (n *number) UnmarshalJSON(b []byte) error {
	*n = number{}
	s := strings.TrimSpace(strings.Trim(string(b), `"`))
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		*n = number{value: v, ok: true}
	}
	return nil
}

// whole gives the number rounded, or nil where it is absent, negative or beyond
// what an int64 holds. Captured BMCs write -1 for a count they do not know.
func (n number) whole() *int64 {
	if !n.ok || n.value < 0 || n.value >= math.MaxInt64 {
		return nil
	}
	v := int64(math.Round(n.value))
	return &v
}

// positive is whole without zero, for quantities of which a real part has some.
func (n number) positive() *int64 {
	if v := n.whole(); v != nil && *v > 0 {
		return v
	}
	return nil
}

// flag is a bool, its word, or 0/1. Absent stays distinguishable from false.
type flag struct {
	value, ok bool
}

func (f *flag) UnmarshalJSON(b []byte) error {
	*f = flag{}
	switch strings.ToLower(strings.Trim(string(b), `" `)) {
	case "true", "enabled", "yes", "1":
		*f = flag{value: true, ok: true}
	case "false", "disabled", "no", "0":
		*f = flag{value: false, ok: true}
	}
	return nil
}

func (f flag) pointer() *bool {
	if !f.ok {
		return nil
	}
	return &f.value
}

// link is a reference, as {"@odata.id": …} or as a bare string.
type link string

func (l *link) UnmarshalJSON(b []byte) error {
	*l = ""
	var object struct {
		ID json.RawMessage `json:"@odata.id"`
	}
	var s string
	switch {
	case json.Unmarshal(b, &s) == nil:
		*l = link(s)
	case json.Unmarshal(b, &object) == nil && json.Unmarshal(object.ID, &s) == nil:
		*l = link(s)
	}
	return nil
}

// id is the last segment of the reference, the name by which people know it.
func (l link) id() string {
	s := strings.TrimRight(string(l), "/")
	return s[strings.LastIndexByte(s, '/')+1:]
}

// links is an array of references, or a single one where an array belongs.
type links []link

func (ls *links) UnmarshalJSON(b []byte) error {
	*ls = nil
	var many []link
	var one link
	if json.Unmarshal(b, &many) != nil {
		_ = one.UnmarshalJSON(b)
		many = []link{one}
	}
	for _, l := range many {
		if l != "" {
			*ls = append(*ls, l)
		}
	}
	return nil
}

// words is an array of strings, without those that are no strings.
type words []string

func (ws *words) UnmarshalJSON(b []byte) error {
	*ws = nil
	var raw []text
	if json.Unmarshal(b, &raw) != nil {
		return nil
	}
	for _, w := range raw {
		if w != "" {
			*ws = append(*ws, string(w))
		}
	}
	return nil
}

// maybe is an object that a BMC may replace by [], a string or null.
type maybe[T any] struct {
	value T
	ok    bool
}

func (m *maybe[T]) UnmarshalJSON(b []byte) error {
	*m = maybe[T]{}
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '{' && json.Unmarshal(b, &m.value) == nil {
		m.ok = true
	}
	return nil
}

// list is an array of objects; a member of another shape is dropped.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	var raw []maybe[T]
	if json.Unmarshal(b, &raw) != nil {
		return nil
	}
	for _, m := range raw {
		if m.ok {
			*l = append(*l, m.value)
		}
	}
	return nil
}

// numbers is an array of numbers.
type numbers []number

func (ns *numbers) UnmarshalJSON(b []byte) error {
	*ns = nil
	var raw []number
	if json.Unmarshal(b, &raw) == nil {
		*ns = raw
	}
	return nil
}

// largest gives the greatest number, or an absent one.
func (ns numbers) largest() number {
	var most number
	for _, n := range ns {
		if n.ok && (!most.ok || n.value > most.value) {
			most = n
		}
	}
	return most
}
