package redfishtest_test

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

func TestCertificate(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // its hash is what is tested
	conn, err := dialer.DialContext(t.Context(), "tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sum := sha256.Sum256(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw)
	if got := hex.EncodeToString(sum[:]); got != r.CertSHA256() {
		t.Errorf("certificate %s, CertSHA256 says %s", got, r.CertSHA256())
	}
}

func TestErrorsAndMethods(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	r.get(t, "/redfish/v1/Nothing").want(t, 404, "ResourceMissingAtURI")
	r.do(t, http.MethodPost, "/redfish/v1/Nothing", map[string]any{}).want(t, 404, "ResourceMissingAtURI")
	a := r.do(t, http.MethodDelete, systemURI, nil).want(t, 405, "OperationNotAllowed")
	if a.header.Get("Allow") != "GET, HEAD, PATCH" {
		t.Errorf("Allow %q", a.header.Get("Allow"))
	}
	a = r.do(t, http.MethodHead, systemURI+"/", nil).want(t, 200)
	if len(a.raw) != 0 || a.header.Get("Content-Length") == "0" {
		t.Errorf("HEAD brought %d bytes, length %q", len(a.raw), a.header.Get("Content-Length"))
	}
	r.get(t, dimmURI+"?$select=CapacityMiB").want(t, 200)
	r.Remove(dimmURI)
	r.get(t, dimmURI).want(t, 404)
}

func TestUpdate(t *testing.T) {
	tree := fixtureTree("")
	r := start(t, "", redfishtest.Options{Tree: tree})
	before := r.get(t, dimmURI).header.Get("ETag")
	err := r.Update(dimmURI, func(body map[string]any) { body["CapacityMiB"] = 32768 })
	if err != nil {
		t.Fatal(err)
	}
	a := r.get(t, dimmURI)
	if a.value("CapacityMiB") != 32768.0 || a.header.Get("ETag") == before {
		t.Errorf("capacity %v, tag %s before and %s after", a.value("CapacityMiB"), before, a.header.Get("ETag"))
	}
	if !json.Valid(tree[dimmURI]) || string(tree[dimmURI]) != string(fixtureTree("")[dimmURI]) {
		t.Error("the shared tree was written")
	}
	if err := r.Update("/redfish/v1/Nothing", func(map[string]any) {}); err == nil {
		t.Error("a resource that is not there was updated")
	}
}

func TestSessions(t *testing.T) {
	r := start(t, "Dell", redfishtest.Options{SessionLimit: 2})
	login := map[string]any{"UserName": "admin", "Password": "password"}
	r.basic = false
	r.get(t, "/redfish/v1").want(t, 200)
	r.get(t, systemURI).want(t, 401, "NoValidSession")
	r.do(t, http.MethodPost, sessionsURI, map[string]any{"UserName": "admin", "Password": "wrong"}).want(t, 401)
	if r.Unauthorized() != 2 || r.Statuses()[401] != 2 {
		t.Errorf("%d refusals counted, %d sent, want 2", r.Unauthorized(), r.Statuses()[401])
	}
	first := r.do(t, http.MethodPost, sessionsURI+"/", login).want(t, 201)
	r.do(t, http.MethodPost, sessionsURI, login).want(t, 201)
	r.do(t, http.MethodPost, sessionsURI, login).want(t, 503, "RAC0218")
	if r.OpenSessions() != 2 {
		t.Errorf("%d sessions open", r.OpenSessions())
	}
	r.token = first.header.Get("X-Auth-Token")
	r.get(t, systemURI).want(t, 200)
	if n := r.get(t, sessionsURI).want(t, 200).value("Members@odata.count"); n != 2.0 {
		t.Errorf("collection lists %v sessions", n)
	}
	r.get(t, first.header.Get("Location")).want(t, 200)
	r.do(t, http.MethodDelete, first.header.Get("Location"), nil).want(t, 204)
	r.get(t, systemURI).want(t, 401)
	r.acts(t, map[string]int{"session.create": 2, "session.delete": 1})
	r.ExpireSessions()
	if r.OpenSessions() != 0 || r.Acts()["session.expire"] != 1 {
		t.Errorf("%d sessions open, acts %v", r.OpenSessions(), r.Acts())
	}
}

func TestPower(t *testing.T) {
	r := start(t, "Dell", redfishtest.Options{})
	r.reset(t, "On").want(t, 409, "PSU501")
	r.reset(t, "ForceOff").want(t, 204)
	r.expect(t, "power false")
	if a := r.get(t, systemURI); a.value("PowerState") != "Off" || a.value("BootProgress", "LastState") != "None" {
		t.Errorf("after off: %s", a.raw)
	}
	r.get(t, "/redfish/v1/Systems/HGX_Baseboard_0").want(t, 503)
	r.reset(t, "ForceOff").want(t, 409)
	r.reset(t, "ForceRestart").want(t, 409)
	r.reset(t, "On").want(t, 204)
	r.expect(t, "power true", "boot None")
	old := r.get(t, systemURI).value("LastResetTime")
	if old == "2024-01-01T00:00:00Z" {
		t.Error("LastResetTime did not advance")
	}
	r.reset(t, "ForceRestart").want(t, 204)
	r.expect(t, "reset", "boot None")
	if r.get(t, systemURI).value("LastResetTime") == old {
		t.Error("LastResetTime does not tell one reset from the next")
	}
	r.reset(t, "PowerCycle").want(t, 204)
	r.expect(t, "power false", "power true", "boot None")
	r.reset(t, "PushPowerButton").want(t, 204)
	r.expect(t, "power false")
	r.reset(t, "ForceOn").want(t, 400, "ActionParameterValueNotInList")
	r.do(t, http.MethodPost, resetURI, map[string]any{}).want(t, 400, "ActionParameterMissing")
	r.acts(t, map[string]int{"power.on": 1, "power.off": 2, "power.reset": 2})
	if st := r.State(); st.Power != "Off" || st.Boots != 3 {
		t.Errorf("state %+v", st)
	}
}

func TestPowerTakesTime(t *testing.T) {
	r := start(t, "Supermicro", redfishtest.Options{PowerDelay: time.Hour, POSTDelay: time.Hour})
	r.reset(t, "GracefulShutdown").want(t, 200)
	if got := r.get(t, systemURI).value("PowerState"); got != "PoweringOff" {
		t.Errorf("power %v while it goes off", got)
	}
	r.reset(t, "On").want(t, 409)
	r.reset(t, "ForceOff").want(t, 200) // the forced one may follow
	r.SetPower(false)
	r.reset(t, "On").want(t, 200)
	if got := r.get(t, systemURI).value("PowerState"); got != "PoweringOn" {
		t.Errorf("power %v while it comes on", got)
	}
	r.SetPower(true)
	r.reset(t, "ForceRestart").want(t, 200)
	if got := r.get(t, systemURI).value("BootProgress", "LastState"); got != "MemoryInitializationStarted" {
		t.Errorf("progress %v in POST", got)
	}
	if !r.State().POST || r.State().Boots != 0 {
		t.Errorf("state %+v", r.State())
	}
}

func TestResetMakesTaskOnAMI(t *testing.T) {
	r := start(t, "AMI", redfishtest.Options{})
	a := r.reset(t, "ForceRestart").want(t, 202)
	r.get(t, a.header.Get("Location")).want(t, 200, "Computer Reset")
	r.expect(t, "reset", "boot None")
}

func TestBootOverrideIsUsedOnce(t *testing.T) {
	r := start(t, "HPE", redfishtest.Options{})
	r.patch(t, systemURI, pxeOnce()).want(t, 200)
	if got := r.get(t, systemURI).value("Boot", "BootSourceOverrideTarget"); got != "Pxe" {
		t.Errorf("target reads %v", got)
	}
	r.reset(t, "ForceRestart").want(t, 200)
	r.expect(t, "reset", "boot Pxe")
	if got := r.get(t, systemURI).value("Boot", "BootSourceOverrideEnabled"); got != "Disabled" {
		t.Errorf("override reads %v after its use", got)
	}
	r.reset(t, "ForceRestart")
	r.expect(t, "reset", "boot None")
	r.acts(t, map[string]int{"boot.set": 1, "boot.used": 1, "power.reset": 2})
}

func TestBootContinuousStaysAndHTTP(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	r.patch(t, systemURI, map[string]any{"Boot": map[string]any{
		"BootSourceOverrideEnabled": "Continuous", "BootSourceOverrideTarget": "UefiHttp", "HttpBootUri": "http://192.0.2.1/boot.efi",
	}}).want(t, 204)
	for range 2 {
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "boot UefiHttp")
	}
	if got := r.State().Boot; got.HTTPBootURI != "http://192.0.2.1/boot.efi" || got.Enabled != "Continuous" {
		t.Errorf("boot %+v", got)
	}
}

func TestPatchIsChecked(t *testing.T) {
	boot := func(name string, value any) map[string]any {
		return map[string]any{"Boot": map[string]any{name: value}}
	}
	attribute := func(name string, value any) map[string]any {
		return map[string]any{"Attributes": map[string]any{name: value}}
	}
	cases := map[string]struct {
		uri  string
		body map[string]any
		want string
	}{
		"target not allowed":   {systemURI, boot("BootSourceOverrideTarget", "Usb"), "PropertyValueNotInList"},
		"enabled not known":    {systemURI, boot("BootSourceOverrideEnabled", "Twice"), "PropertyValueNotInList"},
		"mode of wrong type":   {systemURI, boot("BootSourceOverrideMode", 1), "PropertyValueTypeError"},
		"unknown boot key":     {systemURI, boot("HTTPBootURI", "x"), "PropertyUnknown"},
		"boot order":           {systemURI, boot("BootOrder", []string{}), "PropertyValueNotInList"},
		"boot no object":       {systemURI, map[string]any{"Boot": "Pxe"}, "PropertyValueTypeError"},
		"serial":               {systemURI, map[string]any{"SerialNumber": "X"}, "PropertyNotWritable"},
		"unknown":              {systemURI, map[string]any{"Nope": 1}, "PropertyUnknown"},
		"asset tag number":     {systemURI, map[string]any{"AssetTag": 7}, "PropertyValueTypeError"},
		"locator word":         {systemURI, map[string]any{"LocationIndicatorActive": "on"}, "PropertyValueTypeError"},
		"LED word":             {chassisURI, map[string]any{"IndicatorLED": "Green"}, "PropertyValueNotInList"},
		"LED type":             {chassisURI, map[string]any{"IndicatorLED": true}, "PropertyValueTypeError"},
		"chassis key":          {chassisURI, map[string]any{"LocationIndicatorActive": true}, "PropertyUnknown"},
		"BIOS integer as text": {settingsURI, attribute("Cores", "8"), "PropertyValueTypeError"},
		"BIOS fraction":        {settingsURI, attribute("Cores", 1.5), "PropertyValueTypeError"},
		"BIOS above bound":     {settingsURI, attribute("Cores", 65), "PropertyValueOutOfRange"},
		"BIOS below bound":     {settingsURI, attribute("Cores", -2), "PropertyValueOutOfRange"},
		"BIOS not in list":     {settingsURI, attribute("Smt", "Off"), "PropertyValueNotInList"},
		"BIOS enum as number":  {settingsURI, attribute("Smt", 1), "PropertyValueTypeError"},
		"BIOS bool as text":    {settingsURI, attribute("Quiet", "true"), "PropertyValueTypeError"},
		"BIOS too long":        {settingsURI, attribute("Label", "abcde"), "PropertyValueFormatError"},
		"BIOS read-only":       {settingsURI, attribute("Version", "2"), "PropertyNotWritable"},
		"BIOS unknown":         {settingsURI, attribute("Nope", "x"), "PropertyUnknown"},
		"BIOS nothing":         {settingsURI, map[string]any{}, "PropertyMissing"},
		"BIOS other key":       {settingsURI, map[string]any{"Attributes": map[string]any{"Cores": 8}, "X": 1}, "PropertyUnknown"},
		"apply time not listed": {
			settingsURI, map[string]any{
				"Attributes":                 map[string]any{"Cores": 8},
				"@Redfish.SettingsApplyTime": map[string]any{"ApplyTime": "Immediate"},
			}, "PropertyValueNotInList",
		},
	}
	r := start(t, "Supermicro", redfishtest.Options{})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r.patch(t, c.uri, c.body).want(t, 400, baseID(c.want))
		})
	}
	r.acts(t, map[string]int{})
	// The hidden attribute that the registry knows can be set, and so can the edges.
	r.patch(t, settingsURI, map[string]any{"Attributes": map[string]any{"Label": "abcd", "Cores": -1, "Quiet": false}}).want(t, 200)
}

func baseID(kind string) string { return "Base.1.8." + kind }

func TestLocator(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	r.patch(t, systemURI, map[string]any{"LocationIndicatorActive": true}).want(t, 204)
	r.expect(t, "locator true")
	if got := r.get(t, chassisURI).value("IndicatorLED"); got != "Blinking" {
		t.Errorf("the chassis shows %v", got)
	}
	r.patch(t, chassisURI, map[string]any{"IndicatorLED": "Off"}).want(t, 204)
	r.expect(t, "locator false")
	if r.get(t, systemURI).value("LocationIndicatorActive") != false || r.State().Locator {
		t.Error("the light is still on")
	}
	r.acts(t, map[string]int{"locator.set": 2})
	r.SetLocator(true)
	if !r.State().Locator || r.Acts()["locator.set"] != 2 {
		t.Error("SetLocator must set and not count")
	}
}

func TestSettersAndAssetTag(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	r.SetBoot(redfishtest.Boot{Target: "Hdd", Enabled: "Once", Mode: "UEFI"})
	if got := r.get(t, systemURI).value("Boot", "BootSourceOverrideTarget"); got != "Hdd" {
		t.Errorf("target %v", got)
	}
	if err := r.SetAttribute("Cores", 16); err != nil {
		t.Fatal(err)
	}
	if got := r.get(t, biosURI).value("Attributes", "Cores"); got != 16.0 {
		t.Errorf("cores %v", got)
	}
	r.patch(t, systemURI, map[string]any{"AssetTag": "R12"}).want(t, 204)
	if got := r.get(t, systemURI).value("AssetTag"); got != "R12" {
		t.Errorf("asset tag %v", got)
	}
	r.acts(t, map[string]int{"property.set": 1})
}

func TestETag(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	a := r.get(t, systemURI)
	tag := a.header.Get("ETag")
	if a.value("@odata.etag") != tag {
		t.Errorf("header %s, body %v", tag, a.value("@odata.etag"))
	}
	if again := r.get(t, systemURI).header.Get("ETag"); again != tag {
		t.Errorf("unchanged, yet %s became %s", tag, again)
	}
	body := map[string]any{"LocationIndicatorActive": true}
	r.patch(t, systemURI, body, "If-Match", `"other"`).want(t, 412, "PreconditionFailed")
	r.patch(t, systemURI, body, "If-Match", tag).want(t, 204)
	r.patch(t, systemURI, body, "If-Match", tag).want(t, 412)
	r.patch(t, systemURI, body, "If-Match", "*").want(t, 204)
}

func TestCounts(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	r.get(t, systemURI)
	r.get(t, systemURI)
	if got := r.Requests()["GET "+systemURI]; got != 2 {
		t.Errorf("%d requests counted", got)
	}
	if r.MaxInFlight() != 1 {
		t.Errorf("%d in flight at most", r.MaxInFlight())
	}
	r.patch(t, systemURI, pxeOnce())
	log := r.ActLog()
	if len(log) != 1 || log[0].Name != "boot.set" || log[0].URI != systemURI || log[0].Detail != "Pxe Once UEFI" || log[0].Time.IsZero() {
		t.Errorf("log %+v", log)
	}
}

func TestStartRefuses(t *testing.T) {
	noReset := fixtureTree("")
	noReset[systemURI] = json.RawMessage(`{"Id":"1"}`)
	cases := map[string]redfishtest.Options{
		"empty tree":    {},
		"no host":       {Tree: noReset},
		"unknown fault": {Tree: fixtureTree(""), Faults: []string{"nonsense"}},
		"bad address":   {Tree: fixtureTree(""), Listen: "nowhere:x"},
	}
	for name, opts := range cases {
		t.Run(name, func(t *testing.T) {
			if bmc, err := redfishtest.Start(t.Context(), opts); err == nil {
				_ = bmc.Close()
				t.Error("it started")
			}
		})
	}
}
