package redfish

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// links follows everything that a resource refers to.
func (w *captureWalk) links(uri string, doc map[string]any) {
	kind, _ := doc["@odata.type"].(string)
	switch {
	case strings.HasPrefix(kind, "#JsonSchemaFileCollection") && !w.opts.Schemas:
		members, _ := doc["Members"].([]any)
		w.skip(uri, fmt.Sprintf("its members, %d or more JSON schemas", len(members)))
		return
	case strings.HasPrefix(kind, "#JsonSchemaFile"), strings.HasPrefix(kind, "#MessageRegistryFile"):
		w.locations(doc)
	}
	w.linksIn(doc)
}

// locations follows the files of a registry or schema: the English ones, and those
// without a language.
func (w *captureWalk) locations(doc map[string]any) {
	list, _ := doc["Location"].([]any)
	for _, l := range list {
		place, _ := l.(map[string]any)
		language, _ := place["Language"].(string)
		uri := place["Uri"]
		if m, ok := uri.(map[string]any); ok {
			uri = firstText(m["@odata.id"], m["extref"]) // iLO4 wraps it
		}
		at, _ := uri.(string)
		if at == "" {
			continue
		}
		if lower := strings.ToLower(language); lower == "" || lower == "default" || strings.HasPrefix(lower, "en") || len(list) == 1 {
			w.follow(at)
			continue
		}
		w.skip(at, "in language "+language)
	}
}

func firstText(values ...any) any {
	for _, v := range values {
		if s, ok := v.(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// linksIn walks a value. A link is what stands in @odata.id, and where a BMC writes a
// bare string in its place (SR630) a path of Redfish under a key that is none of those
// that hold texts, targets of actions and places to download from.
func (w *captureWalk) linksIn(value any) {
	switch v := value.(type) {
	case []any:
		for _, inner := range v {
			w.linksIn(inner)
		}
	case map[string]any:
		for key, inner := range v {
			switch {
			case key == "Actions":
				w.actionInfos(inner)
			case noLink(key):
			default:
				w.linksIn(inner)
			}
		}
	case string:
		if strings.HasPrefix(v, "/redfish/") {
			w.follow(v)
		}
	}
}

// noLink are keys whose values name what is no resource to read: texts, and what is
// downloaded.
func noLink(key string) bool {
	if strings.HasSuffix(key, "@odata.nextLink") || key == "@odata.id" || key == "@Redfish.ActionInfo" {
		return false
	}
	return strings.HasPrefix(key, "@odata.") || strings.Contains(key, "AllowableValues") ||
		strings.HasSuffix(strings.ToLower(key), "uri") || strings.HasSuffix(strings.ToLower(key), "url") ||
		slices.Contains([]string{"target", "Message", "MessageArgs", "Description", "RelatedProperties", "OriginOfCondition"}, key)
}

// actionInfos follows the parameters that actions tell, and never an action.
func (w *captureWalk) actionInfos(value any) {
	m, _ := value.(map[string]any)
	for key, inner := range m {
		if key == "@Redfish.ActionInfo" {
			w.linksIn(inner)
			continue
		}
		w.actionInfos(inner)
	}
}

// isLog tells the entries of a log.
func isLog(uri string, doc map[string]any) bool {
	kind, _ := doc["@odata.type"].(string)
	_, members := doc["Members"].([]any)
	return members && (strings.HasPrefix(kind, "#LogEntryCollection") || strings.Contains(uri, "/LogServices/") && strings.Contains(uri, "/Entries"))
}

// log keeps the entries of a log from the page that has them, without asking for each,
// and no more of them than the bound. It gives the page to keep: where the rest is left
// out, without them and the link to them.
func (w *captureWalk) log(uri string, page map[string]any, body []byte) []byte {
	path, _, _ := strings.Cut(placeOf(uri), "?")
	members, _ := page["Members"].([]any)
	room := max(w.opts.LogEntries-w.entries[path], 0)
	more := len(members) > room
	members = members[:min(len(members), room)]
	w.entries[path] += len(members)
	for _, m := range members {
		w.entry(m)
	}
	more = more || w.entries[path] >= w.opts.LogEntries && page["Members@odata.nextLink"] != nil
	if !more {
		return body
	}
	w.skip(path, fmt.Sprintf("entries beyond the first %d", w.entries[path]))
	page["Members"] = members
	delete(page, "Members@odata.nextLink")
	short, err := json.Marshal(page)
	if err != nil {
		return body
	}
	return short
}

// entry keeps one that stands whole in its log.
func (w *captureWalk) entry(member any) {
	entry, _ := member.(map[string]any)
	at, _ := entry["@odata.id"].(string)
	key := placeOf(at)
	if key == "" || entry["Id"] == nil || w.seen[key] || w.unwanted(key) != "" {
		return
	}
	raw, err := json.Marshal(entry)
	if err != nil || w.bytes+int64(len(raw)) > w.opts.Bytes {
		return
	}
	w.seen[key] = true
	w.bytes += int64(len(raw))
	w.bodies[key] = raw
}
