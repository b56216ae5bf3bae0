package redfishtest

import (
	"fmt"
	"net/http"
)

// secureBoot is the switch of one system, and what is in force.
type secureBoot struct{ enable, current bool }

// discoverSecureBoot makes the SecureBoot resource behave (DMTF SecureBoot 1.0): the
// switch takes effect at the next boot.
func (s *system) discoverSecureBoot(object map[string]any) {
	uri := canonical(link(object, "SecureBoot"))
	body, err := s.bmc.store.object(uri)
	if err != nil {
		return // none, or a link to nothing
	}
	enable, ok := body["SecureBootEnable"].(bool)
	if !ok {
		return
	}
	s.secure = &secureBoot{enable: enable, current: text(body, "SecureBootCurrentBoot") == "Enabled"}
	s.bmc.overlays[uri] = func(object map[string]any) {
		object["SecureBootEnable"] = s.secure.enable
		object["SecureBootCurrentBoot"] = map[bool]string{true: "Enabled", false: "Disabled"}[s.secure.current]
	}
	s.bmc.routes[uri] = route{http.MethodPatch: s.patchSecureBoot}
}

func (s *system) patchSecureBoot(req *request) reply {
	for name := range req.body {
		if name != "SecureBootEnable" {
			return failures(http.StatusBadRequest, propertyProblem("PropertyUnknown", name, nil))
		}
	}
	enable, ok := req.body["SecureBootEnable"].(bool)
	if !ok {
		return failures(http.StatusBadRequest, propertyProblem("PropertyValueTypeError", "SecureBootEnable", req.body["SecureBootEnable"]))
	}
	s.bmc.effect(req, "bios.secure-boot", fmt.Sprint(enable), func() { s.secure.enable = enable })
	return s.bmc.vendor.staged()
}
