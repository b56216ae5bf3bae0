package redfish_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestQuotedSecret: BMCs quote what they refuse. A new password stands in no error and
// no log, with whatever status it is refused.
func TestQuotedSecret(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusAccepted, http.StatusBadRequest} {
		tree := machineTree()
		tree["/redfish/v1/AccountService/Accounts"] = []byte(`{"Members":[{"@odata.id":"/redfish/v1/AccountService/Accounts/1"}]}`)
		tree["/redfish/v1/AccountService/Accounts/1"] = []byte(`{"Id":"1","UserName":"` + user + `"}`)
		var log strings.Builder
		cfg := front(t, serve(t, redfishtest.Options{Tree: tree}), func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPatch {
				return false
			}
			sent, _ := io.ReadAll(r.Body)
			if !strings.Contains(string(sent), nextPassword) {
				t.Errorf("PATCH of %s", sent)
			}
			answer(w, status, fmt.Sprintf(`{"error":{"@Message.ExtendedInfo":[{"MessageId":"Base.1.12.PropertyValueFormatError",
				"Message":"The value %s for Password is of another format.","MessageArgs":[%q,"Password"]}]}}`, nextPassword, nextPassword))
			return true
		})
		cfg.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		err := openAt(t, cfg).SetPassword(within(t, time.Minute), nextPassword)
		if !errors.Is(err, redfish.ErrBadValue) || !strings.Contains(err.Error(), "another format") {
			t.Errorf("%d: %v, want ErrBadValue with what the BMC said", status, err)
		}
		if refused, ok := errors.AsType[*redfish.StatusError](err); !ok || strings.Contains(fmt.Sprintf("%+v", *refused), nextPassword) {
			t.Errorf("%d: %+v", status, refused)
		}
		if strings.Contains(err.Error()+log.String(), nextPassword) {
			t.Errorf("%d: the password stands in\n%v\n%s", status, err, log.String())
		}
	}
}

// TestQuotedSecretInLog: a log may tell of a login with its password.
func TestQuotedSecretInLog(t *testing.T) {
	tree := machineTree()
	uri := aSystem + "/LogServices/SEL/Entries"
	tree[uri] = []byte(strings.Replace(string(tree[uri]), `"ECC"`, `"login with `+password+`"`, 1))
	list, err := open(t, serve(t, redfishtest.Options{Tree: tree})).Log(within(t, time.Minute), time.Time{})
	if err != nil || len(list) != 1 || list[0].Event != "login with [redacted]" {
		t.Errorf("%+v, %v", list, err)
	}
}
