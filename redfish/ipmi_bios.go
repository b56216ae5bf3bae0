package redfish

import (
	"context"
	"fmt"
)

// IPMI has no BIOS attributes. Wishing for nothing is granted; everything else wraps
// ErrUnsupported.

func (c *IPMI) noBIOS() error {
	return fmt.Errorf("BMC %s: %w: BIOS settings over IPMI; set them by hand, or use Redfish", c.cfg.Addr, ErrUnsupported)
}

// BIOS wraps ErrUnsupported.
func (c *IPMI) BIOS(context.Context) (BIOS, error) { return BIOS{}, c.noBIOS() }

// MapIntents wraps ErrUnsupported where there are any.
func (c *IPMI) MapIntents(_ context.Context, intents map[string]string) (map[string]any, []Unmapped, error) {
	if len(intents) == 0 {
		return map[string]any{}, nil, nil
	}
	return nil, nil, c.noBIOS()
}

// PlanBIOS wraps ErrUnsupported where anything is wanted.
func (c *IPMI) PlanBIOS(_ context.Context, want map[string]any) ([]BIOSChange, error) {
	if len(want) == 0 {
		return nil, nil
	}
	return nil, c.noBIOS()
}

// VerifyBIOS wraps ErrUnsupported where anything is wanted.
func (c *IPMI) VerifyBIOS(ctx context.Context, want map[string]any) ([]BIOSChange, error) {
	return c.PlanBIOS(ctx, want)
}

// StageBIOS wraps ErrUnsupported where there is a change.
func (c *IPMI) StageBIOS(_ context.Context, changes []BIOSChange) (string, error) {
	if len(changes) == 0 {
		return "", nil
	}
	return "", c.noBIOS()
}

// WaitJob has no jobs to wait for.
func (c *IPMI) WaitJob(_ context.Context, job string) error {
	if job == "" {
		return nil
	}
	return fmt.Errorf("BMC %s: %w: jobs over IPMI", c.cfg.Addr, ErrUnsupported)
}
