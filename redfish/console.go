package redfish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
)

// consoleDoc is SerialConsole of a ComputerSystem (1.13 of its schema), and what an
// older manager says of its own.
type consoleDoc struct {
	SSH   maybe[consoleProtocol] `json:"SSH"`
	IPMI  maybe[consoleProtocol] `json:"IPMI"`
	On    flag                   `json:"ServiceEnabled"`
	Types words                  `json:"ConnectTypesSupported"`
}

type consoleProtocol struct {
	On      flag   `json:"ServiceEnabled"`
	Port    number `json:"Port"`
	Shared  flag   `json:"SharedWithManagerCLI"`
	Command text   `json:"ConsoleEntryCommand"`
}

// port is where it listens, as told or as usual.
func (p consoleProtocol) port(usual int64) string {
	if n := p.Port.positive(); n != nil && *n < 1<<16 {
		usual = *n
	}
	return strconv.FormatInt(usual, 10)
}

// consoleWay is how a host's console is had.
type consoleWay struct {
	ssh  *consoleProtocol // nil: not named with what it takes to reach it
	ipmi string           // UDP port; "" = not offered
}

// way is what a system says.
func (d consoleDoc) way() (way consoleWay) {
	if p := d.SSH.value; p.On.value && (p.Command != "" || p.Shared.ok && !p.Shared.value) {
		way.ssh = &p
	}
	if d.IPMI.value.On.value {
		way.ipmi = d.IPMI.value.port(623)
	}
	return way
}

// consoleWay finds out. SSH counts where the system names it: with its port, and with
// the command that leads from the BMC's own shell to the console. That a manager says
// "SSH" alone tells neither.
func (c *Client) consoleWay(ctx context.Context) (consoleWay, error) {
	host, err := c.host(ctx)
	if err != nil {
		return consoleWay{}, err
	}
	if doc := host.Console.value; doc.SSH.ok || doc.IPMI.ok {
		return doc.way(), nil
	}
	var way consoleWay
	for _, m := range each[managerDoc](ctx, c, host.Links.value.ManagedBy, &gaps{}) {
		if m == nil || m.Console.value.On.ok && !m.Console.value.On.value {
			continue
		}
		if !slices.Contains(m.Console.value.Types, "IPMI") {
			continue
		}
		ipmi, err := c.ipmiProtocol(ctx, m.Protocols)
		if err != nil {
			return consoleWay{}, fmt.Errorf("whether its console is to be had by IPMI: %w", err)
		}
		if !ipmi.On.ok || ipmi.On.value { // the console may be offered while IPMI over LAN is off
			way.ipmi = ipmi.port()
		}
	}
	return way, nil
}

// ipmiProtocolDoc is IPMI over LAN in a manager's NetworkProtocol.
type ipmiProtocolDoc struct {
	On   flag   `json:"ProtocolEnabled"`
	Port number `json:"Port"`
}

func (d ipmiProtocolDoc) port() string { return consoleProtocol{Port: d.Port}.port(623) }

// ipmiProtocol reads it; empty where the manager does not say.
func (c *Client) ipmiProtocol(ctx context.Context, protocols link) (ipmiProtocolDoc, error) {
	var doc struct {
		IPMI maybe[ipmiProtocolDoc] `json:"IPMI"`
	}
	if protocols == "" {
		return ipmiProtocolDoc{}, nil
	}
	if _, err := c.get(ctx, protocols, &doc); err != nil && !isAbsent(err) {
		return ipmiProtocolDoc{}, err
	}
	return doc.IPMI.value, nil
}

// Console writes what the host sends to its serial console to out, until ctx ends, which
// is no error: over SSH where the BMC names it, else over IPMI (Serial over LAN) where it
// offers that. Nothing is typed but the command that leads from the BMC's shell to the
// console. The host key is pinned like a certificate. It wraps ErrUnsupported where there
// is no way, ErrPinMismatch and ErrAuth; a refused password is not sent a second time.
func (c *Client) Console(ctx context.Context, out io.Writer) error {
	way, err := c.consoleWay(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	case way.ssh != nil:
		return c.sshConsole(ctx, *way.ssh, out)
	case way.ipmi == "":
		return fmt.Errorf("BMC %s: %w: it names no serial console over SSH or IPMI", c.cfg.Addr, ErrUnsupported)
	}
	return c.ipmiConsole(ctx, way.ipmi, out)
}

// ipmiConsole opens an IPMI session beside ours for the console.
func (c *Client) ipmiConsole(ctx context.Context, port string, out io.Writer) (err error) {
	switch {
	case c.cfg.Via != "":
		return fmt.Errorf("BMC %s: %w: its console is on IPMI, which is UDP and goes through no bastion", c.cfg.Addr, ErrUnsupported)
	case len(c.t.session.secret()) > ipmiPasswordMax:
		return fmt.Errorf("BMC %s: %w: its console is on IPMI, which takes passwords of %d bytes at most", c.cfg.Addr, ErrUnsupported, ipmiPasswordMax)
	}
	cfg := c.cfg
	cfg.Password = c.t.session.secret() // a rotation may have changed it
	cfg.Addr = net.JoinHostPort(c.bareAddr(), port)
	i, err := OpenIPMI(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	return i.Console(ctx, out)
}

// bareAddr is the address of the BMC without its port.
func (c *Client) bareAddr() string {
	host, _, err := net.SplitHostPort(c.cfg.Addr)
	if err != nil {
		return c.cfg.Addr
	}
	return host
}
