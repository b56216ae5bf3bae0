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
	raw, live, ok := b.render(req.key)
	if !ok {
		return notFound(req.uri)
	}
	if b.asleep(req.key) {
		return failure(http.StatusServiceUnavailable, baseRegistry+"ResourceInStandby",
			"The resource is in standby while the host is off.")
	}
	tag := etagOf(raw, live)
	if _, ok := b.faults["etag-gzip"]; ok {
		tag = strings.TrimSuffix(tag, `"`) + `-gzip"`
	}
	raw = b.disfigure(req.key, raw)
	answer := reply{status: http.StatusOK, raw: raw, contentType: "application/json"}
	return answer.with("ETag", tag)
}

// render returns a body and whether the BMC changed it against the tree.
func (b *BMC) render(key string) (raw []byte, live, ok bool) {
	object, kept := b.liveObject(key)
	if !kept {
		raw, ok = b.store.raw(key)
		_, live = b.store.changed[key]
		return raw, live, ok
	}
	raw, err := json.Marshal(object)
	if err != nil {
		b.log.Error("cannot render", "uri", key, "error", err)
		return nil, false, false
	}
	return raw, true, true
}

// liveObject is a resource that the BMC keeps itself.
func (b *BMC) liveObject(key string) (map[string]any, bool) {
	if object, ok := b.sessionResource(key); ok {
		return object, true
	}
	if object, ok := b.tasks.resource(b, key); ok {
		return object, true
	}
	for _, s := range b.systems {
		overlay, ok := s.overlays[key]
		if !ok {
			continue
		}
		object, err := b.store.object(key)
		if err != nil {
			return nil, false
		}
		overlay(object)
		return object, true
	}
	return nil, false
}

// asleep imitates the DGX H100, whose GPU baseboard answers 503 while the host
// is off (FIELD-QUIRKS 12).
func (b *BMC) asleep(key string) bool {
	id, ok := strings.CutPrefix(key, b.systemsURI+"/")
	return ok && strings.HasPrefix(id, "HGX_") && len(b.systems) > 0 && b.systems[0].power == powerOff
}

// etagOf is the tag that the tree gives; for what changes, one of the content.
// Nothing but the content goes in, so an unchanged resource keeps its tag.
func etagOf(raw []byte, live bool) string {
	if !live {
		var head struct {
			ETag string `json:"@odata.etag"`
		}
		if err := json.Unmarshal(raw, &head); err == nil && head.ETag != "" {
			return head.ETag
		}
	}
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
	raw, live, ok := b.render(req.key)
	return preconditionFailed(), ok && given != etagOf(raw, live)
}

func preconditionFailed() reply {
	return failure(http.StatusPreconditionFailed, baseRegistry+"PreconditionFailed",
		"The ETag does not match; read the resource again.")
}
