package burnin

import (
	"slices"
	"strings"
)

const firmwareCollection = "FirmwareInventory"

// firmware takes the entries of the firmware inventory, and names those that the BMC lists and
// that are not here: what could not be fetched has left no body. An entry without a version
// stays an entry: its part is there. One whose part is absent has none.
func (t *bmcReader) firmware() {
	given := map[string]bool{}
	var listed []string
	for _, b := range t.bodies {
		switch {
		case b.kind() == "SoftwareInventory":
			given[b.uri] = true
			if v := b.text("Version"); v != "" || b.text("Status", "State") != "Absent" {
				t.out.Firmware = append(t.out.Firmware, BMCPart{Label: firstWord(b.text("Name"), b.text("Id")), Model: v, Present: true, uri: b.uri})
			}
		case strings.Contains(b.uri, firmwareCollection) && b.at("Members") != nil:
			given[b.uri] = true
			listed = append(listed, b.members()...)
		}
	}
	for _, why := range t.out.Partial {
		if uri, _, ok := strings.Cut(why, ": "); ok && strings.Contains(uri, firmwareCollection) {
			listed = append(listed, strings.TrimSuffix(uri, "/"))
		}
	}
	slices.Sort(listed)
	t.out.Unread = slices.DeleteFunc(slices.Compact(listed), func(uri string) bool { return given[uri] })
}

// members are the URIs of a collection's members and of its next page.
func (b redfishBody) members() []string {
	uris := []string{rawText(b.fields["Members@odata.nextLink"])}
	list, _ := b.fields["Members"].([]any)
	for _, m := range list {
		switch m := m.(type) {
		case string:
			uris = append(uris, m)
		case map[string]any:
			uris = append(uris, rawText(m["@odata.id"]))
		}
	}
	uris = withoutBlanks(uris)
	for i := range uris {
		uris[i] = strings.TrimSuffix(uris[i], "/")
	}
	return uris
}

// unreadOf says which entries of the inventory may be the component and were not read: those
// that its globs name, or, where only a name in the entry would tell, all; and a page of the
// inventory holds any.
func (t *BMCTree) unreadOf(names func(id, name string) bool, byName bool) []string {
	return slices.DeleteFunc(slices.Clone(t.Unread), func(uri string) bool {
		id := uri[strings.LastIndexByte(uri, '/')+1:]
		return !byName && !strings.HasPrefix(id, firmwareCollection) && !names(id, "")
	})
}
