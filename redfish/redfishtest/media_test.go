package redfishtest_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const (
	managerURI      = "/redfish/v1/Managers/1"
	managerSlotsURI = managerURI + "/VirtualMedia"
	systemSlotsURI  = systemURI + "/VirtualMedia"
	cdURI           = managerSlotsURI + "/CD"      // with actions; eject comes with the image
	extURI          = managerSlotsURI + "/EXT1"    // without: patched
	remoteURI       = managerSlotsURI + "/Remote1" // takes no URL
	systemCD        = systemSlotsURI + "/CD"       // the same drive as cdURI
	insertAction    = "/Actions/VirtualMedia.InsertMedia"
	ejectAction     = "/Actions/VirtualMedia.EjectMedia"
	isoURL          = "http://192.0.2.1/live.iso"
)

// addSlots gives the fixture a manager with one drive of each kind.
func addSlots(tree redfishtest.Tree) {
	slot := func(uri, id, actions string) {
		tree[uri] = json.RawMessage(`{"@odata.id":"` + uri + `","Id":"` + id + `","MediaTypes":["CD","DVD","USBStick"],"Inserted":false,
			"Image":null,"ImageName":null,"ConnectedVia":"NotConnected"` + actions + `}`)
	}
	withInsert := func(uri string) string {
		return `,"Actions":{"Oem":{},"#VirtualMedia.InsertMedia":{"target":"` + uri + insertAction + `"}}`
	}
	tree["/redfish/v1/Managers"] = json.RawMessage(`{"Members":[{"@odata.id":"` + managerURI + `"}],"Members@odata.count":1}`)
	tree[managerURI] = json.RawMessage(`{"@odata.id":"` + managerURI + `","DateTime":"2024-01-01T00:00:00Z","FirmwareVersion":"11.01",
		"Actions":{"#Manager.Reset":{"target":"` + managerResetURI + `"}},		"VirtualMedia":{"@odata.id":"` + managerSlotsURI + `"},
		"EthernetInterfaces":{"@odata.id":"` + managerURI + `/EthernetInterfaces"},"NetworkProtocol":{"@odata.id":"` + protocolsURI + `"},"LogServices":{"@odata.id":"` + managerURI + `/LogServices"}}`)
	addPort(tree)
	tree[managerSlotsURI] = json.RawMessage(`{"Members":[{"@odata.id":"` + cdURI + `"},{"@odata.id":"` + extURI + `"},
		{"@odata.id":"` + remoteURI + `"}],"Members@odata.count":3}`)
	tree[systemSlotsURI] = json.RawMessage(`{"Members":[{"@odata.id":"` + systemCD + `"}],"Members@odata.count":1}`)
	slot(cdURI, "CD", withInsert(cdURI))
	slot(systemCD, "CD", withInsert(systemCD))
	slot(extURI, "EXT1", "")
	slot(remoteURI, "Remote1", "")
}

func (r *rig) insert(t *testing.T, slot string, body map[string]any) answer {
	t.Helper()
	return r.do(t, http.MethodPost, slot+insertAction, body)
}

func (r *rig) eject(t *testing.T, slot string) answer {
	t.Helper()
	return r.do(t, http.MethodPost, slot+ejectAction, map[string]any{})
}

func iso() map[string]any { return map[string]any{"Image": isoURL} }

func cdOnce() map[string]any {
	return map[string]any{"Boot": map[string]any{
		"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd", "BootSourceOverrideMode": "UEFI",
	}}
}

func TestMediaInsertBootEject(t *testing.T) {
	r := start(t, "Supermicro", redfishtest.Options{})
	if r.get(t, cdURI).value("Actions", "#VirtualMedia.EjectMedia") != nil {
		t.Error("an empty drive offers EjectMedia")
	}
	r.eject(t, cdURI).want(t, 400)
	r.insert(t, cdURI, map[string]any{"Image": isoURL, "Inserted": true, "WriteProtected": true}).want(t, 200)
	r.expect(t, `media CD "`+isoURL+`"`)
	a := r.get(t, cdURI)
	if a.value("Image") != isoURL || a.value("ImageName") != "live.iso" || a.value("Inserted") != true || a.value("ConnectedVia") != "URI" {
		t.Errorf("after the insert: %s", a.raw)
	}
	if got := a.value("Actions", "#VirtualMedia.EjectMedia", "target"); got != cdURI+ejectAction {
		t.Errorf("eject at %v", got)
	}
	if got := r.get(t, systemCD).value("Image"); got != isoURL {
		t.Errorf("the same drive below the system shows %v", got)
	}
	r.insert(t, systemCD, iso()).want(t, 409, "ResourceInUse")
	r.patch(t, systemURI, cdOnce())
	r.reset(t, "ForceRestart")
	r.expect(t, "reset", "boot Cd "+isoURL)
	r.eject(t, cdURI).want(t, 200)
	r.expect(t, `media CD ""`)
	a = r.get(t, cdURI)
	if a.value("Image") != nil || a.value("Inserted") != false || a.value("ConnectedVia") != "NotConnected" {
		t.Errorf("after the eject: %s", a.raw)
	}
	r.patch(t, systemURI, cdOnce())
	r.reset(t, "ForceRestart")
	r.expect(t, "reset", "boot Cd")
	r.acts(t, map[string]int{"media.insert": 1, "media.eject": 1, "boot.set": 2, "boot.used": 2, "power.reset": 2})
}

func TestMediaByPatch(t *testing.T) {
	r := start(t, "Lenovo", redfishtest.Options{})
	r.insert(t, extURI, iso()).want(t, 404)
	r.patch(t, remoteURI, iso()).want(t, 400, "PropertyNotWritable")
	r.patch(t, cdURI, iso()).want(t, 405)
	r.patch(t, extURI, map[string]any{"Inserted": true}).want(t, 400, "PropertyMissing")
	r.patch(t, extURI, map[string]any{"Image": 1}).want(t, 400, "PropertyValueTypeError")
	r.patch(t, extURI, map[string]any{"Image": isoURL, "Inserted": false}).want(t, 400)
	r.patch(t, extURI, map[string]any{"Image": isoURL, "Inserted": true}).want(t, 200)
	r.expect(t, `media EXT1 "`+isoURL+`"`)
	if st := r.State(); st.Media["EXT1"] != isoURL || len(st.Media) != 1 {
		t.Errorf("media %v", st.Media)
	}
	r.patch(t, extURI, map[string]any{"Image": nil, "Inserted": false}).want(t, 200)
	r.expect(t, `media EXT1 ""`)
	r.acts(t, map[string]int{"media.insert": 1, "media.eject": 1})
}

func TestMediaInsertIsChecked(t *testing.T) {
	cases := map[string]struct {
		body map[string]any
		id   string
	}{
		"no image":         {map[string]any{}, "ActionParameterMissing"},
		"unknown":          {map[string]any{"Image": isoURL, "Speed": 1}, "PropertyUnknown"},
		"flag as text":     {map[string]any{"Image": isoURL, "Inserted": "true"}, "PropertyValueTypeError"},
		"user as a number": {map[string]any{"Image": isoURL, "UserName": 1}, "PropertyValueTypeError"},
		"no URL":           {map[string]any{"Image": "live.iso"}, "PropertyValueFormatError"},
	}
	r := start(t, "", redfishtest.Options{})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { r.insert(t, cdURI, c.body).want(t, 400, c.id) })
	}
	r.acts(t, map[string]int{})
	if err := r.SetMedia("CD", isoURL); err != nil {
		t.Fatal(err)
	}
	if r.State().Media["CD"] != isoURL || len(r.Acts()) != 0 {
		t.Error("SetMedia must set and not count")
	}
	if err := r.SetMedia("Tape", isoURL); err == nil {
		t.Error("a drive that is not there was filled")
	}
}

// Every captured BMC that lists drives takes an image in the way that its tree
// offers, and a boot from CD finds it.
func TestMediaOfCaptures(t *testing.T) {
	cases := map[string]struct {
		slot, system string
		patch        bool
		refuses      string // a slot of the tree that takes no URL
	}{
		"dell":       {slot: "/redfish/v1/Systems/System.Embedded.1/VirtualMedia/1", system: "/redfish/v1/Systems/System.Embedded.1"},
		"hpe":        {slot: "/redfish/v1/Managers/1/VirtualMedia/2", system: "/redfish/v1/Systems/1"},
		"supermicro": {slot: "/redfish/v1/Managers/1/VirtualMedia/VirtualMedia1", system: "/redfish/v1/Systems/1"},
		"lenovo": {
			slot: "/redfish/v1/Systems/1/VirtualMedia/EXT1", system: "/redfish/v1/Systems/1", patch: true,
			refuses: "/redfish/v1/Managers/1/VirtualMedia/RDOC1",
		},
	}
	folder := captures(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree, err := redfishtest.LoadTarGz(filepath.Join(folder, name+".tar.gz"))
			if err != nil {
				t.Fatal(err)
			}
			r := start(t, "", redfishtest.Options{Tree: tree})
			if c.patch {
				r.patch(t, c.refuses, iso()).want(t, 400)
				r.patch(t, c.slot, iso()).want(t, 200)
			} else if a := r.insert(t, c.slot, iso()); a.status >= 300 {
				t.Fatalf("insert: %d %s", a.status, a.raw)
			}
			if a := r.get(t, c.slot); a.value("Inserted") != true || a.value("Image") != isoURL {
				t.Fatalf("after the insert: %s", a.raw)
			}
			r.SetBoot(redfishtest.Boot{Target: "Cd", Enabled: "Once", Mode: "UEFI"})
			target, _ := r.get(t, c.system).value("Actions", "#ComputerSystem.Reset", "target").(string)
			r.do(t, http.MethodPost, target, map[string]any{"ResetType": "ForceRestart"})
			r.expect(t, `media `+filepath.Base(c.slot)+` "`+isoURL+`"`, "reset", "boot Cd "+isoURL)
		})
	}
}

var mediaFaults = map[string]faultCase{
	"media-image-stays": {vendor: "Supermicro", run: func(r *rig) {
		r.fault(r.t, "media-image-stays")
		r.insert(r.t, cdURI, iso())
		r.eject(r.t, cdURI).want(r.t, 200)
		a := r.get(r.t, cdURI)
		if a.value("Image") != isoURL || a.value("Inserted") != false || a.value("ConnectedVia") != "NotConnected" {
			r.t.Errorf("after the eject: %s", a.raw)
		}
		r.insert(r.t, cdURI, iso()).want(r.t, 200)
	}},
	"media-property-refused": {vendor: "HPE", run: func(r *rig) {
		r.fault(r.t, "media-property-refused=Inserted")
		r.insert(r.t, cdURI, map[string]any{"Image": isoURL, "Inserted": true}).want(r.t, 400, "PropertyUnknown", "Inserted")
		r.insert(r.t, cdURI, map[string]any{"Image": isoURL, "WriteProtected": true}).want(r.t, 200)
		r.eject(r.t, cdURI)
		r.fault(r.t, "media-property-refused")
		r.insert(r.t, cdURI, map[string]any{"Image": isoURL, "WriteProtected": true}).want(r.t, 400, "PropertyUnknown")
		r.insert(r.t, cdURI, iso()).want(r.t, 200)
	}},
	"media-empty": {run: func(r *rig) {
		r.fault(r.t, "media-empty")
		for _, uri := range []string{managerSlotsURI, systemSlotsURI} {
			if n := r.get(r.t, uri).value("Members@odata.count"); n != 0.0 {
				r.t.Errorf("%s lists %v", uri, n)
			}
		}
	}},
	"media-licence": {vendor: "Supermicro", run: func(r *rig) {
		r.fault(r.t, "media-licence")
		r.insert(r.t, cdURI, iso()).want(r.t, 403, "OemLicenseNotPassed", "DCMS ")
		r.acts(r.t, map[string]int{})
	}},
	"media-not-by-manager": {vendor: "Dell", run: func(r *rig) {
		r.fault(r.t, "media-not-by-manager")
		r.insert(r.t, cdURI, iso()).want(r.t, 400, "RAC0904")
		r.insert(r.t, systemCD, iso()).want(r.t, 204)
		r.insert(r.t, systemCD, iso()).want(r.t, 500, "VRM0012")
	}},
	"media-other-slot": {vendor: "Dell", run: func(r *rig) {
		r.fault(r.t, "media-other-slot*1")
		r.insert(r.t, cdURI, iso()).want(r.t, 204)
		if a := r.get(r.t, cdURI); a.value("Inserted") != false || len(r.State().Media) != 1 {
			r.t.Errorf("the drives hold %v; that one %s", r.State().Media, a.raw)
		}
	}},
	"media-ignored": {vendor: "Dell", run: func(r *rig) {
		r.fault(r.t, "media-ignored*1")
		r.insert(r.t, cdURI, iso()).want(r.t, 204)
		if a := r.get(r.t, cdURI); a.value("Inserted") != false {
			r.t.Errorf("inserted: %s", a.raw)
		}
		r.acts(r.t, map[string]int{})
		r.eject(r.t, cdURI).want(r.t, 500, "VRM0009")
	}},
	"media-url-length": {vendor: "Dell", run: func(r *rig) {
		r.fault(r.t, "media-url-length=25")
		r.insert(r.t, cdURI, map[string]any{"Image": isoURL + "?"}).want(r.t, 400, "RAC0720")
		r.insert(r.t, cdURI, iso()).want(r.t, 204)
	}},
	"media-url-suffix": {run: func(r *rig) {
		r.fault(r.t, "media-url-suffix")
		r.insert(r.t, cdURI, map[string]any{"Image": "http://192.0.2.1/live"}).want(r.t, 400, "PropertyValueFormatError")
		r.insert(r.t, cdURI, map[string]any{"Image": "http://192.0.2.1/live.img"}).want(r.t, 204)
	}},
	"media-url-query": {run: func(r *rig) {
		r.fault(r.t, "media-url-query")
		r.insert(r.t, cdURI, map[string]any{"Image": isoURL + "?token=1"}).want(r.t, 400, "not recognized")
		r.insert(r.t, cdURI, iso()).want(r.t, 204)
	}},
}
