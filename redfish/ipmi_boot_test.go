package redfish_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/rackproof/rackproof/redfish"
)

const setFlags = "00/08 05"

func TestIPMIBoot(t *testing.T) {
	for _, c := range []struct {
		name string
		now  [2]byte // flags and device, as the BMC has them
		want redfish.Boot
		sent string // "" = nothing to change
		read string
	}{
		{"pxe once", [2]byte{}, redfish.Boot{Target: "Pxe"}, setFlags + " a0 04 00 00 00", "Pxe/Once/UEFI"},
		{"disk for good", [2]byte{}, redfish.Boot{Target: "Hdd", Enabled: "Continuous", Mode: "UEFI"}, setFlags + " e0 08 00 00 00", "Hdd/Continuous/UEFI"},
		{"cd the old way", [2]byte{}, redfish.Boot{Target: "Cd", Mode: "Legacy"}, setFlags + " 80 14 00 00 00", "Cd/Once/Legacy"},
		{"mode is kept", [2]byte{0x80, 0x04}, redfish.Boot{Target: "BiosSetup"}, setFlags + " 80 18 00 00 00", "BiosSetup/Once/Legacy"},
		{"set already", [2]byte{0xa0, 0x04}, redfish.Boot{Target: "Pxe"}, "", "Pxe/Once/UEFI"},
		{"taken back", [2]byte{0xa0, 0x04}, redfish.Boot{Target: "None"}, setFlags + " 00 00 00 00 00", "None/Disabled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t)
			b.alter(func() { copy(b.flags[:], c.now[:]) })
			client := b.open(t)
			if err := client.SetBoot(t.Context(), c.want); err != nil {
				t.Fatal(err)
			}
			sent := b.commands(setFlags)
			if want := slices.DeleteFunc([]string{c.sent}, func(s string) bool { return s == "" }); !slices.Equal(sent, want) {
				t.Errorf("sent %v, wanted %v", sent, want)
			}
			boot, err := client.Boot(t.Context())
			if err != nil || boot.String() != c.read || !boot.Supported || boot.TakesURI || boot.Note != "" {
				t.Errorf("boot is %+v, %v; wanted %s", boot, err, c.read)
			}
			if !slices.Equal(boot.Allowed, []string{"None", "Pxe", "Hdd", "Cd", "BiosSetup"}) {
				t.Errorf("offered are %v", boot.Allowed)
			}
		})
	}
}

// The flags shall outlast the minute in which a restart must follow; a BMC that
// takes only the flags is content (kinvolk/racker #36, go-ipmi #74).
func TestIPMIBootTimeout(t *testing.T) {
	b := startBoard(t)
	b.set(0x00, 0x08, func(req []byte) ([]byte, types.CompletionCode) {
		if req[0] != 5 {
			return nil, types.CodeParameterNotSupported
		}
		copy(b.flags[:], req[1:])
		return nil, types.CodeOK
	})
	if err := b.open(t).SetBoot(t.Context(), redfish.Boot{Target: "Pxe"}); err != nil {
		t.Fatal(err)
	}
	got := b.commands("00/08")
	if keep := slices.Index(got, "00/08 03 08"); keep < 0 || keep > slices.Index(got, setFlags+" a0 04 00 00 00") {
		t.Errorf("commands were %v: that the flags stay is asked for before they are set", got)
	}
}

// ipmitool #163 and #236: a BMC that keeps the flags and loses the one for UEFI.
func TestIPMIBootLosesUEFI(t *testing.T) {
	b := startBoard(t)
	b.set(0x00, 0x08, func(req []byte) ([]byte, types.CompletionCode) {
		if req[0] == 5 {
			copy(b.flags[:], req[1:])
			b.flags[0] &^= 0x20
		}
		return nil, types.CodeOK
	})
	err := b.open(t).SetBoot(t.Context(), redfish.Boot{Target: "Pxe", Mode: "UEFI"})
	if err == nil || !strings.Contains(err.Error(), "reads back Pxe/Once/Legacy") {
		t.Errorf("err = %v, wanted what it reads back", err)
	}
}

// ipmi_sim keeps the device and no flag: that is said and believed for the session.
func TestIPMIBootLosesFlags(t *testing.T) {
	b := startBoard(t)
	b.set(0x00, 0x08, func(req []byte) ([]byte, types.CompletionCode) {
		if req[0] == 5 {
			b.flags[1] = req[2]
		}
		return nil, types.CodeOK
	})
	client := b.open(t)
	if err := client.SetBoot(t.Context(), redfish.Boot{Target: "Pxe"}); err != nil {
		t.Fatal(err)
	}
	if boot, err := client.Boot(t.Context()); err != nil || boot.String() != "Pxe/Once" || !strings.Contains(boot.Note, "could not be read back") {
		t.Errorf("boot is %+v, %v", boot, err)
	}
	if boot, err := b.open(t).Boot(t.Context()); err != nil || boot.String() != "Pxe/Disabled" {
		t.Errorf("a new session reads %+v, %v; wanted what the BMC shows", boot, err)
	}
	b.alter(func() { b.flags[1] = 0 }) // the boot came
	if boot, err := client.Boot(t.Context()); err != nil || boot.String() != "None/Disabled" {
		t.Errorf("after the boot it reads %+v, %v", boot, err)
	}
}

func TestIPMIBootRefused(t *testing.T) {
	b := startBoard(t)
	client := b.open(t)
	for _, c := range []struct {
		want redfish.Boot
		is   error
	}{
		{redfish.Boot{Target: "UefiHttp", HTTPBootURI: "http://10.0.13.1/b"}, redfish.ErrUnsupported},
		{redfish.Boot{Target: "UefiHttp"}, redfish.ErrBadValue},
	} {
		if err := client.SetBoot(t.Context(), c.want); !errors.Is(err, c.is) {
			t.Errorf("%+v: err = %v, wanted %v", c.want, err, c.is)
		}
	}
	b.set(0x00, 0x09, refuse(types.CodeInvalidCommand))
	if boot, err := client.Boot(t.Context()); err != nil || boot.Supported {
		t.Errorf("boot is %+v, %v; wanted not supported", boot, err)
	}
	if err := client.SetBoot(t.Context(), redfish.Boot{Target: "Pxe"}); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("err = %v, wanted ErrUnsupported", err)
	}
}

func TestIPMIBIOS(t *testing.T) {
	client := startBoard(t).open(t)
	ctx := t.Context()
	if changes, err := client.PlanBIOS(ctx, nil); len(changes) != 0 || err != nil {
		t.Errorf("nothing wanted: %v, %v", changes, err)
	}
	if job, err := client.StageBIOS(ctx, nil); job != "" || err != nil || client.WaitJob(ctx, job) != nil {
		t.Errorf("nothing to stage: %q, %v", job, err)
	}
	_, err1 := client.PlanBIOS(ctx, map[string]any{"SMT": "Off"})
	_, err2 := client.VerifyBIOS(ctx, map[string]any{"SMT": "Off"})
	_, _, err3 := client.MapIntents(ctx, map[string]string{"smt": "off"})
	_, err4 := client.StageBIOS(ctx, []redfish.BIOSChange{{Attribute: "SMT"}})
	_, err5 := client.BIOS(ctx)
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if !errors.Is(err, redfish.ErrUnsupported) {
			t.Errorf("%d: err = %v, wanted ErrUnsupported", i, err)
		}
	}
}
