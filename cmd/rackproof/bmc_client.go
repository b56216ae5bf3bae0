package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/redfish"
)

// bmcClient is a BMC over either protocol: a *redfish.Client or a *redfish.IPMI.
type bmcClient interface {
	provision.BMC
	bmcReader
	bmcLocator
	bmcConsole
	Firmware(context.Context) ([]redfish.Firmware, error)
}

// bmcReader tells what a BMC measures and has logged.
type bmcReader interface {
	Sensors(context.Context) ([]redfish.Sensor, error)
	Log(ctx context.Context, since time.Time) ([]redfish.LogEntry, error)
	Clock(context.Context) (bmc time.Time, skew time.Duration, err error)
}

// bmcLocator switches the locator LED.
type bmcLocator interface {
	Locator(context.Context) (bool, error)
	SetLocator(ctx context.Context, on bool) error
}

// bmcConsole shows the host's serial console.
type bmcConsole interface {
	Console(ctx context.Context, out io.Writer) error
}

// openClient logs in by the protocol that the command line names.
func openClient(ctx context.Context, o *bmcOptions, cfg redfish.Config) (bmcClient, error) {
	p, err := provision.ParseProtocol(o.protocol)
	if err != nil {
		return nil, fmt.Errorf("--%w: %w", err, redfish.ErrBadValue)
	}
	if !p.IPMI() {
		c, err := redfish.Open(ctx, cfg)
		if err != nil {
			return nil, err
		}
		provision.TookLogin(cfg)
		return c, nil
	}
	if o.via != "" {
		return nil, fmt.Errorf("--via %s: %w: IPMI is UDP and goes through no SSH", o.via, redfish.ErrBadValue)
	}
	cfg.IPMITool = p == provision.OverIPMITool
	c, err := redfish.OpenIPMI(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// withRedfish is withBMC for what only Redfish has.
func (a *app) withRedfish(ctx context.Context, o *bmcOptions, acts bool, do func(*redfish.Client) error) error {
	return a.withBMC(ctx, o, acts, func(c bmcClient) error {
		client, ok := c.(*redfish.Client)
		if !ok {
			return fmt.Errorf("BMC %s: %w over %s; leave --protocol out, where it has Redfish", o.addr, redfish.ErrUnsupported, o.protocol)
		}
		return do(client)
	})
}

// missing gives what a reading lacks; err stays where it is no PartialError.
func missing(err error) ([]string, error) {
	if partial, ok := errors.AsType[*redfish.PartialError](err); ok {
		return partial.Missing, nil
	}
	return nil, err
}

// printMissing names what could not be read, and gives the exit code for it.
func (a *app) printMissing(list []string) error {
	if len(list) == 0 {
		return nil
	}
	if !a.json {
		for _, why := range list {
			a.printf("not read: %s\n", why)
		}
	}
	return exitWith(exitIncomplete)
}
