package redfishtest_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const collectURI = selURI + "/Actions/LogService.CollectDiagnosticData"

var managerDump = map[string]any{"DiagnosticDataType": "Manager"}

var diagnosticsFaults = map[string]faultCase{
	"diagnostics-licence": {vendor: "Dell", run: func(r *rig) {
		r.fault(r.t, "diagnostics-licence=Datacenter")
		r.do(r.t, "POST", collectURI, managerDump).want(r.t, 403, "LIC501", "Datacenter")
		r.acts(r.t, map[string]int{})
	}},
	"diagnostics-endless": {run: func(r *rig) {
		r.fault(r.t, "diagnostics-endless")
		a := r.do(r.t, "POST", collectURI, managerDump)
		a.want(r.t, 202)
		uri, _ := a.value("@odata.id").(string)
		r.until(r.t, uri, "Running", "TaskState")
	}},
	"diagnostics-no-file": {run: func(r *rig) {
		r.fault(r.t, "diagnostics-no-file")
		r.ended(r.t, r.do(r.t, "POST", collectURI, managerDump))
		if n := len(entriesOf(r)); n != 1 {
			r.t.Errorf("%d entries, want the old one alone", n)
		}
	}},
}

// entriesOf lists the entries of the log.
func entriesOf(r *rig) []any {
	list, _ := r.get(r.t, entriesURI).value("Members").([]any)
	return list
}

// TestCollect: a collection ends with a file on a new entry, made by the hook.
func TestCollect(t *testing.T) {
	asked := make(chan string, 1)
	bmc, err := redfishtest.Start(t.Context(), redfishtest.Options{
		Tree: fixtureTree(""), TaskDelay: time.Millisecond,
		Hooks: redfishtest.Hooks{OnDiagnostics: func(_ context.Context, name string, parameters map[string]any) []byte {
			raw, _ := json.Marshal(parameters)
			asked <- name + " " + string(raw)
			return []byte("\x00dump")
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{BMC: bmc, t: t, client: insecureClient(t), basic: true}
	t.Cleanup(func() { _ = bmc.Close() })
	r.do(t, "POST", collectURI, map[string]any{}).want(t, 400, "ActionParameterMissing")
	r.ended(t, r.do(t, "POST", collectURI, managerDump))
	if got := <-asked; got != `Manager {"DiagnosticDataType":"Manager"}` {
		t.Errorf("the hook was asked for %s", got)
	}
	list := entriesOf(r)
	if len(list) != 2 {
		t.Fatalf("%d entries, want the old one and the dump", len(list))
	}
	entry, _ := list[1].(map[string]any)
	uri, _ := entry["AdditionalDataURI"].(string)
	if a := r.get(t, uri); a.status != 200 || string(a.raw) != "\x00dump" || entry["AdditionalDataSizeBytes"] != 5.0 {
		t.Errorf("the file is %d %q of %v bytes", a.status, a.raw, entry["AdditionalDataSizeBytes"])
	}
	r.acts(t, map[string]int{"diagnostics.collect": 1, "task.create": 1})
}
