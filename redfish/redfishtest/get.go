package redfishtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
)

// get serves a resource as the tree has it, with what the BMC itself keeps laid over.
func (b *BMC) get(req *request) reply {
	if file, ok := b.file(req); ok {
		return file
	}
	raw, tag, ok := b.render(req.key)
	if refusal, refused := b.opts.Refused[req.key]; refused && !ok {
		return refusal.reply()
	}
	if !ok {
		return notFound(req.uri)
	}
	if b.asleep(req.key) {
		return failure(http.StatusServiceUnavailable, baseRegistry+"ResourceInStandby",
			"The resource is in standby while the host is off.")
	}
	if _, ok := b.faults["etag-gzip"]; ok {
		tag = strings.TrimSuffix(tag, `"`) + `-gzip"`
	}
	raw, refusal := b.query(req, b.disfigure(req.key, b.page(req, raw)))
	if refusal != nil {
		return *refusal
	}
	answer := reply{status: http.StatusOK, raw: raw, contentType: "application/json"}
	if at := b.tasks.named(req.key); at != "" {
		answer = answer.with("Location", at)
	}
	return answer.with("ETag", tag)
}

// reply is the refusal as it was captured.
func (r Refusal) reply() reply {
	answer := reply{status: r.Status, raw: r.Body}
	if len(r.Body) > 0 {
		answer.contentType = "text/html"
	}
	if json.Valid(r.Body) {
		answer.contentType = "application/json"
	}
	return answer
}

// render returns a body and its ETag. Untouched, it is what the tree has, byte
// by byte; what changes is tagged by its content, in body and header alike.
func (b *BMC) render(key string) (raw []byte, tag string, ok bool) {
	raw, ok = b.store.raw(key)
	object, live := b.liveObject(key)
	if _, changed := b.store.changed[key]; !live && ok && changed {
		parsed, err := decodeObject(raw)
		object, live = parsed, err == nil
	}
	if !live {
		return raw, treeTag(raw), ok
	}
	old, tagged := object["@odata.etag"].(string)
	delete(object, "@odata.etag")
	clock, ticks := object["DateTime"]
	delete(object, "DateTime") // a clock that runs is no change
	raw, err := json.Marshal(object)
	if err != nil {
		b.log.Error("cannot render", "uri", key, "error", err)
		return nil, "", false
	}
	tag = contentTag(raw)
	if ticks {
		object["DateTime"] = clock
		raw, err = json.Marshal(object)
	}
	if !tagged {
		return raw, tag, err == nil
	}
	if strings.HasPrefix(old, "W/") {
		tag = "W/" + tag
	}
	object["@odata.etag"] = tag
	raw, err = json.Marshal(object)
	return raw, tag, err == nil
}

// liveObject is a resource that the BMC keeps itself.
func (b *BMC) liveObject(key string) (map[string]any, bool) {
	if object, ok := b.sessionResource(key); ok {
		return object, true
	}
	if object, ok := b.tasks.resource(b, key); ok {
		return object, true
	}
	overlay, ok := b.overlays[key]
	if !ok {
		return nil, false
	}
	object, err := b.store.object(key)
	if err != nil {
		return nil, false
	}
	overlay(object)
	return object, true
}

// asleep imitates the DGX H100, whose GPU baseboard answers 503 while the host
// is off (FIELD-QUIRKS 12).
func (b *BMC) asleep(key string) bool {
	id, ok := strings.CutPrefix(key, b.systemsURI+"/")
	return ok && strings.HasPrefix(id, "HGX_") && len(b.systems) > 0 && b.systems[0].power == powerOff
}

// treeTag is the tag that the tree gives, else one of the content.
func treeTag(raw []byte) string {
	var head struct {
		ETag string `json:"@odata.etag"`
	}
	if err := json.Unmarshal(raw, &head); err == nil && head.ETag != "" {
		return head.ETag
	}
	return contentTag(raw)
}

func contentTag(raw []byte) string {
	hash := fnv.New64a()
	_, _ = hash.Write(raw)
	return fmt.Sprintf(`"%016x"`, hash.Sum64())
}

// precondition checks If-Match, as the specification and its neighbours do.
func (b *BMC) precondition(req *request) (reply, bool) {
	given := req.header.Get("If-Match")
	if req.method == http.MethodPost {
		if given == "" {
			return reply{}, false
		}
		_, refused := b.faults.fire("etag-refused-on-post")
		return preconditionFailed(), refused
	}
	if req.method != http.MethodPatch {
		return reply{}, false
	}
	if given == "" {
		_, required := b.faults.fire("etag-required")
		return b.vendor.etagMissing(), required
	}
	if given == "*" {
		return reply{}, false
	}
	if _, refused := b.faults.fire("etag-refused"); refused {
		return preconditionFailed(), true
	}
	if _, on := b.faults["etag-weak-refused"]; on && strings.HasPrefix(given, "W/") {
		return preconditionFailed(), true
	}
	_, tag, ok := b.render(req.key)
	return preconditionFailed(), ok && given != tag
}

func preconditionFailed() reply {
	return failure(http.StatusPreconditionFailed, baseRegistry+"PreconditionFailed",
		"The ETag does not match; read the resource again.")
}
