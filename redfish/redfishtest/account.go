package redfishtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode"
)

const accounts = "/redfish/v1/AccountService/Accounts/"

// discoverAccount makes sure that the account the options name exists, so that
// a client can find it and change its password.
func (b *BMC) discoverAccount() error {
	uri := b.accountURI()
	if _, ok := b.store.find(uri); !ok {
		err := b.store.put(uri, map[string]any{
			"@odata.id": uri, "@odata.type": "#ManagerAccount.v1_4_0.ManagerAccount",
			"Id": strings.TrimPrefix(uri, accounts), "Name": "User Account",
			"UserName": b.opts.User, "RoleId": "Administrator", "Enabled": true, "Password": nil,
		})
		if err == nil {
			err = b.enlist(uri)
		}
		if err != nil {
			return err
		}
	}
	b.overlays[uri] = b.overlayAccount
	b.routes[uri] = route{http.MethodPatch: b.patchAccount}
	return nil
}

// accountURI is where the tree keeps the account, or where ours is put.
func (b *BMC) accountURI() string {
	for uri := range b.store.base {
		id, ok := strings.CutPrefix(uri, accounts)
		if !ok || strings.Contains(id, "/") {
			continue
		}
		if account, err := b.store.object(uri); err == nil && text(account, "UserName") == b.opts.User {
			return uri
		}
	}
	return accounts + b.opts.User
}

func (b *BMC) patchAccount(req *request) reply {
	password, ok := req.body["Password"].(string)
	if !ok || len(req.body) != 1 {
		return failures(http.StatusBadRequest, propertyProblem("PropertyMissing", "Password", nil))
	}
	if !b.rules.allow(password) { // the message must not tell the password
		return failures(http.StatusBadRequest, propertyProblem("PropertyValueFormatError", "Password", nil))
	}
	b.effect(req, "account.password", b.opts.User, func() {
		b.password = password
		delete(b.faults, "password-change-required")
	})
	return b.vendor.changed()
}

// passwordRules are those that the AccountService tells.
type passwordRules struct {
	least, most int           // characters; 0 = no bound
	complex     bool          // upper and lower case and a digit (XCC)
	lockout     time.Duration // after too many refused logins, with the fault lockout; 0 = for good
}

func (b *BMC) discoverPasswordRules(root map[string]any) {
	service, err := b.store.object(link(root, "AccountService"))
	if err != nil {
		return
	}
	number := func(name string) int {
		n, _ := service[name].(json.Number)
		value, _ := n.Int64()
		return int(value)
	}
	b.rules.least, b.rules.most = number("MinPasswordLength"), number("MaxPasswordLength")
	b.rules.lockout = time.Duration(number("AccountLockoutDuration")) * time.Second
	b.rules.complex, _ = at(service, "Oem", "Lenovo", "ComplexPassword").(bool)
}

func (r passwordRules) allow(password string) bool {
	n := len([]rune(password))
	if n == 0 || n < r.least || (r.most > 0 && n > r.most) {
		return false
	}
	return !r.complex || (strings.ContainsFunc(password, unicode.IsUpper) &&
		strings.ContainsFunc(password, unicode.IsLower) && strings.ContainsFunc(password, unicode.IsDigit))
}

// overlayAccount shows what the account owes.
func (b *BMC) overlayAccount(object map[string]any) {
	_, due := b.faults["password-change-required"]
	if _, has := object["PasswordChangeRequired"]; has || due {
		object["PasswordChangeRequired"] = due
	}
}

// mustChangePassword refuses everything but the change itself and the logout.
func (b *BMC) mustChangePassword(req *request) (reply, bool) {
	if _, due := b.faults["password-change-required"]; !due {
		return reply{}, false
	}
	uri := b.accountURI()
	if req.key == uri || strings.HasPrefix(req.key, b.sessions.collection) {
		return reply{}, false
	}
	return failures(http.StatusForbidden, passwordDue(uri)), true
}

func passwordDue(account string) message {
	return newMessage("Critical", baseRegistry+"PasswordChangeRequired",
		"The password of this account must be changed first: PATCH Password at "+account+".", account)
}
