package redfishtest

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strings"
)

// slot is one virtual drive. A BMC that lists it below its manager and below
// its system (XCC) shows one drive under two URIs.
type slot struct {
	bmc   *BMC
	uri   string // the first one found
	id    string
	cd    bool   // takes CD images
	image string // what is inserted, "" = nothing
	rest  string // URL that stays shown after an eject (media-image-stays)
	// A slot without actions is patched instead (XCC, FIELD-QUIRKS 57).
	actions bool
}

// discoverMedia finds the virtual drives where managers and systems link them
// (FIELD-QUIRKS 61).
func (b *BMC) discoverMedia(root map[string]any) error {
	for _, name := range []string{"Managers", "Systems"} {
		for _, owner := range b.membersOf(link(root, name)) {
			object, err := b.store.object(owner)
			if err != nil {
				continue // a link to nothing, as in the field
			}
			collection := canonical(link(object, "VirtualMedia"))
			if collection == "" {
				continue
			}
			b.overlays[collection] = b.overlaySlots
			for _, uri := range b.membersOf(collection) {
				if err := b.discoverSlot(canonical(uri)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// membersOf are the member URIs of a collection; none when the tree lacks it.
func (b *BMC) membersOf(collection string) []string {
	object, err := b.store.object(collection)
	if err != nil {
		return nil
	}
	list, _ := object["Members"].([]any)
	var uris []string
	for _, m := range list {
		if uri := link(m); uri != "" {
			uris = append(uris, uri)
		}
	}
	return uris
}

func (b *BMC) discoverSlot(uri string) error {
	if _, ok := b.store.find(uri); !ok || b.overlays[uri] != nil {
		return nil // linked to nothing, or linked twice
	}
	object, err := b.store.object(uri)
	if err != nil {
		return err
	}
	s := b.slot(object, uri)
	b.overlays[uri] = func(object map[string]any) { s.overlay(object, uri) }
	insert := canonical(text(object, "Actions", "#VirtualMedia.InsertMedia", "target"))
	if insert == "" {
		b.routes[uri] = route{http.MethodPatch: s.patch}
		return nil
	}
	s.actions = true
	b.routes[insert] = route{http.MethodPost: s.insert}
	b.routes[ejectTarget(object, uri)] = route{http.MethodPost: s.ejectNow}
	return nil
}

// slot is the drive with this Id, which may have been seen below the manager already.
func (b *BMC) slot(object map[string]any, uri string) *slot {
	id := cmp.Or(text(object, "Id"), path.Base(uri))
	for _, s := range b.slots {
		if s.id == id {
			return s
		}
	}
	types := stringsOf(object["MediaTypes"])
	s := &slot{bmc: b, uri: uri, id: id, cd: slices.Contains(types, "CD") || slices.Contains(types, "DVD")}
	if inserted, _ := object["Inserted"].(bool); inserted {
		s.image = text(object, "Image")
	}
	b.slots = append(b.slots, s)
	return s
}

// ejectTarget is named by the tree, or is where it appears with an image.
func ejectTarget(object map[string]any, uri string) string {
	return canonical(cmp.Or(text(object, "Actions", "#VirtualMedia.EjectMedia", "target"), uri+"/Actions/VirtualMedia.EjectMedia"))
}

// overlaySlots empties the collection where the licence is missing (FIELD-QUIRKS 59).
func (b *BMC) overlaySlots(object map[string]any) {
	if _, hidden := b.faults.fire("media-empty"); hidden {
		object["Members"], object["Members@odata.count"] = []any{}, 0
	}
}

// overlay shows what is inserted, in the properties that the tree has.
func (s *slot) overlay(object map[string]any, uri string) {
	shown := cmp.Or(s.image, s.rest)
	set := func(name string, value any) {
		if _, has := object[name]; has {
			object[name] = value
		}
	}
	set("Inserted", s.image != "")
	if shown != "" {
		set("Image", shown)
		set("ImageName", path.Base(shown))
	} else if text(object, "Image") != "" { // inserted at the capture
		set("Image", nil)
		set("ImageName", nil)
	}
	set("ConnectedVia", "NotConnected")
	if s.image == "" {
		return
	}
	set("ConnectedVia", "URI")
	if actions, ok := object["Actions"].(map[string]any); ok && s.actions {
		// On the SYS-821GE-TNHR the action comes with the image (FIELD-QUIRKS 58).
		actions["#VirtualMedia.EjectMedia"] = map[string]any{"target": ejectTarget(object, uri)}
	}
}

// insert is POST …/Actions/VirtualMedia.InsertMedia.
func (s *slot) insert(req *request) reply {
	if refusal, refused := s.checkInsert(req); refused {
		return refusal
	}
	s.lands().load(req, text(req.body, "Image"))
	return s.bmc.vendor.mediaDone()
}

// lands is the drive that an image comes into.
func (s *slot) lands() *slot {
	for _, other := range slices.Backward(s.bmc.slots) {
		if other.image == "" && s.bmc.faults.fireOn("media-other-slot", "") {
			return other
		}
	}
	return s
}

// ejectNow is POST …/Actions/VirtualMedia.EjectMedia.
func (s *slot) ejectNow(req *request) reply {
	if s.image == "" { // FIELD-QUIRKS 55
		return s.bmc.vendor.nothingInserted()
	}
	s.load(req, "")
	return s.bmc.vendor.mediaDone()
}

// patch inserts with an Image and ejects without one, as XCC wants it.
func (s *slot) patch(req *request) reply {
	if !s.takesURL() {
		return failures(http.StatusBadRequest, propertyProblem("PropertyNotWritable", "Image", nil))
	}
	value, given := req.body["Image"]
	inserted, hasInserted := req.body["Inserted"].(bool)
	image, isText := value.(string)
	switch {
	case given && value != nil && !isText:
		return failures(http.StatusBadRequest, propertyProblem("PropertyValueTypeError", "Image", value))
	case image != "" && hasInserted && !inserted:
		return failures(http.StatusBadRequest, propertyProblem("PropertyValueNotInList", "Inserted", false))
	case image != "":
		if refusal, refused := s.checkInsert(req); refused {
			return refusal
		}
	case !given && (!hasInserted || inserted):
		return failures(http.StatusBadRequest, propertyProblem("PropertyMissing", "Image", nil))
	}
	s.load(req, image)
	return s.bmc.vendor.changed()
}

// takesURL: XCC's Remote and RDOC slots are filled by its viewer and its own
// store, never by a URL (FIELD-QUIRKS 57).
func (s *slot) takesURL() bool {
	return s.actions || (!strings.HasPrefix(s.id, "Remote") && !strings.HasPrefix(s.id, "RDOC"))
}

// load puts an image into the slot, or takes it out.
func (s *slot) load(req *request, image string) {
	act, detail := "media.insert", image
	if image == "" {
		act, detail = "media.eject", s.image
	}
	s.bmc.effect(req, act, s.id+" "+detail, func() {
		s.rest = ""
		if _, stays := s.bmc.faults["media-image-stays"]; stays && image == "" {
			s.rest = s.image
		}
		s.image = image
		if hook := s.bmc.opts.Hooks.OnMedia; hook != nil {
			s.bmc.aside(func() { hook(s.bmc.ctx, s.id, image) })
		}
	})
}

// cdImage is what a boot from CD finds: the image of the first such slot.
func (b *BMC) cdImage() string {
	for _, s := range b.slots {
		if s.cd && s.image != "" {
			return s.image
		}
	}
	return ""
}

// isCD knows the words for it: Cd, on the X10 also CD/DVD and UsbCd (FIELD-QUIRKS 32).
func isCD(target string) bool { return strings.Contains(strings.ToLower(target), "cd") }
