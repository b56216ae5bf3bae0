package redfishtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// The context of OnBoot is the node's life: it ends with the next power act.
func TestBootContextIsTheNodes(t *testing.T) {
	booted := make(chan context.Context, 1)
	bmc, err := redfishtest.Start(t.Context(), redfishtest.Options{
		Tree:  fixtureTree(""),
		Hooks: redfishtest.Hooks{OnBoot: func(ctx context.Context, _ redfishtest.BootChoice) { booted <- ctx }},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer bmc.Close()
	r := &rig{BMC: bmc, basic: true, client: insecureClient(t)}
	r.reset(t, "ForceRestart").want(t, 204)
	node := <-booted
	r.patch(t, systemURI, pxeOnce()).want(t, 204)
	if node.Err() != nil {
		t.Fatal("the node ended without a power act")
	}
	r.reset(t, "ForceOff").want(t, 204)
	select {
	case <-node.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the node lives on without power")
	}
}

// A forced off during POST wins, and what was staged stays staged.
func TestOffOvertakesPOST(t *testing.T) {
	r := start(t, "", redfishtest.Options{POSTDelay: time.Hour})
	r.patch(t, settingsURI, smtOff()).want(t, 204)
	r.reset(t, "ForceRestart").want(t, 204)
	r.expect(t, "reset")
	r.reset(t, "ForceOff").want(t, 204)
	r.expect(t, "power false")
	if st := r.State(); st.POST || st.Boots != 0 || st.Pending["Smt"] != "Disabled" || st.BIOS["Smt"] != "Enabled" {
		t.Errorf("state %+v", st)
	}
}

// A job that POST interrupted waits for the next one.
func TestInterruptedJobWaits(t *testing.T) {
	r := start(t, "Dell", redfishtest.Options{TaskDelay: time.Hour})
	job := r.patch(t, settingsURI, onReset(smtOff())).want(t, 202).header.Get("Location")
	r.reset(t, "ForceRestart").want(t, 204)
	r.expect(t, "reset")
	r.reset(t, "ForceOff").want(t, 204)
	r.expect(t, "power false")
	if got := r.get(t, job).value("TaskState"); got != "Pending" {
		t.Errorf("task %v", got)
	}
}

// Two hosts behind one BMC keep their states apart (FIELD-QUIRKS 11, Cray EX235n).
func TestTwoSystems(t *testing.T) {
	tree := fixtureTree("")
	second := bytes.ReplaceAll(tree[systemURI], []byte(systemURI), []byte("/redfish/v1/Systems/2"))
	tree["/redfish/v1/Systems/2"] = second
	tree["/redfish/v1/Systems/2/ResetActionInfo"] = tree[systemURI+"/ResetActionInfo"]
	tree["/redfish/v1/Systems"] = json.RawMessage(`{"Members":[{"@odata.id":"` + systemURI + `"},
		{"@odata.id":"/redfish/v1/Systems/absent"},{"@odata.id":"/redfish/v1/Systems/2"}]}`)
	r := start(t, "", redfishtest.Options{Tree: tree})
	r.do(t, http.MethodPost, "/redfish/v1/Systems/2/Actions/ComputerSystem.Reset", map[string]any{"ResetType": "ForceOff"}).want(t, 204)
	r.expect(t, "power false")
	states := r.States()
	if len(states) != 2 || states[0].Power != "On" || states[1].Power != "Off" {
		t.Errorf("states %+v", states)
	}
	if log := r.ActLog(); !strings.HasPrefix(log[0].URI, "/redfish/v1/Systems/2/") {
		t.Errorf("the act is told of %s", log[0].URI)
	}
}

// Many clients, every act counted once; run with -race.
func TestConcurrentUse(t *testing.T) {
	r := start(t, "", redfishtest.Options{Faults: []string{"boot-ignored*5"}})
	const clients, rounds = 6, 20
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range rounds {
				for _, step := range []func() (answer, error){
					func() (answer, error) { return r.try(t.Context(), http.MethodGet, systemURI, nil) },
					func() (answer, error) { return r.try(t.Context(), http.MethodPatch, systemURI, pxeOnce()) },
					func() (answer, error) { return r.try(t.Context(), http.MethodPatch, settingsURI, smtOff()) },
				} {
					if a, err := step(); err != nil || a.status >= 300 {
						t.Errorf("%v %d %s", err, a.status, a.raw)
						return
					}
				}
				_ = r.State()
			}
		})
	}
	wg.Wait()
	r.acts(t, map[string]int{"boot.set": clients*rounds - 5, "bios.stage": clients * rounds})
	if n := r.MaxInFlight(); n < 1 || n > clients {
		t.Errorf("%d in flight at most", n)
	}
}

// Close ends what hangs.
func TestCloseEndsHangs(t *testing.T) {
	bmc, err := redfishtest.Start(t.Context(), redfishtest.Options{
		Tree: fixtureTree(""), Faults: []string{"hang"}, PowerDelay: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{BMC: bmc, basic: true, client: insecureClient(t)}
	ended := make(chan error)
	go func() {
		_, err := r.try(context.Background(), http.MethodGet, systemURI, nil)
		ended <- err
	}()
	arrived := time.NewTicker(time.Millisecond)
	defer arrived.Stop()
	for bmc.Requests()["GET "+systemURI] == 0 {
		<-arrived.C
	}
	if err := bmc.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("a hanging request was answered")
	}
}

// Nothing secret is logged.
func TestLogHasNoSecrets(t *testing.T) {
	var out bytes.Buffer
	const secret = "pl4nted-s3cret"
	bmc, err := redfishtest.Start(t.Context(), redfishtest.Options{
		Tree: fixtureTree(""), Password: secret,
		Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{BMC: bmc, client: insecureClient(t)}
	a := r.do(t, http.MethodPost, sessionsURI, map[string]any{"UserName": "admin", "Password": secret}).want(t, 201)
	r.token = a.header.Get("X-Auth-Token")
	r.get(t, systemURI).want(t, 200)
	r.patch(t, systemURI, pxeOnce()).want(t, 204)
	if err := bmc.Close(); err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 || strings.Contains(out.String(), secret) || strings.Contains(out.String(), r.token) {
		t.Errorf("log: %s", out.String())
	}
}
