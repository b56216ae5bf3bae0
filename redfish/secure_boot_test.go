package redfish_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const secureSwitch = "SecureBoot.SecureBootEnable"

// TestSecureBootByResource: an iLO 5 has secure boot in a resource beside the BIOS
// (captured tree hpe), which shares the reset with what its settings object takes.
func TestSecureBootByResource(t *testing.T) {
	for _, faults := range [][]string{nil, {"etag-required"}, {"lost-response=bios.secure-boot*1"}} {
		t.Run(strings.Join(faults, "+"), func(t *testing.T) {
			client, bmc := start(t, "hpe", faults...)
			ctx := within(t, time.Minute)
			attrs, unmapped, err := client.MapIntents(ctx, map[string]string{"secure-boot": "on", "smt": "off"})
			if err != nil || len(unmapped) != 0 || attrs[secureSwitch] != true {
				t.Fatalf("intents: %v, unmapped %v, %v", attrs, unmapped, err)
			}
			changes, err := client.PlanBIOS(ctx, attrs)
			if err != nil || len(changes) != 2 || redfish.Rounds(changes) != 1 {
				t.Fatalf("plan: %+v, %v; want both in one round", changes, err)
			}
			for range 2 {
				if _, err := client.StageBIOS(ctx, changes); err != nil {
					t.Fatal(err)
				}
			}
			if acts := bmc.Acts(); acts["bios.secure-boot"] != 1 || acts["bios.stage"] != 1 {
				t.Errorf("acts %v, want each once", acts)
			}
			if bios, err := client.BIOS(ctx); err != nil || bios.Attributes[secureSwitch] != false || bios.Pending[secureSwitch] != true {
				t.Errorf("before the reset: in force %v, pending %v, %v", bios.Attributes[secureSwitch], bios.Pending, err)
			}
			if err := client.SetPower(ctx, redfish.Restart); err != nil {
				t.Fatal(err)
			}
			waitBoot(t, bmc)
			if left, err := client.VerifyBIOS(ctx, attrs); err != nil || len(left) != 0 {
				t.Errorf("after the reset: %v still differs, %v", left, err)
			}
		})
	}
}

// TestSecureBootDiscarded: what was staged is taken back before any reset.
func TestSecureBootDiscarded(t *testing.T) {
	client, bmc := start(t, "hpe")
	ctx := within(t, time.Minute)
	changes, err := client.PlanBIOS(ctx, map[string]any{secureSwitch: true, "ProcSMT": "Disabled"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.StageBIOS(ctx, changes); err != nil {
		t.Fatal(err)
	}
	if err := client.DiscardBIOS(ctx); err != nil {
		t.Fatal(err)
	}
	if bios, err := client.BIOS(ctx); err != nil || len(bios.Pending) != 0 {
		t.Errorf("still pending %v, %v", bios.Pending, err)
	}
	if n := bmc.Acts()["bios.secure-boot"]; n != 2 {
		t.Errorf("%d acts, want one there and one back", n)
	}
}

func TestSecureBootIgnored(t *testing.T) {
	client, _ := start(t, "hpe", "bios-ignored")
	ctx := within(t, time.Minute)
	changes, err := client.PlanBIOS(ctx, map[string]any{secureSwitch: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.StageBIOS(ctx, changes); err == nil || !strings.Contains(err.Error(), "secure boot") {
		t.Errorf("%v, want that the switch did not take", err)
	}
}

// TestSecureBootWithoutKeys: a board in SetupMode would show the switch on and boot
// anything.
func TestSecureBootWithoutKeys(t *testing.T) {
	tree := edited(t, aSystem, `"Bios":`, `"SecureBoot":{"@odata.id":"`+aSystem+`/SecureBoot"},"Bios":`)
	tree[aSystem+"/SecureBoot"] = []byte(`{"Id":"SecureBoot","SecureBootEnable":false,"SecureBootCurrentBoot":"Disabled","SecureBootMode":"SetupMode"}`)
	client := open(t, serve(t, redfishtest.Options{Tree: tree}))
	_, err := client.PlanBIOS(within(t, time.Minute), map[string]any{secureSwitch: true})
	if !errors.Is(err, redfish.ErrBadValue) || !strings.Contains(err.Error(), "SetupMode") {
		t.Errorf("%v, want that no key is enrolled", err)
	}
}

// TestSecureBootByAttribute: where the BIOS has the switch itself, there is one way.
func TestSecureBootByAttribute(t *testing.T) {
	client, _ := start(t, "lenovo")
	bios, err := client.BIOS(within(t, time.Minute))
	if _, both := bios.Attributes[secureSwitch]; err != nil || both {
		t.Errorf("the resource is there beside its attribute, %v", err)
	}
}
