package redfishtest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const accountURI = "/redfish/v1/AccountService/Accounts/admin"

// accountTree is the fixture with the rules of an AccountService.
func accountTree(rules string) redfishtest.Tree {
	tree := fixtureTree("")
	tree["/redfish/v1"] = json.RawMessage(strings.Replace(string(tree["/redfish/v1"]), "{", `{"AccountService":{"@odata.id":"/redfish/v1/AccountService"},`, 1))
	tree["/redfish/v1/AccountService"] = json.RawMessage(rules)
	return tree
}

func TestPasswordRules(t *testing.T) {
	rules := `{"MinPasswordLength":13,"MaxPasswordLength":20,"Oem":{"Lenovo":{"ComplexPassword":true}}}`
	cases := map[string]struct {
		password string
		status   int
	}{
		"too short":    {"Aa1456789012", 400},
		"shortest":     {"Aa14567890123", 204},
		"longest":      {"Aa145678901234567890", 204},
		"too long":     {"Aa1456789012345678901", 400},
		"no upper":     {"aa14567890123", 400},
		"no digit":     {"Aabcdefghijklm", 400},
		"empty":        {"", 400},
		"umlauts once": {"Äa14567890123", 204},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := start(t, "", redfishtest.Options{Tree: accountTree(rules)})
			a := r.patch(t, accountURI, map[string]any{"Password": c.password})
			a.want(t, c.status)
			if c.password != "" && strings.Contains(string(a.raw), c.password) {
				t.Error("the answer tells the password")
			}
			if want := c.status == 204; (r.Acts()["account.password"] == 1) != want {
				t.Errorf("acts %v", r.Acts())
			}
		})
	}
}

func TestAccountTellsThatAChangeIsDue(t *testing.T) {
	r := start(t, "", redfishtest.Options{Faults: []string{"password-change-required"}})
	if got := r.get(t, accountURI).want(t, 200).value("PasswordChangeRequired"); got != true {
		t.Errorf("due: %v", got)
	}
}

func TestLockoutEnds(t *testing.T) {
	r := start(t, "", redfishtest.Options{Tree: accountTree(`{"AccountLockoutDuration":1}`), Faults: []string{"lockout=2"}})
	wrong := map[string]any{"UserName": "admin", "Password": "wrong"}
	for range 2 {
		r.do(t, http.MethodPost, sessionsURI, wrong).want(t, 401)
	}
	r.do(t, http.MethodPost, sessionsURI, login()).want(t, 401)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		if r.do(t, http.MethodPost, sessionsURI, login()).status == 201 {
			return
		}
		<-tick.C
	}
	t.Error("the lockout does not end")
}
