package main

import (
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/redfish"
)

func (a *app) bmcForgetPin(o *bmcOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "forget-pin [UUID|MAC]",
		Short: "Forget the certificate that was pinned",
		Long: "Forget the certificate that was pinned at this address, and of the BMC that was known\n" +
			"there or that is named. It contacts nothing: the next verb pins what it sees. Compare\n" +
			"the sticker and the cable before.\n\nExample:\n  rackproof bmc 10.0.12.7 forget-pin\n\n" + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			state, err := a.state()
			if err != nil {
				return err
			}
			gone, err := provision.OpenKnownBMCs(state).Forget(redfish.Config{Addr: pinKey(o.addr), Via: o.via}.Key(), strings.ToLower(strings.Join(args, "")))
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"forgotten": append([]provision.KnownBMC{}, gone...)})
			}
			if len(gone) == 0 {
				a.printf("no pin is known of %s\n", o.addr)
			}
			for _, b := range gone {
				a.printf("forgot %.16s… of %s\n", b.SHA256, strings.TrimSpace(b.Addr+" "+b.Who))
			}
			return nil
		},
	}
}

// pinKey is an address as pins are kept: with its port.
func pinKey(addr string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), "443")
}
