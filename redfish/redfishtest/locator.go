package redfishtest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
)

// discoverLocator makes the light of the system and of its chassis one, in
// whichever property the tree has it.
func (s *system) discoverLocator(object map[string]any) {
	s.resting = text(object, "IndicatorLED")
	for _, chassis := range chassisOf(object) {
		body, err := s.bmc.store.object(chassis)
		if err != nil {
			continue
		}
		s.resting = cmp.Or(s.resting, text(body, "IndicatorLED"))
		if key := canonical(chassis); s.bmc.overlays[key] == nil { // two nodes may share one
			s.bmc.overlays[key] = s.overlayLocator
			s.bmc.routes[key] = route{http.MethodPatch: s.patchChassis}
		}
	}
	if s.resting == "" || s.resting == "Blinking" {
		s.resting = "Off"
	}
	s.led = s.resting
	s.locator, _ = object["LocationIndicatorActive"].(bool)
}

func chassisOf(object map[string]any) []string {
	list, _ := at(object, "Links", "Chassis").([]any)
	var uris []string
	for _, c := range list {
		if uri := link(c); uri != "" {
			uris = append(uris, uri)
		}
	}
	return uris
}

func (s *system) overlayLocator(object map[string]any) {
	if _, has := object["LocationIndicatorActive"]; has {
		object["LocationIndicatorActive"] = s.locator
	}
	if _, has := object["IndicatorLED"]; has {
		object["IndicatorLED"] = s.led
	}
}

func (s *system) patchChassis(req *request) reply {
	object, err := s.bmc.store.object(req.key)
	if err != nil {
		return notFound(req.uri)
	}
	for name, value := range req.body {
		if _, known := object[name]; !known {
			return failures(http.StatusBadRequest, propertyProblem("PropertyUnknown", name, nil))
		}
		if name != "LocationIndicatorActive" && name != "IndicatorLED" {
			return failures(http.StatusBadRequest, propertyProblem("PropertyNotWritable", name, nil))
		}
		if m := checkIndicator(name, value); m != nil {
			return failures(http.StatusBadRequest, *m)
		}
	}
	for _, value := range req.body {
		s.setLocator(req, value)
	}
	return s.bmc.vendor.changed()
}

func checkIndicator(name string, value any) *message {
	kind := ""
	if name == "LocationIndicatorActive" {
		if _, ok := value.(bool); !ok {
			kind = "PropertyValueTypeError"
		}
	} else if word, ok := value.(string); !ok {
		kind = "PropertyValueTypeError"
	} else if !slices.Contains([]string{"Off", "Lit", "Blinking"}, word) {
		kind = "PropertyValueNotInList"
	}
	if kind == "" {
		return nil
	}
	m := propertyProblem(kind, name, value)
	return &m
}

// setLocator takes the value of either property. "Lit" is the light of a
// healthy Dell and a locator elsewhere.
func (s *system) setLocator(req *request, value any) {
	on, isBool := value.(bool)
	led, _ := value.(string)
	if isBool {
		led = s.resting
		if on {
			led = "Blinking"
		}
	} else {
		on = led == "Blinking" || led == "Lit" && s.resting != "Lit"
	}
	s.bmc.effect(req, "locator.set", fmt.Sprint(value), func() {
		s.led, s.locator = led, on
		if hook := s.bmc.opts.Hooks.OnLocator; hook != nil {
			s.bmc.aside(func() { hook(s.bmc.ctx, on) })
		}
	})
}
