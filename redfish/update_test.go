package redfish_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const inventory = "/redfish/v1/UpdateService/FirmwareInventory/"

// updateBMC serves a captured tree that knows one image, for the entry.
func updateBMC(t *testing.T, tree, entry string, moment redfishtest.Activation) (*redfishtest.BMC, *redfish.Client) {
	t.Helper()
	bmc := serve(t, redfishtest.Options{
		Tree: captured(t, tree), TaskDelay: 20 * time.Millisecond, ManagerDelay: 50 * time.Millisecond,
		Images: map[string]redfishtest.Image{"fw.bin": {Component: inventory + entry, Version: "99.1", Activate: moment}},
	})
	return bmc, open(t, bmc)
}

// pushed is an image of n bytes to send.
func pushed(name string, n int64, targets ...string) redfish.Image {
	return redfish.Image{
		Name: name, Size: n, Targets: targets,
		Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(strings.Repeat("f", int(n)))), nil
		},
	}
}

// version reads an entry of the firmware inventory, "" while the BMC does not tell.
func version(t *testing.T, c *redfish.Client, id string) string {
	t.Helper()
	list, err := c.Firmware(within(t, time.Minute))
	if err != nil {
		return ""
	}
	for _, f := range list {
		if f.ID == id {
			return f.Version
		}
	}
	return ""
}

func TestUpdateWays(t *testing.T) {
	for _, c := range []struct {
		tree    string
		pull    string
		push    bool
		max     int64
		targets int
	}{
		{"dell", "HTTP NFS CIFS TFTP HTTPS", true, 0, 0},
		{"hpe", "HTTP HTTPS", false, 0, 0},
		{"lenovo", "TFTP SFTP HTTPS HTTP", true, 250000000, 1},
		{"nvidia_viking", "HTTP FTP HTTPS", true, 419627008, 0},
		{"supermicro", "HTTP HTTPS FTP", true, 0, 49},
	} {
		client, _ := start(t, c.tree)
		ways, err := client.UpdateWays(within(t, time.Minute))
		if err != nil || strings.Join(ways.Pull, " ") != c.pull || !ways.Fetches || ways.Push != c.push || ways.MaxBytes != c.max || len(ways.Targets) != c.targets {
			t.Errorf("%s: %+v (%d targets), %v; want %+v", c.tree, ways, len(ways.Targets), err, c)
		}
	}
}

// TestUpdate installs by both ways, on BMCs that name their task differently, restart
// themselves, or wait for the host.
func TestUpdate(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "firmware") }))
	defer server.Close()
	for _, c := range []struct {
		name, tree, entry string
		url               bool
		moment            redfishtest.Activation
		fault             string
		reset             bool // of the host is needed
		fails             string
	}{
		{name: "BMC, sent", tree: "supermicro", entry: "BMC"},
		{name: "BMC, fetched", tree: "supermicro", entry: "BMC", url: true},
		{name: "DGX wants the protocol named", tree: "nvidia_viking", entry: "HostBMC_0", url: true, moment: redfishtest.ActivateBMC},
		{name: "BIOS runs after the host's reset", tree: "supermicro", entry: "BIOS", reset: true},
		{name: "at once", tree: "supermicro", entry: "CPLD_Motherboard"},
		{name: "iDRAC's job", tree: "dell", entry: "Installed-27763-1.0.5__CPLD.Embedded.1"},
		{name: "task named in the body alone", tree: "supermicro", entry: "CPLD_Motherboard", fault: "location-in-body"},
		{name: "task vanishes", tree: "supermicro", entry: "CPLD_Motherboard", fault: "task-vanishes"},
		{name: "Completed and Critical", tree: "supermicro", entry: "CPLD_Motherboard", fault: "task-completed-critical", fails: "Critical"},
		{name: "said to be done, and is not", tree: "supermicro", entry: "CPLD_Motherboard", fault: "lost-effect=firmware.update*1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bmc, client := updateBMC(t, c.tree, c.entry, c.moment)
			if c.fault != "" {
				if err := bmc.SetFault(c.fault, true); err != nil {
					t.Fatal(err)
				}
			}
			image := pushed("fw.bin", 1<<20)
			if c.url {
				image = redfish.Image{URL: server.URL + "/fw.bin"}
			}
			ctx := within(t, time.Minute)
			if err := client.CheckUpdate(ctx, image); err != nil || bmc.Acts()["firmware.update"] != 0 {
				t.Fatalf("dry run: %v, %v", err, bmc.Acts())
			}
			job, err := client.Update(ctx, image)
			if err != nil || job == "" {
				t.Fatalf("job %q, %v", job, err)
			}
			reset, err := client.WaitUpdate(ctx, job)
			if c.fails != "" {
				if !errors.Is(err, redfish.ErrJobFailed) || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want ErrJobFailed with %q", err, c.fails)
				}
				return
			}
			if err != nil || reset != c.reset {
				t.Errorf("needs a reset: %v, %v; want %v", reset, err, c.reset)
			}
			if reset {
				if err := client.SetPower(ctx, redfish.Restart); err != nil {
					t.Fatal(err)
				}
			}
			lied := strings.HasPrefix(c.fault, "lost-effect")
			for version(t, client, c.entry) != "99.1" && !lied {
				if ctx.Err() != nil {
					t.Fatalf("version %q, acts %v", version(t, client, c.entry), bmc.Acts())
				}
			}
			if n := bmc.Acts()["firmware.activate"]; (n == 1) == lied {
				t.Errorf("%d images run: %v", n, bmc.Acts())
			}
		})
	}
}

// TestUpdateIsSentOnce: after a lost answer the BMC may be flashing.
func TestUpdateIsSentOnce(t *testing.T) {
	bmc, client := updateBMC(t, "supermicro", "BMC", "")
	if err := bmc.SetFault("lost-response=firmware.update", true); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Update(within(t, time.Minute), pushed("fw.bin", 1000)); !errors.Is(err, redfish.ErrUnreachable) {
		t.Errorf("error %v, want ErrUnreachable", err)
	}
	sent := 0
	for request, n := range bmc.Requests() {
		if strings.HasPrefix(request, "POST /redfish/v1/UpdateService") {
			sent += n
		}
	}
	if sent != 1 {
		t.Errorf("sent %d times, want once", sent)
	}
}

// TestUpdateRefusedBefore: what cannot work is told before a byte is sent.
func TestUpdateRefusedBefore(t *testing.T) {
	for _, c := range []struct {
		tree  string
		image redfish.Image
		is    error
		says  string
	}{
		{"nvidia_viking", redfish.Image{Name: "a", Size: 1 << 40, Open: pushed("a", 1).Open}, redfish.ErrBadValue, "takes 419627008"},
		{"hpe", pushed("a", 10), redfish.ErrUnsupported, "no image can be sent"},
		{"dell", redfish.Image{URL: "ftp://192.0.2.1/a"}, redfish.ErrBadValue, "want http"},
		{"dell", redfish.Image{URL: "http://u:p@192.0.2.1/a"}, redfish.ErrBadValue, "no login"},
		{"dell", redfish.Image{}, redfish.ErrBadValue, "no firmware image"},
		{"dell", pushed("a", 10, inventory+"Nothing"), redfish.ErrBadValue, "not in the firmware inventory"},
		{"supermicro", pushed("a", 10, inventory+"Golden_BIOS"), redfish.ErrBadValue, "not among those"},
	} {
		client, bmc := start(t, c.tree)
		_, err := client.Update(within(t, time.Minute), c.image)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", c.tree, err, c.is, c.says)
		}
		for request := range bmc.Requests() {
			if strings.HasPrefix(request, "POST /redfish/v1/UpdateService") {
				t.Errorf("%s: %s was sent", c.tree, request)
			}
		}
	}
	// A target that a pattern of the list covers.
	client, _ := start(t, "supermicro")
	if err := client.CheckUpdate(within(t, time.Minute), pushed("a", 10, inventory+"CPLD_Backplane_1")); err != nil {
		t.Error(err)
	}
}

// TestUpdateWithoutAJob: iLO5 makes none; its update service tells.
func TestUpdateWithoutAJob(t *testing.T) {
	client, bmc := start(t, "hpe")
	state := func(word string) {
		t.Helper()
		err := bmc.Update("/redfish/v1/UpdateService", func(body map[string]any) {
			body["Oem"].(map[string]any)["Hpe"].(map[string]any)["State"] = word
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := within(t, time.Minute)
	state("Updating")
	ended := make(chan error, 1)
	go func() {
		_, err := client.WaitUpdate(ctx, "")
		ended <- err
	}()
	for asked := 0; asked < 5; asked = bmc.Requests()["GET /redfish/v1/UpdateService"] { // it goes on asking
		select {
		case err := <-ended:
			t.Fatalf("ended while it updates: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	state("Complete")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	state("Error")
	if _, err := client.WaitUpdate(ctx, ""); !errors.Is(err, redfish.ErrJobFailed) {
		t.Errorf("error %v, want ErrJobFailed", err)
	}
}
