package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// handOver is how long a change of power is watched for an error. ipmi_sim waits
// for its hardware and answers nobody meanwhile, and a client that hears nothing
// for a second asks again: what takes longer goes on without it.
const handOver = 300 * time.Millisecond

// byIPMI is who asked, in chassis.log.
const byIPMI = "ipmi"

// ChassisControl is the hardware behind ipmi_sim's chassis_control: `get power
// boot` prints "power:1" and "boot:pxe", `set power 1` and the like act on the
// machine of the lab in dir. The names are ipmi_sim's.
func ChassisControl(ctx context.Context, dir, machine string, args []string, out io.Writer) error {
	c, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	if len(args) < 2 {
		return usagef("chassis: give get NAME… or set NAME VALUE…")
	}
	switch args[0] {
	case "get":
		return c.chassisGet(ctx, machine, args[1:], out)
	case "set":
		return c.chassisSet(ctx, machine, args[1:])
	}
	return usagef("chassis: no %q", args[0])
}

// simBoot are ipmi_sim's words for boot devices. It knows neither UEFI nor
// whether a choice is to last.
var simBoot = map[string]BootDevice{"none": BootOwn, "default": BootDisk, "pxe": BootPXE, "cdrom": BootCD, "bios": BootSetup}

func (c *Client) chassisGet(ctx context.Context, machine string, names []string, out io.Writer) error {
	s, err := c.machine(ctx, machine)
	if err != nil {
		return err
	}
	for _, name := range names {
		value := ""
		switch name {
		case "power":
			value = "0"
			if s.On {
				value = "1"
			}
		case "boot":
			value = "none"
			for word, device := range simBoot {
				if device == s.Boot.Device {
					value = word
				}
			}
		default:
			return usagef("chassis: nothing is known of %q", name)
		}
		if _, err := fmt.Fprintf(out, "%s:%s\n", name, value); err != nil {
			return err
		}
	}
	return nil
}

// machine is the status of one machine.
func (c *Client) machine(ctx context.Context, name string) (MachineStatus, error) {
	s, err := c.Status(ctx)
	if err != nil {
		return MachineStatus{}, err
	}
	for _, m := range s.Machines {
		if m.Name == name {
			return m, nil
		}
	}
	return MachineStatus{}, usagef("there is no machine %q", name)
}

func (c *Client) chassisSet(ctx context.Context, machine string, pairs []string) error {
	if pairs[0] == "identify" {
		return nil // the light of this machine is not seen by anyone
	}
	for ; len(pairs) >= 2; pairs = pairs[2:] {
		name, value := pairs[0], pairs[1]
		var err error
		switch {
		case name == "power" && value == "1":
			err = c.handOver(ctx, machine, ActOn)
		case name == "power":
			err = c.handOver(ctx, machine, ActOff)
		case name == "reset":
			err = c.handOver(ctx, machine, ActReset)
		case name == "shutdown":
			err = c.handOver(ctx, machine, ActShutdown)
		case name == "boot":
			device, known := simBoot[value]
			if !known {
				return usagef("chassis: no boot device %q", value)
			}
			err = c.SetBoot(ctx, machine, BootChoice{Device: device}, byIPMI)
		default:
			err = usagef("chassis: nothing to set of %q", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handOver asks for a change of power and waits for its end for a moment only;
// the supervisor carries it out all the same.
func (c *Client) handOver(ctx context.Context, machine string, act PowerAct) error {
	ctx, cancel := context.WithTimeout(ctx, handOver)
	defer cancel()
	if err := c.Power(ctx, machine, act, byIPMI); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// LANConfig answers for ipmi_sim's lan_config_program: `get NAME…` prints the
// addresses of machine number n's BMC. They cannot be changed.
func LANConfig(number string, args []string, out io.Writer) error {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > MaxMachines || len(args) < 1 {
		return usagef("lan-config: give a machine's number and get NAME…")
	}
	if args[0] != "get" {
		return usagef("lan-config: the address of a BMC of the lab cannot be changed")
	}
	s := NewSpec(n, "")
	values := map[string]string{
		"ip_addr": s.BMCIP(), "ip_addr_src": "static", "mac_addr": s.BMCMAC(), "subnet_mask": "255.255.255.0",
		"default_gw_ip_addr": BMCNetworkAddress, "default_gw_mac_addr": "00:00:00:00:00:00",
		"backup_gw_ip_addr": "0.0.0.0", "backup_gw_mac_addr": "00:00:00:00:00:00",
	}
	for _, name := range args[1:] {
		value, known := values[name]
		if !known {
			return usagef("lan-config: nothing is known of %q", name)
		}
		if _, err := fmt.Fprintf(out, "%s:%s\n", name, value); err != nil {
			return err
		}
	}
	return nil
}
