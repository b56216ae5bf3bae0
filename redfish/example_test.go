package redfish_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// A host is switched off and set to boot from the network once.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bmc, err := redfishtest.Start(ctx, redfishtest.Options{Tree: small(), User: "ADMIN", Password: "tag-password"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bmc.Close()

	c, err := redfish.Open(ctx, redfish.Config{Addr: bmc.Addr(), User: "ADMIN", Password: "tag-password", Poll: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := c.SetPower(ctx, redfish.PowerOff); err != nil {
		fmt.Println(err)
		return
	}
	if err := c.SetBoot(ctx, redfish.Boot{Target: "Pxe", Enabled: "Once", Mode: "UEFI"}); err != nil {
		fmt.Println(err)
		return
	}
	state, _ := c.Power(ctx)
	boot, _ := c.Boot(ctx)
	fmt.Println(state, boot)
	// Output: Off Pxe/Once/UEFI
}
