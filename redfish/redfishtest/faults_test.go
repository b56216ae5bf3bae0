package redfishtest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// faultCase shows one fault at work. The rig is fresh, without the fault.
type faultCase struct {
	vendor string
	run    func(*testing.T, *rig)
}

func TestEveryFaultHasATest(t *testing.T) {
	for _, f := range redfishtest.Faults() {
		if _, ok := faultCases[f.Name]; !ok {
			t.Errorf("fault %s has no test", f.Name)
		}
		if f.Doc == "" || f.Seen == "" {
			t.Errorf("fault %s does not say what it does and where it was seen", f.Name)
		}
	}
	if got := len(redfishtest.FaultNames()); got != len(faultCases) {
		t.Errorf("%d faults, %d cases", got, len(faultCases))
	}
}

func TestFaults(t *testing.T) {
	for name, c := range faultCases {
		t.Run(name, func(t *testing.T) {
			c.run(t, start(t, c.vendor, redfishtest.Options{}))
		})
	}
}

var faultCases = map[string]faultCase{
	"reset-connection": {run: func(t *testing.T, r *rig) {
		r.fault(t, "reset-connection=3")
		r.get(t, systemURI).want(t, 200)
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
		if err := r.broken(t, http.MethodPatch, systemURI, pxeOnce()); timedOut(err) {
			t.Errorf("it hung: %v", err)
		}
		r.acts(t, map[string]int{"boot.set": 1})
	}},
	"lost-response": {run: func(t *testing.T, r *rig) {
		r.fault(t, "lost-response=power.on*1")
		r.SetPower(false)
		r.patch(t, systemURI, pxeOnce()).want(t, 204) // another act is answered
		if err := r.broken(t, http.MethodPost, resetURI, map[string]any{"ResetType": "On"}); timedOut(err) {
			t.Errorf("it hung: %v", err)
		}
		r.expect(t, "power true", "boot Pxe")
		r.acts(t, map[string]int{"power.on": 1, "boot.set": 1, "boot.used": 1})
		r.reset(t, "On").want(t, 409)
	}},
	"hang-after": {run: func(t *testing.T, r *rig) {
		r.fault(t, "hang-after")
		if err := r.broken(t, http.MethodPatch, systemURI, pxeOnce()); !timedOut(err) {
			t.Errorf("no hang: %v", err)
		}
		r.acts(t, map[string]int{"boot.set": 1})
	}},
	"lost-effect": {run: func(t *testing.T, r *rig) {
		r.fault(t, "lost-effect=power.off*1")
		r.reset(t, "ForceOff").want(t, 204)
		if got := r.State().Power; got != "On" {
			t.Errorf("power %s", got)
		}
		if log := r.ActLog(); len(log) != 1 || !log[0].Lost {
			t.Errorf("log %+v", log)
		}
		r.acts(t, map[string]int{})
		r.reset(t, "ForceOff").want(t, 204)
		r.expect(t, "power false")
	}},
	"slow": {run: func(t *testing.T, r *rig) {
		r.fault(t, "slow=120ms")
		begin := time.Now()
		r.get(t, "/redfish/v1").want(t, 200)
		if took := time.Since(begin); took < 120*time.Millisecond {
			t.Errorf("answered after %v", took)
		}
	}},
	"hang": {run: func(t *testing.T, r *rig) {
		r.fault(t, "hang="+systemURI)
		r.get(t, chassisURI).want(t, 200)
		if err := r.broken(t, http.MethodPatch, systemURI, pxeOnce()); !timedOut(err) {
			t.Errorf("no hang: %v", err)
		}
		r.acts(t, map[string]int{})
	}},
	"not-ready": {run: func(t *testing.T, r *rig) {
		r.fault(t, "not-ready*2")
		r.get(t, "/redfish/v1").want(t, 503, "ServiceTemporarilyUnavailable")
		if a := r.get(t, systemURI).want(t, 503); a.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
		}
		r.get(t, systemURI).want(t, 200)
		dell := start(t, "Dell", redfishtest.Options{Faults: []string{"not-ready"}})
		dell.get(t, systemURI).want(t, 400, "SWC0700")
	}},
	"html-error": {run: func(t *testing.T, r *rig) {
		r.fault(t, "html-error*1")
		if a := r.get(t, systemURI).want(t, 504, "<html>"); a.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("content type %s", a.header.Get("Content-Type"))
		}
		r.get(t, systemURI).want(t, 200)
	}},
	"gzip-always": {run: func(t *testing.T, r *rig) {
		r.fault(t, "gzip-always")
		a := r.do(t, http.MethodGet, systemURI, nil, "Accept-Encoding", "identity").want(t, 200)
		zr, err := gzip.NewReader(bytes.NewReader(a.raw))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(zr); err != nil || !json.Valid(plain) {
			t.Errorf("%v: %s", err, plain)
		}
	}},

	"session-limit": {run: func(t *testing.T, r *rig) {
		r.fault(t, "session-limit")
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 503, "SessionLimitExceeded")
		r.get(t, systemURI).want(t, 200) // Basic still works
	}},
	"session-expires": {run: func(t *testing.T, r *rig) {
		a := r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201)
		r.basic, r.token = false, a.header.Get("X-Auth-Token")
		r.fault(t, "session-expires*1")
		r.get(t, systemURI).want(t, 401, "<html>")
		r.get(t, systemURI).want(t, 401, "NoValidSession")
		r.acts(t, map[string]int{"session.create": 1, "session.expire": 1})
	}},
	"auth-fails": {run: func(t *testing.T, r *rig) {
		a := r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201)
		r.fault(t, "auth-fails")
		r.get(t, systemURI).want(t, 401)
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 401)
		r.token = a.header.Get("X-Auth-Token")
		r.get(t, systemURI).want(t, 401)
		if r.Unauthorized() != 3 {
			t.Errorf("%d refusals", r.Unauthorized())
		}
	}},
	"lockout": {run: func(t *testing.T, r *rig) {
		r.fault(t, "lockout=2")
		wrong := map[string]any{"UserName": "admin", "Password": "wrong"}
		r.do(t, http.MethodPost, sessionsURI, wrong).want(t, 401)
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201) // one is forgiven
		r.do(t, http.MethodPost, sessionsURI, wrong).want(t, 401)
		r.do(t, http.MethodPost, sessionsURI, wrong).want(t, 401)
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 401)
	}},
	"basic-refused": {run: func(t *testing.T, r *rig) {
		r.fault(t, "basic-refused")
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 401)
		r.basic = false
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201)
	}},
	"password-change-required": {run: func(t *testing.T, r *rig) {
		r.fault(t, "password-change-required")
		a := r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201, "PasswordChangeRequired")
		r.basic, r.token = false, a.header.Get("X-Auth-Token")
		a = r.get(t, systemURI).want(t, 403, "PasswordChangeRequired")
		account := "/redfish/v1/AccountService/Accounts/admin"
		if !bytes.Contains(a.raw, []byte(account)) {
			t.Errorf("the account is not named: %s", a.raw)
		}
		r.get(t, account).want(t, 200)
		r.patch(t, account, map[string]any{"Password": "better"}).want(t, 204)
		r.get(t, systemURI).want(t, 200)
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 401)
		r.acts(t, map[string]int{"session.create": 1, "account.password": 1})
	}},

	"na-numbers": {run: func(t *testing.T, r *rig) {
		r.fault(t, "na-numbers")
		a := r.get(t, dimmURI)
		if a.value("CapacityMiB") != "N/A" || a.value("OperatingSpeedMhz") != "N/A" && a.value("OperatingSpeedMhz") != "" {
			t.Errorf("%s", a.raw)
		}
		if a.value("MemberId") != 0.0 {
			t.Errorf("MemberId %v is no number", a.value("MemberId"))
		}
		if n := r.get(t, systemURI+"/Memory").value("Members@odata.count"); n != 1.0 {
			t.Errorf("the count is %v", n)
		}
	}},
	"string-numbers": {run: func(t *testing.T, r *rig) {
		r.fault(t, "string-numbers")
		if got := r.get(t, dimmURI).value("CapacityMiB"); got != "65536" {
			t.Errorf("capacity %v", got)
		}
	}},
	"empty-arrays-for-objects": {run: func(t *testing.T, r *rig) {
		r.fault(t, "empty-arrays-for-objects")
		a := r.get(t, dimmURI)
		if list, ok := a.value("MemoryLocation").([]any); !ok || len(list) != 0 {
			t.Errorf("MemoryLocation %v", a.value("MemoryLocation"))
		}
		if list, ok := a.value("Location", "PartLocation").([]any); !ok || len(list) != 1 {
			t.Errorf("PartLocation %v", a.value("Location", "PartLocation"))
		}
	}},
	"missing-status": {run: func(t *testing.T, r *rig) {
		r.fault(t, "missing-status")
		if got := r.get(t, dimmURI).value("Status"); got != nil {
			t.Errorf("Status %v", got)
		}
	}},
	"null-attributes": {run: func(t *testing.T, r *rig) {
		r.fault(t, "null-attributes")
		a := r.get(t, biosURI).want(t, 200, `"Attributes":null`)
		if a.value("AttributeRegistry") == nil {
			t.Errorf("%s", a.raw)
		}
	}},
	"invalid-json": {run: func(t *testing.T, r *rig) {
		r.fault(t, "invalid-json")
		if a := r.get(t, dimmURI).want(t, 200); json.Valid(a.raw) {
			t.Errorf("valid: %s", a.raw)
		}
		r.fault(t, "invalid-json="+chassisURI)
		if !json.Valid(r.get(t, dimmURI).raw) || json.Valid(r.get(t, chassisURI).raw) {
			t.Error("not the resource that was named")
		}
	}},

	"power-stuck": {run: func(t *testing.T, r *rig) {
		r.fault(t, "power-stuck")
		r.reset(t, "ForceOff").want(t, 204)
		if got := r.get(t, systemURI).value("PowerState"); got != "On" {
			t.Errorf("power %v", got)
		}
		r.acts(t, map[string]int{})
	}},
	"graceful-stuck": {run: func(t *testing.T, r *rig) {
		r.fault(t, "graceful-stuck")
		r.reset(t, "GracefulShutdown").want(t, 204)
		r.reset(t, "GracefulRestart").want(t, 204)
		if st := r.State(); st.Power != "On" || st.POST {
			t.Errorf("state %+v", st)
		}
		r.reset(t, "ForceOff").want(t, 204)
		r.expect(t, "power false")
		r.acts(t, map[string]int{"power.request": 2, "power.off": 1})
	}},
	"stale-power": {run: func(t *testing.T, r *rig) {
		late := start(t, "", redfishtest.Options{PowerDelay: time.Hour, Faults: []string{"stale-power"}})
		late.reset(t, "ForceOff").want(t, 204)
		if got := late.get(t, systemURI).value("PowerState"); got != "On" || late.State().Power != "PoweringOff" {
			t.Errorf("shown %v, is %s", got, late.State().Power)
		}
		r.fault(t, "stale-power")
		r.reset(t, "ForceOff").want(t, 204)
		r.expect(t, "power false")
		if got := r.get(t, systemURI).value("PowerState"); got != "Off" {
			t.Errorf("power %v in the end", got)
		}
	}},

	"patch-ignored": {vendor: "Supermicro", run: func(t *testing.T, r *rig) {
		r.fault(t, "patch-ignored")
		r.patch(t, systemURI, map[string]any{"LocationIndicatorActive": true}).want(t, 200)
		r.patch(t, settingsURI, smtOff()).want(t, 200)
		if st := r.State(); st.Locator || len(st.Pending) != 0 {
			t.Errorf("state %+v", st)
		}
		r.reset(t, "ForceRestart").want(t, 200) // an action is none
		r.expect(t, "reset", "boot None")
		r.acts(t, map[string]int{"power.reset": 1})
	}},
	"boot-ignored": {vendor: "HPE", run: func(t *testing.T, r *rig) {
		r.fault(t, "boot-ignored")
		r.patch(t, systemURI, pxeOnce()).want(t, 200)
		if got := r.get(t, systemURI).value("Boot", "BootSourceOverrideEnabled"); got != "Disabled" {
			t.Errorf("override %v", got)
		}
	}},
	"boot-once-ignored": {run: func(t *testing.T, r *rig) {
		r.fault(t, "boot-once-ignored")
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "boot None")
		r.acts(t, map[string]int{"boot.set": 1, "power.reset": 1})
	}},
	"boot-sticky": {run: func(t *testing.T, r *rig) {
		r.fault(t, "boot-sticky")
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
		for range 2 {
			r.reset(t, "ForceRestart")
			r.expect(t, "reset", "boot Pxe")
		}
	}},
	"mode-required": {run: func(t *testing.T, r *rig) {
		r.fault(t, "mode-required")
		r.patch(t, systemURI, pxeWithoutMode()).want(t, 400, "PropertyMissing", "BootSourceOverrideMode")
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
	}},
	"mode-dropped": {run: func(t *testing.T, r *rig) {
		r.fault(t, "mode-dropped")
		r.patch(t, systemURI, pxeWithoutMode()).want(t, 204)
		if got := r.State().Boot.Mode; got != "Legacy" {
			t.Errorf("mode %s", got)
		}
	}},
	"mode-refused": {run: func(t *testing.T, r *rig) {
		r.fault(t, "mode-refused")
		r.patch(t, systemURI, pxeOnce()).want(t, 400, "PropertyNotWritable", "BootSourceOverrideMode")
		r.patch(t, systemURI, pxeWithoutMode()).want(t, 204)
	}},
	"boot-future-state": {vendor: "AMI", run: func(t *testing.T, r *rig) {
		r.fault(t, "boot-future-state")
		r.patch(t, systemURI, pxeOnce()).want(t, 400, "OperationSupportedInFutureStateURI", futureURI)
		r.patch(t, futureURI, pxeOnce()).want(t, 204)
		if now := r.get(t, systemURI).value("Boot", "BootSourceOverrideTarget"); now != "None" {
			t.Errorf("the system shows %v already", now)
		}
		if next := r.get(t, futureURI).value("Boot", "BootSourceOverrideTarget"); next != "Pxe" {
			t.Errorf("the settings object shows %v", next)
		}
		r.reset(t, "ForceRestart").want(t, 202)
		r.expect(t, "reset", "boot Pxe")
	}},
	"post-locked": {run: func(t *testing.T, r *rig) {
		late := start(t, "HPE", redfishtest.Options{POSTDelay: time.Hour, Faults: []string{"post-locked"}})
		late.patch(t, systemURI, pxeOnce()).want(t, 200)
		late.reset(t, "ForceRestart")
		late.patch(t, systemURI, pxeOnce()).want(t, 400, "UnableToModifyDuringSystemPOST")
		r.fault(t, "post-locked")
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
	}},
	"error-but-applied": {vendor: "Dell", run: func(t *testing.T, r *rig) {
		r.fault(t, "error-but-applied")
		r.patch(t, systemURI, pxeOnce()).want(t, 400, "GeneralError")
		if got := r.get(t, systemURI).value("Boot", "BootSourceOverrideTarget"); got != "Pxe" {
			t.Errorf("target %v", got)
		}
	}},

	"bios-ignored": {vendor: "HPE", run: func(t *testing.T, r *rig) {
		r.fault(t, "bios-ignored")
		r.patch(t, settingsURI, smtOff()).want(t, 200, "SystemResetRequired")
		if got := r.State().Pending; len(got) != 0 {
			t.Errorf("pending %v", got)
		}
	}},
	"bios-early": {vendor: "Dell", run: func(t *testing.T, r *rig) {
		r.fault(t, "bios-early")
		r.patch(t, settingsURI, onReset(smtOff())).want(t, 202)
		if got := r.get(t, biosURI).value("Attributes", "Smt"); got != "Disabled" || r.State().BIOS["Smt"] != "Enabled" {
			t.Errorf("shown %v, is %v", got, r.State().BIOS["Smt"])
		}
	}},
	"apply-time-refused": {vendor: "Supermicro", run: func(t *testing.T, r *rig) {
		r.fault(t, "apply-time-refused")
		r.patch(t, settingsURI, onReset(smtOff())).want(t, 400, "PropertyUnknown", "SettingsApplyTime")
		r.patch(t, settingsURI, smtOff()).want(t, 200)
	}},
	"bios-task": {vendor: "Lenovo", run: func(t *testing.T, r *rig) {
		r.fault(t, "bios-task")
		a := r.patch(t, settingsURI, smtOff()).want(t, 202)
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "bios map[Smt:Disabled]", "boot None")
		if got := r.get(t, a.header.Get("Location")).value("TaskState"); got != "Completed" {
			t.Errorf("task %v", got)
		}
	}},
	"location-in-body": {vendor: "Dell", run: func(t *testing.T, r *rig) {
		r.fault(t, "location-in-body")
		a := r.patch(t, settingsURI, onReset(smtOff())).want(t, 202)
		uri, _ := a.value("@odata.id").(string)
		if a.header.Get("Location") != "" || !strings.Contains(uri, "/JID_") {
			t.Errorf("header %q, body %q", a.header.Get("Location"), uri)
		}
		r.get(t, uri).want(t, 200)
	}},
	"task-vanishes": {vendor: "Dell", run: func(t *testing.T, r *rig) {
		r.fault(t, "task-vanishes")
		job := r.patch(t, settingsURI, onReset(smtOff())).want(t, 202).header.Get("Location")
		r.get(t, job).want(t, 200)
		r.get(t, job).want(t, 404, "ResourceMissingAtURI")
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "bios map[Smt:Disabled]", "boot None")
	}},
	"task-completed-critical": {vendor: "Dell", run: func(t *testing.T, r *rig) {
		r.fault(t, "task-completed-critical")
		job := r.patch(t, settingsURI, onReset(smtOff())).want(t, 202).header.Get("Location")
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "boot None")
		a := r.get(t, job).want(t, 200, "JCP052")
		if a.value("TaskState") != "Completed" || a.value("TaskStatus") != "Critical" || a.value("PercentComplete") != 100.0 {
			t.Errorf("task %s", a.raw)
		}
		if got := r.State().BIOS["Smt"]; got != "Enabled" {
			t.Errorf("applied all the same: %v", got)
		}
	}},

	"etag-required": {vendor: "AMI", run: func(t *testing.T, r *rig) {
		r.fault(t, "etag-required")
		r.patch(t, systemURI, pxeOnce()).want(t, 428, "PreconditionHeaderMissing")
		r.patch(t, systemURI, pxeOnce(), "If-Match", r.get(t, systemURI).header.Get("ETag")).want(t, 204)
	}},
	"etag-refused": {run: func(t *testing.T, r *rig) {
		r.fault(t, "etag-refused")
		r.patch(t, systemURI, pxeOnce(), "If-Match", r.get(t, systemURI).header.Get("ETag")).want(t, 412)
		r.patch(t, systemURI, pxeOnce(), "If-Match", "*").want(t, 204)
	}},
	"etag-weak-refused": {run: func(t *testing.T, r *rig) {
		r.fault(t, "etag-weak-refused")
		tag := r.get(t, systemURI).header.Get("ETag")
		if !strings.HasPrefix(tag, "W/") {
			t.Fatalf("the tag %s is not weak", tag)
		}
		r.patch(t, systemURI, pxeOnce(), "If-Match", tag).want(t, 412)
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
	}},
	"etag-gzip": {run: func(t *testing.T, r *rig) {
		r.fault(t, "etag-gzip")
		tag := r.get(t, systemURI).header.Get("ETag")
		r.patch(t, systemURI, pxeOnce(), "If-Match", tag).want(t, 412)
		r.patch(t, systemURI, pxeOnce(), "If-Match", strings.Replace(tag, "-gzip", "", 1)).want(t, 204)
	}},
	"etag-refused-on-post": {run: func(t *testing.T, r *rig) {
		r.fault(t, "etag-refused-on-post")
		body := map[string]any{"ResetType": "ForceOff"}
		r.do(t, http.MethodPost, resetURI, body, "If-Match", "*").want(t, 412)
		r.do(t, http.MethodPost, resetURI, body).want(t, 204)
	}},
}

func login() map[string]any {
	return map[string]any{"UserName": "admin", "Password": "password"}
}

func pxeWithoutMode() map[string]any {
	return map[string]any{"Boot": map[string]any{
		"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe",
	}}
}

func TestSetFaultRefuses(t *testing.T) {
	r := start(t, "", redfishtest.Options{})
	for _, spec := range []string{
		"nonsense", "", "slow=soon", "slow=-1s", "reset-connection=0", "reset-connection=x",
		"power-stuck=1", "not-ready*0", "not-ready*many",
	} {
		if err := r.SetFault(spec, true); err == nil {
			t.Errorf("%q was taken", spec)
		}
	}
	if on := r.ActiveFaults(); len(on) != 0 {
		t.Errorf("on: %v", on)
	}
}

func TestFaultsEnd(t *testing.T) {
	r := start(t, "", redfishtest.Options{Faults: []string{"boot-ignored*2", "power-stuck"}})
	if on := r.ActiveFaults(); !slices.Equal(on, []string{"boot-ignored", "power-stuck"}) {
		t.Errorf("on: %v", on)
	}
	for range 3 {
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
	}
	r.acts(t, map[string]int{"boot.set": 1})
	if err := r.SetFault("power-stuck", false); err != nil {
		t.Fatal(err)
	}
	r.reset(t, "ForceOff").want(t, 204)
	r.expect(t, "power false")
}

func FuzzSetFault(f *testing.F) {
	for _, fault := range redfishtest.Faults() {
		f.Add(fault.Name + "=" + fault.Default + "*1")
	}
	tree := fixtureTree("")
	f.Fuzz(func(t *testing.T, spec string) {
		bmc, err := redfishtest.Start(t.Context(), redfishtest.Options{Tree: tree, Faults: []string{spec}})
		if err != nil {
			return
		}
		defer bmc.Close()
		name, _, _ := strings.Cut(spec, "=")
		name, _, _ = strings.Cut(name, "*")
		if !slices.Equal(bmc.ActiveFaults(), []string{name}) {
			t.Errorf("%q switched on %v", spec, bmc.ActiveFaults())
		}
	})
}
