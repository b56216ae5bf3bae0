package redfish_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

func TestBootOverride(t *testing.T) {
	once := redfish.Boot{Target: "Pxe", Enabled: "Once", Mode: "UEFI"}
	for _, c := range []struct {
		name, tree string
		faults     []string
		want       redfish.Boot
		sets       int    // acts
		fails      string // part of the error
		is         error
	}{
		{name: "dell", tree: "dell", want: once, sets: 1},
		{name: "hpe", tree: "hpe", want: once, sets: 1},
		{name: "lenovo", tree: "lenovo", want: once, sets: 1},
		{name: "dgx, on its settings object", tree: "nvidia_viking", faults: []string{"boot-future-state"}, want: once, sets: 1},
		{name: "supermicro", tree: "supermicro", want: once, sets: 1},
		{name: "supermicro drops the mode", tree: "supermicro", faults: []string{"mode-dropped"}, want: once, sets: 1},
		{name: "mode must not be sent", tree: "hpe", faults: []string{"mode-refused"}, want: once, sets: 1},
		{name: "mode must be sent", tree: "dell", faults: []string{"mode-required"}, want: once, sets: 1},
		{name: "answered 400, applied", tree: "dell", faults: []string{"error-but-applied"}, want: once, sets: 1},
		{name: "answer lost, applied", tree: "dell", faults: []string{"lost-response=boot.set*1"}, want: once, sets: 1},
		{name: "answered 200, ignored", tree: "supermicro", faults: []string{"boot-ignored"}, want: once, fails: "accepted, but it reads"},
		{name: "If-Match needed", tree: "nvidia_viking", faults: []string{"etag-required"}, want: once, sets: 1},
		{name: "If-Match refused", tree: "lenovo", faults: []string{"etag-refused"}, want: once, sets: 1},
		{name: "weak tag refused", tree: "hpe", faults: []string{"etag-weak-refused"}, want: once, sets: 1},
		{name: "gzip in the tag", tree: "lenovo", faults: []string{"etag-gzip"}, want: once, sets: 1},
		{name: "virtual CD by its other name", tree: "supermicro", want: redfish.Boot{Target: "UefiUsbCd", Enabled: "Once"}, sets: 1},
		{name: "not on the list", tree: "lenovo", want: redfish.Boot{Target: "UefiHttp"}, fails: "offers None, Pxe", is: redfish.ErrBadValue},
		{name: "the URI is a BIOS setting", tree: "dell", want: redfish.Boot{Target: "UefiHttp", HTTPBootURI: "http://192.0.2.1/x"}, fails: "the BIOS must have HttpDev1Uri first", is: redfish.ErrUnsupported},
		{name: "no place for a URI", tree: "lenovo", want: redfish.Boot{Target: "Pxe", HTTPBootURI: "http://192.0.2.1/x"}, fails: "HttpBootUri", is: redfish.ErrUnsupported},
		{name: "locked down", tree: "supermicro", faults: []string{"lockdown"}, want: once, fails: "switch the lockdown off", is: redfish.ErrLockdown},
		{name: "a URI", tree: "nvidia_viking", want: redfish.Boot{Target: "UefiHttp", Enabled: "Once", HTTPBootURI: "http://192.0.2.1/x"}, sets: 1},
		{name: "none set already", tree: "hpe", want: redfish.Boot{Enabled: "Disabled"}, sets: 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, bmc := start(t, c.tree, c.faults...)
			ctx := within(t, time.Minute)
			err := client.SetBoot(ctx, c.want)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %v, want %v", err, c.is)
			}
			if n := bmc.Acts()["boot.set"]; n != c.sets {
				t.Errorf("%d acts, want %d", n, c.sets)
			}
			if c.fails != "" || c.sets == 0 {
				return
			}
			if got := bmc.State().Boot; got.Enabled != c.want.Enabled || c.want.Mode != "" && got.Mode != c.want.Mode && got.Mode != "" || got.HTTPBootURI != c.want.HTTPBootURI {
				t.Errorf("the machine will boot %+v, want %+v", got, c.want)
			}
			// Again is no second act.
			if err := client.SetBoot(ctx, c.want); err != nil || bmc.Acts()["boot.set"] != c.sets {
				t.Errorf("again: %v, %d acts", err, bmc.Acts()["boot.set"])
			}
			if err := client.SetBoot(ctx, redfish.Boot{Enabled: "Disabled"}); err != nil || bmc.State().Boot.Enabled != "Disabled" {
				t.Errorf("taking it back: %v, %+v", err, bmc.State().Boot)
			}
		})
	}
}

func TestBootOverrideWaitsForPOST(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: captured(t, "hpe"), POSTDelay: time.Hour, Faults: []string{"post-locked*2"}})
	c := open(t, bmc)
	ctx := within(t, time.Minute)
	if err := c.SetPower(ctx, redfish.Restart); err != nil {
		t.Fatal(err)
	}
	if err := c.SetBoot(ctx, redfish.Boot{Target: "Pxe"}); err != nil || bmc.State().Boot.Target != "Pxe" {
		t.Errorf("set during POST: %v, %+v", err, bmc.State().Boot)
	}
	if n := bmc.Statuses()[400]; n != 2 {
		t.Errorf("the BMC refused %d times, want 2", n)
	}
}

func TestBootUnsupported(t *testing.T) {
	tree := small()
	tree["/redfish/v1/Systems/a"] = []byte(strings.ReplaceAll(smallSystem, "BootSourceOverride", "Other"))
	c := open(t, serve(t, redfishtest.Options{Tree: tree}))
	boot, err := c.Boot(t.Context())
	if err != nil || boot.Supported {
		t.Errorf("boot %+v, %v; want unsupported and no error", boot, err)
	}
	if err := c.SetBoot(t.Context(), redfish.Boot{Target: "Pxe"}); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("set: %v, want ErrUnsupported", err)
	}
}

// TestBootModeNotOffered: a machine that boots by its BIOS alone is asked for no UEFI boot,
// and nothing is sent.
func TestBootModeNotOffered(t *testing.T) {
	tree := small()
	tree["/redfish/v1/Systems/a"] = []byte(strings.Replace(smallSystem, `"BootSourceOverrideTarget"`, `"BootSourceOverrideMode@Redfish.AllowableValues": ["Legacy"], "BootSourceOverrideTarget"`, 1))
	bmc := serve(t, redfishtest.Options{Tree: tree})
	c := open(t, bmc)
	boot, err := c.Boot(t.Context())
	if err != nil || boot.Takes("UEFI") || !boot.Takes("legacy") || !boot.Takes("") {
		t.Errorf("boot %+v, %v; want one by Legacy alone", boot, err)
	}
	err = c.SetBoot(t.Context(), redfish.Boot{Target: "Cd", Mode: "UEFI"})
	if !errors.Is(err, redfish.ErrBadValue) || !strings.Contains(err.Error(), "boots by Legacy") || bmc.Acts()["boot.set"] != 0 {
		t.Errorf("set: %v, %v", err, bmc.Acts())
	}
}
