package redfishtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// query carries out $expand and $select (DSP0266, 7.3) as far as the service root
// declares them; undeclared ones are ignored, as the specification allows.
func (b *BMC) query(req *request, raw []byte) ([]byte, *reply) {
	_, query, asked := strings.Cut(req.uri, "?")
	if !asked {
		return raw, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return raw, nil
	}
	root, err := b.store.object("/redfish/v1")
	if err != nil {
		return raw, nil
	}
	offers := at(root, "ProtocolFeaturesSupported")
	if values.Has("$expand") && (at(offers, "ExpandQuery", "NoLinks") == true || at(offers, "ExpandQuery", "ExpandAll") == true) {
		if b.faults.fireOn("expand-refused", req.key) {
			refusal := failure(http.StatusBadRequest, baseRegistry+"QueryNotSupportedOnResource", "Querying is not supported on the requested resource.")
			return nil, &refusal
		}
		if !b.faults.fireOn("expand-ignored", req.key) {
			raw = b.expand(raw)
		}
	}
	if names := values.Get("$select"); names != "" && at(offers, "SelectQuery") == true {
		raw = choose(raw, strings.Split(names, ","))
	}
	return raw, nil
}

// expand puts the members of a collection into it, one level deep.
func (b *BMC) expand(raw []byte) []byte {
	object, err := decodeObject(raw)
	if err != nil {
		return raw
	}
	members, ok := object["Members"].([]any)
	if !ok {
		return raw
	}
	for i, m := range members {
		key, found := b.store.find(link(m))
		body, _, rendered := b.render(key)
		if !found && !rendered || b.asleep(key) {
			continue // a link to nothing stays one
		}
		body = b.disfigure(key, body)
		if !json.Valid(body) {
			return body // one broken member spoils the whole answer
		}
		if own, err := decodeObject(body); err == nil && own["@odata.id"] == nil {
			own["@odata.id"] = link(m)
			body, _ = json.Marshal(own)
		}
		members[i] = json.RawMessage(body)
	}
	out, err := json.Marshal(object)
	if err != nil {
		return raw
	}
	return out
}

// choose keeps the named properties and those of the protocol.
func choose(raw []byte, names []string) []byte {
	object, err := decodeObject(raw)
	if err != nil {
		return raw
	}
	for key := range object {
		wanted := strings.HasPrefix(key, "@odata.")
		for _, n := range names {
			n, _, _ = strings.Cut(strings.TrimSpace(n), "/")
			wanted = wanted || n == key
		}
		if !wanted {
			delete(object, key)
		}
	}
	out, err := json.Marshal(object)
	if err != nil {
		return raw
	}
	return out
}
