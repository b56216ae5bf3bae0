package redfish_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestBIOSFromWishToProof walks the whole way on every captured machine: plan,
// stage, restart, wait for the job, verify; and nothing twice.
func TestBIOSFromWishToProof(t *testing.T) {
	for _, c := range []struct {
		tree      string
		attribute string
		now, want string
		faults    []string
	}{
		{tree: "dell", attribute: "LogicalProc", now: "Enabled", want: "Disabled"},
		{tree: "hpe", attribute: "ProcSMT", now: "Enabled", want: "Disabled"},
		{tree: "lenovo", attribute: "Processors_HyperThreading", now: "Enabled", want: "Disabled"},
		{tree: "nvidia_viking", attribute: "ProcessorHyperThreadingDisable", now: "Enabled", want: "Disabled"},
		{tree: "supermicro", attribute: "Hyper_Threading_ALL__F27F", now: "Enable", want: "Disable"},
		{tree: "dell", attribute: "LogicalProc", now: "Enabled", want: "Disabled", faults: []string{"apply-time-refused"}},
		{tree: "dell", attribute: "LogicalProc", now: "Enabled", want: "Disabled", faults: []string{"location-in-body"}},
		{tree: "dell", attribute: "LogicalProc", now: "Enabled", want: "Disabled", faults: []string{"lost-response=bios.stage*1"}},
		{tree: "hpe", attribute: "ProcSMT", now: "Enabled", want: "Disabled", faults: []string{"bios-task", "task-vanishes"}},
		{tree: "nvidia_viking", attribute: "ProcessorHyperThreadingDisable", now: "Enabled", want: "Disabled", faults: []string{"etag-required"}},
	} {
		t.Run(strings.Join(append([]string{c.tree}, c.faults...), "+"), func(t *testing.T) {
			client, bmc := start(t, c.tree, c.faults...)
			ctx := within(t, time.Minute)
			attrs, unmapped, err := client.MapIntents(ctx, map[string]string{"smt": "off", "teleport": "on"})
			if err != nil || attrs[c.attribute] != c.want || len(unmapped) != 1 || unmapped[0].Intent != "teleport" {
				t.Fatalf("intents: %v, unmapped %v, %v; want %s=%s", attrs, unmapped, err, c.attribute, c.want)
			}
			changes, err := client.PlanBIOS(ctx, attrs)
			want := redfish.BIOSChange{Attribute: c.attribute, Now: c.now, Want: c.want}
			if err != nil || len(changes) != 1 || changes[0].Attribute != want.Attribute || changes[0].Now != want.Now || changes[0].Want != want.Want || changes[0].Display == "" {
				t.Fatalf("plan: %+v, %v; want %+v with its name on the screen", changes, err, want)
			}
			if acts := bmc.Acts(); acts["bios.stage"] != 0 {
				t.Fatalf("a plan changed something: %v", acts)
			}
			job, err := client.StageBIOS(ctx, changes)
			if err != nil {
				t.Fatal(err)
			}
			again, err := client.StageBIOS(ctx, changes)
			if n := bmc.Acts()["bios.stage"]; err != nil || n != 1 || again != "" && again != job && c.tree != "dell" {
				t.Errorf("staging again: job %q, %v, %d acts; want one", again, err, n)
			}
			if bios, err := client.BIOS(ctx); err != nil || bios.Pending[c.attribute] != c.want || bios.Attributes[c.attribute] != c.now {
				t.Errorf("before the reset: pending %v, in force %v, %v", bios.Pending, bios.Attributes[c.attribute], err)
			}
			if err := client.SetPower(ctx, redfish.Restart); err != nil {
				t.Fatal(err)
			}
			if err := client.WaitJob(ctx, job); err != nil {
				t.Error(err)
			}
			waitBoot(t, bmc)
			if left, err := client.VerifyBIOS(ctx, attrs); err != nil || len(left) != 0 {
				t.Errorf("after the reset: %v still differs, %v", left, err)
			}
			if n := bmc.Acts()["bios.apply"]; n != 1 {
				t.Errorf("applied %d times, want 1", n)
			}
			if c.tree == "dell" && job == "" && again == "" {
				t.Error("iDRAC made no job")
			}
		})
	}
}

// waitBoot waits until the machine went through POST.
func waitBoot(t *testing.T, bmc *redfishtest.BMC) {
	t.Helper()
	ctx := within(t, 30*time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for bmc.State().POST || bmc.State().Boots == 0 {
		select {
		case <-ctx.Done():
			t.Fatalf("the machine never booted: %+v", bmc.State().Power)
		case <-tick.C:
		}
	}
}

func TestPlanBIOSRefusesAllAtOnce(t *testing.T) {
	client, bmc := start(t, "dell")
	_, err := client.PlanBIOS(within(t, time.Minute), map[string]any{
		"LogicalProc": "Sometimes", "LogicalProcessor": "Enabled", "AcPwrRcvryUserDelay": "9999",
		"ProcCStates": "Enabled", "PcieAspmL1": "Disabled", "SysPassword": "x",
	})
	if !errors.Is(err, redfish.ErrBadValue) {
		t.Fatalf("error %v, want ErrBadValue", err)
	}
	for _, part := range []string{
		"LogicalProc: value is not allowed: Sometimes; allowed are Enabled, Disabled",
		`"LogicalProcessor": value is not allowed: not on this machine; nearest are LogicalProc`,
		"AcPwrRcvryUserDelay: value is not allowed: 9999; allowed are whole numbers from",
		"ProcCStates: value is not allowed: it is read-only while SysProfile is PerfOptimized, stays Disabled",
		"SysPassword",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q:\n%v", part, err)
		}
	}
	if strings.Contains(err.Error(), "PcieAspmL1") {
		t.Errorf("a read-only attribute that is as wished is an error:\n%v", err)
	}
	if n := bmc.Acts()["bios.stage"]; n != 0 {
		t.Errorf("%d acts, want none", n)
	}
}

func TestPlanBIOSTypesValues(t *testing.T) {
	client, _ := start(t, "dell")
	ctx := within(t, time.Minute)
	changes, err := client.PlanBIOS(ctx, map[string]any{"AcPwrRcvryUserDelay": "120", "LogicalProc": true})
	if err != nil || len(changes) != 0 {
		t.Errorf("as in force, in other types: %v, %v; want no change", changes, err)
	}
	changes, err = client.PlanBIOS(ctx, map[string]any{"AcPwrRcvryUserDelay": "130"})
	if err != nil || len(changes) != 1 || changes[0].Want != int64(130) {
		t.Errorf("a number in a string: %#v, %v; want int64 130", changes, err)
	}
}

func TestBIOSFaults(t *testing.T) {
	wish := map[string]any{"ProcSMT": "Disabled"}
	t.Run("ignored", func(t *testing.T) {
		client, _ := start(t, "hpe", "bios-ignored")
		ctx := within(t, time.Minute)
		changes, err := client.PlanBIOS(ctx, wish)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.StageBIOS(ctx, changes); err == nil || !strings.Contains(err.Error(), "ProcSMT reads Enabled") {
			t.Errorf("an ignored PATCH: %v, want an error", err)
		}
	})
	t.Run("job completed and critical", func(t *testing.T) {
		client, _ := start(t, "dell", "task-completed-critical")
		ctx := within(t, time.Minute)
		changes, err := client.PlanBIOS(ctx, map[string]any{"LogicalProc": "Disabled"})
		if err != nil {
			t.Fatal(err)
		}
		job, err := client.StageBIOS(ctx, changes)
		if err != nil || job == "" {
			t.Fatalf("job %q, %v", job, err)
		}
		if err := client.SetPower(ctx, redfish.Restart); err != nil {
			t.Fatal(err)
		}
		if err := client.WaitJob(ctx, job); !errors.Is(err, redfish.ErrJobFailed) {
			t.Errorf("Completed and Critical: %v, want ErrJobFailed", err)
		}
	})
	t.Run("null attributes", func(t *testing.T) {
		client, _ := start(t, "hpe", "null-attributes")
		bios, err := client.BIOS(within(t, time.Minute))
		if err != nil || len(bios.Attributes) != 0 {
			t.Errorf("%d attributes, %v; want none", len(bios.Attributes), err)
		}
	})
	t.Run("no BIOS", func(t *testing.T) {
		client := open(t, serve(t, redfishtest.Options{Tree: small()}))
		if _, err := client.BIOS(t.Context()); !errors.Is(err, redfish.ErrUnsupported) {
			t.Errorf("error %v, want ErrUnsupported", err)
		}
	})
}

// TestIntentRulesFitTheirRegistry plans every rule of a vendor against the
// captured registry: a rule with a wrong name or value would be an error.
func TestIntentRulesFitTheirRegistry(t *testing.T) {
	intents := map[string][]string{
		"smt": {"on", "off"}, "numa-per-socket": {"1", "2", "4"}, "iommu": {"on", "off"}, "above-4g": {"on", "off"},
		"resizable-bar": {"on", "off"}, "sriov": {"on", "off"}, "acs": {"on", "off"}, "aspm": {"on", "off"},
		"boot-mode": {"uefi", "legacy"}, "secure-boot": {"on", "off"}, "performance": {"max", "balanced"},
		"c-states": {"on", "off"}, "determinism": {"performance", "power"}, "tpm": {"on", "off"},
		"serial-console": {"on", "off"}, "network-stack": {"on", "off"}, "http-boot": {"on", "off"},
	}
	mapped := map[string][]string{
		"dell": {
			"above-4g", "aspm", "boot-mode", "c-states", "http-boot", "iommu", "numa-per-socket", "performance", "secure-boot",
			"serial-console", "smt", "sriov", "tpm",
		},
		"hpe": {
			"acs", "boot-mode", "c-states", "determinism", "http-boot", "iommu", "numa-per-socket", "performance", "secure-boot",
			"serial-console", "smt", "sriov", "tpm",
		},
		"lenovo": {
			"above-4g", "aspm", "boot-mode", "c-states", "http-boot", "iommu", "network-stack", "numa-per-socket", "performance",
			"secure-boot", "serial-console", "smt", "sriov",
		},
		"nvidia_viking": {"http-boot", "iommu", "network-stack", "performance", "secure-boot", "serial-console", "smt", "sriov", "tpm"},
		"supermicro": {
			"above-4g", "aspm", "boot-mode", "c-states", "http-boot", "iommu", "network-stack", "numa-per-socket", "performance",
			"resizable-bar", "secure-boot", "smt", "sriov",
		},
	}
	// What an intent cannot have on the captured machine, because another setting
	// locks it there.
	locked := map[string]string{"lenovo boot-mode=legacy": "LegacyBIOS_LegacyBIOS", "hpe tpm=off": "PlatformCertificate"}
	for tree, want := range mapped {
		client, _ := start(t, tree)
		ctx := within(t, time.Minute)
		var got []string
		for intent, values := range intents {
			for _, value := range values {
				what := tree + " " + intent + "=" + value
				attrs, unmapped, err := client.MapIntents(ctx, map[string]string{intent: value})
				if err != nil || len(attrs) == 0 && len(unmapped) != 1 {
					t.Fatalf("%s: %v, %v, %v", what, attrs, unmapped, err)
				}
				if why := locked[what]; why != "" && (len(attrs) > 0 || !strings.Contains(unmapped[0].Why, "read-only while "+why)) {
					t.Errorf("%s: %v, %v; want it locked by %s", what, attrs, unmapped, why)
				}
				if len(attrs) == 0 {
					continue
				}
				if _, err = client.PlanBIOS(ctx, attrs); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				got = append(got, intent)
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s maps %v, want %v", tree, got, want)
		}
	}
}
