package redfishtest_test

import (
	"net/http"
	"strings"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// machineFaults are those of power, boot, BIOS, tasks and preconditions.
var machineFaults = map[string]faultCase{
	"power-stuck": {run: func(r *rig) {
		t := r.t
		r.fault(t, "power-stuck")
		r.reset(t, "ForceOff").want(t, 204)
		if got := r.get(t, systemURI).value("PowerState"); got != "On" {
			t.Errorf("power %v", got)
		}
		r.acts(t, map[string]int{})
	}},
	"graceful-stuck": {run: func(r *rig) {
		t := r.t
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
	"stale-power": {run: func(r *rig) {
		t := r.t
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

	"patch-ignored": {vendor: "Supermicro", run: func(r *rig) {
		t := r.t
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
	"boot-ignored": {vendor: "HPE", run: func(r *rig) {
		t := r.t
		r.fault(t, "boot-ignored")
		r.patch(t, systemURI, pxeOnce()).want(t, 200)
		if got := r.get(t, systemURI).value("Boot", "BootSourceOverrideEnabled"); got != "Disabled" {
			t.Errorf("override %v", got)
		}
	}},
	"boot-once-ignored": {run: func(r *rig) {
		t := r.t
		r.fault(t, "boot-once-ignored")
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "boot None")
		r.acts(t, map[string]int{"boot.set": 1, "power.reset": 1})
	}},
	"boot-sticky": {run: func(r *rig) {
		t := r.t
		r.fault(t, "boot-sticky")
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
		for range 2 {
			r.reset(t, "ForceRestart")
			r.expect(t, "reset", "boot Pxe")
		}
	}},
	"mode-required": {run: func(r *rig) {
		t := r.t
		r.fault(t, "mode-required")
		r.patch(t, systemURI, pxeWithoutMode()).want(t, 400, "PropertyMissing", "BootSourceOverrideMode")
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
	}},
	"mode-dropped": {run: func(r *rig) {
		t := r.t
		r.fault(t, "mode-dropped")
		r.patch(t, systemURI, pxeWithoutMode()).want(t, 204)
		if got := r.State().Boot.Mode; got != "Legacy" {
			t.Errorf("mode %s", got)
		}
	}},
	"mode-refused": {run: func(r *rig) {
		t := r.t
		r.fault(t, "mode-refused")
		r.patch(t, systemURI, pxeOnce()).want(t, 400, "PropertyNotWritable", "BootSourceOverrideMode")
		r.patch(t, systemURI, pxeWithoutMode()).want(t, 204)
	}},
	"boot-future-state": {vendor: "AMI", run: func(r *rig) {
		t := r.t
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
	"post-locked": {run: func(r *rig) {
		t := r.t
		late := start(t, "HPE", redfishtest.Options{POSTDelay: time.Hour, Faults: []string{"post-locked"}})
		late.patch(t, systemURI, pxeOnce()).want(t, 200)
		late.reset(t, "ForceRestart")
		late.patch(t, systemURI, pxeOnce()).want(t, 400, "UnableToModifyDuringSystemPOST")
		r.fault(t, "post-locked")
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
	}},
	"uri-refused": {vendor: "HPE", run: func(r *rig) {
		t := r.t
		r.fault(t, "uri-refused")
		body := map[string]any{"Boot": map[string]any{"BootSourceOverrideTarget": "UefiHttp", "HttpBootUri": "http://192.0.2.1/a.efi"}}
		r.patch(t, systemURI, body).want(t, 400, "PropertyNotWritableOrUnknown")
		r.patch(t, systemURI, pxeOnce()).want(t, 200)
	}},
	"target-refused": {vendor: "HPE", run: func(r *rig) {
		t := r.t
		r.fault(t, "target-refused")
		r.patch(t, systemURI, pxeOnce()).want(t, 400, "UnsupportedOperation")
		body := map[string]any{"Boot": map[string]any{"BootSourceOverrideTarget": "Hdd"}}
		r.patch(t, systemURI, body).want(t, 200)
	}},
	"lockdown": {vendor: "Dell", run: func(r *rig) {
		t := r.t
		r.fault(t, "lockdown")
		r.patch(t, systemURI, pxeOnce()).want(t, 403, "SYS406")
		r.patch(t, settingsURI, onReset(smtOff())).want(t, 403, "SYS406")
		r.do(t, http.MethodPost, jobsURI, map[string]any{"TargetSettingsURI": settingsURI}).want(t, 403, "SYS406")
		r.reset(t, "ForceOff")
	}},
	"error-but-applied": {vendor: "Dell", run: func(r *rig) {
		t := r.t
		r.fault(t, "error-but-applied")
		r.patch(t, systemURI, pxeOnce()).want(t, 400, "GeneralError")
		if got := r.get(t, systemURI).value("Boot", "BootSourceOverrideTarget"); got != "Pxe" {
			t.Errorf("target %v", got)
		}
	}},

	"bios-ignored": {vendor: "HPE", run: func(r *rig) {
		t := r.t
		r.fault(t, "bios-ignored")
		r.patch(t, settingsURI, smtOff()).want(t, 200, "SystemResetRequired")
		if got := r.State().Pending; len(got) != 0 {
			t.Errorf("pending %v", got)
		}
	}},
	"bios-rounds": {vendor: "HPE", run: func(r *rig) {
		t := r.t
		r.patch(t, settingsURI, attributes("Turbo", "Disabled")).want(t, 400, "PropertyNotWritable")
		r.fault(t, "bios-rounds")
		r.patch(t, settingsURI, attributes("Turbo", "Disabled", "Profile", "Custom")).want(t, 400, "PropertyNotWritable")
		if err := r.SetFault("bios-rounds", false); err != nil {
			t.Fatal(err)
		}
		r.patch(t, settingsURI, attributes("Turbo", "Disabled", "Profile", "Custom")).want(t, 200)
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "bios map[Profile:Custom Turbo:Disabled]", "boot None")
		r.patch(t, settingsURI, attributes("Profile", "Max")).want(t, 200)
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "bios map[Profile:Max]", "boot None")
		if got := r.State().BIOS["Turbo"]; got != "Enabled" {
			t.Errorf("Turbo is %v under the profile that enables it", got)
		}
	}},
	"bios-drops": {vendor: "HPE", run: func(r *rig) {
		t := r.t
		r.fault(t, "bios-drops")
		r.patch(t, settingsURI, attributes("Turbo", "Disabled", "Profile", "Custom")).want(t, 200)
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "bios map[Profile:Custom]", "boot None")
		if got := r.State().BIOS["Turbo"]; got != "Enabled" {
			t.Errorf("Turbo is %v", got)
		}
	}},
	"bios-early": {vendor: "Dell", run: func(r *rig) {
		t := r.t
		r.fault(t, "bios-early")
		r.patch(t, settingsURI, onReset(smtOff())).want(t, 202)
		if got := r.get(t, biosURI).value("Attributes", "Smt"); got != "Disabled" || r.State().BIOS["Smt"] != "Enabled" {
			t.Errorf("shown %v, is %v", got, r.State().BIOS["Smt"])
		}
	}},
	"apply-time-refused": {vendor: "Supermicro", run: func(r *rig) {
		t := r.t
		r.fault(t, "apply-time-refused")
		r.patch(t, settingsURI, onReset(smtOff())).want(t, 400, "PropertyUnknown", "SettingsApplyTime")
		r.patch(t, settingsURI, smtOff()).want(t, 200)
	}},
	"bios-task": {vendor: "Lenovo", run: func(r *rig) {
		t := r.t
		r.fault(t, "bios-task")
		a := r.patch(t, settingsURI, smtOff()).want(t, 202)
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "bios map[Smt:Disabled]", "boot None")
		if got := r.get(t, a.header.Get("Location")).value("TaskState"); got != "Completed" {
			t.Errorf("task %v", got)
		}
	}},
	"location-in-body": {vendor: "Dell", run: func(r *rig) {
		t := r.t
		r.fault(t, "location-in-body")
		a := r.patch(t, settingsURI, onReset(smtOff())).want(t, 202)
		uri, _ := a.value("@odata.id").(string)
		if a.header.Get("Location") != "" || !strings.Contains(uri, "/JID_") {
			t.Errorf("header %q, body %q", a.header.Get("Location"), uri)
		}
		r.get(t, uri).want(t, 200)
	}},
	"task-vanishes": {vendor: "Dell", run: func(r *rig) {
		t := r.t
		r.fault(t, "task-vanishes")
		job := r.patch(t, settingsURI, onReset(smtOff())).want(t, 202).header.Get("Location")
		r.get(t, job).want(t, 200)
		r.get(t, job).want(t, 404, "ResourceMissingAtURI")
		r.reset(t, "ForceRestart")
		r.expect(t, "reset", "bios map[Smt:Disabled]", "boot None")
	}},
	"task-completed-critical": {vendor: "Dell", run: func(r *rig) {
		t := r.t
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

	"etag-required": {vendor: "AMI", run: func(r *rig) {
		t := r.t
		r.fault(t, "etag-required")
		r.patch(t, systemURI, pxeOnce()).want(t, 428, "PreconditionHeaderMissing")
		r.patch(t, systemURI, pxeOnce(), "If-Match", r.get(t, systemURI).header.Get("ETag")).want(t, 204)
	}},
	"etag-refused": {run: func(r *rig) {
		t := r.t
		r.fault(t, "etag-refused")
		r.patch(t, systemURI, pxeOnce(), "If-Match", r.get(t, systemURI).header.Get("ETag")).want(t, 412)
		r.patch(t, systemURI, pxeOnce(), "If-Match", "*").want(t, 204)
	}},
	"etag-weak-refused": {run: func(r *rig) {
		t := r.t
		r.fault(t, "etag-weak-refused")
		tag := r.get(t, systemURI).header.Get("ETag")
		if !strings.HasPrefix(tag, "W/") {
			t.Fatalf("the tag %s is not weak", tag)
		}
		r.patch(t, systemURI, pxeOnce(), "If-Match", tag).want(t, 412)
		r.patch(t, systemURI, pxeOnce()).want(t, 204)
	}},
	"etag-gzip": {run: func(r *rig) {
		t := r.t
		r.fault(t, "etag-gzip")
		tag := r.get(t, systemURI).header.Get("ETag")
		r.patch(t, systemURI, pxeOnce(), "If-Match", tag).want(t, 412)
		r.patch(t, systemURI, pxeOnce(), "If-Match", strings.Replace(tag, "-gzip", "", 1)).want(t, 204)
	}},
	"etag-refused-on-post": {run: func(r *rig) {
		t := r.t
		r.fault(t, "etag-refused-on-post")
		body := map[string]any{"ResetType": "ForceOff"}
		r.do(t, http.MethodPost, resetURI, body, "If-Match", "*").want(t, 412)
		r.do(t, http.MethodPost, resetURI, body).want(t, 204)
	}},
}
