package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/redfish"
)

// BootPlanner finds the way by which a machine gets a boot; a BMC may be one. One
// that is none is taken to set any boot by its override.
type BootPlanner interface {
	PlanBoot(context.Context, redfish.Boot) (redfish.BootPlan, error)
}

// httpBoot is the way to this attempt's boot over HTTP. Before there is a ticket its
// URL is one in the same form.
func (e *Env) httpBoot(ctx context.Context, c BMC) (redfish.BootPlan, error) {
	host, err := facing(ctx, e.Machine.BMC, e.Boot.Addr)
	if err != nil {
		return redfish.BootPlan{}, err
	}
	url := "http://" + net.JoinHostPort(host, "80") + "/b/token/boot.efi"
	if t, ok := e.Boot.Find(e.Machine.Name, e.Attempt); ok {
		url = e.Boot.URL(host, t.Token)
	}
	want := redfish.Boot{Target: "UefiHttp", Enabled: "Once", Mode: "UEFI", HTTPBootURI: url}
	planner, ok := c.(BootPlanner)
	if !ok {
		return redfish.BootPlan{Override: want}, nil
	}
	plan, err := planner.PlanBoot(ctx, want)
	if err != nil || len(plan.BIOS) == 0 || e.Machine.MAC == "" {
		return plan, err
	}
	// A URL among the BIOS settings belongs to a port. An override that takes the URL
	// takes no port beside it: an entry of the boot order has a URL of its own.
	want.MAC = e.Machine.MAC
	if ported, err := planner.PlanBoot(ctx, want); err == nil && len(ported.BIOS) > 0 {
		return ported, nil
	}
	return plan, nil
}

// offersHTTP reports whether the machine can boot over HTTP from a URL of ours, and
// whether its BIOS must have settings for it.
func (e *Env) offersHTTP(ctx context.Context, c BMC, b redfish.Boot) (offers, settings bool, err error) {
	if !b.Supported || !b.Takes("UEFI") || !slices.Contains(b.Allowed, "UefiHttp") {
		return false, false, nil
	}
	if _, ok := c.(BootPlanner); !ok {
		return true, false, nil
	}
	plan, err := e.httpBoot(ctx, c)
	if errors.Is(err, redfish.ErrUnsupported) || errors.Is(err, redfish.ErrBadValue) {
		return false, false, nil
	}
	return err == nil, len(plan.BIOS) > 0, err
}

// bootSettings are the BIOS settings without which this machine does not boot over
// HTTP from us, none where it boots another way. They are staged with those of the
// burn-in, so that one reset serves both. A run has its ticket by then, because the
// settings hold its URL; a plan serves nothing.
func (e *Env) bootSettings(ctx context.Context, c BMC) (map[string]any, error) {
	if m := e.Machine.Boot.Method; m != BootUEFIHTTP && m != BootAuto && m != "" {
		return nil, nil
	}
	method, _, err := e.method(ctx, c)
	if err != nil || method != BootUEFIHTTP {
		return nil, err
	}
	plan, err := e.httpBoot(ctx, c)
	if err != nil || len(plan.BIOS) == 0 || e.startBoot == nil {
		return plan.BIOS, err
	}
	if err := e.StartBoot(ctx); err != nil {
		return nil, err
	}
	if _, err := e.bootTicket(ctx); err != nil {
		return nil, err
	}
	plan, err = e.httpBoot(ctx, c)
	return plan.BIOS, err
}

// bootOverHTTP is the boot that the host's firmware fetches itself.
func (e *Env) bootOverHTTP(ctx context.Context, c BMC) (imageBoot, error) {
	t, err := e.bootTicket(ctx)
	if err != nil {
		return imageBoot{}, err
	}
	plan, err := e.httpBoot(ctx, c)
	if err != nil {
		return imageBoot{}, err
	}
	host, err := facing(ctx, e.Machine.BMC, e.Boot.Addr)
	if err != nil {
		return imageBoot{}, err
	}
	return imageBoot{token: t.Token, override: plan.Override, begun: e.bootFetched, nobody: func() (string, string) {
		return fmt.Sprintf("the machine was reset and never fetched %s/b/…", strings.SplitN(e.Boot.URL(host, ""), "/b/", 2)[0]),
			"Check the link of its boot NIC, its VLAN, a firewall on this machine, and that HTTP boot is on in the BIOS. It is booted again on resume."
	}}, nil
}
