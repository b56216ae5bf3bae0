package burnin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// BMCNoteKey is the one entry of a BMC's evidence that is no body: a BMCNote.
const BMCNoteKey = "rackproof:reading"

// BMCNote is what our reader says of one reading of a BMC. provision writes it.
type BMCNote struct {
	Clock   time.Time `json:"bmc_clock,omitzero"` // by the BMC; zero where it tells none
	Skew    *float64  `json:"skew_seconds"`       // by how much that is ahead of ours
	Since   time.Time `json:"since,omitzero"`     // by the BMC: nothing older was asked for; zero is all
	Missing []string  `json:"missing,omitempty"`  // "uri: why" of what could not be read
}

// bmcBodies are the bodies of one reading by URI, in the order of the URIs.
// Members that stand whole in their collection are bodies of their own.
type bmcBodies struct {
	list    []redfishBody
	missing []string // "<uri>: why"
	note    BMCNote
	noted   bool
}

// parseBodies reads an object of bodies. Of one that cannot be read the others
// stand, and it is named.
func parseBodies(e *Evidence) (bmcBodies, error) {
	out, _ := e.Body()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(out, &raw); err != nil {
		return bmcBodies{}, fmt.Errorf("%s: %w", e.Probe, err)
	}
	var b bmcBodies
	if text, ok := raw[BMCNoteKey]; ok {
		if err := json.Unmarshal(text, &b.note); err != nil {
			b.missing = append(b.missing, BMCNoteKey+": "+err.Error())
		}
		b.noted = true
		b.missing = append(b.missing, b.note.Missing...)
		delete(raw, BMCNoteKey)
	}
	for _, uri := range sortedKeys(raw) {
		var fields map[string]any
		if err := json.Unmarshal(raw[uri], &fields); err != nil {
			b.missing = append(b.missing, uri+": "+err.Error())
			continue
		}
		if text, broken := fields["unparsed"]; broken && len(fields) == 1 {
			b.missing = append(b.missing, fmt.Sprintf("%s: no JSON: %.40v", uri, text))
			continue
		}
		b.add(uri, fields)
	}
	if len(b.list) == 0 {
		return b, errors.Join(fmt.Errorf("%s: it holds no body of a BMC", e.Probe), b.err())
	}
	slices.SortStableFunc(b.list, func(x, y redfishBody) int { return strings.Compare(x.uri, y.uri) })
	return b, nil
}

// add takes a body, and the members that stand whole in it.
func (b *bmcBodies) add(uri string, fields map[string]any) {
	body := redfishBody{uri: strings.TrimSuffix(uri, "/"), fields: fields}
	b.list = append(b.list, body)
	members, _ := fields["Members"].([]any)
	for _, m := range members {
		inner, ok := m.(map[string]any)
		if !ok || len(inner) < 2 { // a link
			continue
		}
		at, _ := inner["@odata.id"].(string)
		b.list = append(b.list, redfishBody{uri: strings.TrimSuffix(firstWord(at, uri), "/"), fields: inner, of: body.uri})
	}
}

// err says what is missing of the reading, or nil.
func (b *bmcBodies) err() error {
	if len(b.missing) == 0 {
		return nil
	}
	return fmt.Errorf("the BMC did not give all: %s", b.missing[0])
}
