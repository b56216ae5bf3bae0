package provision

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// leavingBMC is a host that does something when it restarts.
type leavingBMC struct {
	*fakeBMC
	restarts func()
	silent   bool // about POST
}

func (l *leavingBMC) SetPower(ctx context.Context, a redfish.PowerAction) error {
	err := l.fakeBMC.SetPower(ctx, a)
	if a == redfish.Restart {
		l.restarts()
	}
	return err
}

func (l *leavingBMC) POSTDone(context.Context) (done, known bool, err error) {
	return !l.silent, !l.silent, nil
}

// TestHandoverProvesWhatBooted: behind the restart that puts the BIOS back the host must
// not come for our image, nor have an override that would make it; what cannot be proven
// is said so.
func TestHandoverProvesWhatBooted(t *testing.T) {
	for _, c := range []struct {
		name   string
		sticky bool // the override of our boot still stands
		again  bool // it boots our image again
		silent bool
		power  redfish.PowerState
		says   string
	}{
		{"into its own system", false, false, false, redfish.On, "installed system: it did not come to us"},
		{"with an override that stands", true, false, false, redfish.On, "kept its boot override UefiHttp/Once behind the boot; it was taken back"},
		{"into our image again", false, true, false, redfish.Off, "powered off: after its restart it had started our image again"},
		{"nobody tells of POST", false, false, true, redfish.On, "is not proven"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &leavingBMC{fakeBMC: newFakeBMC(), silent: c.silent}
			e, _ := stepEnv(t, f.fakeBMC, Machine{})
			e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
			e.Batch.Limits.Poll = Duration(time.Millisecond)
			e.Boot = &netboot.Server{Addr: "127.0.0.1:0", State: filepath.Join(t.TempDir(), "netboot.json")}
			if err := e.Boot.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Boot.Close() }()
			ticket, err := e.Boot.Ticket("m1", 1, netboot.Simulated, "")
			if err != nil {
				t.Fatal(err)
			}
			f.restarts = func() {
				if c.again {
					fetch(t, e.Boot.URL("127.0.0.1", ticket.Token))
				}
			}
			e.Facts[FactBoot], e.Facts[FactBIOSFound] = string(BootUEFIHTTP), `{"IOMMU":"Enabled"}`
			f.attrs["IOMMU"] = "Disabled"
			if err := e.begin(); err != nil {
				t.Fatal(err)
			}
			if c.sticky {
				f.boot.Target, f.boot.Enabled = "UefiHttp", "Once"
			}
			if err := carryOut(t, handover{}, e); err != nil {
				t.Fatal(err)
			}
			if said := e.Facts[FactHandover]; !strings.Contains(said, c.says) {
				t.Errorf("said %q, want %q", said, c.says)
			}
			if f.power != c.power || f.acts["restart"] != 1 || !overrideIsOff(f.boot) || f.attrs["IOMMU"] != "Enabled" {
				t.Errorf("power %s, acts %v, override %s, BIOS %v", f.power, f.acts, f.boot, f.attrs)
			}
		})
	}
}

func fetch(t *testing.T, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v", url, resp.Status, err)
	}
}

// TestStickyOverrideIsTakenBack: a BMC that does not use up Once (quirk 37).
func TestStickyOverrideIsTakenBack(t *testing.T) {
	tree := redfishtest.Tree{
		"/redfish/v1":         []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"}}`),
		"/redfish/v1/Systems": []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"}]}`),
		"/redfish/v1/Systems/a": []byte(`{"PowerState":"On","Boot":{"BootSourceOverrideTarget":"None","BootSourceOverrideEnabled":"Disabled","BootSourceOverrideMode":"UEFI"},
			"Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/a/Reset","ResetType@Redfish.AllowableValues":["On","ForceOff","ForceRestart"]}}}`),
	}
	for fault, told := range map[string]bool{"": false, "boot-sticky": true} {
		bmc, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: tree, User: "root", Password: planted})
		if err != nil {
			t.Fatal(err)
		}
		if fault != "" {
			if err := bmc.SetFault(fault, true); err != nil {
				t.Fatal(err)
			}
		}
		c, err := redfish.Open(t.Context(), redfish.Config{Addr: bmc.Addr(), User: "root", Password: planted, Poll: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetBoot(t.Context(), redfish.Boot{Target: "Pxe", Enabled: "Once"}); err != nil {
			t.Fatal(err)
		}
		boots := bmc.State().Boots
		if err := c.SetPower(t.Context(), redfish.Restart); err != nil {
			t.Fatal(err)
		}
		e, _ := stepEnv(t, newFakeBMC(), Machine{})
		e.Batch.Limits.Poll = Duration(time.Millisecond)
		if err := e.WaitFor(t.Context(), time.Millisecond, Stuck{}, func() (bool, error) { return bmc.State().Boots > boots, nil }); err != nil {
			t.Fatal(err)
		}
		if err := e.clearOverride(t.Context(), c, "handover override"); err != nil {
			t.Fatal(err)
		}
		if now := bmc.State().Boot; now.Enabled != "Disabled" || (e.Facts[factSticky] != "") != told {
			t.Errorf("%q: override %+v, told %q", fault, now, e.Facts[factSticky])
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		_ = bmc.Close()
	}
}
