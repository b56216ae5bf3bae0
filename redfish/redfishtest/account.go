package redfishtest

import (
	"net/http"
	"strings"
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
		if err != nil {
			return err
		}
	}
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
	b.effect(req, "account.password", b.opts.User, func() {
		b.password = password
		delete(b.faults, "password-change-required")
	})
	return b.vendor.changed()
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
