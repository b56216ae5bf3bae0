package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDnsmasqConfig names every machine, and dnsmasq itself takes it.
func TestDnsmasqConfig(t *testing.T) {
	config := dnsmasqConfig(t.TempDir(), []Spec{NewSpec(1, ""), NewSpec(2, "")})
	for _, want := range []string{
		"dhcp-host=52:54:00:77:00:01,10.77.0.101,lab1\n", "dhcp-host=52:54:00:77:00:02,10.77.0.102,lab2\n",
		"dhcp-range=10.77.0.0,static,", "dhcp-boot=tag:ipxe,http://10.77.0.1:8080/pxe.ipxe\n",
	} {
		if !strings.Contains(config, want) {
			t.Errorf("%q is not in\n%s", want, config)
		}
	}
	program, err := exec.LookPath("dnsmasq")
	if err != nil {
		t.Skipf("%v: install dnsmasq-base", err)
	}
	file := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "--test", "--conf-file="+file).CombinedOutput(); err != nil {
		t.Errorf("dnsmasq: %v: %s", err, out)
	}
}

// TestDnsmasqThatCannotStart says why.
func TestDnsmasqThatCannotStart(t *testing.T) {
	if _, err := exec.LookPath("dnsmasq"); err != nil {
		t.Skipf("%v: install dnsmasq-base", err)
	}
	stop, err := startDnsmasq(t.Context(), t.TempDir(), nil)
	if err == nil {
		_ = stop()
		t.Fatal("it starts without the lab's bridge")
	}
	if !strings.Contains(err.Error(), "dnsmasq") || !strings.Contains(err.Error(), ProvisioningBridge) {
		t.Errorf("%v, want the bridge named", err)
	}
}
