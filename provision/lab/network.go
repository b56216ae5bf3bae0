package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// provisioningPrefix is of IPv6, for machines that ask whether there is any.
const provisioningPrefix = "fd77::"

// networkCommands are what `ip -batch` makes the lab's two networks of: the
// provisioning bridge with a tap for each machine, and the BMC bridge with an
// address for each BMC.
func networkCommands(specs []Spec, ipv6 bool) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("link set lo up")
	for _, bridge := range [][2]string{{ProvisioningBridge, ProvisioningAddress}, {BMCBridge, BMCNetworkAddress}} {
		line("link add %s type bridge", bridge[0])
		line("addr add %s/24 dev %s", bridge[1], bridge[0])
		line("link set %s up", bridge[0])
	}
	if ipv6 {
		line("addr add %s1/64 dev %s nodad", provisioningPrefix, ProvisioningBridge)
	}
	for _, s := range specs {
		line("addr add %s/32 dev %s", s.BMCIP(), BMCBridge)
		line("tuntap add dev %s mode tap", s.Tap())
		line("link set %s master %s", s.Tap(), ProvisioningBridge)
		line("link set %s up", s.Tap())
	}
	return b.String()
}

// makeNetwork builds the networks in the namespace that this process is in. It
// must not be the host's.
func makeNetwork(ctx context.Context, specs []Spec) error {
	cmd := exec.CommandContext(ctx, "ip", "-batch", "-")
	_, err := os.Stat("/proc/net/if_inet6")
	cmd.Stdin = strings.NewReader(networkCommands(specs, err == nil))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the lab's network: ip: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}
