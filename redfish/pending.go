package redfish

import (
	"context"
	"encoding/json"
	"errors"
)

var errPending = errors.New("not written yet")

func Open(ctx context.Context, cfg Config) (*Client, error)         { return nil, errPending }
func (c *Client) Close() error                                      { return errPending }
func (c *Client) Vendor() string                                    { return "" }
func (c *Client) Fingerprint() string                               { return "" }
func (c *Client) Insecure() bool                                    { return false }
func (c *Client) Identity(ctx context.Context) (Identity, error)    { return Identity{}, errPending }
func (c *Client) Inventory(ctx context.Context) (Inventory, error)  { return Inventory{}, errPending }
func (c *Client) Firmware(ctx context.Context) ([]Firmware, error)  { return nil, errPending }
func (c *Client) Recorded() map[string]json.RawMessage              { return nil }
func (c *Client) Power(ctx context.Context) (PowerState, error)     { return "", errPending }
func (c *Client) LastResetTime(ctx context.Context) (string, error) { return "", errPending }
func (c *Client) SetPower(ctx context.Context, a PowerAction) error { return errPending }
func (c *Client) Boot(ctx context.Context) (Boot, error)            { return Boot{}, errPending }
func (c *Client) SetBoot(ctx context.Context, b Boot) error         { return errPending }
func (c *Client) BIOS(ctx context.Context) (BIOS, error)            { return BIOS{}, errPending }
func (c *Client) PlanBIOS(ctx context.Context, want map[string]any) ([]BIOSChange, error) {
	return nil, errPending
}
func (c *Client) StageBIOS(ctx context.Context, changes []BIOSChange) (job string, err error) {
	return "", errPending
}
func (c *Client) WaitJob(ctx context.Context, job string) error { return errPending }
func (c *Client) VerifyBIOS(ctx context.Context, want map[string]any) ([]BIOSChange, error) {
	return nil, errPending
}
func (c *Client) MapIntents(ctx context.Context, intents map[string]string) (attrs map[string]any, unmapped []Unmapped, err error) {
	return nil, nil, errPending
}
func (c *Client) POSTDone(ctx context.Context) (done, known bool, err error) {
	return false, false, errPending
}
func (c *Client) Locator(ctx context.Context) (bool, error)     { return false, errPending }
func (c *Client) SetLocator(ctx context.Context, on bool) error { return errPending }
