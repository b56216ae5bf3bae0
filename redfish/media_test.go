package redfish_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const image = "http://192.0.2.1:12000/m/k3j5h2m4.iso"

// TestMediaSlots: both places are followed, and a drive is listed once.
func TestMediaSlots(t *testing.T) {
	for _, c := range []struct {
		tree  string
		ids   string
		style string
	}{
		// The system's before the manager's: iDRAC9 6.00.30 takes images through the
		// system's alone (RAC0904 through the manager's).
		{"dell", "1 2 CD RemovableDisk", "action"},
		{"hpe", "1 2", "action"},
		{"lenovo", "EXT1 EXT2 EXT3 EXT4 RDOC1 RDOC2 Remote1 Remote2 Remote3 Remote4", "patch"}, // under both, once
		{"supermicro", "VirtualMedia1 VirtualMedia2 VirtualMedia3", "action"},                  // linked by both
	} {
		client, _ := start(t, c.tree)
		slots, err := client.Media(within(t, time.Minute))
		if err != nil {
			t.Errorf("%s: %v", c.tree, err)
		}
		var ids []string
		for _, s := range slots {
			ids = append(ids, s.ID)
			if s.Inserted || s.Style != c.style || !s.CD() && s.ID != "RemovableDisk" && c.tree != "hpe" {
				t.Errorf("%s: slot %+v, want it empty, by %s", c.tree, s, c.style)
			}
		}
		slices.Sort(ids)
		if got := strings.Join(ids, " "); got != c.ids {
			t.Errorf("%s: slots %s, want %s", c.tree, got, c.ids)
		}
	}
}

// TestHolds: every machine's image may have one name, so the name alone tells it only
// where the BMC shows no more.
func TestHolds(t *testing.T) {
	for shown, holds := range map[string]bool{
		image: true,
		"HTTP://192.0.2.1:12000/m/../m/k3j5h2m4.iso": true,
		"/m/k3j5h2m4.iso":                         true,
		"k3j5h2m4.iso":                            true,
		"http://192.0.2.2:12000/m/k3j5h2m4.iso":   false,
		"http://192.0.2.1:12001/m/k3j5h2m4.iso":   false,
		"http://192.0.2.1/m/k3j5h2m4.iso":         false,
		"http://192.0.2.1:12000/old/k3j5h2m4.iso": false,
		"/old/k3j5h2m4.iso":                       false,
		"192.0.2.2:/m/k3j5h2m4.iso":               false,
		"other.iso":                               false,
		"":                                        false,
	} {
		if got := (redfish.MediaSlot{Inserted: true, Image: shown}).Holds(image); got != holds {
			t.Errorf("a slot that shows %q holds it: %v, want %v", shown, got, holds)
		}
		if (redfish.MediaSlot{Image: shown}).Holds(image) {
			t.Errorf("an empty slot that shows %q holds it", shown)
		}
	}
	if !(redfish.MediaSlot{Inserted: true, Image: "http://bmc.example:80/a.iso"}).Holds("http://BMC.example/a.iso") {
		t.Error("a port that its scheme implies is another")
	}
}

func TestMediaInsertAndEject(t *testing.T) {
	for _, c := range []struct {
		name, tree string
		faults     []string
		fails      string // part of the error
		is         error
		acts       int // inserts that took effect
	}{
		{name: "dell", tree: "dell", acts: 1},
		{name: "hpe", tree: "hpe", acts: 1},
		{name: "lenovo: no action, only EXT slots take a URL", tree: "lenovo", acts: 1},
		{name: "supermicro: eject appears with the image", tree: "supermicro", acts: 1},
		{name: "iDRAC9 6.00.02: not through the manager's slots", tree: "dell", faults: []string{"media-not-by-manager"}, acts: 1},
		{name: "iLO4: Inserted is unknown", tree: "lenovo", faults: []string{"media-property-refused=Inserted"}, acts: 1},
		{name: "X12STW: Image stays after an eject", tree: "supermicro", faults: []string{"media-image-stays"}, acts: 1},
		{name: "iDRAC and GB300: rules for the URL", tree: "dell", faults: []string{"media-url-length=64", "media-url-suffix", "media-url-query"}, acts: 1},
		{name: "If-Match needed", tree: "lenovo", faults: []string{"etag-required"}, acts: 1},
		{name: "answer lost, inserted", tree: "supermicro", faults: []string{"lost-response=media.insert*1"}, acts: 1},
		{name: "R670: 204 and nothing inserted", tree: "dell", faults: []string{"media-ignored"}, fails: "no virtual drive shows it"},
		{name: "Supermicro without DCMS", tree: "supermicro", faults: []string{"media-licence"}, fails: "DCMS", is: redfish.ErrLicence},
		{name: "no drive listed", tree: "supermicro", faults: []string{"media-empty"}, fails: "licence", is: redfish.ErrUnsupported},
		{name: "DGX H100: remote media is off", tree: "nvidia_viking", fails: "virtual drive", is: redfish.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, bmc := start(t, c.tree, c.faults...)
			ctx := within(t, time.Minute)
			slot, err := client.InsertMedia(ctx, image)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Fatalf("insert: %v, want %q", err, c.fails)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("insert: %v, want %v", err, c.is)
			}
			if errors.Is(err, redfish.ErrAuth) {
				t.Errorf("insert: %v is no matter of the password", err)
			}
			if n := bmc.Acts()["media.insert"]; n != c.acts {
				t.Errorf("%d inserts, want %d", n, c.acts)
			}
			if c.fails != "" {
				return
			}
			if !slot.Inserted || slot.Image != image {
				t.Errorf("slot %+v, want the image in it", slot)
			}
			// Again is success and no second act.
			if again, err := client.InsertMedia(ctx, image); err != nil || again.ID != slot.ID || bmc.Acts()["media.insert"] != c.acts {
				t.Errorf("again: %+v, %v, %d inserts", again, err, bmc.Acts()["media.insert"])
			}
			for range 2 { // ejecting nothing is success
				if err := client.EjectMedia(ctx, slot); err != nil {
					t.Errorf("eject: %v", err)
				}
			}
			if n := bmc.Acts()["media.eject"]; n != 1 {
				t.Errorf("%d ejects, want 1", n)
			}
			slots, err := client.Media(ctx)
			if err != nil || slices.ContainsFunc(slots, func(s redfish.MediaSlot) bool { return s.Inserted }) {
				t.Errorf("after the eject: %+v, %v", slots, err)
			}
		})
	}
}

// TestMediaMakesRoom: a drive in use is emptied, but only when none is free.
func TestMediaMakesRoom(t *testing.T) {
	client, bmc := start(t, "supermicro")
	ctx := within(t, time.Minute)
	for i, name := range []string{"a", "b", "c", "d"} {
		if _, err := client.InsertMedia(ctx, "http://192.0.2.1/"+name+".iso"); err != nil {
			t.Fatal(err)
		}
		if acts, want := bmc.Acts(), max(0, i-2); acts["media.insert"] != i+1 || acts["media.eject"] != want {
			t.Errorf("after %d images: %v, want %d ejects", i+1, acts, want)
		}
	}
}

func TestMediaURL(t *testing.T) {
	client, bmc := start(t, "dell")
	for _, url := range []string{
		"http://u:p@192.0.2.1/a.iso", "http://192.0.2.1/a.iso?token=1", "http://192.0.2.1/a", "nfs://192.0.2.1/a.iso", "/a.iso", "http://192.0.2.1/a.iso#1",
	} {
		if _, err := client.InsertMedia(within(t, time.Minute), url); !errors.Is(err, redfish.ErrBadValue) {
			t.Errorf("%s: %v, want ErrBadValue", url, err)
		}
	}
	if n := bmc.Acts()["media.insert"]; n != 0 {
		t.Errorf("%d inserts, want none", n)
	}
}

// TestMediaSwitchedOn: a DGX H100 lists its drives only after EnableRMedia; looking
// alone switches nothing.
func TestMediaSwitchedOn(t *testing.T) {
	client, bmc := start(t, "nvidia_viking")
	const enable = "POST /redfish/v1/Managers/BMC/Actions/Oem/AMIVirtualMedia.EnableRMedia"
	if _, err := client.Media(within(t, time.Minute)); !errors.Is(err, redfish.ErrUnsupported) || bmc.Requests()[enable] != 0 {
		t.Errorf("looking: %v, %d requests to switch it on", err, bmc.Requests()[enable])
	}
	if _, err := client.InsertMedia(within(t, time.Minute), image); err == nil || bmc.Requests()[enable] != 1 {
		t.Errorf("inserting: %v, %d requests to switch it on, want 1", err, bmc.Requests()[enable])
	}
}

// TestMediaWithoutLinks: a BMC that has none says so.
func TestMediaWithoutLinks(t *testing.T) {
	client := open(t, serve(t, redfishtest.Options{Tree: small()}))
	if _, err := client.Media(t.Context()); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("error %v, want ErrUnsupported", err)
	}
}

// TestMediaInsertUncertain: the proxy before the BMC gave up on an insert that is under
// way. It is waited for, and the image goes into no other drive.
func TestMediaInsertUncertain(t *testing.T) {
	const image = "http://192.0.2.1/a.iso"
	bmc := serve(t, redfishtest.Options{Tree: machineTree()})
	var inserts, looks atomic.Int32
	client := openAt(t, front(t, bmc, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/Insert"):
			inserts.Add(1)
			answer(w, http.StatusGatewayTimeout, "<html>gateway</html>")
			return true
		case inserts.Load() > 0 && strings.Contains(r.URL.Path, "/VirtualMedia"):
			if looks.Add(1) == 3 {
				_ = bmc.SetMedia("CD1", image)
			}
		}
		return false
	}))
	if slot, err := client.InsertMedia(within(t, time.Minute), image); err != nil || inserts.Load() != 1 || slot.Image != image {
		t.Errorf("%+v, %v, %d inserts; want it in after one", slot, err, inserts.Load())
	}
}
