package redfish

import (
	"context"
	"errors"
	"fmt"
)

// BootPlan is how this machine gets a boot that is wanted.
type BootPlan struct {
	Override Boot `json:"override"` // what SetBoot sets, once the BIOS has what it must have
	// BIOS are attributes that must be in force before, and Changes those of them
	// that are not: stage them with the other settings, so that one reset serves
	// all. Empty where the override alone is enough.
	BIOS    map[string]any `json:"bios,omitempty"`
	Changes []BIOSChange   `json:"changes,omitempty"`
	Why     string         `json:"why,omitempty"` // why the BIOS is needed
}

// PlanBoot finds the way to a boot and changes nothing: the override; or the
// vendor's BIOS attributes for a URI or a network port that the override of this
// BMC does not take; a port given by its MAC as a boot option or UEFI path. Errors
// are those of SetBoot.
func (c *Client) PlanBoot(ctx context.Context, want Boot) (BootPlan, error) {
	plan, _, err := c.planBoot(ctx, want)
	return plan, err
}

func (c *Client) planBoot(ctx context.Context, want Boot) (BootPlan, bootPlace, error) {
	place, err := c.bootPlace(ctx)
	if err != nil {
		return BootPlan{}, place, err
	}
	if !place.boot.Supported {
		return BootPlan{}, place, fmt.Errorf("BMC %s: %w: no boot override; use the BIOS boot order or virtual media", c.cfg.Addr, ErrUnsupported)
	}
	if want.Enabled == "" {
		want.Enabled = "Once"
	}
	plan := BootPlan{Override: want}
	device := false
	if want.MAC != "" && want.Enabled != overrideOff {
		plan.Override, device = c.bootPort(ctx, place, want)
	}
	switch {
	case want.MAC != "" && !device && want.Enabled != overrideOff, want.HTTPBootURI != "" && !place.boot.TakesURI:
		err = c.planBootBIOS(ctx, want, &plan)
	case want.HTTPBootURI != "" && place.boot.HTTPBootURI != want.HTTPBootURI && c.behaviour.uriInBIOS():
		err = c.planDoubtfulURI(ctx, want, &plan)
	}
	if err != nil {
		return BootPlan{}, place, err
	}
	plan.Override.MAC = ""
	if plan.Override.Target, err = place.boot.target(plan.Override); err != nil {
		return BootPlan{}, place, fmt.Errorf("BMC %s: %w", c.cfg.Addr, err)
	}
	return plan, place, nil
}

// planDoubtfulURI prefers the BIOS setting where others of the make refuse the HttpBootUri
// that they show, and the override where this BIOS has no such setting.
func (c *Client) planDoubtfulURI(ctx context.Context, want Boot, plan *BootPlan) error {
	override := plan.Override
	err := c.planBootBIOS(ctx, want, plan)
	if errors.Is(err, ErrBadValue) || errors.Is(err, ErrUnsupported) {
		*plan, err = BootPlan{Override: override}, nil
	}
	return err
}

// planBootBIOS asks the vendor's table for the attributes of a boot, and the BIOS
// for what of them is not in force.
func (c *Client) planBootBIOS(ctx context.Context, want Boot, plan *BootPlan) error {
	attrs, why, err := c.behaviour.bootBIOS(ctx, c, want)
	if err != nil {
		return err
	}
	if len(attrs) == 0 {
		what := "no HttpBootUri; set the URI in the BIOS, or boot with Pxe"
		if want.MAC != "" {
			what = fmt.Sprintf("no boot option for the network port %s; boot with %s from any port", want.MAC, want.Target)
		}
		return fmt.Errorf("BMC %s: %w: %s", c.cfg.Addr, ErrUnsupported, what)
	}
	plan.Override = want
	plan.Override.HTTPBootURI, plan.Override.MAC = "", ""
	plan.BIOS, plan.Why = attrs, why
	plan.Changes, err = c.PlanBIOS(ctx, attrs)
	return err
}
