package burnin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// BIOSSettings is the BIOS as the BMC shows it when the run's settings are in force:
// Redfish bodies by URI.
var BIOSSettings = Probe[BIOSAttributes]{
	Spec:  ProbeSpec{Name: "bios", Phases: []Phase{PhaseBMC}},
	Parse: parseBIOS,
}

// BIOSAttributes are the attributes in force by the names of the BMC's registry. Values
// are string, float64, bool or nil, as in JSON.
type BIOSAttributes map[string]any

func parseBIOS(e *Evidence) (BIOSAttributes, error) {
	bodies, err := parseBodies(e)
	if err != nil {
		return nil, err
	}
	var shown []redfishBody
	for _, b := range bodies.list {
		if attributes, _ := b.fields["Attributes"].(map[string]any); len(attributes) > 0 && !isPending(b.uri) {
			shown = append(shown, b)
		}
	}
	inForce := shown
	if named := slices.DeleteFunc(slices.Clone(shown), func(b redfishBody) bool { return b.fields["@Redfish.Settings"] == nil }); len(named) > 0 {
		inForce = named // it names the resource of what is pending
	}
	inForce = slices.DeleteFunc(slices.Clone(inForce), func(b redfishBody) bool { // what is pending stands below it
		return slices.ContainsFunc(shown, func(above redfishBody) bool { return strings.HasPrefix(b.uri, above.uri+"/") })
	})
	switch len(inForce) {
	case 1:
		attributes, _ := inForce[0].fields["Attributes"].(map[string]any)
		return attributes, nil
	case 0:
		return nil, errors.Join(errors.New("bios: no body shows attributes"), bodies.err())
	}
	return nil, fmt.Errorf("bios: %s and %s both show attributes", inForce[0].uri, inForce[1].uri)
}

// isPending reports whether a resource is what the BIOS takes over at the next reset, as
// Dell and HPE (Settings), Supermicro (SD) and Lenovo (Pending) name it.
func isPending(uri string) bool {
	last := strings.ToLower(uri[strings.LastIndexByte(uri, '/')+1:])
	return last == "settings" || last == "sd" || last == "pending"
}

// sameSetting compares values as JSON has them. Some BMCs write numbers and booleans as text.
func sameSetting(a, b any) bool { return settingText(a) == settingText(b) }

func settingText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
