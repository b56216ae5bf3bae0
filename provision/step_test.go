package provision

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// carryOut is Done, Do, Done, as the bench has it.
func carryOut(t *testing.T, s Step, e *Env) error {
	t.Helper()
	return doneDoDone(t.Context(), StepInfo{Step: s}, Task{}, e, nil)
}

func TestBIOSIsSetOnceAndWhatWasFoundComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBMC()
		e, rec := stepEnv(t, f, Machine{})
		if err := carryOut(t, biosSettings{}, e); err != nil {
			t.Fatal(err)
		}
		if f.attrs["IOMMU"] != "Disabled" || f.acts["stage"] != 1 || f.acts["restart"] != 1 {
			t.Errorf("attributes %v, acts %v", f.attrs, f.acts)
		}
		if i, j := slices.Index(rec.kinds, Learned), slices.Index(rec.kinds, Intended); i < 0 || i > j {
			t.Errorf("what was found is not durable before the first act: %v", rec.kinds)
		}
		var lines []burnin.BIOSLine
		if err := json.Unmarshal([]byte(e.Facts[FactBIOSLines]), &lines); err != nil || len(lines) != 1 || lines[0].Found != "Enabled" || lines[0].Now != "Disabled" {
			t.Errorf("lines %v, %v", lines, err)
		}
		if !e.Store.Has(burnin.PhaseBMC, "bios") {
			t.Error("no evidence of the BIOS")
		}
		// The same step again finds it done.
		if err := carryOut(t, biosSettings{}, e); err != nil || f.acts["stage"] != 1 || f.acts["restart"] != 1 {
			t.Errorf("again: %v, acts %v", err, f.acts)
		}
		e.intents = map[string]Intent{}
		if err := e.begin(); err != nil {
			t.Fatal(err)
		}
		if err := carryOut(t, handover{}, e); err != nil {
			t.Fatal(err)
		}
		if f.attrs["IOMMU"] != "Enabled" || !strings.Contains(e.Facts[FactHandover], "BIOS as found") {
			t.Errorf("at handover: %v, %q", f.attrs, e.Facts[FactHandover])
		}
	})
}

func TestInterruptedBIOSGoesOn(t *testing.T) {
	for _, test := range []struct {
		name          string
		intents       []Intent
		prepare       func(*fakeBMC)
		stage, resets int // acts that are still to be done
	}{
		{"nothing happened", []Intent{{Act: "bios settings", Mark: "{}"}}, func(*fakeBMC) {}, 1, 1},
		{"staged", []Intent{{Act: "bios settings", Mark: "{}"}}, func(f *fakeBMC) { f.pending["IOMMU"] = "Disabled" }, 0, 1},
		{"reset asked for, not done", []Intent{{Act: "bios settings", Mark: "{}", Acted: true}, {Act: "bios reset", Mark: "0"}}, func(f *fakeBMC) { f.pending["IOMMU"] = "Disabled" }, 0, 1},
		{"cut between off and on", []Intent{{Act: "bios settings", Mark: "{}", Acted: true}, {Act: "bios reset", Mark: "0"}}, func(f *fakeBMC) {
			f.pending["IOMMU"], f.power = "Disabled", redfish.Off
		}, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeBMC()
				test.prepare(f)
				e, _ := stepEnv(t, f, Machine{})
				for _, in := range test.intents {
					e.intents[in.Act] = in
				}
				if err := carryOut(t, biosSettings{}, e); err != nil {
					t.Fatal(err)
				}
				if f.attrs["IOMMU"] != "Disabled" || f.acts["stage"] != test.stage || f.resets != test.resets {
					t.Errorf("attributes %v, acts %v, %d resets", f.attrs, f.acts, f.resets)
				}
			})
		})
	}
}

func TestRestart(t *testing.T) {
	for _, test := range []struct {
		name string
		f    func(*fakeBMC)
		want map[string]int
	}{
		{"with a reset time", func(*fakeBMC) {}, map[string]int{"restart": 1}},
		{"without one: off and on", func(f *fakeBMC) { f.noTime = true }, map[string]int{"force-off": 1, "on": 1}},
		{"a machine that is off", func(f *fakeBMC) { f.power = redfish.Off }, map[string]int{"on": 1}},
		{"answer lost", func(f *fakeBMC) { f.lose = "restart" }, map[string]int{"restart": 1}},
		{"answer to off lost", func(f *fakeBMC) { f.noTime, f.lose = true, "force-off" }, map[string]int{"force-off": 1, "on": 1}},
		{"answer to on lost", func(f *fakeBMC) { f.noTime, f.lose = true, "on" }, map[string]int{"force-off": 1, "on": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeBMC()
				test.f(f)
				e, _ := stepEnv(t, f, Machine{})
				if err := e.restart(t.Context(), f, "x", nil); err != nil {
					t.Fatal(err)
				}
				if !maps.Equal(f.acts, test.want) || f.power != redfish.On {
					t.Errorf("acts %v, power %s; want %v", f.acts, f.power, test.want)
				}
				if err := e.restart(t.Context(), f, "x", nil); err != nil || !maps.Equal(f.acts, test.want) {
					t.Errorf("the same restart again: %v, %v", f.acts, err)
				}
			})
		})
	}
}

func TestWishesThatTheBoardDoesNotHave(t *testing.T) {
	f := newFakeBMC()
	f.unmapped = []redfish.Unmapped{{Intent: "acs", Value: "off", Nearest: []string{"ACS_0042"}}}
	e, _ := stepEnv(t, f, Machine{})
	set := e.Profile.BIOS[setBurnIn]
	set.Required = true
	e.Profile.BIOS[setBurnIn] = set
	_, err := biosSettings{}.Done(t.Context(), e)
	var stuck *Stuck
	if !errors.As(err, &stuck) || !strings.Contains(stuck.Why, "acs: off (nearest: ACS_0042)") {
		t.Errorf("required: %v", err)
	}
	set.Required = false
	e.Profile.BIOS[setBurnIn] = set
	f.attrs["IOMMU"] = "Disabled"
	if ok, err := (biosSettings{}).Done(t.Context(), e); !ok || err != nil || e.Facts[FactUnmapped] == "" {
		t.Errorf("not required: %v, %v, noted %q", ok, err, e.Facts[FactUnmapped])
	}
}

func TestVerifyBMC(t *testing.T) {
	for _, test := range []struct {
		name, serial, uuid string
		member             string
		hands              string
	}{
		{name: "system serial", serial: "s1", member: "system_serial"},
		{name: "the number on the sticker", serial: "TAG1", member: "service_tag"},
		{name: "nothing stated", member: "not stated"},
		{name: "UUID alone", uuid: "00112233-4455-6677-8899-aabbccddeeff", member: "uuid"},
		{name: "UUID in the other byte order", uuid: "33221100-5544-7766-8899-aabbccddeeff", member: "uuid"},
		{name: "another serial", serial: "S2", hands: "batch says S/N S2, BMC 192.0.2.1 says service tag TAG1, system S1"},
		{name: "another UUID", serial: "S1", uuid: "99999999-4455-6677-8899-aabbccddeeff", hands: "batch says UUID"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, _ := stepEnv(t, newFakeBMC(), Machine{BMC: "192.0.2.1", Serial: test.serial, UUID: test.uuid})
			err := carryOut(t, verifyBMC{}, e)
			var hands *Hands
			if errors.As(err, &hands) != (test.hands != "") || (err != nil) != (test.hands != "") {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				if !strings.Contains(hands.Why, test.hands) || e.Store.Has(burnin.PhaseBMC, probeInventory) {
					t.Errorf("%s; evidence kept: %v", hands.Why, e.Store.Has(burnin.PhaseBMC, probeInventory))
				}
				return
			}
			if e.Facts[FactMember] != test.member || e.Facts[FactSerial] != "S1" || !e.Store.Has(burnin.PhaseBMC, probeInventory) {
				t.Errorf("facts %v", e.Facts)
			}
		})
	}
}

func TestBootMethod(t *testing.T) {
	for _, test := range []struct {
		name   string
		boot   Boot
		bmc    func(*fakeBMC)
		want   BootMethod
		remark bool
		via    string
	}{
		{"as stated", Boot{Method: BootDisk, Image: SimulatedImage}, nil, BootDisk, false, ""},
		{"auto with image", Boot{Method: BootAuto, Image: SimulatedImage}, nil, BootUEFIHTTP, false, ""},
		{"auto without image", Boot{Method: BootAuto, Image: "absent"}, nil, BootDisk, true, ""},
		{"auto, BMC without HTTP boot", Boot{Method: BootAuto, Image: SimulatedImage}, func(f *fakeBMC) { f.boot.Allowed = []string{"Hdd", "Pxe"} }, BootDisk, true, ""},
		{"auto, BMC without override", Boot{Method: BootAuto, Image: SimulatedImage}, func(f *fakeBMC) { f.boot.Supported = false }, BootDisk, true, ""},
		{"auto, behind a bastion", Boot{Method: BootAuto, Image: SimulatedImage}, nil, BootDisk, true, "hall"},
	} {
		f := newFakeBMC()
		if test.bmc != nil {
			test.bmc(f)
		}
		e, _ := stepEnv(t, f, Machine{Boot: test.boot, Via: test.via})
		got, remark, err := e.method(t.Context(), f)
		if err != nil || got != test.want || (remark != "") != test.remark {
			t.Errorf("%s: %s, %q, %v; want %s", test.name, got, remark, err, test.want)
		}
	}
}

func TestBootFromDiskAndNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBMC()
		e, _ := stepEnv(t, f, Machine{Boot: Boot{Method: BootDisk}})
		if err := carryOut(t, boot{}, e); err != nil {
			t.Fatal(err)
		}
		if f.acts["boot"] != 1 || f.acts["restart"] != 1 || f.boot.Target != "Hdd" || e.Facts[FactReset] != "1" {
			t.Errorf("acts %v, boot %+v, facts %v", f.acts, f.boot, e.Facts)
		}
		none, _ := stepEnv(t, f, Machine{Boot: Boot{Method: BootNone}})
		if err := carryOut(t, boot{}, none); err != nil || f.acts["restart"] != 1 {
			t.Errorf("none: %v, acts %v", err, f.acts)
		}
		f.power = redfish.Off
		off, _ := stepEnv(t, f, Machine{Boot: Boot{Method: BootNone}})
		var stuck *Stuck
		if err := carryOut(t, boot{}, off); !errors.As(err, &stuck) || f.power != redfish.Off {
			t.Errorf("none on a machine that is off: %v", err)
		}
	})
}

func TestCrossedCablesAreAFault(t *testing.T) {
	e, _ := stepEnv(t, newFakeBMC(), Machine{})
	e.Facts[FactUUID] = "00112233-4455-6677-8899-aabbccddeeff"
	for uuid, fault := range map[string]bool{
		"":                                     false,
		"00112233-4455-6677-8899-aabbccddeeff": false,
		"33221100-5544-7766-8899-AABBCCDDEEFF": false,
		"99999999-4455-6677-8899-aabbccddeeff": true,
	} {
		err := crossed(e, uuid, "the host")
		var f *Fault
		if errors.As(err, &f) != fault {
			t.Errorf("host UUID %q: %v", uuid, err)
		}
	}
}

// A restart by off and on that was cut anywhere goes on the way it was begun, and
// switches nothing twice.
func TestInterruptedOffAndOn(t *testing.T) {
	off, on := Intent{Act: "x off", Mark: "On"}, Intent{Act: "x on", Mark: "Off"}
	done := func(in Intent) Intent { in.Acted = true; return in }
	for _, test := range []struct {
		name    string
		intents []Intent
		power   redfish.PowerState
		want    map[string]int // that is still to be done
	}{
		{"before off", []Intent{off}, redfish.On, map[string]int{"force-off": 1, "on": 1}},
		{"behind off, not yet written down", []Intent{off}, redfish.Off, map[string]int{"on": 1}},
		{"behind off", []Intent{done(off)}, redfish.Off, map[string]int{"on": 1}},
		{"before on", []Intent{done(off), on}, redfish.Off, map[string]int{"on": 1}},
		{"behind on, not yet written down", []Intent{done(off), on}, redfish.On, map[string]int{}},
		{"behind on", []Intent{done(off), done(on)}, redfish.On, map[string]int{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeBMC()
				f.noTime, f.power = true, test.power
				e, _ := stepEnv(t, f, Machine{})
				for _, in := range test.intents {
					e.intents[in.Act] = in
				}
				if err := e.restart(t.Context(), f, "x", nil); err != nil {
					t.Fatal(err)
				}
				if !maps.Equal(f.acts, test.want) || f.power != redfish.On {
					t.Errorf("acts %v, power %s; want %v", f.acts, f.power, test.want)
				}
			})
		})
	}
}
