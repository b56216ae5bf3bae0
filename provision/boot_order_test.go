package provision

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
)

// efiNode is a host that answers efibootmgr.
type efiNode struct {
	out  string
	exit int
	err  error
}

func (n efiNode) Run(_ context.Context, c burnin.Command) (burnin.Output, error) {
	if c.Line != "efibootmgr" {
		return burnin.Output{}, errors.New("asked for " + c.Line)
	}
	return burnin.Output{Out: []byte(n.out), Exit: &n.exit, Ended: burnin.EndedExit}, n.err
}

func (efiNode) Close() error { return nil }

// TestBootOrderOfTheFirmware (FIELD-QUIRKS 38; ARS-121L-DNR under SysLockdown, SYS-221H): a
// BMC that shows another boot order than the firmware has is told; what cannot be compared
// is not.
func TestBootOrderOfTheFirmware(t *testing.T) {
	const two = "BootCurrent: 0004\nTimeout: 3 seconds\nBootOrder: 0004,001a\nBoot0004* UEFI HTTP\nBoot001A* debian\n"
	for _, test := range []struct {
		name  string
		shown []string
		node  efiNode
		says  string
	}{
		{"alike", []string{"Boot0004", "Boot001A"}, efiNode{out: two}, ""},
		{"in small letters", []string{"Boot0004", "Boot001a"}, efiNode{out: two}, ""},
		{"a disk that the BMC does not know", []string{"Boot0004"}, efiNode{out: two}, "shows the boot order Boot0004, and the firmware has Boot0004, Boot001A"},
		{"a disk that the firmware lost", []string{"Boot0004", "Boot001A"}, efiNode{out: "BootOrder: 0004\n"}, "the firmware has Boot0004:"},
		{"another order", []string{"Boot001A", "Boot0004"}, efiNode{out: two}, "firmware has Boot0004, Boot001A"},
		{"the BMC shows none", nil, efiNode{out: two}, ""},
		{"the BMC has names of its own", []string{"HardDisk.List.1-1"}, efiNode{out: two}, ""},
		{"no UEFI", []string{"Boot0004"}, efiNode{out: "EFI variables are not supported on this system.\n", exit: 2}, ""},
		{"no answer", []string{"Boot0004"}, efiNode{err: burnin.ErrNodeLost}, ""},
	} {
		f := newFakeBMC()
		f.boot.Order = test.shown
		e, _ := stepEnv(t, f, Machine{})
		e.Facts[FactNote] = "before"
		e.tellBootOrder(t.Context(), test.node)
		switch note := e.Facts[FactNote]; {
		case test.says == "" && note != "before":
			t.Errorf("%s: %q, want nothing more", test.name, note)
		case !strings.HasPrefix(note, "before") || !strings.Contains(note, test.says):
			t.Errorf("%s: %q, want %q", test.name, note, test.says)
		}
	}
}
