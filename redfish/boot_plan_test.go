package redfish_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestBootFromPort: a port is found by its MAC in what each BMC calls it, and is what
// the machine boots from.
func TestBootFromPort(t *testing.T) {
	for _, c := range []struct {
		tree, mac, target string
		way, device       string // of the override, and what the machine boots
	}{
		{
			"hpe", "b8:3f:d2:d7:f7:4a", "Pxe", "UefiTarget",
			"PciRoot(0x7)/Pci(0x1,0x1)/Pci(0x0,0x0)/MAC(B83FD2D7F74A,0x1)/IPv4(0.0.0.0)",
		},
		{
			"hpe", "B8-3F-D2-D7-F7-4A", "UefiHttp", "UefiTarget",
			"PciRoot(0x7)/Pci(0x1,0x1)/Pci(0x0,0x0)/MAC(B83FD2D7F74A,0x1)/IPv4(0.0.0.0)/Uri()",
		},
		{"supermicro", "7cc255793f8f", "Pxe", "UefiBootNext", "Boot0022"},
		{"nvidia_viking", "94:6d:ae:aa:2a:19", "Pxe", "UefiBootNext", "Boot0006"},
	} {
		t.Run(c.tree+" "+c.target, func(t *testing.T) {
			boots := make(chan redfishtest.BootChoice, 4)
			bmc := serve(t, redfishtest.Options{Tree: captured(t, c.tree), Hooks: redfishtest.Hooks{
				OnBoot: func(_ context.Context, b redfishtest.BootChoice) { boots <- b },
			}})
			client := open(t, bmc)
			ctx := within(t, time.Minute)
			want := redfish.Boot{Target: c.target, MAC: c.mac}
			for range 2 {
				if err := client.SetBoot(ctx, want); err != nil {
					t.Fatal(err)
				}
			}
			if n := bmc.Acts()["boot.set"]; n != 1 {
				t.Errorf("set %d times, want once", n)
			}
			if usedUp(t, client) {
				t.Error("used up before any boot")
			}
			if err := client.SetPower(ctx, redfish.Restart); err != nil {
				t.Fatal(err)
			}
			select {
			case b := <-boots:
				if b.Target != c.way || b.Device != c.device {
					t.Errorf("booted %+v, want %s %s", b, c.way, c.device)
				}
			case <-ctx.Done():
				t.Fatal("no boot")
			}
			if !usedUp(t, client) {
				t.Error("not used up behind the boot")
			}
		})
	}
}

// usedUp tells whether a Once has been taken by a boot: it reads Disabled then.
func usedUp(t *testing.T, client *redfish.Client) bool {
	t.Helper()
	b, err := client.Boot(within(t, time.Minute))
	if err != nil || !b.Supported {
		t.Fatalf("%+v, %v", b, err)
	}
	return b.Enabled == "Disabled" || b.Target == "None"
}

func TestBootFromUnknownPort(t *testing.T) {
	for _, tree := range []string{"hpe", "supermicro", "nvidia_viking", "lenovo", "dell"} {
		client, bmc := start(t, tree)
		err := client.SetBoot(within(t, time.Minute), redfish.Boot{Target: "Pxe", MAC: "02:00:00:00:00:01"})
		if !errors.Is(err, redfish.ErrUnsupported) || !strings.Contains(err.Error(), "02:00:00:00:00:01") {
			t.Errorf("%s: %v, want ErrUnsupported that names the port", tree, err)
		}
		if n := bmc.Acts()["boot.set"]; n != 0 {
			t.Errorf("%s: %d acts, want none", tree, n)
		}
	}
}

// TestBootThroughBIOS: where the override takes no URI or port, the plan names the
// BIOS attributes; with them in force SetBoot goes through.
func TestBootThroughBIOS(t *testing.T) {
	for _, c := range []struct {
		tree string
		want redfish.Boot
		bios map[string]any // at least these differ
	}{
		{
			"dell",
			redfish.Boot{Target: "UefiHttp", HTTPBootURI: "http://192.0.2.1/boot.efi", MAC: "b8:3f:d2:d7:f7:4a"},
			map[string]any{"HttpDev1Uri": "http://192.0.2.1/boot.efi"},
		},
		{"hpe", redfish.Boot{Target: "UefiHttp", HTTPBootURI: "http://192.0.2.1/boot.efi"}, map[string]any{"UrlBootFile": "http://192.0.2.1/boot.efi"}},
		{
			"supermicro",
			redfish.Boot{Target: "UefiHttp", HTTPBootURI: "http://192.0.2.1/boot.efi"},
			map[string]any{"BootURI_2953": "http://192.0.2.1/boot.efi", "IPv4HTTPSupport_00F5": "Enabled", "BootDescription_0111": "rackproof"},
		},
	} {
		t.Run(c.tree, func(t *testing.T) {
			client, bmc := start(t, c.tree)
			ctx := within(t, time.Minute)
			if c.want.MAC != "" {
				c.want.MAC = somePort(ctx, t, client)
			}
			plan, err := client.PlanBoot(ctx, c.want)
			if err != nil {
				t.Fatal(err)
			}
			changes := map[string]any{}
			for _, ch := range plan.Changes {
				changes[ch.Attribute] = ch.Want
			}
			for name, value := range c.bios {
				if changes[name] != value {
					t.Errorf("plan %v, want %s=%v", changes, name, value)
				}
			}
			if plan.Override.HTTPBootURI != "" || plan.Override.MAC != "" || plan.Why == "" {
				t.Errorf("override %+v, why %q", plan.Override, plan.Why)
			}
			if err := client.SetBoot(ctx, c.want); !errors.Is(err, redfish.ErrUnsupported) || bmc.Acts()["boot.set"] != 0 {
				t.Errorf("with the BIOS as it was: %v, acts %v", err, bmc.Acts())
			}
			if left := oneRound(ctx, t, client, bmc, plan.BIOS, plan.Changes); len(left) != 0 {
				t.Fatalf("left %v", left)
			}
			if err := client.SetBoot(ctx, c.want); err != nil || bmc.State().Boot.Target != "UefiHttp" {
				t.Errorf("with the BIOS set: %v, %+v", err, bmc.State().Boot)
			}
		})
	}
}

// somePort is a port of the machine by which its BMC names a network function.
func somePort(ctx context.Context, t *testing.T, c *redfish.Client) string {
	t.Helper()
	inv, err := c.Inventory(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range inv.NICs {
		if len(n.MACs) > 0 && strings.HasPrefix(n.Label, "NIC.") {
			return n.MACs[0]
		}
	}
	t.Fatal("no port")
	return ""
}

// TestILOWantsItsURLsToEnd: the registry's expression is the only place that says so.
func TestILOWantsItsURLsToEnd(t *testing.T) {
	client, bmc := start(t, "hpe")
	_, err := client.PlanBoot(within(t, time.Minute), redfish.Boot{Target: "UefiHttp", HTTPBootURI: "http://192.0.2.1/b/token"})
	if !errors.Is(err, redfish.ErrBadValue) || !strings.Contains(err.Error(), "UrlBootFile") {
		t.Errorf("error %v, want ErrBadValue", err)
	}
	if n := bmc.Acts()["bios.stage"]; n != 0 {
		t.Errorf("%d acts", n)
	}
}

func TestPreflight(t *testing.T) {
	kinds := func(found []redfish.Obstacle) string {
		set := map[string]bool{}
		for _, o := range found {
			set[string(o.Kind)+":"+strings.Join(o.Stops, "+")] = true
			if o.What == "" || o.Do == "" || o.Source == "" {
				return "no words: " + o.String()
			}
		}
		return strings.Join(slices.Sorted(maps.Keys(set)), " ")
	}
	for _, c := range []struct {
		tree, fault string
		stage       map[string]any
		want        string
	}{
		{tree: "dell"},
		{tree: "hpe"},
		{tree: "lenovo"},
		{tree: "nvidia_viking"},
		{tree: "supermicro"},
		{tree: "dell", fault: "lockdown", want: "lockdown:bios+boot+firmware+bmc-network"},
		{tree: "supermicro", fault: "lockdown", want: "lockdown:bios+boot+firmware+bmc-network"},
		{tree: "hpe", fault: "lockdown", want: "lockdown:bios"},
		{tree: "dell", stage: map[string]any{"LogicalProc": "Disabled"}, want: "pending-job:bios pending-values:"},
		{tree: "hpe", stage: map[string]any{"ProcSMT": "Disabled"}, want: "pending-values:"},
	} {
		t.Run(c.tree+" "+c.fault, func(t *testing.T) {
			client, bmc := start(t, c.tree)
			ctx := within(t, time.Minute)
			if c.stage != nil {
				changes, err := client.PlanBIOS(ctx, c.stage)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := client.StageBIOS(ctx, changes); err != nil {
					t.Fatal(err)
				}
			}
			if c.fault != "" {
				if err := bmc.SetFault(c.fault, true); err != nil {
					t.Fatal(err)
				}
			}
			acts := len(bmc.ActLog())
			found, err := client.Preflight(ctx)
			if err != nil || kinds(found) != c.want {
				t.Errorf("%q, %v; want %q", kinds(found), err, c.want)
			}
			if len(bmc.ActLog()) != acts {
				t.Error("looking changed something")
			}
		})
	}
}

// TestLicenceIsNamedBefore: an iLO whose licence lacks virtual media says so in its list
// of features.
func TestLicenceIsNamedBefore(t *testing.T) {
	client, bmc := start(t, "hpe")
	err := bmc.Update("/redfish/v1/Managers/1/LicenseService/1", func(body map[string]any) {
		body["License"] = "iLO Standard"
		body["LicenseFeatures"].(map[string]any)["VM"] = false
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.Preflight(within(t, time.Minute))
	if err != nil || len(found) != 1 || found[0].Kind != redfish.NoLicence || !strings.Contains(found[0].What, "iLO Standard has no virtual media") {
		t.Errorf("%v, %v", found, err)
	}
}

// TestDiscardBIOS takes back what waits, and the job that would set it.
func TestDiscardBIOS(t *testing.T) {
	for tree, wish := range map[string]map[string]any{
		"dell": {"LogicalProc": "Disabled"}, "hpe": {"ProcSMT": "Disabled"}, "supermicro": {"Hyper_Threading_ALL_": "Disable"},
	} {
		client, bmc := start(t, tree)
		ctx := within(t, time.Minute)
		if err := client.DiscardBIOS(ctx); err != nil || len(bmc.Acts()) > 1 {
			t.Errorf("%s, nothing waits: %v, %v", tree, err, bmc.Acts())
		}
		changes, err := client.PlanBIOS(ctx, wish)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.StageBIOS(ctx, changes); err != nil {
			t.Fatal(err)
		}
		if err := client.DiscardBIOS(ctx); err != nil {
			t.Errorf("%s: %v", tree, err)
		}
		if err := client.SetPower(ctx, redfish.Restart); err != nil {
			t.Fatal(err)
		}
		waitBoot(t, bmc)
		if left, err := client.PlanBIOS(ctx, wish); err != nil || len(left) != 1 {
			t.Errorf("%s: %v, %v; want the wish still open", tree, left, err)
		}
	}
}
