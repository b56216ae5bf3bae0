package lab

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// networkCommands are what `ip -batch` makes the lab's two networks of: the
// provisioning bridge with a tap for each machine, and the BMC bridge with an
// address for each BMC.
func networkCommands(specs []Spec) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("link set lo up")
	for _, bridge := range [][2]string{{ProvisioningBridge, ProvisioningAddress}, {BMCBridge, BMCNetworkAddress}} {
		line("link add %s type bridge", bridge[0])
		line("addr add %s/24 dev %s", bridge[1], bridge[0])
		line("link set %s up", bridge[0])
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
	cmd.Stdin = strings.NewReader(networkCommands(specs))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the lab's network: ip: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}
