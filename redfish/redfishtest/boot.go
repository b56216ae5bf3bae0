package redfishtest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

const (
	keyTarget  = "BootSourceOverrideTarget"
	keyEnabled = "BootSourceOverrideEnabled"
	keyMode    = "BootSourceOverrideMode"
	keyHTTP    = "HttpBootUri"
	keyPath    = "UefiTargetBootSourceOverride"
	keyNext    = "BootNext"
	keyOrder   = "BootOrder"
	allowable  = "@Redfish.AllowableValues"
)

// bootValues are the values that the schema allows where the tree lists none.
var bootValues = map[string][]string{
	keyTarget: {
		"None", "Pxe", "Floppy", "Cd", "Usb", "Hdd", "BiosSetup", "Utilities", "Diags",
		"UefiShell", "UefiTarget", "SDCard", "UefiHttp", "RemoteDrive", "UefiBootNext",
	},
	keyEnabled: {overrideDisabled, "Once", "Continuous"},
	keyMode:    {"UEFI", "Legacy"},
}

func (s *system) discoverBoot(object map[string]any) {
	s.bootFixed, _ = object["Boot"].(map[string]any)
	s.boot = Boot{
		Target:      text(s.bootFixed, keyTarget),
		Enabled:     text(s.bootFixed, keyEnabled),
		Mode:        text(s.bootFixed, keyMode),
		HTTPBootURI: text(s.bootFixed, keyHTTP),
		Path:        text(s.bootFixed, keyPath),
		Next:        text(s.bootFixed, keyNext),
	}
	if s.settings == "" {
		return
	}
	if _, ok := s.bmc.store.find(s.settings); !ok {
		return
	}
	s.bmc.overlays[s.settings] = s.overlayBoot
	s.bmc.routes[s.settings] = route{http.MethodPatch: s.patchSettings}
}

// overlayBoot shows the override in the properties that the tree has, and a
// null where it has one and nothing is set.
func (s *system) overlayBoot(object map[string]any) {
	boot, ok := object["Boot"].(map[string]any)
	if !ok {
		return
	}
	values := map[string]string{
		keyTarget: s.boot.Target, keyEnabled: s.boot.Enabled, keyMode: s.boot.Mode, keyHTTP: s.boot.HTTPBootURI,
		keyPath: s.boot.Path, keyNext: s.boot.Next,
	}
	if s.bootOrder != nil {
		boot[keyOrder] = s.bootOrder
	}
	for name, value := range values {
		if _, has := boot[name]; has && (value != "" || boot[name] != nil) {
			boot[name] = value
		}
	}
}

// patchSettings is PATCH on the system's settings object (AMI "SD", XCC "Pending").
func (s *system) patchSettings(req *request) reply {
	boot, ok := req.body["Boot"]
	if !ok || len(req.body) != 1 {
		return failures(http.StatusBadRequest, propertyProblem("PropertyMissing", "Boot", nil))
	}
	if m := s.checkBoot(boot, true); m != nil {
		return failures(http.StatusBadRequest, *m)
	}
	s.setBoot(req, boot, true)
	return s.bmc.vendor.changed()
}

// checkBoot finds the first problem of a Boot object, nil when there is none.
func (s *system) checkBoot(value any, viaSettings bool) *message {
	boot, ok := value.(map[string]any)
	if !ok {
		m := propertyProblem("PropertyValueTypeError", "Boot", value)
		return &m
	}
	if m := s.checkBootFaults(boot, viaSettings); m != nil {
		return m
	}
	for _, name := range slices.Sorted(maps.Keys(boot)) {
		if m := s.checkBootProperty(name, boot[name]); m != nil {
			return m
		}
	}
	return nil
}

func (s *system) checkBootFaults(boot map[string]any, viaSettings bool) *message {
	faults := s.bmc.faults
	if !viaSettings && faults.fireOn("boot-future-state", "") {
		m := newMessage("Critical", "Ami.1.0.OperationSupportedInFutureStateURI",
			"Boot can be changed at the future state URI only.", s.settings)
		return &m
	}
	if _, uri := boot[keyHTTP]; uri && faults.fireOn("uri-refused", "") {
		m := propertyProblem("PropertyNotWritableOrUnknown", "Boot/"+keyHTTP, nil)
		return &m
	}
	if target, ok := boot[keyTarget].(string); ok && faults.fireOn("target-refused", target) {
		m := newMessage("Warning", "iLO.2.21.UnsupportedOperation", "The operation is not supported here.")
		return &m
	}
	_, given := boot[keyMode]
	kind, name := "", "Boot/"+keyMode
	switch {
	case given && faults.fireOn("mode-refused", ""):
		kind = "PropertyNotWritable"
	case !given && faults.fireOn("mode-required", ""):
		kind = "PropertyMissing"
	default:
		return nil
	}
	m := propertyProblem(kind, name, nil)
	return &m
}

func (s *system) checkBootProperty(name string, value any) *message {
	problem := func(kind string, value any) *message {
		m := propertyProblem(kind, "Boot/"+name, value)
		return &m
	}
	if _, known := s.bootFixed[name]; !known {
		return problem("PropertyUnknown", nil)
	}
	if name == keyOrder {
		if !samePermutation(stringsOf(value), stringsOf(s.bootFixed[keyOrder])) {
			return problem("PropertyValueNotInList", value)
		}
		return nil
	}
	written, isText := value.(string)
	allowed := stringsOf(s.bootFixed[name+allowable])
	if len(allowed) == 0 {
		allowed = bootValues[name]
	}
	switch {
	case !slices.Contains([]string{keyTarget, keyEnabled, keyMode, keyHTTP, keyPath, keyNext}, name):
		return problem("PropertyNotWritable", nil)
	case !isText:
		return problem("PropertyValueTypeError", value)
	case name == keyNext && !slices.Contains(stringsOf(s.bootFixed[keyOrder]), written):
		return problem("PropertyValueNotInList", value)
	case len(allowed) > 0 && !slices.Contains(allowed, written):
		return problem("PropertyValueNotInList", value)
	}
	return nil
}

// samePermutation reports whether two lists hold the same texts.
func samePermutation(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return len(a) > 0 && slices.Equal(a, b)
}

func (s *system) setBoot(req *request, value any, viaSettings bool) {
	boot, _ := value.(map[string]any) // checked before
	next := s.boot
	for name, field := range map[string]*string{
		keyTarget: &next.Target, keyEnabled: &next.Enabled, keyMode: &next.Mode, keyHTTP: &next.HTTPBootURI,
		keyPath: &next.Path, keyNext: &next.Next,
	} {
		if v, ok := boot[name].(string); ok {
			*field = v
		}
	}
	if _, given := boot[keyMode]; !given {
		if _, dropped := s.bmc.faults.fire("mode-dropped"); dropped {
			next.Mode = "Legacy"
		}
	}
	detail := strings.TrimSpace(fmt.Sprint(next.Target, " ", next.Enabled, " ", next.Mode, " ", next.HTTPBootURI))
	s.bmc.effect(req, "boot.set", detail, func() {
		s.boot, s.viaSetting = next, viaSettings
		if hook := s.bmc.opts.Hooks.OnBootSet; hook != nil {
			s.bmc.aside(func() { hook(s.bmc.ctx, next) })
		}
		if order, ok := boot[keyOrder].([]any); ok {
			s.bootOrder = order
		}
	})
}

// useOverride is where the machine boots from now; Once is used up by it.
func (s *system) useOverride() BootChoice {
	choice := BootChoice{System: s.uri, Target: "None", Mode: s.boot.Mode}
	enabled := s.boot.Enabled == "Once" || s.boot.Enabled == "Continuous"
	if !enabled || s.boot.Target == "None" || s.boot.Target == "" {
		return choice
	}
	if _, ignored := s.bmc.faults.fire("boot-once-ignored"); !ignored {
		choice.Target, choice.HTTPBootURI, choice.Override = s.boot.Target, s.boot.HTTPBootURI, true
		if isCD(choice.Target) {
			choice.Media = s.bmc.cdImage()
		}
		switch choice.Target {
		case "UefiTarget":
			choice.Device = s.boot.Path
		case "UefiBootNext":
			choice.Device = s.boot.Next
		}
		s.bmc.ledger.act(Act{Name: "boot.used", URI: s.uri, Detail: choice.Target})
	}
	if s.boot.Enabled != "Once" {
		return choice
	}
	if _, sticky := s.bmc.faults.fire("boot-sticky"); !sticky {
		s.boot.Enabled, s.boot.Target, s.boot.HTTPBootURI = overrideDisabled, "None", ""
		s.viaSetting = false
	}
	return choice
}
