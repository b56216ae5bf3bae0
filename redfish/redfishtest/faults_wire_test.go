package redfishtest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// wireFaults are those of transport, session and JSON.
var wireFaults = map[string]faultCase{
	"reset-connection": {run: func(r *rig) {
		t := r.t
		r.fault(t, "reset-connection=3")
		r.get(t, systemURI).want(t, 200)
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
		if err := r.broken(t, http.MethodPatch, systemURI, pxeOnce()); timedOut(err) {
			t.Errorf("it hung: %v", err)
		}
		r.acts(t, map[string]int{"boot.set": 1})
	}},
	"lost-response": {run: func(r *rig) {
		t := r.t
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
	"hang-after": {run: func(r *rig) {
		t := r.t
		r.fault(t, "hang-after")
		if err := r.broken(t, http.MethodPatch, systemURI, pxeOnce()); !timedOut(err) {
			t.Errorf("no hang: %v", err)
		}
		r.acts(t, map[string]int{"boot.set": 1})
	}},
	"lost-effect": {run: func(r *rig) {
		t := r.t
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
	"slow": {run: func(r *rig) {
		t := r.t
		r.fault(t, "slow=120ms")
		begin := time.Now()
		r.get(t, "/redfish/v1").want(t, 200)
		if took := time.Since(begin); took < 120*time.Millisecond {
			t.Errorf("answered after %v", took)
		}
	}},
	"hang": {run: func(r *rig) {
		t := r.t
		r.fault(t, "hang="+systemURI)
		r.get(t, chassisURI).want(t, 200)
		if err := r.broken(t, http.MethodPatch, systemURI, pxeOnce()); !timedOut(err) {
			t.Errorf("no hang: %v", err)
		}
		r.acts(t, map[string]int{})
	}},
	"sick": {run: func(r *rig) {
		t := r.t
		r.fault(t, "sick")
		r.get(t, systemURI).want(t, 500, "InternalError")
		r.get(t, "/redfish/v1").want(t, 200)
		r.do(t, http.MethodPost, managerResetURI, map[string]any{}).want(t, 204)
		r.eventually("it is well", func() bool { return len(r.ActiveFaults()) == 0 })
		r.acts(t, map[string]int{"bmc.reset": 1})
	}},
	"sick-for-good": {run: func(r *rig) {
		t := r.t
		r.fault(t, "sick-for-good")
		r.get(t, systemURI).want(t, 500)
		r.do(t, http.MethodPost, managerResetURI, map[string]any{}).want(t, 204)
		r.eventually("it does not answer", func() bool {
			_, err := r.try(t.Context(), http.MethodGet, "/redfish/v1", nil)
			return err != nil
		})
		if _, err := r.try(t.Context(), http.MethodGet, "/redfish/v1", nil); err == nil {
			t.Error("it came back")
		}
	}},
	"not-ready": {run: func(r *rig) {
		t := r.t
		r.fault(t, "not-ready*2")
		r.get(t, "/redfish/v1").want(t, 503, "ServiceTemporarilyUnavailable")
		if a := r.get(t, systemURI).want(t, 503); a.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
		}
		r.get(t, systemURI).want(t, 200)
		dell := start(t, "Dell", redfishtest.Options{Faults: []string{"not-ready"}})
		dell.get(t, systemURI).want(t, 400, "SWC0700")
	}},
	"expand-ignored": {run: func(r *rig) {
		t := r.t
		first := func(uri string) any {
			members, _ := r.get(t, uri).want(t, 200).value("Members").([]any)
			member, _ := members[0].(map[string]any)
			return member["CapacityMiB"]
		}
		memory := systemURI + "/Memory?$expand=.($levels=1)"
		if got := first(memory); got != 65536.0 {
			t.Errorf("expanded member has %v", got)
		}
		r.fault(t, "expand-ignored")
		if got := first(memory); got != nil {
			t.Errorf("a link has %v", got)
		}
	}},
	"expand-refused": {run: func(r *rig) {
		t := r.t
		r.fault(t, "expand-refused="+systemURI+"/Memory")
		r.get(t, systemURI+"/Memory?$expand=.").want(t, 400, "QueryNotSupportedOnResource")
		r.get(t, systemURI+"/Memory").want(t, 200)
		r.get(t, "/redfish/v1/Systems?$expand=.").want(t, 200)
	}},
	"html-error": {run: func(r *rig) {
		t := r.t
		r.fault(t, "html-error*1")
		if a := r.get(t, systemURI).want(t, 504, "<html>"); a.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("content type %s", a.header.Get("Content-Type"))
		}
		r.get(t, systemURI).want(t, 200)
	}},
	"gzip-always": {run: func(r *rig) {
		t := r.t
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

	"session-limit": {run: func(r *rig) {
		t := r.t
		r.fault(t, "session-limit")
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 503, "SessionLimitExceeded")
		r.get(t, systemURI).want(t, 200) // Basic still works
	}},
	"session-expires": {run: func(r *rig) {
		t := r.t
		a := r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201)
		r.basic, r.token = false, a.header.Get("X-Auth-Token")
		r.fault(t, "session-expires*1")
		r.get(t, systemURI).want(t, 401, "<html>")
		r.get(t, systemURI).want(t, 401, "NoValidSession")
		r.acts(t, map[string]int{"session.create": 1, "session.expire": 1})
	}},
	"gzip-required": {run: func(r *rig) {
		t := r.t
		r.fault(t, "gzip-required")
		r.do(t, http.MethodGet, systemURI, nil, "Accept-Encoding", "identity").want(t, 406)
		r.get(t, systemURI).want(t, 200)
	}},
	"session-expires-cut": {run: func(r *rig) {
		t := r.t
		a := r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201)
		r.basic, r.token = false, a.header.Get("X-Auth-Token")
		r.fault(t, "session-expires-cut*1")
		if _, err := r.try(t.Context(), http.MethodGet, systemURI, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v, want a body that breaks off", err)
		}
		r.get(t, systemURI).want(t, 401, "NoValidSession")
		r.acts(t, map[string]int{"session.create": 1, "session.expire": 1})
	}},
	"login-forbidden": {run: func(r *rig) {
		t := r.t
		r.fault(t, "login-forbidden*1")
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 403, "<html>")
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201)
		if r.Unauthorized() != 1 {
			t.Errorf("%d refusals", r.Unauthorized())
		}
	}},
	"auth-fails": {run: func(r *rig) {
		t := r.t
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
	"lockout": {run: func(r *rig) {
		t := r.t
		r.fault(t, "lockout=2")
		wrong := map[string]any{"UserName": "admin", "Password": "wrong"}
		r.do(t, http.MethodPost, sessionsURI, wrong).want(t, 401)
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201) // one is forgiven
		r.do(t, http.MethodPost, sessionsURI, wrong).want(t, 401)
		r.do(t, http.MethodPost, sessionsURI, wrong).want(t, 401)
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 401)
	}},
	"basic-refused": {run: func(r *rig) {
		t := r.t
		r.fault(t, "basic-refused")
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 401)
		r.basic = false
		r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201)
	}},
	"password-change-required": {run: func(r *rig) {
		t := r.t
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

	"na-numbers": {run: func(r *rig) {
		t := r.t
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
	"string-numbers": {run: func(r *rig) {
		t := r.t
		r.fault(t, "string-numbers")
		if got := r.get(t, dimmURI).value("CapacityMiB"); got != "65536" {
			t.Errorf("capacity %v", got)
		}
	}},
	"empty-arrays-for-objects": {run: func(r *rig) {
		t := r.t
		r.fault(t, "empty-arrays-for-objects")
		a := r.get(t, dimmURI)
		if list, ok := a.value("MemoryLocation").([]any); !ok || len(list) != 0 {
			t.Errorf("MemoryLocation %v", a.value("MemoryLocation"))
		}
		if list, ok := a.value("Location", "PartLocation").([]any); !ok || len(list) != 1 {
			t.Errorf("PartLocation %v", a.value("Location", "PartLocation"))
		}
	}},
	"missing-status": {run: func(r *rig) {
		t := r.t
		r.fault(t, "missing-status")
		if got := r.get(t, dimmURI).value("Status"); got != nil {
			t.Errorf("Status %v", got)
		}
	}},
	"null-attributes": {run: func(r *rig) {
		t := r.t
		r.fault(t, "null-attributes")
		a := r.get(t, biosURI).want(t, 200, `"Attributes":null`)
		if a.value("AttributeRegistry") == nil {
			t.Errorf("%s", a.raw)
		}
	}},
	"invalid-json": {run: func(r *rig) {
		t := r.t
		r.fault(t, "invalid-json")
		if a := r.get(t, dimmURI).want(t, 200); json.Valid(a.raw) {
			t.Errorf("valid: %s", a.raw)
		}
		r.fault(t, "invalid-json="+chassisURI)
		if !json.Valid(r.get(t, dimmURI).raw) || json.Valid(r.get(t, chassisURI).raw) {
			t.Error("not the resource that was named")
		}
	}},
}

// eventually waits for what a BMC does behind its answer.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		if ok() {
			return
		}
		<-tick.C
	}
	r.t.Errorf("never: %s", what)
}
