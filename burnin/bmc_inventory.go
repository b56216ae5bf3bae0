package burnin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// BMCInventory is what the BMC says the machine is made of. provision writes it: one
// JSON object of Redfish bodies, redacted, each under the URI from which it came, or
// of what was read over IPMI.
// The reading is tolerant field by field: a body that cannot be read is named in
// Partial and costs nothing else.
var BMCInventory = Probe[BMCTree]{
	Spec:  ProbeSpec{Name: "bmc-inventory", Phases: []Phase{PhaseBMC}},
	Parse: parseBMCInventory,
}

// BMCTree is the inventory of one machine as its BMC knows it.
type BMCTree struct {
	Identity Identity
	MACs     []string // of the BMC's own network ports, without those that only lead to the host
	DIMMs    []BMCPart
	GPUs     []BMCPart
	Drives   []BMCPart
	PSUs     []BMCPart
	Firmware []BMCPart // Label is what it is of, Model its version; "" where the BMC tells none
	Unread   []string  // URIs in the firmware inventory that are known and whose version is not
	Partial  []string  // "<uri>: why"
}

// BMCPart is one part, or an empty place for one.
type BMCPart struct {
	Label   string // as printed on the board or the bay: "P1-DIMMA1", "SXM5", "bay 4"
	Serial  string
	Model   string
	Present bool
	NVMe    bool         // drives: behind PCIe
	Size    Opt[float64] // DIMMs in MiB, drives in bytes
	Socket  Opt[float64] // DIMMs
	Channel Opt[float64] // DIMMs
	uri     string
}

func parseBMCInventory(e *Evidence) (BMCTree, error) {
	body, _ := e.Body()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		return BMCTree{}, fmt.Errorf("bmc-inventory: %w", err)
	}
	t := bmcReader{}
	for uri, text := range raw {
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.out.Partial = append(t.out.Partial, uri+": "+err.Error())
			continue
		}
		if _, broken := fields["unparsed"]; broken && len(fields) == 1 {
			t.out.Partial = append(t.out.Partial, uri+": no JSON")
			continue
		}
		t.bodies = append(t.bodies, redfishBody{uri: strings.TrimSuffix(uri, "/"), fields: fields})
	}
	slices.SortFunc(t.bodies, func(a, b redfishBody) int { return strings.Compare(a.uri, b.uri) })
	slices.Sort(t.out.Partial)
	if len(t.bodies) == 0 {
		return BMCTree{}, errors.New("bmc-inventory: it holds no body of a BMC")
	}
	if t.readOverIPMI() {
		t.overIPMI()
		return t.out, nil
	}
	t.system = t.hostSystem()
	t.identity()
	t.parts()
	return t.out, nil
}

// redfishBody is one resource.
type redfishBody struct {
	uri    string
	fields map[string]any
	of     string // URI of the collection in which it stood whole
}

// kind is the type without its version: "Memory" of "#Memory.v1_11_0.Memory".
func (b redfishBody) kind() string {
	name, _, _ := strings.Cut(strings.TrimPrefix(b.text("@odata.type"), "#"), ".")
	return name
}

// at walks down objects; nil where the way ends. An empty array stands for an
// absent object on some BMCs.
func (b redfishBody) at(path ...string) any {
	var v any = b.fields
	for _, name := range path {
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// text reads a string, or a number as one; junk is blank.
func (b redfishBody) text(path ...string) string {
	switch v := b.at(path...).(type) {
	case string:
		return plainIdentity(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return ""
	}
}

// number reads a number, or a string that is one.
func (b redfishBody) number(path ...string) Opt[float64] { return looseNumber(b.at(path...)) }

// bmcReader reads a tree.
type bmcReader struct {
	bodies []redfishBody
	system *redfishBody
	out    BMCTree
}

// hostSystem is the one system that is the machine, or nil where the BMC shows
// several and none stands out: never the first of a list, whose order varies.
func (t *bmcReader) hostSystem() *redfishBody {
	var found []*redfishBody
	for i := range t.bodies {
		b := &t.bodies[i]
		id := b.uri[strings.LastIndexByte(b.uri, '/')+1:]
		if b.kind() == "ComputerSystem" && !strings.HasPrefix(id, "HGX_") && b.at("Actions") != nil {
			found = append(found, b)
		}
	}
	withBoot := slices.DeleteFunc(slices.Clone(found), func(b *redfishBody) bool { return b.at("Boot") == nil })
	switch {
	case len(found) == 1:
		return found[0]
	case len(withBoot) == 1:
		return withBoot[0]
	case len(found) > 1:
		t.out.Partial = append(t.out.Partial, "several systems: which one is the host is not known")
	}
	return nil
}

func (t *bmcReader) identity() {
	for _, b := range t.bodies {
		if b.kind() != "EthernetInterface" {
			continue
		}
		mac := firstWord(plainMAC(b.text("MACAddress")), plainMAC(b.text("PermanentMACAddress")))
		switch {
		case mac == "" || locallyMade(mac):
		case strings.Contains(b.uri, "/Managers/"):
			t.out.MACs = append(t.out.MACs, mac)
		case t.system != nil && strings.HasPrefix(b.uri, t.system.uri+"/"):
			t.out.Identity.NICMACs = append(t.out.Identity.NICMACs, mac)
		}
	}
	if len(t.out.MACs) > 0 {
		t.out.Identity.BMCMAC = t.out.MACs[0]
	}
	if t.system == nil {
		return
	}
	id, s := &t.out.Identity, t.system
	id.Manufacturer, id.Model = s.text("Manufacturer"), s.text("Model")
	id.UUID, id.SystemSerial, id.SKU = plainUUID(s.text("UUID")), s.text("SerialNumber"), s.text("SKU")
	chassis, _ := t.hostChassis()
	id.ChassisSerial = chassis.text("SerialNumber")
}

// locallyMade reports a MAC that nobody assigned: the inner network between BMC
// and host, which every machine of a model shares.
func locallyMade(mac string) bool { return strings.ContainsAny(mac[1:2], "2367abef") }

// hostChassis is the chassis that the system says it is in.
func (t *bmcReader) hostChassis() (redfishBody, bool) {
	want := strings.TrimSuffix(t.system.text("Links", "Chassis", "@odata.id"), "/")
	for _, b := range t.bodies {
		if b.kind() == "Chassis" && b.uri == want {
			return b, true
		}
	}
	return redfishBody{}, false
}
