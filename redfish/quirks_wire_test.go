package redfish_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// bodyOf reads a request's body and leaves it to the BMC behind.
func bodyOf(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body)
}

// TestNotReadyAs400: an iDRAC that starts answers 400 with SWC0700 (badfish #129) or
// RAC0508 (lisa #4421). That is waited for like a 503, and at the login it is no wrong
// password.
func TestNotReadyAs400(t *testing.T) {
	for _, id := range []string{"IDRAC.1.6.SWC0700", "IDRAC.2.8.RAC0508"} {
		bmc := serve(t, redfishtest.Options{Tree: small()})
		refuse, method := 0, http.MethodGet
		cfg := front(t, bmc, func(w http.ResponseWriter, r *http.Request) bool {
			if refuse == 0 || r.Method != method {
				return false
			}
			refuse--
			answer(w, http.StatusBadRequest, `{"error":{"@Message.ExtendedInfo":[{"MessageId":"`+id+`","Message":"not ready"}]}}`)
			return true
		})
		client := openAt(t, cfg)
		refuse = 2
		if state, err := client.Power(within(t, time.Minute)); err != nil || state != redfish.On || refuse != 0 {
			t.Errorf("%s: power %s, %v, %d refusals left", id, state, err, refuse)
		}
		refuse, method = 1, http.MethodPost
		cfg.Refusals = new(remembered)
		if _, err := redfish.Open(t.Context(), cfg); !errors.Is(err, redfish.ErrUnreachable) || errors.Is(err, redfish.ErrAuth) {
			t.Errorf("%s at the login: %v, want ErrUnreachable", id, err)
		}
	}
}

// TestStrainShown: a BMC whose answers come twice as late as at first, or that resets a
// connection, is read one by one from then on; web servers of BMCs crash under more
// (ironic-image #688).
func TestStrainShown(t *testing.T) {
	for name, strain := range map[string]func(*testing.T, *redfish.Client, *redfishtest.BMC){
		"reset": func(t *testing.T, _ *redfish.Client, bmc *redfishtest.BMC) {
			t.Helper()
			// The first is of a kept connection and answered by net/http with a fresh one.
			if err := bmc.SetFault("reset-connection=1*2", true); err != nil {
				t.Fatal(err)
			}
		},
		"latency": func(t *testing.T, c *redfish.Client, bmc *redfishtest.BMC) {
			t.Helper()
			if err := bmc.SetFault("slow=700ms", true); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				if _, err := c.Power(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := bmc.SetFault("slow", false); err != nil {
				t.Fatal(err)
			}
		},
	} {
		bmc := serve(t, redfishtest.Options{Tree: captured(t, "supermicro"), Latency: time.Millisecond})
		client := open(t, bmc)
		strain(t, client, bmc)
		inv, err := client.Inventory(within(t, time.Minute))
		if err != nil || len(inv.Partial) != 0 || len(inv.DIMMs) != 32 || bmc.MaxInFlight() > 1 {
			t.Errorf("%s: %d requests at once, %d DIMMs, partial %v, %v", name, bmc.MaxInFlight(), len(inv.DIMMs), inv.Partial, err)
		}
	}
}

// TestModeIsNotSentAgain: an R660 (iDRAC9 7.10.30.05) makes a BIOS job and a restart more
// of a mode that is in force already (metal-operator #81), and an iLO5 refuses it. It is
// left out first; Supermicro needs it (Redfishtool #106).
func TestModeIsNotSentAgain(t *testing.T) {
	for tree, sent := range map[string]bool{"dell": false, "hpe": false, "supermicro": true} {
		bmc := serve(t, redfishtest.Options{Tree: captured(t, tree)})
		var bodies []string
		client := openAt(t, front(t, bmc, func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch {
				bodies = append(bodies, bodyOf(r))
			}
			return false
		}))
		ctx := within(t, time.Minute)
		now, err := client.Boot(ctx)
		if err != nil || now.Mode != "UEFI" {
			t.Fatalf("%s: %+v, %v", tree, now, err)
		}
		if err := client.SetBoot(ctx, redfish.Boot{Target: "Pxe", Mode: "UEFI"}); err != nil {
			t.Errorf("%s: %v", tree, err)
		}
		for _, body := range bodies {
			if strings.Contains(body, "BootSourceOverrideMode") != sent {
				t.Errorf("%s: sent %s, with a mode: want %v", tree, body, sent)
			}
		}
		if len(bodies) == 0 {
			t.Errorf("%s: nothing was sent", tree)
		}
	}
}

// TestMediaInAnotherSlot: an R670 (iDRAC10) answers 204 and puts the image into its
// Remote File Share 2 (terraform-provider-redfish #331). The drive that holds it is the
// one that is given, and ejected.
func TestMediaInAnotherSlot(t *testing.T) {
	client, bmc := start(t, "dell", "media-other-slot")
	ctx := within(t, time.Minute)
	all, err := client.Media(ctx)
	if err != nil || len(all) < 2 {
		t.Fatalf("%d drives, %v", len(all), err)
	}
	const image = "http://192.0.2.1/a.iso"
	in, err := client.InsertMedia(ctx, image)
	if err != nil || bmc.State().Media[in.ID] != image {
		t.Fatalf("in %q, %v; the BMC has %v", in.ID, err, bmc.State().Media)
	}
	for request := range bmc.Requests() {
		if strings.HasPrefix(request, "POST "+in.URI+"/") {
			t.Errorf("%s: it was asked for that drive, and the test shows nothing", request)
		}
	}
	if err := client.EjectMedia(ctx, in); err != nil || len(bmc.State().Media) != 0 {
		t.Errorf("eject: %v; the BMC has %v", err, bmc.State().Media)
	}
}

// TestAlreadyThere: a BMC shows the old power state (bmcweb, HPE) and refuses what is
// done already: iDRAC with 409 PSU501, iLO with 400 InvalidOperationForSystemState. That
// is success, told by reading again.
func TestAlreadyThere(t *testing.T) {
	for tree, status := range map[string]int{"dell": 409, "hpe": 400, "lenovo": 409} {
		bodies := captured(t, tree)
		bmc := serve(t, redfishtest.Options{Tree: bodies})
		stale, uri := 0, ""
		client := openAt(t, front(t, bmc, func(w http.ResponseWriter, r *http.Request) bool {
			if stale == 0 || r.Method != http.MethodGet || strings.TrimRight(r.URL.Path, "/") != uri {
				return false
			}
			stale--
			answer(w, http.StatusOK, string(bodies[uri]))
			return true
		}))
		uri = strings.TrimRight(client.System(), "/")
		if !bytes.Contains(bodies[uri], []byte(`"On"`)) {
			t.Fatalf("%s: no body of a running host at %s", tree, uri)
		}
		bmc.SetPower(false)
		stale = 1
		if err := client.SetPower(within(t, time.Minute), redfish.ForceOff); err != nil {
			t.Errorf("%s: %v", tree, err)
		}
		if n := bmc.Statuses()[status]; n != 1 || bmc.Acts()["power.off"] != 0 {
			t.Errorf("%s: %d refusals, acts %v", tree, n, bmc.Acts())
		}
	}
}

// TestSilentStreamIsLeft: a stream of events opens and nothing ever comes (nv-redfish
// #167; an iDRAC that restarted). It is opened again, and then given up.
func TestSilentStreamIsLeft(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: eventTree(streamsEvents), Faults: []string{"sse-stall"}})
	cfg := config(bmc)
	cfg.EventIdle = 50 * time.Millisecond
	ctx := within(t, time.Minute)
	gaps := 0
	var last error
	for e, err := range openAt(t, cfg).Events(ctx) {
		last = err
		if e.Gap {
			gaps++
		}
	}
	if ctx.Err() != nil || gaps == 0 || !errors.Is(last, redfish.ErrUnreachable) {
		t.Errorf("%d gaps, %v", gaps, last)
	}
}

// TestStageToUnlinkedSettings: a Gigabyte H262-Z63 (BIOS C27) links to no settings object
// and serves Bios/SD, which wants If-Match (428) and refuses a weak tag (412).
func TestStageToUnlinkedSettings(t *testing.T) {
	tree := edited(t, aBIOS,
		`"@Redfish.Settings":{"SettingsObject":{"@odata.id":"`+aBIOS+`/SD"},"SupportedApplyTimes":["OnReset"]}`,
		`"@Redfish.Settings":{"ETag":"Dummyetag","Messages":[{"MessageId":"Base.1.0.SettingsFailed"}]}`)
	for _, tag := range []string{`W/\"7\"`, `\"7\"`} {
		tree[aBIOS+"/SD"] = []byte(`{"@odata.etag":"` + tag + `","Id":"SD","Attributes":{}}`)
		bmc := serve(t, redfishtest.Options{Tree: tree, Faults: []string{"etag-required", "etag-weak-refused"}})
		client := open(t, bmc)
		ctx := within(t, time.Minute)
		changes, err := client.PlanBIOS(ctx, map[string]any{"Profile": "Custom"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.StageBIOS(ctx, changes); err != nil || bmc.State().Pending["Profile"] != "Custom" {
			t.Errorf("tag %s: %v, waiting %v", tag, err, bmc.State().Pending)
		}
	}
}

// TestStageAtTheTop: an iLO4 has its BIOS attributes beside Id and Name, and takes them
// there alone (ansible #48296).
func TestStageAtTheTop(t *testing.T) {
	const settings = aBIOS + "/SD"
	bmc := serve(t, redfishtest.Options{Tree: machineTree()})
	waiting := map[string]any{"Id": "SD", "Profile": "Max", "Turbo": "Enabled"}
	client := openAt(t, front(t, bmc, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == aBIOS:
			answer(w, http.StatusOK, `{"Id":"Bios","Name":"BIOS","AttributeRegistry":"BiosAttributeRegistry.1","Profile":"Max","Turbo":"Enabled",
				"@Redfish.Settings":{"SettingsObject":{"@odata.id":"`+settings+`"}}}`)
		case r.URL.Path == settings && r.Method == http.MethodPatch:
			var sent map[string]any
			_ = json.Unmarshal([]byte(bodyOf(r)), &sent)
			if sent["Attributes"] != nil {
				answer(w, http.StatusBadRequest, `{"error":{"@Message.ExtendedInfo":[{"MessageId":"Base.0.10.PropertyUnknown","MessageArgs":["Attributes"]}]}}`)
				return true
			}
			maps.Copy(waiting, sent)
			answer(w, http.StatusOK, `{}`)
		case r.URL.Path == settings:
			body, _ := json.Marshal(waiting)
			answer(w, http.StatusOK, string(body))
		default:
			return false
		}
		return true
	}))
	ctx := within(t, time.Minute)
	changes, err := client.PlanBIOS(ctx, map[string]any{"Profile": "Custom"})
	if err != nil || len(changes) != 1 {
		t.Fatalf("%v, %v", changes, err)
	}
	if _, err := client.StageBIOS(ctx, changes); err != nil || fmt.Sprint(waiting["Profile"]) != "Custom" {
		t.Errorf("%v, waiting %v", err, waiting)
	}
}

// TestDownloadMustTakeGzip: an iLO5 from 2.30 refuses a request that does not take gzip
// (Redfish-Mockup-Creator #58). A file is asked for as it is, and then like all else.
func TestDownloadMustTakeGzip(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: machineTree(), Faults: []string{"gzip-required"}})
	var out bytes.Buffer
	_, err := open(t, bmc).CollectDiagnostic(within(t, time.Minute), "manager-a", &out, redfish.CollectOptions{})
	if err != nil || !strings.HasPrefix(out.String(), "collected") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
