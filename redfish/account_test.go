package redfish_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const nextPassword = "n3xt-Planted-One"

// accountBMC serves a captured tree to the account of that name in it.
func accountBMC(t *testing.T, tree, account string, faults ...string) (*redfishtest.BMC, redfish.Config) {
	t.Helper()
	bmc, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{
		Tree: captured(t, tree), User: account, Password: password, Faults: faults,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bmc.Close() })
	cfg := config(bmc)
	cfg.User = account
	return bmc, cfg
}

func TestPasswordRules(t *testing.T) {
	for tree, want := range map[string]redfish.PasswordRules{
		"dell":          {Max: 40, IPMI: true},
		"hpe":           {Min: 8},
		"lenovo":        {Min: 10, Max: 32},
		"nvidia_viking": {Min: 13, Max: 20, IPMI: true},
		"supermicro":    {Min: 8, Max: 20, IPMI: true},
	} {
		client, _ := start(t, tree)
		if got, err := client.PasswordRules(within(t, time.Minute)); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", tree, got, err, want)
		}
	}
}

// TestSetPassword: the account is found by its name, wherever it stands in the list.
func TestSetPassword(t *testing.T) {
	for tree, account := range map[string]string{"dell": "root", "hpe": "root", "lenovo": "root", "nvidia_viking": "admin", "supermicro": "tests_admin"} {
		for _, fault := range []string{"", "etag-required", "etag-refused"} {
			bmc, cfg := accountBMC(t, tree, account)
			if fault != "" {
				if err := bmc.SetFault(fault, true); err != nil {
					t.Fatal(err)
				}
			}
			c, err := redfish.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.SetPassword(within(t, time.Minute), nextPassword); err != nil || bmc.Acts()["account.password"] != 1 {
				t.Errorf("%s %s: %v, %v", tree, fault, err, bmc.Acts())
			}
			// The client goes on with it, also where the BMC ended its session.
			bmc.ExpireSessions()
			if _, err := c.Power(t.Context()); err != nil {
				t.Errorf("%s %s: after the change: %v", tree, fault, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			cfg.Password = nextPassword
			again, err := redfish.Open(t.Context(), cfg)
			if err != nil {
				t.Fatalf("%s: the new password: %v", tree, err)
			}
			_ = again.Close()
			if n := bmc.Unauthorized(); n != 2 { // both with the expired token: the second asks whether it is expired
				t.Errorf("%s: %d refused requests, want the two of the expired session", tree, n)
			}
		}
	}
}

func TestPasswordThatIsNotTaken(t *testing.T) {
	bmc, cfg := accountBMC(t, "nvidia_viking", "admin")
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	short := "t00Short-1" // a DGX wants 13
	if err := c.SetPassword(t.Context(), short); !errors.Is(err, redfish.ErrBadValue) || strings.Contains(err.Error(), short) {
		t.Errorf("error %v, want ErrBadValue without the password", err)
	}
	if bmc.Acts()["account.password"] != 0 {
		t.Error("it was set")
	}
}

func TestAccountOfADirectoryServer(t *testing.T) {
	client, bmc := start(t, "dell")
	bmc.Remove("/redfish/v1/AccountService/Accounts/" + user) // it is known elsewhere
	if err := client.SetPassword(within(t, time.Minute), nextPassword); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("error %v, want ErrUnsupported", err)
	}
}

// TestFirstPassword: a BMC on delivery lets the account do nothing but this.
func TestFirstPassword(t *testing.T) {
	for tree, account := range map[string]string{"supermicro": "root", "nvidia_viking": "admin"} {
		bmc, cfg := accountBMC(t, tree, account, "password-change-required")
		if _, err := redfish.Open(t.Context(), cfg); !errors.Is(err, redfish.ErrPasswordChange) {
			t.Fatalf("%s: open: %v, want ErrPasswordChange", tree, err)
		}
		if err := redfish.ChangeFirstPassword(within(t, time.Minute), cfg, nextPassword); err != nil {
			t.Fatalf("%s: %v", tree, err)
		}
		cfg.Password = nextPassword
		c, err := redfish.Open(t.Context(), cfg)
		if err != nil {
			t.Fatalf("%s: the new password: %v", tree, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if acts := bmc.Acts(); acts["account.password"] != 1 || bmc.OpenSessions() != 0 || bmc.Unauthorized() != 0 {
			t.Errorf("%s: acts %v, %d sessions open, %d refused", tree, acts, bmc.OpenSessions(), bmc.Unauthorized())
		}
	}
}

// TestFirstPasswordWrong: a wrong tag password is tried once.
func TestFirstPasswordWrong(t *testing.T) {
	bmc, cfg := accountBMC(t, "supermicro", "root", "password-change-required")
	cfg.Password = "wr0ng-Passw0rd"
	if err := redfish.ChangeFirstPassword(within(t, time.Minute), cfg, nextPassword); !errors.Is(err, redfish.ErrAuth) || bmc.Unauthorized() != 1 {
		t.Errorf("error %v after %d logins, want ErrAuth after one", err, bmc.Unauthorized())
	}
}
