package provision

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const firmwareEntries = "/redfish/v1/UpdateService/FirmwareInventory/"

// servedFirmware is a machine whose BMC serves a captured tree and takes version 99.1 of
// one component, and a boot server.
func servedFirmware(t *testing.T, tree, entry string) (*Env, *redfishtest.BMC) {
	t.Helper()
	bmc := serveTreeAs(t, tree, redfishtest.Options{
		User: "root", Password: planted, TaskDelay: 5 * time.Millisecond, ManagerDelay: 20 * time.Millisecond,
		Images: map[string]redfishtest.Image{"fw.bin": {Component: firmwareEntries + entry, Version: "99.1", Activate: redfishtest.ActivateNow}},
	})
	e, _ := stepEnv(t, newFakeBMC(), Machine{BMC: bmc.Addr()})
	e.open.bmc = func(ctx context.Context, m Machine) (BMC, error) {
		return redfish.Open(ctx, redfish.Config{Addr: m.BMC, User: "root", Password: planted, Poll: 5 * time.Millisecond})
	}
	e.Batch.Limits.Poll = Duration(10 * time.Millisecond)
	e.Batch.Firmware = FirmwareWish{Folder: t.TempDir(), Update: true}
	e.Profile.Firmware = map[string]profiles.Firmware{"PART": {Entries: []string{entry}, Pattern: `(\d+(?:\.\d+)*)`}}
	writeImage(t, e.Batch.Firmware.Folder, "p", "PART", "99.1", "fw.bin", "firmware")
	var err error
	if e.Machine.Images, err = FirmwareImages(e.Batch.Firmware.Folder, "p"); err != nil {
		t.Fatal(err)
	}
	e.Boot = &netboot.Server{Addr: "127.0.0.1:0", State: filepath.Join(t.TempDir(), "netboot.json")}
	started := false
	e.startBoot = func(ctx context.Context) error {
		if started {
			return nil
		}
		started = true
		return e.Boot.Start(ctx)
	}
	t.Cleanup(func() { _ = errors.Join(e.Close(), e.Boot.Close()) })
	return e, bmc
}

// TestFirmwareByTheWayOfTheBMC: an iLO takes no image that is sent and fetches it from
// us; the others are sent it, and told what for where they list that. Either way the task
// is followed to the new version, and nothing is offered afterwards.
func TestFirmwareByTheWayOfTheBMC(t *testing.T) {
	for _, c := range []struct {
		tree, entry string
		fetches     bool
		targets     int
		post        string
	}{
		{"hpe", "4", true, 0, "SimpleUpdate"},
		{"supermicro", "CPLD_Motherboard", false, 1, "upload"},
		{"lenovo", "LXPM", false, 0, "mfwupdate"},
	} {
		t.Run(c.tree, func(t *testing.T) {
			e, bmc := servedFirmware(t, c.tree, c.entry)
			u, err := e.updater(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			pending, err := e.pendingFirmware(t.Context(), u)
			if err != nil || len(pending) != 1 {
				t.Fatalf("pending %+v, %v", pending, err)
			}
			image, err := e.firmwareImage(t.Context(), u, pending[0], planToken)
			if err != nil || (image.URL != "") != c.fetches || len(image.Targets) != c.targets {
				t.Errorf("image %+v, %v", image, err)
			}
			changes, err := firmwareUpdate{}.Plan(t.Context(), e)
			if err != nil || len(changes) != 1 || bmc.Acts()["firmware.update"] != 0 {
				t.Fatalf("plan %+v, %v", changes, err)
			}
			if err := carryOut(t, firmwareUpdate{}, e); err != nil {
				t.Fatal(err)
			}
			if n := bmc.Acts(); n["firmware.update"] != 1 || n["firmware.activate"] != 1 {
				t.Errorf("acts %v", n)
			}
			posted := ""
			for request := range bmc.Requests() {
				if strings.HasPrefix(request, "POST /redfish/v1/UpdateService") || strings.HasPrefix(request, "POST /mfwupdate") {
					posted = request
				}
			}
			if !strings.HasSuffix(posted, c.post) {
				t.Errorf("sent by %q, want …%s", posted, c.post)
			}
			token, err := e.Boot.Offer("m1", "another look", 1)
			if err != nil || !e.Boot.Fetched(token).IsZero() || e.Boot.Withdraw(token) != nil {
				t.Errorf("a new offer: %v", err)
			}
		})
	}
}

// TestFirmwareNotFetched: where the BMC cannot come to us the word says so, and nothing
// is sent a second time.
func TestFirmwareNotFetched(t *testing.T) {
	e, bmc := servedFirmware(t, "hpe", "4")
	e.Boot.State = filepath.Join(t.TempDir(), "netboot.json")
	e.startBoot = func(ctx context.Context) error { // up for us, and behind a firewall for the BMC
		return errors.Join(e.Boot.Start(ctx), e.Boot.Close())
	}
	err := carryOut(t, firmwareUpdate{}, e)
	hands, ok := errors.AsType[*Hands](err)
	if !ok || !strings.Contains(hands.Why, "the BMC never fetched http://127.0.0.1:") || bmc.Acts()["firmware.update"] != 1 {
		t.Errorf("%v, acts %v", err, bmc.Acts())
	}
}

// TestFirmwareTargets: all entries of a component or none.
func TestFirmwareTargets(t *testing.T) {
	p := pendingFirmware{uris: []string{firmwareEntries + "BMC-Primary", firmwareEntries + "BMC-Backup"}}
	for _, c := range []struct{ listed, want []string }{
		{nil, nil},
		{p.uris[1:], nil},
		{[]string{firmwareEntries + `BMC-\w+`}, p.uris},
	} {
		if got := p.targets(redfish.UpdateWays{Targets: c.listed}); !slices.Equal(got, c.want) {
			t.Errorf("listed %v: targets %v, want %v", c.listed, got, c.want)
		}
	}
}

// TestFirmwareThroughBastion: the BMC cannot come to us, and that is said before anything
// is sent.
func TestFirmwareThroughBastion(t *testing.T) {
	e, bmc := servedFirmware(t, "hpe", "4")
	e.Machine.Via = "bastion"
	_, err := firmwareUpdate{}.Plan(t.Context(), e)
	if stuck, ok := errors.AsType[*Stuck](err); !ok || !strings.Contains(stuck.Do, "netboot.listen") {
		t.Errorf("%v", err)
	}
	if n := bmc.Requests()[http.MethodPost+" /redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate"]; n != 0 {
		t.Errorf("%d updates were sent", n)
	}
}
