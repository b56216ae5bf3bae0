package redfish_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestBootOrderLost: an XE9680 loses entries of its boot order when a boot from a URI is
// set up (iDRAC-Redfish-Scripting #319). The override is taken, and the loss is told.
func TestBootOrderLost(t *testing.T) {
	for _, after := range []string{`"Boot0001","Boot0002"`, `"Boot0002"`} {
		tree := small()
		tree[aSystem] = []byte(strings.Replace(smallSystem, `"BootSourceOverrideTarget"`, `"BootOrder":["Boot0001","Boot0002"],"BootSourceOverrideTarget"`, 1))
		bmc := serve(t, redfishtest.Options{Tree: tree})
		set := false
		cfg := front(t, bmc, func(w http.ResponseWriter, r *http.Request) bool {
			set = set || r.Method == http.MethodPatch
			if !set || r.Method != http.MethodGet || r.URL.Path != aSystem {
				return false
			}
			answer(w, http.StatusOK, `{"Boot":{"BootOrder":[`+after+`],"BootSourceOverrideTarget":"Pxe","BootSourceOverrideEnabled":"Once","BootSourceOverrideMode":"UEFI"}}`)
			return true
		})
		var log bytes.Buffer
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		client := openAt(t, cfg)
		ctx := within(t, time.Minute)
		if b, err := client.Boot(ctx); err != nil || !slices.Equal(b.Order, []string{"Boot0001", "Boot0002"}) {
			t.Errorf("order %v, %v", b.Order, err)
		}
		if err := client.SetBoot(ctx, redfish.Boot{Target: "Pxe", Mode: "UEFI"}); err != nil {
			t.Fatal(err)
		}
		if told, lost := strings.Contains(log.String(), "boot order changed"), after == `"Boot0002"`; told != lost {
			t.Errorf("order becomes [%s]: told %v", after, told)
		}
	}
}
