package redfish_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/rackproof/rackproof/redfish"
)

const (
	powerOn, powerOff, powerSoft = "00/02 01", "00/02 00", "00/02 05"
)

func TestIPMIPower(t *testing.T) {
	for _, c := range []struct {
		name   string
		on     bool
		soft   bool // the operating system shuts down when asked
		action redfish.PowerAction
		acts   []string
		want   redfish.PowerState
	}{
		{"on", false, false, redfish.PowerOn, []string{powerOn}, redfish.On},
		{"on already", true, false, redfish.PowerOn, nil, redfish.On},
		{"off in peace", true, true, redfish.PowerOff, []string{powerSoft}, redfish.Off},
		{"off by force", true, false, redfish.PowerOff, []string{powerSoft, powerOff}, redfish.Off},
		{"off already", false, false, redfish.PowerOff, nil, redfish.Off},
		{"forced off", true, true, redfish.ForceOff, []string{powerOff}, redfish.Off},
		{"restart", true, false, redfish.Restart, []string{powerOff, powerOn}, redfish.On},
		{"restart of one that is off", false, false, redfish.Restart, []string{powerOn}, redfish.On},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t)
			b.alter(func() { b.on = c.on })
			b.set(0x00, 0x02, func(req []byte) ([]byte, types.CompletionCode) {
				if req[0] != 5 || c.soft {
					b.on = req[0] == 1
				}
				return nil, types.CodeOK
			})
			client := b.open(t)
			if err := client.SetPower(t.Context(), c.action); err != nil {
				t.Fatal(err)
			}
			if state, err := client.Power(t.Context()); err != nil || state != c.want {
				t.Errorf("power is %s, %v; wanted %s", state, err, c.want)
			}
			if got := b.commands("00/02"); !slices.Equal(got, c.acts) {
				t.Errorf("acts were %v, wanted %v", got, c.acts)
			}
			if last, err := client.LastResetTime(t.Context()); err != nil || last != "" {
				t.Errorf("last reset is %q, %v; IPMI has none", last, err)
			}
		})
	}
}

// An act whose answer is lost is asked about and not done again; one that was lost
// on its way is not guessed to have happened.
func TestIPMIPowerAnswerLost(t *testing.T) {
	for _, c := range []struct {
		name    string
		effect  bool
		problem string
	}{{"effect kept", true, ""}, {"effect lost", false, "host is not On"}} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t)
			b.set(0x00, 0x02, func(req []byte) ([]byte, types.CompletionCode) {
				b.on = c.effect && req[0] == 1
				b.socket.set(func(l *lossy) { l.lose = 1 })
				return nil, types.CodeOK
			})
			cfg := b.config(nil)
			cfg.Timeout = 200 * time.Millisecond
			err := b.openWith(t, cfg).SetPower(t.Context(), redfish.PowerOn)
			if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
				t.Errorf("err = %v, wanted %q", err, c.problem)
			}
			if got := b.commands("00/02"); len(got) != 1 {
				t.Errorf("acts were %v, wanted one", got)
			}
		})
	}
}

// TestIPMIPowerTimedOut: a BMC that gave up waiting for its own parts (0xC3) may have
// switched. It is asked, for as long as after an answer, and not told again.
func TestIPMIPowerTimedOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		effect bool
	}{{"it happens", true}, {"it does not", false}} {
		t.Run(c.name, func(t *testing.T) {
			b := startBoard(t)
			looks := 0
			b.set(0x00, 0x02, refuse(types.CodeProcessTimeout))
			b.set(0x00, 0x01, func([]byte) ([]byte, types.CompletionCode) {
				state := byte(0x20)
				if looks++; c.effect && looks > 8 {
					state |= 1
				}
				return []byte{state, 0, 0x40}, types.CodeOK
			})
			err := b.open(t).SetPower(t.Context(), redfish.PowerOn)
			if (err == nil) != c.effect || err != nil && !strings.Contains(err.Error(), "not known") {
				t.Errorf("err = %v, wanted success: %v", err, c.effect)
			}
			if got := b.commands("00/02"); len(got) != 1 {
				t.Errorf("acts were %v, wanted one", got)
			}
		})
	}
}

func TestIPMIPowerRefused(t *testing.T) {
	b := startBoard(t)
	b.set(0x00, 0x02, refuse(types.CodeInsufficientPrivilege))
	client := b.open(t)
	if err := client.SetPower(t.Context(), redfish.PowerOn); err == nil || !strings.Contains(err.Error(), "privilege operator") {
		t.Errorf("err = %v, wanted what privilege it takes", err)
	}
	if err := client.SetPower(t.Context(), "explode"); !errors.Is(err, redfish.ErrBadValue) {
		t.Errorf("err = %v, wanted ErrBadValue", err)
	}
}

func TestIPMIPOSTDone(t *testing.T) {
	b := startBoard(t)
	client := b.open(t)
	if done, known, err := client.POSTDone(t.Context()); done || !known || err != nil {
		t.Errorf("off: %v, %v, %v; wanted not done, known", done, known, err)
	}
	b.alter(func() { b.on = true })
	if done, known, err := client.POSTDone(t.Context()); done || known || err != nil {
		t.Errorf("on: %v, %v, %v; wanted not known", done, known, err)
	}
}

func TestIPMILocator(t *testing.T) {
	b := startBoard(t)
	client := b.open(t)
	for _, on := range []bool{true, false} {
		if err := client.SetLocator(t.Context(), on); err != nil {
			t.Fatal(err)
		}
		if got, err := client.Locator(t.Context()); err != nil || got != on {
			t.Errorf("locator is %v, %v; wanted %v", got, err, on)
		}
	}
}

// A BMC that does not tell can still be told; an older one knows seconds only.
func TestIPMILocatorOld(t *testing.T) {
	b := startBoard(t)
	b.set(0x00, 0x01, func([]byte) ([]byte, types.CompletionCode) { return []byte{0x20, 0, 0}, types.CodeOK })
	b.set(0x00, 0x04, func(req []byte) ([]byte, types.CompletionCode) {
		if len(req) > 1 {
			return nil, types.CodeRequestDataLengthInvalid
		}
		return nil, types.CodeOK
	})
	client := b.open(t)
	if err := client.SetLocator(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := b.commands("00/04"); !slices.Equal(got, []string{"00/04 00 01", "00/04 ff"}) {
		t.Errorf("commands were %v", got)
	}
	if _, err := client.Locator(t.Context()); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("err = %v, wanted ErrUnsupported", err)
	}
	b.set(0x00, 0x04, refuse(types.CodeInvalidCommand))
	if err := client.SetLocator(t.Context(), true); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("err = %v, wanted ErrUnsupported", err)
	}
}
