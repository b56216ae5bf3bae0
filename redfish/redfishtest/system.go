package redfishtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	powerOn          = "On"
	powerOff         = "Off"
	powerRising      = "PoweringOn"
	powerFalling     = "PoweringOff"
	resetAction      = "#ComputerSystem.Reset"
	overrideDisabled = "Disabled"
)

// system is one host behind the BMC: a ComputerSystem with a Reset action.
type system struct {
	bmc     *BMC
	uri     string
	allowed []string // reset types

	power     string
	shown     string // the power state shown while it changes, with stale-power
	post      bool
	lastReset time.Time
	boots     int
	overtake  context.CancelFunc // ends the transition under way
	settled   chan struct{}      // closed when it ended

	boot       Boot
	bootFixed  map[string]any // Boot as the tree has it
	bootOrder  []any          // as it was set; nil: that of the tree
	viaSetting bool           // the override was set on the settings object and shows there
	settings   string         // URI of the system's settings object, or ""

	bios   *bios
	secure *secureBoot // nil where the tree has none

	locator bool
	led     string // IndicatorLED
	resting string // IndicatorLED when the locator is off: "Off", on Dell "Lit"

	writable map[string]any // AssetTag, HostName
}

// discover finds by links what the tree makes behave.
func (b *BMC) discover() error {
	b.routes, b.overlays = map[string]route{}, map[string]func(map[string]any){}
	root, err := b.store.object("/redfish/v1")
	if err != nil {
		return fmt.Errorf("simulated BMC: %w", err)
	}
	b.vendor = vendorOf(root)
	b.discoverSessions(root)
	b.discoverTasks(root)
	b.discoverPasswordRules(root)
	if err := b.discoverAccount(); err != nil {
		return fmt.Errorf("simulated BMC: %w", err)
	}
	b.systemsURI = canonical(link(root, "Systems"))
	collection, err := b.store.object(b.systemsURI)
	if err != nil {
		return fmt.Errorf("simulated BMC: %w", err)
	}
	members, _ := collection["Members"].([]any)
	for _, member := range members {
		if err := b.discoverSystem(link(member)); err != nil {
			return fmt.Errorf("simulated BMC: %w", err)
		}
	}
	if len(b.systems) == 0 {
		return fmt.Errorf("simulated BMC: no system in the tree has a Reset action")
	}
	b.discoverLockdown()
	b.discoverClocks(root)
	b.discoverLogs(root)
	b.discoverDiagnostics()
	b.discoverEvents(root)
	b.discoverUpdates(root)
	b.discoverManagers(root)
	b.discoverNetwork(root)
	if err := b.discoverMedia(root); err != nil {
		return fmt.Errorf("simulated BMC: %w", err)
	}
	return nil
}

func (b *BMC) discoverSystem(uri string) error {
	uri = canonical(uri)
	if _, ok := b.store.find(uri); !ok {
		return nil // a link to nothing, as in the field
	}
	object, err := b.store.object(uri)
	if err != nil {
		return err
	}
	target := text(object, "Actions", resetAction, "target")
	if target == "" {
		return nil // a GPU baseboard or the like: served, but nothing to do with it
	}
	s := &system{bmc: b, uri: uri, writable: map[string]any{}}
	s.allowed = b.allowedResets(object)
	s.power = cmp.Or(text(object, "PowerState"), powerOff)
	s.settings = canonical(link(object, "@Redfish.Settings", "SettingsObject"))
	if _, unlinked := b.store.find(uri + "/SD"); unlinked && s.settings == "" { // ASRock on AMI (FIELD-QUIRKS 31)
		s.settings = uri + "/SD"
	}
	s.discoverBoot(object)
	s.discoverLocator(object)
	if err := s.discoverBIOS(object); err != nil {
		return err
	}
	s.discoverSecureBoot(object)
	b.overlays[uri] = s.overlay
	b.routes[uri] = route{http.MethodPatch: s.patch}
	b.routes[canonical(target)] = route{http.MethodPost: s.reset}
	b.systems = append(b.systems, s)
	return nil
}

// allowedResets are in the action itself or behind its ActionInfo (FIELD-QUIRKS 66).
func (b *BMC) allowedResets(object map[string]any) []string {
	action := at(object, "Actions", resetAction)
	if values := stringsOf(at(action, "ResetType@Redfish.AllowableValues")); len(values) > 0 {
		return values
	}
	info, err := b.store.object(link(action, "@Redfish.ActionInfo"))
	if err != nil {
		return nil
	}
	parameters, _ := info["Parameters"].([]any)
	for _, p := range parameters {
		if text(p, "Name") == "ResetType" {
			return stringsOf(at(p, "AllowableValues"))
		}
	}
	return nil
}

// overlay lays the live state over the ComputerSystem. Only what the tree has
// is shown: a BMC without LastResetTime does not grow one.
func (s *system) overlay(object map[string]any) {
	object["PowerState"] = cmp.Or(s.shown, s.power)
	if _, has := object["LastResetTime"]; has && !s.lastReset.IsZero() {
		object["LastResetTime"] = s.lastReset.UTC().Format(time.RFC3339)
	}
	maps.Copy(object, s.writable)
	s.overlayPOST(object)
	s.overlayLocator(object)
	if !s.viaSetting {
		s.overlayBoot(object)
	}
}

// patch is PATCH on the ComputerSystem.
func (s *system) patch(req *request) reply {
	if s.post {
		if _, locked := s.bmc.faults.fire("post-locked"); locked {
			return failure(http.StatusBadRequest, "iLO.2.37.UnableToModifyDuringSystemPOST",
				"The system is in POST; try again later.")
		}
	}
	object, err := s.bmc.store.object(s.uri)
	if err != nil {
		return notFound(req.uri)
	}
	var problems []message
	for name, value := range req.body {
		if m := s.checkProperty(object, name, value); m != nil {
			problems = append(problems, *m)
		}
	}
	if len(problems) > 0 {
		slices.SortFunc(problems, func(a, b message) int { return strings.Compare(a.Text, b.Text) })
		return failures(http.StatusBadRequest, problems...)
	}
	for name, value := range req.body {
		switch name {
		case "Boot":
			s.setBoot(req, value, false)
		case "LocationIndicatorActive", "IndicatorLED":
			s.setLocator(req, value)
		default:
			s.bmc.effect(req, "property.set", name, func() { s.writable[name] = value })
		}
	}
	if req.body["Boot"] != nil && s.bmc.faults.fireOn("error-but-applied", "") {
		return failure(http.StatusBadRequest, baseRegistry+"GeneralError", "The request could not be completed.")
	}
	return s.bmc.vendor.changed()
}

func (s *system) checkProperty(object map[string]any, name string, value any) *message {
	present, known := object[name]
	kind := ""
	switch {
	case !known:
		kind = "PropertyUnknown"
	case name == "Boot":
		return s.checkBoot(value, false)
	case name == "LocationIndicatorActive" || name == "IndicatorLED":
		return checkIndicator(name, value)
	case name != "AssetTag" && name != "HostName":
		kind, value = "PropertyNotWritable", nil
	case fmt.Sprintf("%T", value) != fmt.Sprintf("%T", present) && present != nil:
		kind = "PropertyValueTypeError"
	default:
		return nil
	}
	if kind == "PropertyUnknown" {
		value = nil
	}
	m := propertyProblem(kind, name, value)
	return &m
}

func stringsOf(value any) []string {
	list, _ := value.([]any)
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
