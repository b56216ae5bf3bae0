package provision

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
)

// mediaBMC is a fake BMC with two virtual drives.
type mediaBMC struct {
	*fakeBMC
	slots   []redfish.MediaSlot
	fetches bool // reads the image as soon as it is inserted
	boots   bool // the host starts what is in a drive when it is reset
	t       *testing.T
}

func (f *mediaBMC) Media(context.Context) ([]redfish.MediaSlot, error) {
	return append([]redfish.MediaSlot{}, f.slots...), nil
}

func (f *mediaBMC) InsertMedia(_ context.Context, url string) (redfish.MediaSlot, error) {
	f.slots[0].Inserted, f.slots[0].Image = true, url
	if f.fetches {
		f.get(url)
	}
	return f.slots[0], f.act("insert")
}

func (f *mediaBMC) EjectMedia(_ context.Context, s redfish.MediaSlot) error {
	for i := range f.slots {
		if f.slots[i].ID == s.ID {
			f.slots[i].Inserted = false
		}
	}
	return f.act("eject")
}

// SetPower lets the host run the program on the CD: it fetches the seed that stands
// in it.
func (f *mediaBMC) SetPower(ctx context.Context, a redfish.PowerAction) error {
	if f.boots && f.boot.Target == "Cd" {
		_, after, _ := strings.Cut(f.get(f.slots[0].Image), "rackproof.seed=")
		f.get(after[:strings.IndexByte(after, '\n')])
	}
	return f.fakeBMC.SetPower(ctx, a)
}

func (f *mediaBMC) get(url string) string {
	f.t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		f.t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(body)
}

// mediaEnv is a machine that boots from a virtual drive of f.
func mediaEnv(t *testing.T, f *mediaBMC) *Env {
	t.Helper()
	f.t, f.slots = t, []redfish.MediaSlot{{ID: "CD1", Types: []string{"CD"}}, {ID: "CD2", Types: []string{"CD"}}}
	f.boot.Allowed = []string{"Hdd", "Cd"}
	e, _ := stepEnv(t, f.fakeBMC, Machine{BMC: "127.0.0.1:1", Host: "127.0.0.1", Boot: Boot{Image: SimulatedImage, Method: BootMedia}})
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
	e.Batch.Limits.Poll = Duration(4 * time.Millisecond)
	e.Boot = &netboot.Server{Addr: "127.0.0.1:0", State: filepath.Join(t.TempDir(), "netboot.json")}
	if err := e.Boot.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Boot.Close() })
	e.startBoot = func(context.Context) error { return nil }
	if _, err := e.Boot.Ticket(e.Machine.Name, e.Attempt, SimulatedImage, "ssh-ed25519 AAAA test"); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestBootFromMedia: another image goes out, ours goes in, is booted once, and goes
// out as soon as the host was heard of. The token is nowhere but in the image.
func TestBootFromMedia(t *testing.T) {
	f := &mediaBMC{fakeBMC: newFakeBMC(), boots: true}
	e := mediaEnv(t, f)
	f.slots[1].Inserted, f.slots[1].Image = true, "http://192.0.2.9/installer.iso"
	if err := carryOut(t, boot{}, e); err != nil {
		t.Fatal(err)
	}
	if f.acts["insert"] != 1 || f.acts["eject"] != 2 || f.acts["boot"] != 1 || f.acts["restart"] != 1 {
		t.Errorf("acts %v", f.acts)
	}
	if f.slots[0].Inserted || f.slots[1].Inserted {
		t.Errorf("drives %+v, want them empty", f.slots)
	}
	token := e.Facts[FactToken]
	if token == "" || e.Facts[FactHostKey] == "" || e.Facts[FactBoot] != "virtual-media" {
		t.Errorf("facts %v", e.Facts)
	}
	if strings.Contains(f.slots[0].Image, token) || !strings.HasSuffix(f.slots[0].Image, ".iso") {
		t.Errorf("image %s, want a name ending in .iso that does not tell the token", f.slots[0].Image)
	}
}

// TestMediaEjectedAfterACrash: the host was heard of, and rackproof was killed before
// it emptied the drive.
func TestMediaEjectedAfterACrash(t *testing.T) {
	f := &mediaBMC{fakeBMC: newFakeBMC(), boots: true}
	e := mediaEnv(t, f)
	b, _, err := e.mediaBoot(t.Context(), f, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.insert(t.Context()), f.SetBoot(t.Context(), redfish.Boot{Target: "Cd"}), f.SetPower(t.Context(), redfish.Restart)); err != nil {
		t.Fatal(err)
	}
	e.intents = map[string]Intent{"virtual media": {Act: "virtual media", Mark: b.url}} // all else was lost
	if err := carryOut(t, boot{}, e); err != nil {
		t.Fatal(err)
	}
	if f.slots[0].Inserted || f.acts["insert"] != 1 || f.acts["restart"] != 1 {
		t.Errorf("drives %+v, acts %v: want it empty, and nothing done twice", f.slots, f.acts)
	}
}

// TestMediaThatNobodyBooted says how far it came.
func TestMediaThatNobodyBooted(t *testing.T) {
	for _, test := range []struct {
		fetches bool
		why, do string
	}{
		{false, "never fetched it", "netboot.listen"},
		{true, "no host that booted it was heard of", "console"},
	} {
		f := &mediaBMC{fakeBMC: newFakeBMC(), fetches: test.fetches}
		e := mediaEnv(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		_, err := boot{}.Do(ctx, e)
		var stuck *Stuck
		if !errors.As(err, &stuck) || !strings.Contains(stuck.Why, test.why) || !strings.Contains(stuck.Do, test.do) || !stuck.Anew {
			t.Errorf("fetched %v: %v, want %q", test.fetches, err, test.why)
		}
	}
}

// TestBootMethodByItself: what the BMC offers decides, UEFI HTTP first.
func TestBootMethodByItself(t *testing.T) {
	for _, test := range []struct {
		name    string
		allowed []string
		modes   []string
		want    BootMethod
	}{
		{"both", []string{"UefiHttp", "Cd"}, nil, BootUEFIHTTP},
		{"a CD by another name", []string{"Hdd", "UsbCd"}, []string{"Legacy", "UEFI"}, BootMedia},
		{"both, of a machine that boots by its BIOS alone", []string{"UefiHttp", "Cd"}, []string{"Legacy"}, BootDisk},
		{"neither", []string{"Hdd"}, nil, BootDisk},
	} {
		f := &mediaBMC{fakeBMC: newFakeBMC()}
		e := mediaEnv(t, f)
		f.boot.Allowed, f.boot.Modes, e.Machine.Boot.Method = test.allowed, test.modes, BootAuto
		if got, _, err := e.method(t.Context(), f); got != test.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", test.name, got, err, test.want)
		}
	}
}

// TestMediaNeedsAProgram: an image without a stub cannot start from a CD, which is told
// before anything is changed.
func TestMediaNeedsAProgram(t *testing.T) {
	f := &mediaBMC{fakeBMC: newFakeBMC()}
	e := mediaEnv(t, f)
	e.Boot.Images, e.Machine.Boot.Image = t.TempDir(), "live"
	for _, name := range []string{"vmlinuz", "initrd"} {
		path := filepath.Join(e.Boot.Images, "live", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := preflight{}.Done(t.Context(), e)
	var stuck *Stuck
	if !errors.As(err, &stuck) || !strings.Contains(stuck.Why, "boot.stub") {
		t.Errorf("error %v, want one that names the stub", err)
	}
	if err := os.WriteFile(filepath.Join(e.Boot.Images, "live", "boot.stub"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if ok, err := (preflight{}).Done(t.Context(), e); !ok || err != nil {
		t.Errorf("with the stub: %v, %v", ok, err)
	}
}
