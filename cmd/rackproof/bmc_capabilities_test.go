package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

func TestBMCCapabilities(t *testing.T) {
	served, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: bmcMachine(), User: bmcUser, Password: bmcPassword})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	t.Setenv("BMC_USER", bmcUser)
	t.Setenv("BMC_PASSWORD", bmcPassword)
	line := func(args ...string) (int, string, string) {
		return bmc(t, append([]string{"--state", filepath.Join(t.TempDir(), "state"), served.Addr()}, args...)...)
	}
	code, stdout, stderr := line("capabilities")
	if code != exitPassed || !strings.HasPrefix(stdout, "Box 8 · BMC ? · BIOS ?\nboot ") {
		t.Errorf("exit %d, %q\n%s", code, stderr, stdout)
	}
	shown := map[string]bool{}
	for l := range strings.Lines(stdout) {
		shown[strings.Join(strings.Fields(l), " ")] = true
	}
	for _, want := range []string{
		"URI HttpBootUri /redfish/v1/Systems/a",
		"media CD1 CD, DVD, by InsertMedia /redfish/v1/Systems/a/VirtualMedia/CD1",
		"IPMI over LAN off /redfish/v1/Managers/1/NetworkProtocol",
		"licence installed ? not reported /redfish/v1/",
		"accounts shortest password 13 characters /redfish/v1/AccountService",
	} {
		if !shown[want] && !shown["protocols "+want] {
			t.Errorf("no line %q in\n%s", want, stdout)
		}
	}
	code, stdout, stderr = line("capabilities", "--json")
	var card redfish.Card
	if err := json.Unmarshal([]byte(stdout), &card); err != nil || code != exitPassed || card.Model != "Box 8" || len(card.Lines) < 20 || served.OpenSessions() != 0 {
		t.Errorf("exit %d, %v, %q\n%s", code, err, stderr, stdout)
	}
	if code, _, stderr := line("--protocol", "ipmi", "capabilities"); code == exitPassed {
		t.Errorf("over IPMI: exit %d, %q", code, stderr)
	}
}
