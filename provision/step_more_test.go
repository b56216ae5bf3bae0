package provision

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
)

// moreBMC is a fake with a LED, volumes and secure boot.
type moreBMC struct {
	*fakeBMC
	lit     bool
	lamps   int
	volumes []redfish.Volume
	none    error
}

func (f *moreBMC) Locator(context.Context) (bool, error) { return f.lit, f.none }
func (f *moreBMC) SetLocator(_ context.Context, on bool) error {
	f.lit, f.lamps = on, f.lamps+1
	return nil
}
func (f *moreBMC) Volumes(context.Context) ([]redfish.Volume, error) { return f.volumes, f.none }
func (f *moreBMC) MapIntents(_ context.Context, intents map[string]string) (map[string]any, []redfish.Unmapped, error) {
	if f.none != nil {
		return nil, nil, f.none
	}
	return map[string]any{"SecureBoot": map[string]string{"on": "Enabled", "off": "Disabled"}[intents["secure-boot"]]}, nil, nil
}

func moreEnv(t *testing.T) (*moreBMC, *Env, *memory) {
	t.Helper()
	f := &moreBMC{fakeBMC: newFakeBMC()}
	f.attrs["SecureBoot"] = "Enabled"
	e, rec := stepEnv(t, f.fakeBMC, Machine{BMC: "10.0.0.1"})
	e.Batch.Limits.Poll = Duration(1e6)
	e.open.bmc = func(context.Context, Machine) (BMC, error) { return f, nil }
	return f, e, rec
}

func doStep(t *testing.T, e *Env, s Step) error {
	t.Helper()
	return doneDoDone(t.Context(), StepInfo{Step: s, Gentle: true}, Task{}, e, nil)
}

func planOf(t *testing.T, e *Env, s Planner) string {
	t.Helper()
	changes, err := s.Plan(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "; ")
}

func TestLocate(t *testing.T) {
	for _, found := range []bool{false, true} {
		f, e, rec := moreEnv(t)
		f.lit = found
		plan := planOf(t, e, locate{}) + planOf(t, e, locateOff{})
		if want := map[bool]string{false: "locate: locator LED off → onlocate-off: locator LED on → off", true: ""}[found]; plan != want {
			t.Errorf("plan %q, want %q", plan, want)
		}
		rec.room = 0 // how it was found is not durable: nothing is lit
		if err := doStep(t, e, locate{}); err == nil || f.lamps != 0 {
			t.Errorf("error %v, switched %d times", err, f.lamps)
		}
		rec.room = -1
		if err := doStep(t, e, locate{}); err != nil || !f.lit || e.Facts[factLEDFound] != onOffWord(found) {
			t.Errorf("error %v, lit %v, found %q", err, f.lit, e.Facts[factLEDFound])
		}
		if err := doStep(t, e, locate{}); err != nil || e.Facts[factLEDFound] != onOffWord(found) { // resumed
			t.Errorf("resumed: %v, found %q", err, e.Facts[factLEDFound])
		}
		if err := doStep(t, e, locateOff{}); err != nil || f.lit != found || e.Facts[factLEDFound] != "" {
			t.Errorf("error %v, lit %v, was %v", err, f.lit, found)
		}
	}
	f, e, _ := moreEnv(t)
	f.none = redfish.ErrUnsupported
	if err := errors.Join(doStep(t, e, locate{}), doStep(t, e, locateOff{})); err != nil || f.lamps != 0 {
		t.Errorf("a BMC without LED: %v", err)
	}
}

func TestHandsStep(t *testing.T) {
	_, e, rec := moreEnv(t)
	e.With = Options{optSay: "Plug the 400G cables", optMinutes: "5"}
	e.Repairs = []Repaired{{Note: "from before"}}
	if plan := planOf(t, e, hands{}); plan != "hands: waits for a person: Plug the 400G cables (5 min)" {
		t.Errorf("plan %q", plan)
	}
	for range 2 { // resumed without a word
		var h *Hands
		if err := doStep(t, e, hands{}); !errors.As(err, &h) || h.Why != "Plug the 400G cables" || h.Minutes() != 5 || h.Next != "rackproof done m1" {
			t.Fatalf("%v", err)
		}
	}
	if len(rec.kinds) != 1 {
		t.Errorf("recorded %v", rec.kinds)
	}
	e.Repairs = append(e.Repairs, Repaired{Note: "done"})
	if err := doStep(t, e, hands{}); err != nil {
		t.Error(err)
	}
}

func TestRAIDStep(t *testing.T) {
	mirror := redfish.Volume{Name: "os", Level: "RAID1", Drives: 2, Health: "OK"}
	ill := mirror
	ill.Health = "Warning"
	for _, test := range []struct {
		name   string
		wanted []RAIDWish
		have   []redfish.Volume
		none   error
		says   string
	}{
		{name: "not asked", have: []redfish.Volume{ill}},
		{name: "as wanted", wanted: []RAIDWish{{Level: "RAID1", Drives: 2}}, have: []redfish.Volume{mirror}},
		{name: "any number", wanted: []RAIDWish{{Level: "RAID1"}, {Level: "RAID1", Drives: 2}}, have: []redfish.Volume{mirror, {Name: "b", Level: "RAID1", Drives: 4}}},
		{name: "missing", wanted: []RAIDWish{{Level: "RAID1", Drives: 2}}, says: "missing: RAID1 of 2 drives"},
		{name: "none wanted", wanted: []RAIDWish{}, have: []redfish.Volume{mirror}, says: "not wanted: RAID1 of 2 drives (os)"},
		{name: "other size", wanted: []RAIDWish{{Level: "RAID1", Drives: 3}}, have: []redfish.Volume{mirror}, says: "missing: RAID1 of 3 drives; not wanted: RAID1 of 2 drives (os)"},
		{name: "degraded", wanted: []RAIDWish{{Level: "RAID1"}}, have: []redfish.Volume{ill}, says: "not well: RAID1 of 2 drives (os) is Warning"},
		{name: "not told", wanted: []RAIDWish{{Level: "RAID1"}}, none: redfish.ErrUnsupported, says: "not proven"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, e, _ := moreEnv(t)
			f.volumes, f.none, e.Machine.RAID = test.have, test.none, test.wanted
			plan := planOf(t, e, raid{})
			err := doStep(t, e, raid{})
			if test.says == "" {
				if err != nil || plan != "" {
					t.Errorf("error %v, plan %q", err, plan)
				}
				return
			}
			var h *Hands
			if !errors.As(err, &h) || !strings.Contains(h.Why, test.says) || !strings.Contains(plan, test.says) || !strings.Contains(h.Do[0].Do, "makes and deletes no volume") {
				t.Errorf("error %v, plan %q, want %q", err, plan, test.says)
			}
		})
	}
}

func TestSecureBootStep(t *testing.T) {
	f, e, _ := moreEnv(t)
	e.With = Options{optWant: "off"}
	if plan := planOf(t, e, secureBoot{}); plan != "secure-boot: SecureBoot Enabled → Disabled; secure-boot: reset 1" {
		t.Errorf("plan %q", plan)
	}
	if err := doStep(t, e, secureBoot{}); err != nil || f.attrs["SecureBoot"] != "Disabled" || f.resets != 1 || e.Facts[FactSecureBoot] != "off" {
		t.Fatalf("%v: %v, %d resets, facts %v", err, f.attrs, f.resets, e.Facts)
	}
	if err := doStep(t, e, secureBoot{}); err != nil || f.resets != 1 {
		t.Errorf("again: %v, %d resets", err, f.resets)
	}
	if e.Facts[FactBIOSFound] != `{"SecureBoot":"Enabled"}` {
		t.Errorf("found %q", e.Facts[FactBIOSFound])
	}
	e.intents = map[string]Intent{}
	if err := doStep(t, e, restoreBIOS{}); err != nil || f.attrs["SecureBoot"] != "Enabled" || f.resets != 2 {
		t.Errorf("not put back: %v, %v, %d resets", err, f.attrs, f.resets)
	}

	f, e, _ = moreEnv(t)
	e.With = Options{optWant: "off"}
	set := e.Profile.BIOS[setBurnIn]
	set.Intents = map[string]string{"secure-boot": "on"}
	e.Profile.BIOS[setBurnIn] = set
	if err := doStep(t, e, secureBoot{}); err == nil || !strings.Contains(err.Error(), "wants it on") || f.acts["stage"] != 0 {
		t.Errorf("against the profile: %v", err)
	}
}

func TestPowerOffStep(t *testing.T) {
	f, e, _ := moreEnv(t)
	if plan := planOf(t, e, powerOff{}); plan != "power-off: power On → Off" {
		t.Errorf("plan %q", plan)
	}
	for range 2 {
		if err := doStep(t, e, powerOff{}); err != nil || f.power != redfish.Off || f.acts["off"] != 1 || !strings.Contains(e.Facts[FactHandover], "powered off") {
			t.Errorf("%v: %s, acts %v, %q", err, f.power, f.acts, e.Facts[FactHandover])
		}
	}
}

// Steps that change a machine and are killed at any of their events, with the act before
// or behind it, change it once in the end and know how it was found.
func TestMoreStepsKilled(t *testing.T) {
	for _, lose := range []string{"", "stage", string(redfish.Restart), string(redfish.PowerOff)} {
		for room := range 8 {
			f, e, rec := moreEnv(t)
			f.lose = lose
			e.With = Options{optWant: "off"}
			cut := func(s Step) {
				t.Helper()
				rec.room = room
				first := doStep(t, e, s)
				f.lose, rec.room = "", -1
				if first == nil {
					return
				}
				e.Facts, e.intents = e.Facts.Clone(), maps.Clone(e.intents)
				if err := doStep(t, e, s); err != nil {
					t.Errorf("%s, %q lost, killed at event %d (%v): %v", s.Name(), lose, room, first, err)
				}
			}
			cut(secureBoot{})
			if f.attrs["SecureBoot"] != "Disabled" || f.resets != 1 || f.acts["stage"] != 1 || e.Facts[FactBIOSFound] != `{"SecureBoot":"Enabled"}` {
				t.Errorf("%q lost, killed at event %d: %v, acts %v, %d resets, found %s", lose, room, f.attrs, f.acts, f.resets, e.Facts[FactBIOSFound])
			}
			e.intents = map[string]Intent{}
			f.lose = lose
			cut(locate{})
			cut(locateOff{})
			if f.lit || f.lamps != 2 {
				t.Errorf("killed at event %d: LED %v after %d times", room, f.lit, f.lamps)
			}
			e.intents = map[string]Intent{}
			f.lose = lose
			cut(powerOff{})
			if f.power != redfish.Off || f.acts["off"] != 1 {
				t.Errorf("%q lost, killed at event %d: %s, acts %v", lose, room, f.power, f.acts)
			}
		}
	}
}
