package redfishtest

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// page cuts a long collection into pieces (FIELD-QUIRKS 10): the count stays
// that of all members, a link leads to the next piece.
func (b *BMC) page(req *request, raw []byte) []byte {
	on, paged := b.faults["pages"]
	if !paged {
		return raw
	}
	object, err := decodeObject(raw)
	members, ok := object["Members"].([]any)
	if err != nil || !ok || object["Members@odata.nextLink"] != nil {
		return raw
	}
	size, _ := strconv.Atoi(on.value) // checked when set
	path, query, _ := strings.Cut(req.uri, "?")
	values, _ := url.ParseQuery(query)
	skip, _ := strconv.Atoi(values.Get("$skip"))
	skip = min(max(skip, 0), len(members))
	end := min(skip+size, len(members))
	if skip == 0 && end == len(members) {
		return raw
	}
	object["Members"] = members[skip:end]
	if end < len(members) {
		next := path + "?$skip=" + strconv.Itoa(end)
		if expand := values.Get("$expand"); expand != "" {
			next += "&$expand=" + expand
		}
		object["Members@odata.nextLink"] = next
	}
	cut, err := json.Marshal(object)
	if err != nil {
		return raw
	}
	return cut
}
