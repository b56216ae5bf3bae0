package redfish_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// quirkTests is which test fails without the handling of each quirk of the field
// list's parts A to G that a client meets (64 is met by the server of images). Model, firmware and symptom stand
// at the handling or the fault.
var quirkTests = map[int]string{
	1: "TestDisfiguredTrees", 2: "TestDisfiguredTrees", 3: "TestDisfiguredTrees", 4: "TestDisfiguredTrees", 5: "TestLinkShapes",
	7: "TestBrokenResourceIsPartial", 8: "TestDisfiguredTrees", 9: "TestLinkToNothing", 10: "TestPagedCollections",
	11: "TestTwoHostsBehindOneBMC", 12: "TestBaseboardAsleep", 13: "TestTwoHostsBehindOneBMC", 14: "TestMakers", 15: "TestJunkIdentityIsAbsent",
	17: "TestBIOSFaults", 18: "TestCapturedTrees",
	20: "TestBootOverride", 21: "TestBootOverride", 22: "TestBootOverride", 23: "TestBootOverride", 24: "TestBootWithoutMode", 25: "TestBootUnsupported",
	26: "TestBootOverride", 27: "TestURIByTheOverride", 28: "TestBootFromPort", 29: "TestBootThroughBIOS", 30: "TestBootOverride",
	31: "TestBootInUnlinkedSettings", 32: "TestBootOverride", 33: "TestBootOverrideWaitsForPOST", 34: "TestModeIsNotSentAgain", 35: "TestBootOverride",
	37: "TestOnceIgnored", 38: "TestPreflight",
	39: "TestBIOSFromWishToProof", 40: "TestBIOSFromWishToProof", 41: "TestValuesOfSomebodyElse", 42: "TestPendingShownAsCurrent",
	43: "TestStageToUnlinkedSettings", 44: "TestBIOSOnEveryServedMachine", 45: "TestAttributeShapes", 46: "TestBIOSOnEveryServedMachine",
	47: "TestStaleReadOnlyFlag", 48: "TestBIOSFaults", 49: "TestCoerceByRegistry",
	51: "TestBootOverride", 52: "TestNoPreconditionOnActions",
	54: "TestMediaInsertAndEject", 55: "TestMediaInsertAndEject", 56: "TestMediaInsertAndEject", 57: "TestMediaSlots",
	58: "TestMediaInsertAndEject", 59: "TestMediaInsertAndEject", 60: "TestMediaInsertAndEject", 61: "TestMediaInsertAndEject",
	62: "TestMediaInAnotherSlot", 63: "TestMediaInsertAndEject",
	66: "TestResetNotOnTheList", 67: "TestPowerLadder", 68: "TestAlreadyThere", 69: "TestBIOSFromWishToProof", 70: "TestJobVerdict",
	71: "TestBIOSFromWishToProof", 72: "TestSessionFaults", 73: "TestExpiredSessionIsRenewedOnce", 74: "TestFirstPassword", 76: "TestSessionFaults",
	77: "TestDownloadMustTakeGzip", 78: "TestLegacyTLS", 79: "TestNegativeSerial", 80: "TestForeignLogin", 81: "TestNotReadyAs400", 82: "TestStrainShown",
	83: "TestSilentStreamIsLeft", 84: "TestIPMICipherSuite", 85: "TestIPMIBootLosesUEFI", 86: "TestIPMIBootTimeout", 87: "TestIPMIBrokenFRU", 88: "TestIPMIPasswordTooLong",
}

// TestQuirksHaveTests: every test that is named exists.
func TestQuirksHaveTests(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range function.FindAllStringSubmatch(string(source), -1) {
			have[m[1]] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(quirkTests)) {
		if !have[quirkTests[n]] {
			t.Errorf("quirk %d: there is no %s", n, quirkTests[n])
		}
	}
	for _, f := range redfishtest.Faults() {
		if _, known := quirkTests[f.Quirk]; f.Quirk != 0 && !known {
			t.Errorf("fault %s plays quirk %d, which no test is named for", f.Name, f.Quirk)
		}
	}
}

// edited is machineTree with texts of its bodies replaced: pairs of old and new.
func edited(t *testing.T, uri string, pairs ...string) redfishtest.Tree {
	t.Helper()
	tree := machineTree()
	body := string(tree[uri])
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(body, pairs[i]) {
			t.Fatalf("%s has no %s", uri, pairs[i])
		}
		body = strings.ReplaceAll(body, pairs[i], pairs[i+1])
	}
	tree[uri] = []byte(body)
	return tree
}

const (
	aSystem = "/redfish/v1/Systems/a"
	aBIOS   = aSystem + "/Bios"
)

// proxmox-redfish #36: the link to the memory leads nowhere. It is named, and the
// rest is read.
func TestLinkToNothing(t *testing.T) {
	tree := machineTree()
	delete(tree, aSystem+"/Memory")
	inv, err := open(t, serve(t, redfishtest.Options{Tree: tree})).Inventory(within(t, time.Minute))
	if err != nil || len(inv.Partial) != 1 || !strings.HasPrefix(inv.Partial[0], aSystem+"/Memory") || len(inv.Firmware) != 1 {
		t.Errorf("partial %v, %d firmware entries, %v", inv.Partial, len(inv.Firmware), err)
	}
}

// DGX H100: 264 sensors, 75 a page; iDRAC: 50 a page. A page that names itself as
// the next ends the reading.
func TestPagedCollections(t *testing.T) {
	for _, fault := range []string{"pages=7", "pages=1"} {
		client, _ := start(t, "supermicro", fault)
		inv, err := client.Inventory(within(t, time.Minute))
		if err != nil || len(inv.DIMMs) != 32 || len(inv.Firmware) != 106 || len(inv.Partial) != 0 {
			t.Errorf("%s: %d DIMMs, %d firmware entries, partial %v, %v", fault, len(inv.DIMMs), len(inv.Firmware), inv.Partial, err)
		}
	}
	tree := edited(t, aSystem+"/Memory", `{"Members"`, `{"Members@odata.nextLink":"`+aSystem+`/Memory","Members"`)
	inv, err := open(t, serve(t, redfishtest.Options{Tree: tree})).Inventory(within(t, time.Minute))
	if err != nil || len(inv.DIMMs) != 1 {
		t.Errorf("a page that leads to itself: %d DIMMs, %v", len(inv.DIMMs), err)
	}
}

// Cray EX235n has Node0 and Node1 behind one BMC; bmclib #421 acted on every system
// when none matched. Nothing is done until one is named, and then on that one alone.
func TestTwoHostsBehindOneBMC(t *testing.T) {
	tree := small()
	tree["/redfish/v1/Systems"] = []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"},{"@odata.id":"/redfish/v1/Systems/b"}]}`)
	tree["/redfish/v1/Systems/b"] = []byte(strings.ReplaceAll(smallSystem, "Systems/a", "Systems/b"))
	bmc := serve(t, redfishtest.Options{Tree: tree})
	for _, name := range []string{"", "c", "HGX_Baseboard_0"} {
		cfg := config(bmc)
		cfg.System = name
		if _, err := redfish.Open(t.Context(), cfg); !errors.Is(err, redfish.ErrAmbiguousSystem) || !strings.Contains(err.Error(), "[a, b]") {
			t.Errorf("system %q: %v, want ErrAmbiguousSystem with the names", name, err)
		}
	}
	cfg := config(bmc)
	cfg.System = "b"
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetPower(within(t, time.Minute), redfish.ForceOff); err != nil {
		t.Fatal(err)
	}
	if states := bmc.States(); states[0].Power != "On" || states[1].Power != "Off" {
		t.Errorf("a is %s, b is %s; want b alone off", states[0].Power, states[1].Power)
	}
}

// DGX H100: Systems/HGX_Baseboard_0 answers 503 while the host is off. Its GPUs are
// unread then, not gone.
func TestBaseboardAsleep(t *testing.T) {
	client, _ := start(t, "nvidia_viking")
	ctx := within(t, time.Minute)
	if err := client.SetPower(ctx, redfish.ForceOff); err != nil {
		t.Fatal(err)
	}
	inv, err := client.Inventory(ctx)
	named := slices.ContainsFunc(inv.Partial, func(s string) bool { return strings.Contains(s, "HGX_Baseboard_0") })
	if err != nil || len(inv.GPUs) != 0 || !named || len(inv.DIMMs) != 32 {
		t.Errorf("%d GPUs, %d DIMMs, named %v, %v", len(inv.GPUs), len(inv.DIMMs), named, err)
	}
}

// X10SRM-TF has no BootSourceOverrideMode at all (metal-operator #982).
func TestBootWithoutMode(t *testing.T) {
	tree := edited(t, aSystem, `"BootSourceOverrideMode":"UEFI",`, "", `"@Redfish.Settings"`, `"Oem@none"`)
	delete(tree, aSystem+"/SD")
	bmc := serve(t, redfishtest.Options{Tree: tree})
	client := open(t, bmc)
	for range 2 {
		if err := client.SetBoot(within(t, time.Minute), redfish.Boot{Target: "Pxe", Mode: "UEFI"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := bmc.Acts()["boot.set"]; n != 1 || bmc.State().Boot.Target != "Pxe" {
		t.Errorf("%d acts, %+v", n, bmc.State().Boot)
	}
}

// ASRock on AMI links no settings object and refuses the override on the system
// (Redfish-Tacklebox #144): it is taken at Systems/…/SD.
func TestBootInUnlinkedSettings(t *testing.T) {
	tree := edited(t, aSystem, `"@Redfish.Settings":{"SettingsObject":{"@odata.id":"`+aSystem+`/SD"}},`, "")
	bmc := serve(t, redfishtest.Options{Tree: tree, Faults: []string{"boot-future-state"}})
	client := open(t, bmc)
	if err := client.SetBoot(within(t, time.Minute), redfish.Boot{Target: "Pxe", Mode: "UEFI"}); err != nil {
		t.Fatal(err)
	}
	if n := bmc.Acts()["boot.set"]; n != 1 || bmc.State().Boot.Target != "Pxe" {
		t.Errorf("%d acts, %+v", n, bmc.State().Boot)
	}
}

// Supermicro with a virtual CD takes Once again at every boot (jetlag #18): that it
// was not used up shows, and it can be taken back.
func TestOnceIgnored(t *testing.T) {
	for fault, used := range map[string]bool{"boot-sticky": false, "boot-once-ignored": true} {
		client, bmc := start(t, "supermicro", fault)
		ctx := within(t, time.Minute)
		want := redfish.Boot{Target: "Pxe", Enabled: "Once"}
		if err := client.SetBoot(ctx, want); err != nil {
			t.Fatal(err)
		}
		if err := client.SetPower(ctx, redfish.Restart); err != nil {
			t.Fatal(err)
		}
		waitBoot(t, bmc)
		done, known, err := client.POSTDone(ctx)
		if got := usedUp(t, client); err != nil || got != used || !known || !done {
			t.Errorf("%s: used %v, POST done %v (known %v), %v; want used %v", fault, got, done, known, err, used)
		}
		if err := client.SetBoot(ctx, redfish.Boot{Target: "Hdd"}); err != nil || bmc.State().Boot.Target != "Hdd" {
			t.Errorf("%s: %v, %+v", fault, err, bmc.State().Boot)
		}
	}
}

// iDRAC9 refuses values while a job with others waits (quads #726, SYS011): told
// before by Preflight, and clearly by the change. With the same values, the job that
// exists is ours too (libredfish #97).
func TestValuesOfSomebodyElse(t *testing.T) {
	client, bmc := start(t, "dell")
	ctx := within(t, time.Minute)
	stage := func(wish map[string]any) (string, error) {
		changes, err := client.PlanBIOS(ctx, wish)
		if err != nil {
			t.Fatal(err)
		}
		return client.StageBIOS(ctx, changes)
	}
	first, err := stage(map[string]any{"LogicalProc": "Disabled"})
	if err != nil || first == "" {
		t.Fatalf("job %q, %v", first, err)
	}
	same, err := stage(map[string]any{"LogicalProc": "Disabled"})
	if err != nil || !strings.HasSuffix(first, same[strings.LastIndexByte(same, '/'):]) {
		t.Errorf("the same again: job %q, %v; want %q", same, err, first)
	}
	if _, err := stage(map[string]any{"SriovGlobalEnable": "Disabled"}); err == nil || !strings.Contains(err.Error(), "already committed") {
		t.Errorf("other values: %v", err)
	}
	if n := bmc.Acts()["task.create"]; n != 1 {
		t.Errorf("%d jobs, want one", n)
	}
}

// iDRAC shows pending values as current before their job has run (libredfish #25):
// they are not in force, whoever asks.
func TestPendingShownAsCurrent(t *testing.T) {
	client, bmc := start(t, "dell", "bios-early")
	ctx := within(t, time.Minute)
	want := map[string]any{"LogicalProc": "Disabled"}
	changes, err := client.PlanBIOS(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.StageBIOS(ctx, changes); err != nil {
		t.Fatal(err)
	}
	if open, err := client.VerifyBIOS(ctx, want); err != nil || len(open) != 1 {
		t.Errorf("before the reset: %v, %v; want one open", open, err)
	}
	again, err := client.PlanBIOS(ctx, want)
	if err != nil || len(again) != 1 {
		t.Fatalf("plan before the reset: %v, %v", again, err)
	}
	if left := oneRound(ctx, t, client, bmc, want, again); len(left) != 0 || bmc.Acts()["bios.stage"] != 1 {
		t.Errorf("left %v, acts %v", left, bmc.Acts())
	}
}

// A Gigabyte H262-Z63 (BIOS C27) names no settings object and serves Bios/SD, which
// wants If-Match and refuses a weak tag. A machine without any is told apart before
// anything is sent.
func TestBIOSWithoutSettingsLink(t *testing.T) {
	unlinked := []string{
		`"@Redfish.Settings":{"SettingsObject":{"@odata.id":"` + aBIOS + `/SD"},"SupportedApplyTimes":["OnReset"]}`,
		`"@Redfish.Settings":{"ETag":"Dummyetag","Messages":[{"MessageId":"Base.1.0.SettingsFailed"}]}`,
	}
	client := open(t, serve(t, redfishtest.Options{Tree: edited(t, aBIOS, unlinked...)}))
	ctx := within(t, time.Minute)
	bios, err := client.BIOS(ctx)
	if err != nil || bios.ReadOnly {
		t.Errorf("Bios/SD is there: read-only %v, %v", bios.ReadOnly, err)
	}
	tree := edited(t, aBIOS, unlinked...)
	delete(tree, aBIOS+"/SD")
	bmc := serve(t, redfishtest.Options{Tree: tree})
	client = open(t, bmc)
	_, err = client.PlanBIOS(ctx, map[string]any{"Profile": "Custom"})
	if !errors.Is(err, redfish.ErrUnsupported) || changing(bmc) != 0 {
		t.Errorf("no settings object: %v, %d changing requests", err, changing(bmc))
	}
	found, err := client.Preflight(ctx)
	if err != nil || len(found) != 1 || found[0].Kind != redfish.NotOffered {
		t.Errorf("preflight %v, %v", found, err)
	}
}

// iDRAC10 (R470) refuses an action that carries If-Match (gofish #510).
func TestNoPreconditionOnActions(t *testing.T) {
	client, bmc := start(t, "dell", "etag-refused-on-post", "etag-required")
	if err := client.SetPower(within(t, time.Minute), redfish.ForceOff); err != nil || bmc.State().Power != "Off" {
		t.Errorf("%v, power %s", err, bmc.State().Power)
	}
}

// Dell 14G answers 400 to a reset that it does not list (badfish #66): what is not
// on the list is not sent.
func TestResetNotOnTheList(t *testing.T) {
	tree := edited(t, aSystem, `["On","ForceOff","GracefulShutdown","ForceRestart","FullPowerCycle"]`, `["On","ForceOff"]`)
	bmc := serve(t, redfishtest.Options{Tree: tree})
	client := open(t, bmc)
	ctx := within(t, time.Minute)
	for _, action := range []redfish.PowerAction{redfish.Restart, redfish.PowerOff, redfish.PowerOn} {
		if err := client.SetPower(ctx, action); err != nil {
			t.Errorf("%s: %v", action, err)
		}
	}
	if refused := bmc.Statuses()[400]; refused != 0 {
		t.Errorf("%s refusals", strconv.Itoa(refused))
	}
}
