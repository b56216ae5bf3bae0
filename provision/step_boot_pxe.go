package provision

import (
	"context"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/redfish"
)

// overPXE boots the image by the DHCP server that is there. It leads every machine
// to one address of ours, where this one is known by its MAC or UUID.
func (boot) overPXE(ctx context.Context, e *Env, c BMC) error {
	uuid := or(e.Facts[FactUUID], e.Machine.UUID)
	if e.Machine.MAC == "" && uuid == "" {
		return &Stuck{
			Why: "a machine that boots by PXE is known by its MAC or UUID, the batch names neither, and the BMC tells no UUID",
			Do:  "Add `mac:`, the address of the NIC that boots.",
		}
	}
	t, err := e.bootTicket(ctx)
	if err != nil {
		return err
	}
	if err := e.Boot.ExpectPXE(t.Token, e.Machine.MAC, strings.ToLower(uuid), swapUUID(strings.ToLower(uuid))); err != nil {
		return err
	}
	// Without a mode the client keeps that in which the machine boots.
	want := redfish.Boot{Target: "Pxe", Enabled: "Once"}
	if err := e.Act(ctx, e.overrideAct(c, want, e.bootFetched)); err != nil {
		return err
	}
	if err := e.restart(ctx, c, "boot reset", e.bootFetched); err != nil {
		return err
	}
	address := e.Batch.Netboot.Listen
	stuck := Stuck{
		Why: fmt.Sprintf("the machine was reset to boot by PXE and never asked http://%s/pxe.ipxe for its boot as MAC %s", address, or(e.Machine.MAC, "not stated")),
		Do: "Check that mac is that of the NIC that boots, its link and VLAN, that the DHCP server gives iPXE this address as its boot file, and that network boot is on in the BIOS. " +
			"It is booted again on resume.",
		Anew: true, Suspect: true,
	}
	return e.WaitFor(ctx, e.poll()/4, stuck, func() (bool, error) { return e.bootFetched(), nil })
}
