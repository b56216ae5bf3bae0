package redfish_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

func TestSick(t *testing.T) {
	for _, test := range []struct {
		err  error
		sick bool
	}{
		{nil, false},
		{errors.New("x"), false},
		{redfish.ErrUnreachable, true},
		{fmt.Errorf("m: %w", redfish.ErrSessionLimit), true},
		{redfish.ErrAuth, false},
		{redfish.ErrPinMismatch, false},
		{&redfish.StatusError{Status: 500}, true},
		{&redfish.StatusError{Status: 501}, false},
		{&redfish.StatusError{Status: 404}, false},
		{errors.Join(&redfish.HopError{Hop: "b"}, redfish.ErrUnreachable), false},
	} {
		if got := redfish.Sick(test.err); got != test.sick {
			t.Errorf("%v: %v, want %v", test.err, got, test.sick)
		}
	}
}

func TestResetBMC(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: captured(t, "dell"), Faults: []string{"sick"}})
	if _, err := redfish.Open(t.Context(), config(bmc)); !redfish.Sick(err) {
		t.Fatalf("it is well: %v", err)
	}
	sent, err := redfish.ResetBMC(t.Context(), config(bmc))
	if n := bmc.Acts()["bmc.reset"]; !sent || err != nil || n != 1 {
		t.Errorf("sent %v, %v, %d resets", sent, err, n)
	}
}
