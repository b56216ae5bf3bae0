package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/redfish"
)

func (a *app) bmcPower(o *bmcOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "power [on|off|force-off|restart|ac-cycle]",
		Short: "Show or change the power state",
		Long: "Show the power state of the host, or change it and read it back. off asks the\n" +
			"operating system first; force-off and restart do not. ac-cycle switches the host off\n" +
			"and takes the power from the whole machine, BMC included, as pulling the cords does,\n" +
			"where the BMC offers that; what the host does when it comes back its BIOS says.\n\n" +
			"Example:\n  rackproof bmc 10.0.12.7 power off\n\n" + exitHelp,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"on", "off", "force-off", "restart", "ac-cycle"},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.waits = powerWaits(strings.Join(args, ""))
			return a.withBMC(cmd.Context(), o, len(args) > 0, func(c bmcClient) error {
				if len(args) > 0 {
					if err := a.powerClear(cmd.Context(), o, c, args[0]); err != nil {
						return err
					}
					if err := setPower(cmd.Context(), c, args[0]); err != nil {
						return err
					}
				}
				state, err := c.Power(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"power": state})
				}
				a.printf("%s\n", state)
				return nil
			})
		},
	}
}

// powerClear: switching on cuts no job.
func (a *app) powerClear(ctx context.Context, o *bmcOptions, c bmcClient, action string) error {
	if action == "on" {
		return nil
	}
	return a.clearOf(ctx, o, c, powerChange)
}

func setPower(ctx context.Context, c bmcClient, action string) error {
	if action != "ac-cycle" {
		return c.SetPower(ctx, redfish.PowerAction(action))
	}
	cycler, ok := c.(provision.ACCycler)
	if !ok {
		return fmt.Errorf("AC cycle: %w over IPMI; pull the cords", redfish.ErrUnsupported)
	}
	return cycler.ACCycle(ctx)
}

// bootTargets are the words of the command line for the common targets.
var bootTargets = map[string]string{
	"none": "None", "pxe": "Pxe", "http": "UefiHttp", "cd": "Cd", "disk": "Hdd", "usb": "Usb", "setup": "BiosSetup",
}

func (a *app) bmcBoot(o *bmcOptions) *cobra.Command {
	var continuous bool
	var mode, uri, mac string
	cmd := &cobra.Command{
		Use:   "boot [none|pxe|http|cd|disk|usb|setup|TARGET]",
		Short: "Show or set the boot override",
		Long: "Show what the host boots next, or set it (once, unless --continuous) and read it back.\n" +
			"none takes an override back. --mac names one network port, where the BMC's boot\n" +
			"options or BIOS can.\n\nExamples:\n  rackproof bmc 10.0.12.7 boot http --uri http://10.0.13.1/boot.efi\n" +
			"  rackproof bmc 10.0.12.7 boot pxe --mac 7c:c2:55:00:00:07\n\n" + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			want := wantedBoot(strings.Join(args, ""), mode, uri, continuous)
			if err := want.fromPort(mac); err != nil {
				return usageError(err, "rackproof bmc ADDR boot --help")
			}
			return a.withBMC(cmd.Context(), o, len(args) > 0, func(c bmcClient) error {
				if len(args) > 0 {
					if err := a.setBoot(cmd.Context(), o, c, want.Boot); err != nil {
						return err
					}
				}
				boot, err := c.Boot(cmd.Context())
				if err != nil {
					return err
				}
				return a.printBoot(boot)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&continuous, "continuous", false, "for every boot, not only the next")
	f.StringVar(&mode, "mode", "", "UEFI or Legacy (default: as it is)")
	f.StringVar(&uri, "uri", "", "`URL` to boot from, for http")
	f.StringVar(&mac, "mac", "", "Ethernet `address` of the port to boot from, for pxe and http")
	return cmd
}

// setBoot sets the override, after a look at what is in the way.
func (a *app) setBoot(ctx context.Context, o *bmcOptions, c bmcClient, want redfish.Boot) error {
	if _, ok := c.(*redfish.Client); !ok && want.MAC != "" {
		return fmt.Errorf("--mac: %w: IPMI names no network port; leave --protocol out", redfish.ErrUnsupported)
	}
	if err := a.clearOf(ctx, o, c, "boot"); err != nil {
		return err
	}
	return c.SetBoot(ctx, want)
}

// bootWish is an override as the command line has it.
type bootWish struct{ redfish.Boot }

// fromPort names the network port to boot from, "" any.
func (w *bootWish) fromPort(mac string) error {
	switch {
	case mac == "":
		return nil
	case redfish.CleanMAC(mac) == "":
		return fmt.Errorf("--mac %q: want an Ethernet address such as 7c:c2:55:00:00:07", mac)
	case w.Target != "Pxe" && w.Target != "UefiHttp":
		return errors.New("--mac goes with pxe or http")
	}
	w.MAC = redfish.CleanMAC(mac)
	return nil
}

func wantedBoot(target, mode, uri string, continuous bool) bootWish {
	want := bootWish{redfish.Boot{Target: target, Enabled: "Once", Mode: mode, HTTPBootURI: uri}}
	if name, ok := bootTargets[strings.ToLower(target)]; ok {
		want.Target = name
	}
	switch {
	case want.Target == "None":
		want.Enabled = "Disabled"
	case continuous:
		want.Enabled = "Continuous"
	}
	return want
}

func (a *app) printBoot(boot redfish.Boot) error {
	switch {
	case a.json:
		return a.printJSON(boot)
	case !boot.Supported:
		a.printf("no boot override on this BMC\n")
		return nil
	}
	a.printf("%s\n", boot)
	if boot.Note != "" {
		a.printf("%s\n", boot.Note)
	}
	if boot.HTTPBootURI != "" {
		a.printf("from %s\n", boot.HTTPBootURI)
	}
	if len(boot.Allowed) > 0 {
		a.printf("offered: %s\n", strings.Join(boot.Allowed, ", "))
	}
	return nil
}

func (a *app) bmcLocate(o *bmcOptions) *cobra.Command {
	return &cobra.Command{
		Use:       "locate [on|off]",
		Short:     "Show or switch the locator LED",
		Long:      "Show or switch the locator LED.\n\nExample:\n  rackproof bmc 10.0.12.7 locate on\n\n" + exitHelp,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"on", "off"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBMC(cmd.Context(), o, len(args) > 0, func(c bmcClient) error {
				if len(args) > 0 {
					if err := c.SetLocator(cmd.Context(), args[0] == "on"); err != nil {
						return err
					}
				}
				on, err := c.Locator(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]bool{"locator": on})
				}
				a.printf("%s\n", map[bool]string{true: "on", false: "off"}[on])
				return nil
			})
		},
	}
}

func (a *app) bmcInventory(o *bmcOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "inventory",
		Short: "List what the BMC knows to be in the machine",
		Long: "List what the BMC knows to be in the machine, by label. What could not be read is\n" +
			"named at the end; then the exit code is 4.\n\nExample:\n  rackproof bmc 10.0.12.7 inventory --json\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withBMC(cmd.Context(), o, false, func(c bmcClient) error {
				inv, err := c.Inventory(cmd.Context())
				if err != nil {
					return err
				}
				if err := a.printInventory(inv); err != nil {
					return err
				}
				if len(inv.Partial) > 0 {
					return exitWith(exitIncomplete)
				}
				return nil
			})
		},
	}
}

func (a *app) printInventory(inv redfish.Inventory) error {
	if a.json {
		return a.printJSON(inv)
	}
	id := inv.System
	a.printf("%s\n", strings.TrimSpace(id.Manufacturer+" "+id.Model))
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, m := range []struct{ name, value string }{
		{"service tag", id.ServiceTag},
		{"system serial", id.SystemSerial},
		{"chassis serial", id.ChassisSerial},
		{"board serial", id.BoardSerial},
		{"UUID", id.UUID},
		{"BMC", id.BMCMAC + " " + id.BMCFirmware},
		{"BIOS", id.BIOSVersion},
	} {
		if strings.TrimSpace(m.value) != "" {
			_, _ = fmt.Fprintf(w, "  %s\t%s\n", m.name, m.value)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	line := func(kind string, p redfish.Part, size string) {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\tS/N %s\t%s\n", kind, p.Label, p.Model, size, p.Serial, p.Health)
	}
	for _, p := range inv.CPUs {
		line("CPU", p.Part, count(p.Cores, "cores"))
	}
	for _, p := range inv.DIMMs {
		line("DIMM", p.Part, count(p.SizeMiB, "MiB"))
	}
	for _, p := range inv.GPUs {
		line("GPU", p.Part, count(p.MemoryMiB, "MiB"))
	}
	for _, p := range inv.NICs {
		line("NIC", p.Part, strings.Join(p.MACs, " "))
	}
	for _, p := range inv.Drives {
		line("drive", p.Part, count(p.Bytes, "B"))
	}
	for _, p := range inv.PSUs {
		line("PSU", p.Part, count(p.Watts, "W"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.printf("%d firmware entries (rackproof bmc ADDR firmware)\n", len(inv.Firmware))
	for _, why := range inv.Partial {
		a.printf("not read: %s\n", why)
	}
	return nil
}

func count(n *int64, unit string) string {
	if n == nil {
		return "not reported"
	}
	return fmt.Sprintf("%d %s", *n, unit)
}

// errNoWish is a bios verb without anything to set.
var errNoWish = errors.New("name what to set: NAME=VALUE, or --intent smt=off")
