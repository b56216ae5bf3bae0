package redfishtest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

func TestBIOSIsAppliedAtResetAndNeverBefore(t *testing.T) {
	r := start(t, "Supermicro", redfishtest.Options{})
	r.patch(t, settingsURI, smtOff()).want(t, 200)
	if got := r.get(t, biosURI).value("Attributes", "Smt"); got != "Enabled" {
		t.Errorf("current %v before the reset", got)
	}
	if got := r.get(t, settingsURI).value("Attributes"); !reflect.DeepEqual(got, map[string]any{"Smt": "Disabled"}) {
		t.Errorf("pending %v", got)
	}
	r.reset(t, "ForceRestart")
	r.expect(t, "reset", "bios map[Smt:Disabled]", "boot None")
	if got := r.get(t, biosURI).value("Attributes", "Smt"); got != "Disabled" {
		t.Errorf("current %v after the reset", got)
	}
	if got := r.State().Pending; len(got) != 0 {
		t.Errorf("still pending %v", got)
	}
	r.acts(t, map[string]int{"bios.stage": 1, "bios.apply": 1, "power.reset": 1})
}

func TestDellAppliesThroughAJob(t *testing.T) {
	r := start(t, "Dell", redfishtest.Options{})
	r.patch(t, settingsURI, smtOff()).want(t, 200) // staged only
	r.reset(t, "ForceRestart")
	r.expect(t, "reset", "boot None")
	if got := r.State().Pending["Smt"]; got != "Disabled" {
		t.Fatalf("pending %v: a reset without a job applied or lost it", got)
	}
	a := r.patch(t, settingsURI, onReset(smtOff())).want(t, 202)
	job := a.header.Get("Location")
	if got := r.get(t, job).value("TaskState"); got != "Pending" {
		t.Errorf("task %v before the reset", got)
	}
	r.do(t, http.MethodPost, jobsURI, map[string]any{"TargetSettingsURI": settingsURI}).want(t, 400, "SYS011")
	r.patch(t, settingsURI, onReset(smtOff())).want(t, 200) // the same again makes no second job
	r.patch(t, settingsURI, map[string]any{"Attributes": map[string]any{"Cores": 4}}).want(t, 400, "SYS011")
	r.reset(t, "ForceRestart")
	r.expect(t, "reset", "bios map[Smt:Disabled]", "boot None")
	got := r.get(t, job)
	if got.value("TaskState") != "Completed" || got.value("TaskStatus") != "OK" {
		t.Errorf("task %s", got.raw)
	}
	id, _ := got.value("Id").(string)
	if state := r.get(t, jobsURI+"/"+id).want(t, 200).value("JobState"); state != "Completed" {
		t.Errorf("job %v", state)
	}
	if n := r.get(t, jobsURI).value("Members@odata.count"); n != 2.0 {
		t.Errorf("job queue lists %v, want the captured one and ours", n)
	}
	r.acts(t, map[string]int{"bios.stage": 2, "bios.apply": 1, "power.reset": 2, "task.create": 1})
}

func TestDellExplicitJob(t *testing.T) {
	r := start(t, "Dell", redfishtest.Options{})
	body := map[string]any{"TargetSettingsURI": settingsURI}
	r.do(t, http.MethodPost, jobsURI, body).want(t, 400)
	r.patch(t, settingsURI, smtOff()).want(t, 200)
	a := r.do(t, http.MethodPost, jobsURI, body).want(t, 200)
	r.get(t, a.header.Get("Location")).want(t, 200)
	r.reset(t, "PowerCycle")
	r.expect(t, "power false", "power true", "bios map[Smt:Disabled]", "boot None")
}

// attributes is a PATCH body of names and values.
func attributes(pairs ...any) map[string]any {
	set := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		set[pairs[i].(string)] = pairs[i+1]
	}
	return map[string]any{"Attributes": set}
}

// TestBIOSActions: ResetBios stages the defaults; iDRAC takes staged values back when
// their job is deleted.
func TestBIOSActions(t *testing.T) {
	tree := fixtureTree("Dell")
	tree[biosURI] = bytes.Replace(tree[biosURI], []byte(`"Attributes"`), []byte(`"Actions":{"#Bios.ResetBios":{"target":"`+biosURI+`/Reset"}},"Attributes"`), 1)
	tree[settingsURI] = []byte(`{"Attributes":{},"Actions":{"Oem":{"#DellManager.ClearPending":{"target":"` + settingsURI + `/Clear"}}}}`)
	tree["/registries/bios"] = bytes.Replace(tree["/registries/bios"], []byte(`"AttributeName":"Cores",`), []byte(`"AttributeName":"Cores","DefaultValue":0,`), 1)
	r := start(t, "", redfishtest.Options{Tree: tree})
	r.do(t, http.MethodPost, settingsURI+"/Clear", nil).want(t, 400, "BIOS012")
	job := r.patch(t, settingsURI, onReset(smtOff())).want(t, 202).header.Get("Location")
	r.do(t, http.MethodPost, settingsURI+"/Clear", nil).want(t, 400, "BIOS011")
	id := job[strings.LastIndexByte(job, '/'):]
	r.do(t, http.MethodDelete, jobsURI+id, nil).want(t, 204)
	r.get(t, jobsURI+id).want(t, 404)
	r.do(t, http.MethodPost, settingsURI+"/Clear", nil).want(t, 200)
	if got := r.State().Pending; len(got) != 0 {
		t.Errorf("pending %v", got)
	}
	r.do(t, http.MethodPost, biosURI+"/Reset", nil).want(t, 200)
	if got := r.State().Pending; len(got) != 1 || fmt.Sprint(got["Cores"]) != "0" {
		t.Errorf("pending %v, want the default of Cores", got)
	}
}
