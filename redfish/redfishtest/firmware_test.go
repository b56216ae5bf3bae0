package redfishtest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const (
	updateURI       = "/redfish/v1/UpdateService"
	simpleUpdateURI = updateURI + "/Actions/UpdateService.SimpleUpdate"
	pushURI         = updateURI + "/upload"
	inventoryURI    = updateURI + "/FirmwareInventory"
	managerResetURI = managerURI + "/Actions/Manager.Reset"
)

// addFirmware gives the fixture an update service and three components.
func addFirmware(tree redfishtest.Tree) {
	tree[updateURI] = json.RawMessage(`{"MultipartHttpPushUri":"` + pushURI + `","FirmwareInventory":{"@odata.id":"` + inventoryURI + `"},
		"Actions":{"#UpdateService.SimpleUpdate":{"target":"` + simpleUpdateURI + `"}}}`)
	tree[inventoryURI] = json.RawMessage(`{"Members":[{"@odata.id":"` + inventoryURI + `/BIOS"},{"@odata.id":"` + inventoryURI + `/BMC"},
		{"@odata.id":"` + inventoryURI + `/NIC"}]}`)
	tree[inventoryURI+"/BIOS"] = json.RawMessage(`{"Id":"BIOS","Version":"Ver 1.4","RelatedItem":[{"@odata.id":"` + biosURI + `"}]}`)
	tree[inventoryURI+"/BMC"] = json.RawMessage(`{"Id":"BMC","Version":"11.01","RelatedItem":[{"@odata.id":"` + managerURI + `"}]}`)
	tree[inventoryURI+"/NIC"] = json.RawMessage(`{"Id":"NIC","Version":"22.1","RelatedItem":[]}`)
}

// images are the files that the BMC of these tests knows.
func images() map[string]redfishtest.Image {
	return map[string]redfishtest.Image{
		"bios.bin": {Component: inventoryURI + "/BIOS", Version: "Ver 1.5"},
		"bmc.bin":  {Component: inventoryURI + "/BMC", Version: "11.02"},
		"nic.bin":  {Component: inventoryURI + "/NIC", Version: "22.2"},
	}
}

// imageServer serves every image but gone.bin.
func imageServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone.bin" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "firmware")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// ended waits for the end of a task.
func (r *rig) ended(t *testing.T, accepted answer) answer {
	t.Helper()
	accepted.want(t, 202)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		a := r.get(t, accepted.header.Get("Location"))
		if state := a.value("TaskState"); a.status != 200 || (state != "Running" && state != "Pending") {
			return a
		}
		<-tick.C
	}
	t.Fatal("the task does not end")
	return answer{}
}

// until asks again until the resource says so.
func (r *rig) until(t *testing.T, uri string, want any, path ...string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var got any
	for range 2000 {
		if a, err := r.try(t.Context(), http.MethodGet, uri, nil); err == nil {
			if got = a.value(path...); got == want {
				return
			}
		}
		<-tick.C
	}
	t.Fatalf("%s says %v, want %v", uri, got, want)
}

func (r *rig) simpleUpdate(t *testing.T, body map[string]any) answer {
	t.Helper()
	return r.do(t, http.MethodPost, simpleUpdateURI, body)
}

func TestBIOSUpdateWaitsForTheReset(t *testing.T) {
	r := start(t, "Supermicro", redfishtest.Options{Images: images()})
	a := r.ended(t, r.simpleUpdate(t, map[string]any{"ImageURI": imageServer(t) + "bios.bin", "Targets": []string{biosURI}}))
	if a.value("TaskState") != "Completed" || a.value("TaskStatus") != "OK" {
		t.Fatalf("task %s", a.raw)
	}
	if got := r.get(t, inventoryURI+"/BIOS").value("Version"); got != "Ver 1.4" {
		t.Errorf("before the reset: %v", got)
	}
	r.reset(t, "ForceRestart")
	r.expect(t, "reset", "boot None")
	if got := r.get(t, inventoryURI+"/BIOS").value("Version"); got != "Ver 1.5" {
		t.Errorf("after the reset: %v", got)
	}
	if got := r.get(t, systemURI).value("BiosVersion"); got != "Ver 1.5" {
		t.Errorf("the system tells %v", got)
	}
	r.acts(t, map[string]int{"firmware.update": 1, "firmware.activate": 1, "power.reset": 1})
}

func TestBMCUpdateRestartsTheBMC(t *testing.T) {
	r := start(t, "", redfishtest.Options{Images: images()})
	r.do(t, http.MethodPost, sessionsURI, login()).want(t, 201)
	r.ended(t, r.push(t, "bmc.bin", `{"Targets":["`+inventoryURI+`/BMC"]}`))
	r.until(t, inventoryURI+"/BMC", "11.02", "Version")
	if got := r.get(t, managerURI).value("FirmwareVersion"); got != "11.02" {
		t.Errorf("the manager tells %v", got)
	}
	if r.OpenSessions() != 0 {
		t.Error("a session outlived the restart")
	}
}

func TestOtherUpdateRunsAtOnce(t *testing.T) {
	r := start(t, "", redfishtest.Options{Images: images()})
	r.ended(t, r.push(t, "nic.bin", ""))
	if got := r.get(t, inventoryURI+"/NIC").value("Version"); got != "22.2" {
		t.Errorf("version %v", got)
	}
}

func TestUpdateFails(t *testing.T) {
	server := imageServer(t)
	cases := map[string]struct {
		image   string
		targets []string
		id      string
	}{
		"no such file":   {"gone.bin", nil, "TransferFailed"},
		"unknown image":  {"other.bin", nil, "VerificationFailed"},
		"another target": {"nic.bin", []string{inventoryURI + "/BMC"}, "VerificationFailed"},
	}
	r := start(t, "", redfishtest.Options{Images: images()})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := r.ended(t, r.simpleUpdate(t, map[string]any{"ImageURI": server + c.image, "Targets": c.targets}))
			if a.value("TaskState") != "Exception" || a.value("TaskStatus") != "Critical" {
				t.Errorf("task %s", a.raw)
			}
			a.want(t, 200, c.id)
		})
	}
	if got := r.get(t, inventoryURI+"/NIC").value("Version"); got != "22.1" {
		t.Errorf("version %v", got)
	}
}

func TestUpdateIsChecked(t *testing.T) {
	r := start(t, "", redfishtest.Options{Images: images(), TaskDelay: time.Hour})
	r.simpleUpdate(t, map[string]any{}).want(t, 400, "ActionParameterMissing")
	r.simpleUpdate(t, map[string]any{"ImageURI": "nfs://192.0.2.1/x"}).want(t, 400, "PropertyValueFormatError")
	r.simpleUpdate(t, map[string]any{"ImageURI": "http://192.0.2.1/x", "Force": true}).want(t, 400, "ActionParameterUnknown")
	r.simpleUpdate(t, map[string]any{"ImageURI": "http://192.0.2.1/x", "Targets": []string{"/nowhere"}}).want(t, 400, "PropertyValueNotInList")
	r.do(t, http.MethodPost, pushURI, map[string]any{}).want(t, 400, "PropertyMissing")
	r.acts(t, map[string]int{})
	r.push(t, "nic.bin", "").want(t, 202)
	r.push(t, "nic.bin", "").want(t, 503, "ResourceInUse")
	r.acts(t, map[string]int{"firmware.update": 1})
}

func TestLostUpdateIsAnsweredAsDone(t *testing.T) {
	r := start(t, "", redfishtest.Options{Images: images(), Faults: []string{"lost-effect=firmware"}})
	if a := r.ended(t, r.push(t, "nic.bin", "")); a.value("TaskState") != "Completed" {
		t.Errorf("task %s", a.raw)
	}
	if got := r.get(t, inventoryURI+"/NIC").value("Version"); got != "22.1" {
		t.Errorf("version %v", got)
	}
}

func TestCriticalUpdateChangesNothing(t *testing.T) {
	r := start(t, "", redfishtest.Options{Images: images(), Faults: []string{"task-completed-critical*1"}})
	a := r.ended(t, r.push(t, "nic.bin", ""))
	if a.value("TaskState") != "Completed" || a.value("TaskStatus") != "Critical" || a.value("PercentComplete") != 100.0 {
		t.Errorf("task %s", a.raw)
	}
	if got := r.get(t, inventoryURI+"/NIC").value("Version"); got != "22.1" {
		t.Errorf("version %v", got)
	}
}

func TestManagerReset(t *testing.T) {
	r := start(t, "", redfishtest.Options{ManagerDelay: time.Hour})
	r.do(t, http.MethodPost, managerResetURI, map[string]any{"ResetType": "On"}).want(t, 400, "ActionParameterValueNotInList")
	r.do(t, http.MethodPost, managerResetURI, map[string]any{"ResetType": "ForceRestart"}).want(t, 204)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		if _, err := r.try(t.Context(), http.MethodGet, "/redfish/v1", nil); err != nil {
			r.acts(t, map[string]int{"bmc.reset": 1})
			return
		}
		<-tick.C
	}
	t.Error("the BMC still answers")
}

// push sends an image as a client does.
func (r *rig) push(t *testing.T, file, parameters string) answer {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", `form-data; name="UpdateParameters"`)
	header.Set("Content-Type", "application/json")
	part, err := form.CreatePart(header)
	if err != nil {
		t.Fatal(err)
	}
	if parameters == "" {
		parameters = "{}"
	}
	_, _ = io.WriteString(part, parameters)
	if part, err = form.CreateFormFile("UpdateFile", file); err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(bytes.Repeat([]byte("firmware"), 1<<18)) // more than a JSON body may be
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+pushURI, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.SetBasicAuth("admin", "password")
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return a
}
