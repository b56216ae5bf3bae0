package provision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
)

// updateBMC is a fake BMC with firmware.
type updateBMC struct {
	*fakeBMC
	versions map[string]string // by entry
	staged   map[string]string // run after the host's reset
	asks     map[string]string // entry and version of an image, by its file name
	jobFails bool
	lies     bool   // says that it is done, and keeps the old version
	silent   int    // answers that are lost
	print    string // certificate; "" = that of newFakeBMC
	renewed  string // certificate after the BMC's own update
	ac       int
	refuses  error // of CheckUpdate
	noAC     error // of ACOffered
}

func (f *updateBMC) Fingerprint() string { return or(f.print, "aa") }

func (f *updateBMC) Firmware(context.Context) ([]redfish.Firmware, error) {
	var out []redfish.Firmware
	for id, version := range f.versions {
		out = append(out, redfish.Firmware{ID: id, Name: id, Version: version, URI: "/redfish/v1/UpdateService/FirmwareInventory/" + id})
	}
	return out, nil
}

func (f *updateBMC) CheckUpdate(context.Context, redfish.Image) error { return f.refuses }

func (f *updateBMC) Update(_ context.Context, image redfish.Image) (string, error) {
	f.acts["update "+image.Name]++
	if f.silent > 0 {
		f.silent--
		return "", fmt.Errorf("update: %w", redfish.ErrUnreachable)
	}
	return "/job/" + image.Name, nil
}

func (f *updateBMC) WaitUpdate(_ context.Context, job string) (bool, error) {
	if f.jobFails {
		return false, fmt.Errorf("BMC: %w: verification failed", redfish.ErrJobFailed)
	}
	entry, version, _ := strings.Cut(f.asks[filepath.Base(job)], " ")
	if f.lies {
		return false, nil
	}
	if entry == "BIOS" {
		f.staged[entry] = version
		return true, nil
	}
	f.versions[entry] = version
	if entry == "BMC" && f.renewed != "" && f.print != f.renewed {
		f.print = f.renewed
		return false, fmt.Errorf("BMC: %w", redfish.ErrPinMismatch)
	}
	return false, nil
}

func (f *updateBMC) SetPower(ctx context.Context, a redfish.PowerAction) error {
	maps.Copy(f.versions, f.staged)
	return f.fakeBMC.SetPower(ctx, a)
}

func (f *updateBMC) ACOffered(context.Context) error { return f.noAC }

func (f *updateBMC) ACCycle(context.Context) error {
	f.ac++
	f.power = redfish.Off // as its BIOS is set
	return nil
}

// firmwareEnv is a machine with BMC 1.0 and BIOS "Ver 1.3", and a folder with newer
// images.
func firmwareEnv(t *testing.T, components ...string) (*Env, *updateBMC) {
	t.Helper()
	f := &updateBMC{
		fakeBMC: newFakeBMC(), staged: map[string]string{},
		versions: map[string]string{"BMC": "1.0", "BIOS": "BIOS Date: 05/04/2023 Ver 1.3", "CPLD_Motherboard": "F5.11.CA"},
		asks:     map[string]string{"bmc.bin": "BMC 2.0", "bios.bin": "BIOS Ver 1.4", "cpld.bin": "CPLD_Motherboard F5.11.CB"},
	}
	e, _ := stepEnv(t, f.fakeBMC, Machine{Profile: "hgx-h100-8", BMC: "192.0.2.1"})
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
	e.Facts[FactUUID], e.Facts[FactPrint] = f.id.UUID, "aa"
	e.Batch.Firmware = FirmwareWish{Folder: t.TempDir(), Update: true}
	for _, c := range components {
		version, file := map[string]string{"BMC": "2.0", "BIOS": "1.4", "CPLD": "F5.11.CB"}[c], strings.ToLower(c)+".bin"
		for _, v := range []string{"0.9", version} {
			writeImage(t, e.Batch.Firmware.Folder, "hgx-h100-8", c, v, file, v)
		}
	}
	var err error
	if e.Machine.Images, err = FirmwareImages(e.Batch.Firmware.Folder, "hgx-h100-8"); err != nil {
		t.Fatal(err)
	}
	return e, f
}

func writeImage(t *testing.T, folder, profile, component, version, file, text string) {
	t.Helper()
	dir := filepath.Join(folder, profile, component, version)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestFirmwareInOrder: the BMC first, one reset for all, evidence of what runs then, and
// nothing the second time.
func TestFirmwareInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, f := firmwareEnv(t, "BIOS", "BMC")
		changes, err := firmwareUpdate{}.Plan(t.Context(), e)
		if err != nil || len(changes) != 3 || changes[0].What != "BMC" || changes[1].What != "BIOS" || changes[1].Now != "1.3" || len(f.acts) != 0 {
			t.Errorf("plan %+v, %v, acts %v", changes, err, f.acts)
		}
		for range 2 {
			if err := carryOut(t, firmwareUpdate{}, e); err != nil {
				t.Fatal(err)
			}
		}
		if f.versions["BMC"] != "2.0" || f.acts["update bmc.bin"] != 1 || f.acts["update bios.bin"] != 1 || f.acts["restart"] != 1 {
			t.Errorf("versions %v, acts %v", f.versions, f.acts)
		}
		if !e.Store.Has(burnin.PhaseBMC, probeFirmware) {
			t.Error("no evidence of the new firmware")
		}
	})
}

// TestFirmwareSharesItsReset: what waits for a reset of the host gets the one that brings
// the settings into force; a new BIOS starts by itself before they are set.
func TestFirmwareSharesItsReset(t *testing.T) {
	for component, resets := range map[string]int{"CPLD": 1, "BIOS": 2} {
		t.Run(component, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, f := firmwareEnv(t, component)
				cpld := e.Profile.Firmware["CPLD"]
				cpld.Resets = "host"
				e.Profile.Firmware["CPLD"] = cpld
				var planned []Change
				for _, s := range []Planner{firmwareUpdate{}, biosSettings{}} {
					changes, err := s.Plan(t.Context(), e)
					if err != nil {
						t.Fatal(err)
					}
					planned = append(planned, changes...)
				}
				if n := len(slices.DeleteFunc(planned, func(c Change) bool { return c.What != "reset" })); n != resets {
					t.Errorf("%d resets planned, want %d", n, resets)
				}
				delete(e.Facts, FactCarried)
				for _, s := range []Step{firmwareUpdate{}, biosSettings{}} {
					if err := carryOut(t, s, e); err != nil {
						t.Fatal(err)
					}
					clear(e.intents) // as the journal does behind a step
				}
				if f.resets != resets || f.attrs["IOMMU"] != "Disabled" {
					t.Errorf("%d resets, want %d; settings %v, acts %v", f.resets, resets, f.attrs, f.acts)
				}
			})
		})
	}
}

// TestFirmwareIsComparedOnly where the batch does not ask for more.
func TestFirmwareIsComparedOnly(t *testing.T) {
	e, f := firmwareEnv(t, "BMC")
	e.Batch.Firmware.Update = false
	if ok, err := (firmwareUpdate{}).Done(t.Context(), e); !ok || err != nil || len(f.acts) != 0 {
		t.Errorf("done %v, %v, acts %v", ok, err, f.acts)
	}
	if changes, err := (firmwareUpdate{}).Plan(t.Context(), e); len(changes) != 0 || err != nil {
		t.Errorf("plan %v, %v", changes, err)
	}
}

// TestFirmwareThatFailed: the machine waits for a person, and nothing is sent again.
func TestFirmwareThatFailed(t *testing.T) {
	for name, fail := range map[string]func(*updateBMC){
		"the job failed":                 func(f *updateBMC) { f.jobFails = true },
		"it says it is done, and is not": func(f *updateBMC) { f.lies = true },
	} {
		synctest.Test(t, func(t *testing.T) {
			e, f := firmwareEnv(t, "BMC", "BIOS")
			fail(f)
			err := carryOut(t, firmwareUpdate{}, e)
			hands, ok := errors.AsType[*Hands](err)
			if !ok || !strings.Contains(hands.Why, "firmware update of BMC from 1.0 to 2.0 failed and is not tried again") {
				t.Errorf("%s: %v, want hands", name, err)
			}
			if f.acts["update bmc.bin"] != 1 || f.jobFails && f.acts["update bios.bin"] != 0 {
				t.Errorf("%s: acts %v", name, f.acts)
			}
		})
	}
}

// TestFirmwareAnswerLost: the BMC may be flashing, so nothing is sent a second time.
func TestFirmwareAnswerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, f := firmwareEnv(t, "BMC")
		f.silent = 1
		err := carryOut(t, firmwareUpdate{}, e)
		stuck, ok := errors.AsType[*Stuck](err)
		if !ok || !stuck.Looked || !strings.Contains(stuck.Why, "BMC does not answer") || !strings.Contains(stuck.Do, "do not take its power away") || f.acts["update bmc.bin"] != 1 {
			t.Errorf("%v, acts %v; want STUCK after one", err, f.acts)
		}
		// Another life finds the new version: that is the mark.
		f.versions["BMC"] = "2.0"
		if err := carryOut(t, firmwareUpdate{}, e); err != nil || f.acts["update bmc.bin"] != 1 {
			t.Errorf("again: %v, %v", err, f.acts)
		}
	})
}

// TestFirmwareNeedsPower: what only an AC cycle brings into force gets one, by the BMC
// where it can.
func TestFirmwareNeedsPower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, f := firmwareEnv(t, "CPLD")
		if err := carryOut(t, firmwareUpdate{}, e); err != nil || f.ac != 1 || f.power != redfish.On {
			t.Errorf("%v, %d AC cycles, power %s", err, f.ac, f.power)
		}
	})
	// A BMC that cannot do it leaves it to hands, with nothing taken for begun.
	e, f := firmwareEnv(t, "CPLD")
	f.noAC = fmt.Errorf("BMC: %w", redfish.ErrUnsupported)
	err := carryOut(t, firmwareUpdate{}, e)
	if hands, ok := errors.AsType[*Hands](err); !ok || !strings.Contains(hands.Do[0].Do, "pull all power cords") || f.ac != 0 {
		t.Errorf("%v after %d AC cycles, want hands", err, f.ac)
	}
}

// TestPinRenewedAfterOurUpdate: the BMC's new certificate is taken when the machine
// behind it is the same, and only then.
func TestPinRenewedAfterOurUpdate(t *testing.T) {
	for _, test := range []struct {
		name  string
		after redfish.Identity
		ok    bool
	}{
		{"the same machine", newFakeBMC().id, true},
		{"another machine", redfish.Identity{UUID: "99999999-2233-4455-6677-8899aabbccdd"}, false},
		{"it does not say who it is", redfish.Identity{}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			e, f := firmwareEnv(t, "BMC")
			f.renewed = "bb"
			e.known = OpenKnownBMCs(t.TempDir())
			if err := e.known.Bind("192.0.2.1:443", "aa", f.id.UUID); err != nil {
				t.Fatal(err)
			}
			opened := 0
			e.open.renew = func(context.Context, Machine) (BMC, error) {
				opened++
				f.id = test.after
				return f, nil
			}
			err := carryOut(t, firmwareUpdate{}, e)
			if (err == nil) != test.ok || opened != 1 {
				t.Errorf("%s: %v, opened %d times", test.name, err, opened)
			}
			if known := e.known.Known("bb"); known != test.ok || (e.Facts[FactPrint] == "bb") != test.ok || (e.Facts[FactRenewed] != "") != test.ok {
				t.Errorf("%s: the new certificate is known: %v; facts %v", test.name, known, e.Facts)
			}
		})
	}
}

// Who tells before the login that it is another BMC gets no password.
func TestStrangerAfterOurUpdate(t *testing.T) {
	for mac, logins := range map[string]int{"02:00:00:00:00:01": 1, "": 1, "02:00:00:00:00:99": 0} {
		synctest.Test(t, func(t *testing.T) {
			e, f := firmwareEnv(t, "BMC")
			f.renewed = "bb"
			e.Facts[FactBMCMAC] = f.id.BMCMAC
			e.open.greet = func(context.Context, Machine) (redfish.Greeting, error) { return redfish.Greeting{MAC: mac}, nil }
			opened := 0
			e.open.renew = func(context.Context, Machine) (BMC, error) {
				opened++
				return f, nil
			}
			if err := carryOut(t, firmwareUpdate{}, e); (err == nil) != (logins == 1) || opened != logins {
				t.Errorf("MAC %q: %v, %d logins", mac, err, opened)
			}
		})
	}
}

// What can be known before an image is sent is said at once, and nothing is taken for
// begun.
func TestFirmwareThatIsNotTaken(t *testing.T) {
	e, f := firmwareEnv(t, "BMC")
	f.refuses = fmt.Errorf("image has 9 bytes: %w: it takes 8", redfish.ErrBadValue)
	err := carryOut(t, firmwareUpdate{}, e)
	if _, stuck := errors.AsType[*Stuck](err); stuck || !errors.Is(err, redfish.ErrBadValue) {
		t.Errorf("%v", err)
	}
	for name := range e.intents {
		if strings.HasPrefix(name, "firmware") {
			t.Errorf("intent %s", name)
		}
	}
}

func TestFirmwareFolder(t *testing.T) {
	dir := t.TempDir()
	writeImage(t, dir, "hgx-h100-8", "BMC", "1.9", "a.bin", "old")
	writeImage(t, dir, "hgx-h100-8", "BMC", "1.10", "b.bin", "new")
	writeImage(t, dir, "other", "BMC", "9.9", "c.bin", "of another model")
	images, err := FirmwareImages(dir, "hgx-h100-8")
	if err != nil || len(images) != 1 || images["BMC"].Version != "1.10" || images["BMC"].Size != 3 || filepath.Base(images["BMC"].File) != "b.bin" {
		t.Fatalf("%+v, %v", images, err)
	}
	if err := images["BMC"].unchanged(); err != nil {
		t.Error(err)
	}
	writeImage(t, dir, "hgx-h100-8", "BMC", "1.10", "b.bin", "NEW")
	if err := images["BMC"].unchanged(); err == nil || !strings.Contains(err.Error(), "another file") {
		t.Errorf("an image that was changed: %v", err)
	}
	if none, err := FirmwareImages(dir, "nothing"); len(none) != 0 || err != nil {
		t.Errorf("%v, %v", none, err)
	}
	writeImage(t, dir, "hgx-h100-8", "BMC", "1.10", "readme.txt", "two files")
	if _, err := FirmwareImages(dir, "hgx-h100-8"); err == nil || !strings.Contains(err.Error(), "exactly one file") {
		t.Errorf("two files: %v", err)
	}
}

// TestFirmwareFolderWithoutOrder: which of 1A and 19 is the newer, nothing says.
func TestFirmwareFolderWithoutOrder(t *testing.T) {
	dir := t.TempDir()
	writeImage(t, dir, "hgx-h100-8", "CPLD", "F5.11.19", "a.bin", "one")
	writeImage(t, dir, "hgx-h100-8", "CPLD", "F5.11.1A", "b.bin", "other")
	if images, err := FirmwareImages(dir, "hgx-h100-8"); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("%+v, %v", images, err)
	}
}

// TestFirmwareWithoutOrder: what may be the newer is not updated, nor called done.
func TestFirmwareWithoutOrder(t *testing.T) {
	e, f := firmwareEnv(t, "CPLD")
	f.versions["CPLD_Motherboard"] = "F5.11.19"
	var stuck *Stuck
	if done, err := (firmwareUpdate{}).Done(t.Context(), e); done || !errors.As(err, &stuck) || !strings.Contains(stuck.Why, "newer") || len(f.acts) != 0 {
		t.Errorf("done %v, %v, acts %v", done, err, f.acts)
	}
}

// TestFirmwareOfTheBatch: the newest of the folder is what the check compares with.
func TestFirmwareOfTheBatch(t *testing.T) {
	t.Setenv("BMC_USER", "root")
	t.Setenv("BMC_PASSWORD", planted)
	dir := t.TempDir()
	writeImage(t, dir, "hgx-h100-8", "BMC", "11.2", "bmc.bin", "x")
	text := "name: job\nprofile: hgx-h100-8\nfirmware: {folder: " + dir + ", update: true}\nmachines: [{name: m, bmc: 10.0.0.1, boot: {method: auto}}]\n"
	b, err := ParseBatch("batch.yaml", []byte(text), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	m := b.Machines[0]
	p, err := profiles.ParseResolved(b.Resolved[m.ProfileSHA256])
	if err != nil {
		t.Fatal(err)
	}
	if l := p.Firmware["BMC"].Version; !l.Set() || l.Text[0] != "11.2" || l.Provenance != profiles.FromAgreed || m.Images["BMC"].Version != "11.2" || !b.Firmware.Update {
		t.Errorf("limit %+v, images %v", l, m.Images)
	}
	writeImage(t, dir, "hgx-h100-8", "BMX", "1", "x.bin", "x")
	for wrong, says := range map[string]string{
		text: "no component \"BMX\"",
		strings.Replace(text, "folder: "+dir+", ", "", 1):     "needs a folder",
		strings.Replace(text, dir, dir+"/nowhere", 1):         "is not there",
		strings.Replace(text, "update: true", "update: 1", 1): "want true or false",
	} {
		if _, err := ParseBatch("batch.yaml", []byte(wrong), profiles.Open()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
