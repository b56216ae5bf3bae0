package redfishtest

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"
)

// Options say what a BMC serves and how it behaves. The zero value of every
// field but Tree is usable.
type Options struct {
	Tree           Tree               // what to serve; needs /redfish/v1 and one system
	Refused        map[string]Refusal // what it refuses to give, by URI; a body in Tree goes before
	User, Password string             // the one account; "" means "admin" and "password"
	Listen         string             // "" means "127.0.0.1:0"
	Certificate    *tls.Certificate   // nil: self-signed, made at start

	SessionLimit int           // open sessions before a 503; 0 means 16
	Latency      time.Duration // added to every answer
	PowerDelay   time.Duration // from the accepted act to the changed power state
	POSTDelay    time.Duration // from power or reset to the boot
	TaskDelay    time.Duration // each of a job's moves: to Running, to Completed
	ManagerDelay time.Duration // how long the BMC is away when it restarts

	Images map[string]Image // firmware by the file's name; any other fails its check

	Faults []string     // switched on from the start, as for [BMC.SetFault]
	Hooks  Hooks        // the machine behind the BMC
	Log    *slog.Logger // nil: no log. Never sees a password or a token.
}

// Hooks connect the machine behind the BMC. Each may be nil. They are called
// one after the other, never at once. Their context ends when the BMC closes
// or the machine's next power act begins, so the one of OnBoot is the booted
// node's. A hook must return soon, or at least with its context: the next hook
// waits for it, and so does Close.
type Hooks struct {
	// OnPower: the power went on (POST begins) or off (the node is gone now).
	OnPower func(ctx context.Context, on bool)
	// OnReset: a restart without loss of power; the node is gone now.
	OnReset func(ctx context.Context)
	// OnBoot: POST is over, BIOS values are applied, and the machine boots from
	// what boot says. Called after each power-on and each reset.
	OnBoot func(ctx context.Context, boot BootChoice)
	// Power, where set, is a machine with a life of its own: each reset type that
	// is accepted is handed to it and nothing is simulated; OnPower, OnReset and
	// OnBoot are not called. The BMC shows the power that [BMC.SetPower] tells it,
	// and is told of each start by [BMC.Started]. Its context ends with the BMC.
	Power func(ctx context.Context, resetType string)
	// OnBootSet: a request changed the boot override of the system. Its context
	// ends with the BMC.
	OnBootSet func(ctx context.Context, boot Boot)
	// OnLocator: the identification light was switched. Its context ends with the BMC.
	OnLocator func(ctx context.Context, on bool)
	// OnMedia: an image was inserted into a virtual drive, or ejected (image "").
	// slot is its Id. A boot waits until it returned. Its context ends with the BMC.
	OnMedia func(ctx context.Context, slot, image string)
	// OnDiagnostics makes what a collection for the vendor's support gives; name is what
	// was asked for, parameters those of the action. Its context ends with the BMC.
	OnDiagnostics func(ctx context.Context, name string, parameters map[string]any) []byte
	// OnBIOS: staged attributes took effect, just before OnBoot.
	OnBIOS func(ctx context.Context, applied map[string]any)
}

// BootChoice is where a machine boots from.
type BootChoice struct {
	System      string // URI of the ComputerSystem
	Target      string // Redfish target ("Pxe", "UefiHttp", "Hdd"…); "None": its own boot order
	Mode        string // "UEFI", "Legacy" or "" where the BMC does not say
	HTTPBootURI string
	Device      string // UEFI path or boot option, when Target is UefiTarget or UefiBootNext
	Media       string // image in the first CD slot when Target is Cd; "" when none is inserted
	Override    bool   // the choice came from a boot override, not from the boot order
}

// Boot is the override as the BMC holds it.
type Boot struct {
	Target, Enabled, Mode, HTTPBootURI string
	Path, Next                         string // of UefiTarget and UefiBootNext
}

// State is what a test wants to know of the machine without asking over HTTP.
type State struct {
	System    string // URI of the ComputerSystem
	Power     string // "On", "Off", "PoweringOn", "PoweringOff"
	POST      bool   // between power or reset and boot
	Boot      Boot
	BIOS      map[string]any // current attributes; numbers are json.Number
	Pending   map[string]any // staged attributes
	Locator   bool
	Media     map[string]string // inserted images, by the Id of the slot
	LastReset time.Time         // zero until the first power-on or reset
	Boots     int               // how often the machine went through POST to its boot
}

// Act is a change that took effect, or was made to lose its effect by a fault.
type Act struct {
	Time   time.Time
	Name   string // see [BMC.Acts]
	URI    string // what was addressed
	Detail string // reset type, boot target, attribute names; never a secret
	Lost   bool   // answered as done, without effect (faults lost-effect, patch-ignored…)
}
