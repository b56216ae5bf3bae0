package provision

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/redfish"
)

// bootByPXE is a boot by the DHCP server that is there. It leads every machine to one
// address of ours, where this one is known by its MAC or UUID.
func (e *Env) bootByPXE(ctx context.Context, c BMC) (imageBoot, error) {
	uuid := or(e.Facts[FactUUID], e.Machine.UUID)
	if e.Machine.MAC == "" && uuid == "" {
		return imageBoot{}, &Stuck{
			Why: "a machine that boots by PXE is known by its MAC or UUID, the batch names neither, and the BMC tells no UUID",
			Do:  "Add `mac:`, the address of the NIC that boots.",
		}
	}
	t, err := e.bootTicket(ctx)
	if err != nil {
		return imageBoot{}, err
	}
	if err := e.Boot.ExpectPXE(t.Token, e.Machine.MAC, strings.ToLower(uuid), swapUUID(strings.ToLower(uuid))); err != nil {
		return imageBoot{}, err
	}
	override, err := e.pxeOverride(ctx, c)
	if err != nil {
		return imageBoot{}, err
	}
	return imageBoot{token: t.Token, override: override, begun: e.bootFetched, nobody: func() (string, string) {
		return fmt.Sprintf("the machine was reset to boot by PXE and never asked http://%s/pxe.ipxe for its boot as MAC %s", e.Batch.Netboot.Listen, or(e.Machine.MAC, "not stated")),
			"Check that mac is that of the NIC that boots, its link and VLAN, that the DHCP server gives iPXE this address as its boot file, and that network boot is on in the BIOS. " +
				"It is booted again on resume."
	}}, nil
}

// pxeOverride boots by PXE from the port that the batch names, where the BMC knows it, else
// from any: firmware tries one port after the other, for minutes each.
func (e *Env) pxeOverride(ctx context.Context, c BMC) (redfish.Boot, error) {
	// Without a mode the client keeps that in which the machine boots.
	want := redfish.Boot{Target: "Pxe", Enabled: "Once"}
	planner, ok := c.(BootPlanner)
	if !ok || e.Machine.MAC == "" {
		return want, nil
	}
	port := want
	port.MAC = e.Machine.MAC
	plan, err := planner.PlanBoot(ctx, port)
	switch {
	case errors.Is(err, redfish.ErrUnsupported), errors.Is(err, redfish.ErrBadValue), err == nil && len(plan.Changes) > 0:
		e.Log.Info("the BMC's override names no port with this MAC; the host boots from any", "mac", e.Machine.MAC)
		return want, nil
	case err != nil:
		return want, err
	}
	return plan.Override, nil
}
