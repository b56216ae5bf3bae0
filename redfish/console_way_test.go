package redfish_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestConsoleByIPMIIsOffered: a manager may name IPMI for its console while IPMI over
// LAN is off, and is not asked then.
func TestConsoleByIPMIIsOffered(t *testing.T) {
	b := startBoard(t)
	_, port, _ := strings.Cut(b.addr, ":")
	for _, on := range []bool{false, true} {
		tree := networkTree(false)
		const m = "/redfish/v1/Managers/a"
		tree[m] = []byte(strings.Replace(string(tree[m]), "{", `{"SerialConsole":{"ServiceEnabled":true,"ConnectTypesSupported":["IPMI"]},`, 1))
		tree[m+"/NetworkProtocol"] = []byte(fmt.Sprintf(`{"IPMI":{"ProtocolEnabled":%t,"Port":%s}}`, on, port))
		c := open(t, serve(t, redfishtest.Options{Tree: tree}))
		ctx := within(t, 500*time.Millisecond)
		err := c.Console(ctx, &bytes.Buffer{})
		if on == errors.Is(err, redfish.ErrUnsupported) {
			t.Errorf("IPMI on: %v; %v", on, err)
		}
		if asked := len(b.commands("06/37")) > 0; asked != on {
			t.Errorf("IPMI on: %v; asked at port %s: %v", on, port, asked)
		}
	}
}

// TestDiscardEnds: a job that stays although it is deleted is told, and not deleted for ever.
func TestDiscardEnds(t *testing.T) {
	deleted := 0
	client := openAt(t, front(t, serve(t, redfishtest.Options{Tree: captured(t, "dell")}), func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete || !strings.Contains(r.URL.Path, "/Jobs/") {
			return false
		}
		deleted++
		w.WriteHeader(http.StatusNoContent)
		return true
	}))
	ctx := within(t, 30*time.Second)
	changes, err := client.PlanBIOS(ctx, map[string]any{"LogicalProc": "Disabled"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.StageBIOS(ctx, changes); err != nil {
		t.Fatal(err)
	}
	if err := client.DiscardBIOS(ctx); err == nil || !strings.Contains(err.Error(), "still waits") || deleted != 10 {
		t.Errorf("%v after %d deletions, want an end", err, deleted)
	}
}
