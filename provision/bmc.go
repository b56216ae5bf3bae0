package provision

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// BMC is what steps need of a BMC; *redfish.Client is one.
type BMC interface {
	Identifier
	Powerer
	Booter
	BIOSer
	Monitor
	Recorded() map[string]json.RawMessage
	Fingerprint() string
	Insecure() bool
	Close() error
}

// Identifier tells what the machine is.
type Identifier interface {
	Identity(context.Context) (redfish.Identity, error)
	Inventory(context.Context) (redfish.Inventory, error)
}

// Monitor tells what the BMC measures and logs.
type Monitor interface {
	Sensors(context.Context) ([]redfish.Sensor, error)
	Log(ctx context.Context, since time.Time) ([]redfish.LogEntry, error)
}

// Powerer switches the host.
type Powerer interface {
	Power(context.Context) (redfish.PowerState, error)
	LastResetTime(context.Context) (string, error)
	SetPower(context.Context, redfish.PowerAction) error
	POSTDone(context.Context) (done, known bool, err error)
}

// Booter sets what the host boots.
type Booter interface {
	Boot(context.Context) (redfish.Boot, error)
	SetBoot(context.Context, redfish.Boot) error
}

// BIOSer sets the BIOS.
type BIOSer interface {
	BIOSReader
	PlanBIOS(ctx context.Context, want map[string]any) ([]redfish.BIOSChange, error)
	StageBIOS(ctx context.Context, changes []redfish.BIOSChange) (job string, err error)
	WaitJob(ctx context.Context, job string) error
}

// BIOSReader reads BIOS settings and translates wishes.
type BIOSReader interface {
	BIOS(context.Context) (redfish.BIOS, error)
	MapIntents(ctx context.Context, intents map[string]string) (attrs map[string]any, unmapped []redfish.Unmapped, err error)
	VerifyBIOS(ctx context.Context, want map[string]any) ([]redfish.BIOSChange, error)
}
