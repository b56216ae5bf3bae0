package redfish_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// showsURI is the captured iLO with an HttpBootUri in its override, as iLO6 has one.
func showsURI(t *testing.T) redfishtest.Tree {
	t.Helper()
	tree := maps.Clone(captured(t, "hpe"))
	tree["/redfish/v1/Systems/1"] = []byte(strings.Replace(string(tree["/redfish/v1/Systems/1"]), `"BootOrder"`, `"HttpBootUri": null, "BootOrder"`, 1))
	return tree
}

// iLO6 1.58 and 1.72 (DL380a Gen11) show HttpBootUri and refuse it (libredfish #76):
// the URI is a BIOS setting there.
func TestURIRefusedByTheOverride(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: showsURI(t), Faults: []string{"uri-refused"}})
	client := open(t, bmc)
	ctx := within(t, time.Minute)
	want := redfish.Boot{Target: "UefiHttp", HTTPBootURI: "http://192.0.2.1/boot.efi"}
	if err := client.SetBoot(ctx, want); !errors.Is(err, redfish.ErrUnsupported) || !strings.Contains(err.Error(), "UrlBootFile") {
		t.Errorf("before the BIOS has it: %v, want the name of the setting", err)
	}
	plan, err := client.PlanBoot(ctx, want)
	if err != nil || plan.BIOS["UrlBootFile"] != want.HTTPBootURI || plan.Override.HTTPBootURI != "" {
		t.Fatalf("plan %+v, %v", plan, err)
	}
	if left := oneRound(ctx, t, client, bmc, plan.BIOS, plan.Changes); len(left) != 0 {
		t.Fatalf("left %v", left)
	}
	if err := client.SetBoot(ctx, want); err != nil || bmc.State().Boot.Target != "UefiHttp" {
		t.Errorf("%v, %+v", err, bmc.State().Boot)
	}
}

// TestURIByTheOverride: of iLO6 some take HttpBootUri (a payload of gofish #455 shows
// it) and some do not (1.58, 1.72, libredfish #76). It is tried: one that takes it needs
// no BIOS setting and no restart for one. So does one whose BIOS has no UrlBootFile.
func TestURIByTheOverride(t *testing.T) {
	without := showsURI(t)
	for uri, body := range without {
		if strings.Contains(strings.ToLower(uri), "/bios") || strings.Contains(strings.ToLower(uri), "biosattribute") {
			without[uri] = []byte(strings.ReplaceAll(string(body), "UrlBootFile", "OtherBootFile"))
		}
	}
	for name, tree := range map[string]redfishtest.Tree{"tried": showsURI(t), "no such setting": without} {
		bmc := serve(t, redfishtest.Options{Tree: tree})
		client := open(t, bmc)
		ctx := within(t, time.Minute)
		want := redfish.Boot{Target: "UefiHttp", HTTPBootURI: "http://192.0.2.1/boot.efi"}
		for range 2 {
			if err := client.SetBoot(ctx, want); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if b := bmc.State().Boot; b.HTTPBootURI != want.HTTPBootURI || len(bmc.State().Pending) != 0 || bmc.Acts()["boot.set"] != 1 {
			t.Errorf("%s: boots %+v, waiting %v, %v", name, b, bmc.State().Pending, bmc.Acts())
		}
		if plan, err := client.PlanBoot(ctx, want); err != nil || len(plan.BIOS) != 0 {
			t.Errorf("%s: plan %+v, %v: what it has taken needs no BIOS setting", name, plan, err)
		}
	}
}

// TestPxeUnsupported: iLO6 1.58 and 1.72 (DL380a Gen11) list Pxe and answer it with
// UnsupportedOperation. The refusal names what else there is, and a port by its MAC goes
// another way.
func TestPxeUnsupported(t *testing.T) {
	client, bmc := start(t, "hpe", "target-refused")
	ctx := within(t, time.Minute)
	err := client.SetBoot(ctx, redfish.Boot{Target: "Pxe"})
	if err == nil || !strings.Contains(err.Error(), "by its MAC") || !strings.Contains(err.Error(), "over IPMI") {
		t.Errorf("%v, want the other ways", err)
	}
	if n := bmc.Requests()["PATCH "+client.System()]; n > 4 { // two forms, each with its precondition and without
		t.Errorf("asked %d times", n)
	}
	if err := client.SetBoot(ctx, redfish.Boot{Target: "Pxe", MAC: "b8:3f:d2:d7:f7:4a"}); err != nil || bmc.State().Boot.Target != "UefiTarget" {
		t.Errorf("by its port: %v, %+v", err, bmc.State().Boot)
	}
}
