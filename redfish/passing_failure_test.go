package redfish_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestPassingFailureIsNotAbsence: what a BMC fails to give is not missing, and nothing
// is done as if it were. What it says it does not have is.
func TestPassingFailureIsNotAbsence(t *testing.T) {
	const protocols = "/redfish/v1/Managers/a/NetworkProtocol"
	unlinked := machineTree() // of a Gigabyte board, which serves Bios/SD and links it nowhere
	unlinked[aSystem+"/Bios"] = []byte(`{"Attributes":{"Boot":"Fast"}}`)
	staged := machineTree()
	staged[aSystem+"/SD"] = []byte(`{"Boot":{"BootSourceOverrideTarget":"None","BootSourceOverrideEnabled":"Disabled"}}`)
	for _, c := range []struct {
		name    string
		tree    redfishtest.Tree
		uri     string
		do      func(*redfish.Client) error
		changes bool // something is sent where it is absent
	}{
		{"BIOS settings", unlinked, aSystem + "/Bios/SD", func(c *redfish.Client) error {
			bios, err := c.BIOS(t.Context())
			if err == nil && !bios.ReadOnly {
				t.Errorf("%+v, want it read-only without a settings object", bios)
			}
			return err
		}, false},
		{"boot settings", staged, aSystem + "/SD", func(c *redfish.Client) error {
			return c.SetBoot(within(t, time.Minute), redfish.Boot{Target: "Pxe", Enabled: "Once"})
		}, true},
		{"NTP settings", networkTree(false), protocols, func(c *redfish.Client) error {
			return c.SetNetwork(within(t, time.Minute), redfish.NetworkWish{Clock: true})
		}, true},
	} {
		for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError, http.StatusForbidden} {
			var sent atomic.Int32
			client := openAt(t, front(t, serve(t, redfishtest.Options{Tree: c.tree, Faults: []string{"clock-skew=3600"}}), func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPatch {
					sent.Add(1)
				}
				if r.URL.Path != c.uri {
					return false
				}
				answer(w, status, `{}`)
				return true
			}))
			err := c.do(client)
			absent := status == http.StatusNotFound || status == http.StatusMethodNotAllowed
			if !absent && (err == nil || !strings.Contains(err.Error(), c.uri)) {
				t.Errorf("%s with %d: %v, want that it could not be read", c.name, status, err)
			}
			if absent && err != nil {
				t.Errorf("%s with %d: %v, want it absent", c.name, status, err)
			}
			if want := absent && c.changes; sent.Load() > 0 != want {
				t.Errorf("%s with %d: %d changes were sent, want some: %v", c.name, status, sent.Load(), want)
			}
		}
	}
}
