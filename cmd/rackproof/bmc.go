package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/redfish"
)

// bmcOptions say which BMC and how to log in.
type bmcOptions struct {
	addr, system        string
	protocol            string
	user, password, tls string
	legacy              bool   // old TLS, for this BMC
	via                 string // bastion before it
	waits               string // what is waited for, where that takes long
	silent              bool   // about waiting
	anyway              bool   // what is in the way stops nothing
}

const bmcLong = `Drive one BMC by hand, over Redfish, or over IPMI with --protocol ipmi.

  power [on|off|force-off|restart|ac-cycle]
                                     show or change the power state
  boot [TARGET]                      show or set the boot override, also of one port
  media [list|insert|eject]          show, fill or empty the virtual drives
  bios [get|plan|set|discard]        show, plan, stage or take back BIOS attributes
  inventory                          what the BMC knows to be in the machine
  capabilities                       what this model and firmware can do, line by line
  firmware [update FILE|URL]         the versions that run; compare or install
  sensors                            what the BMC measures, with its limits
  sel                                the log of hardware events
  console                            the host's serial console (SSH or IPMI)
  screen                             a picture of the host's screen
  diagnostics [collect]              what the vendor's support wants, as files
  capture                            its whole tree, redacted, for sim --tree
  locate [on|off]                    show or switch the locator LED
  password rotate                    give the account a new password
  forget-pin [UUID|MAC]              forget the certificate that was pinned

Credentials are references: env:NAME, file:PATH, age:FILE#IDENTITY, command:LINE. A changed
certificate is refused: it is pinned on first use. Lockdown, jobs, values that wait and
missing licences are told before power, boot, bios, media or firmware is changed; what
would stop the change or be cut by it ends it there, unless --anyway is given. IPMI has no certificates; media,
bios, password, updates and a boot URI need Redfish.

Examples:
  rackproof bmc 10.0.12.7 inventory --json
  rackproof bmc 10.0.12.7 boot pxe
  rackproof bmc 10.0.12.7:8443 --tls insecure power
  rackproof bmc 10.0.12.7 --protocol ipmi sel --since 24h

`

// newBMCOptions are the options where nothing is said.
func newBMCOptions() bmcOptions {
	return bmcOptions{protocol: string(provision.OverRedfish), user: "env:BMC_USER", password: "env:BMC_PASSWORD", tls: string(redfish.Pin)}
}

// bmcCommand is `rackproof bmc ADDR VERB`. The address stands before the verb, so
// the rest of the line is a command line of its own.
func bmcCommand(a *app) *cobra.Command {
	o := newBMCOptions()
	cmd := &cobra.Command{
		Use:   "bmc ADDR[:PORT] VERB",
		Short: "Drive one BMC by hand",
		Long:  bmcLong + exitHelp,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.addr = args[0]
			if err := checkBMCAddr(o.addr); err != nil {
				return usageError(err, "rackproof bmc --help")
			}
			rest := a.bmcVerbs(&o)
			rest.SetArgs(args[1:])
			sub, err := rest.ExecuteContextC(cmd.Context())
			return wrongLine(strings.Replace(sub.CommandPath(), " ADDR", " "+o.addr, 1), err)
		},
	}
	o.flags(cmd.Flags())
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func (o *bmcOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.user, "user", o.user, "`reference` to the user name")
	f.StringVar(&o.password, "password", o.password, "`reference` to the password")
	f.StringVar(&o.protocol, "protocol", o.protocol, "`redfish|ipmi|ipmitool`; the last is IPMI by that program")
	f.StringVar(&o.tls, "tls", o.tls, "trust in the certificate: `pin|ca:FILE|insecure`")
	f.BoolVar(&o.legacy, "tls-legacy", o.legacy, "also take TLS 1.0 and RSA key exchange from this BMC")
	f.StringVar(&o.via, "via", o.via, "`[user@]host` of the bastion before it, or an alias of the ssh config")
	f.StringVar(&o.system, "system", o.system, "`id` of the host, where the BMC has several")
	f.BoolVar(&o.anyway, "anyway", o.anyway, "change it though the BMC says that something is in the way")
}

// bmcVerbs is the command line behind the address; the flags of the whole stand
// there as well.
func (a *app) bmcVerbs(o *bmcOptions) *cobra.Command {
	root := &cobra.Command{
		Use: "bmc", Short: "Drive one BMC by hand", Long: bmcLong + exitHelp,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "rackproof bmc ADDR"},
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(*cobra.Command, []string) error {
			return usageError(errors.New("what shall the BMC do? power, boot, media, bios, inventory, capabilities, firmware, sensors, sel, console, screen, diagnostics, capture, locate, password or forget-pin"), "rackproof bmc --help")
		},
		PersistentPreRun: func(*cobra.Command, []string) {
			if a.verbose {
				a.log = slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
			}
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	f := root.PersistentFlags()
	o.flags(f)
	f.BoolVar(&a.json, "json", a.json, "results as JSON on stdout")
	f.BoolVarP(&a.verbose, "verbose", "v", a.verbose, "log what is done to stderr")
	f.StringVar(&a.stateDir, "state", a.stateDir, "state `folder`")
	root.AddCommand(a.bmcPower(o), a.bmcBoot(o), a.bmcMedia(o), a.bmcBIOS(o), a.bmcInventory(o), a.bmcCapabilities(o), a.bmcFirmware(o), a.bmcSensors(o), a.bmcSEL(o), a.bmcConsole(o), a.bmcScreen(o), a.bmcDiagnostics(o), a.bmcCapture(o), a.bmcLocate(o), a.bmcPassword(o), a.bmcForgetPin(o))
	return root
}

// checkBMCAddr refuses what is no address before anything is contacted.
func checkBMCAddr(addr string) error {
	host := addr
	if h, port, err := net.SplitHostPort(addr); err == nil {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("BMC address %q: %q is no port", addr, port)
		}
		host = h
	}
	host = strings.Trim(host, "[]")
	name := strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-_") == ""
	_, err := netip.ParseAddr(host) // with a zone too: fe80::7%eth1
	if host == "" || !name && err != nil {
		return fmt.Errorf("BMC address %q: neither an IP address nor a name", addr)
	}
	return nil
}

// withBMC logs in, does one thing and logs out again. acts says that it changes
// the machine: then the BMC must not be in a run's hands.
func (a *app) withBMC(ctx context.Context, o *bmcOptions, acts bool, do func(bmcClient) error) (err error) {
	cfg, state, err := a.bmcConfig(ctx, o)
	if err != nil {
		return usageError(err, "rackproof bmc --help")
	}
	if acts {
		lease, err := a.leaseBMC(o, state)
		if err != nil {
			return err
		}
		defer func() { _ = lease.Release() }()
	}
	if !o.silent {
		defer a.waitWords(o.addr, o.waits, waitWord)()
	}
	bastions := provision.Bastions{Log: a.log}
	defer func() { _ = bastions.Close() }()
	if o.via != "" {
		cfg.Dial = bastions.Dialer(o.via)
	}
	c, err := openClient(ctx, o, cfg)
	if err != nil {
		return bmcError(o.addr, err)
	}
	defer func() {
		if closing := c.Close(); closing != nil {
			a.log.Warn("log out", "bmc", o.addr, "err", closing)
		}
	}()
	if c.Insecure() {
		a.progress("certificate of %s not checked (%s…)", o.addr, c.Fingerprint()[:16])
	}
	return bmcError(o.addr, do(c))
}

// leaseBMC keeps the BMC from a run, and from another verb that changes it.
func (a *app) leaseBMC(o *bmcOptions, state string) (*provision.Lease, error) {
	lease, err := provision.LeaseAddr(state, provision.HostLocks(), o.addr, o.via, provision.Holder("rackproof bmc"))
	if err != nil {
		return nil, &exitError{code: exitNotFinished, Code: "held", Machine: o.addr, Message: err.Error(), Next: "wait for it, or stop the run", err: err}
	}
	return lease, nil
}

func (a *app) bmcConfig(ctx context.Context, o *bmcOptions) (redfish.Config, string, error) {
	cfg := redfish.Config{Addr: o.addr, System: o.system, Via: o.via, Log: a.log, GracefulWait: gracefulWait}
	state, err := a.state()
	if err != nil {
		return cfg, "", err
	}
	if cfg.User, err = provision.Ref(o.user).Resolve(ctx); err != nil {
		return cfg, "", err
	}
	if cfg.Password, err = provision.Ref(o.password).Resolve(ctx); err != nil {
		return cfg, "", err
	}
	cfg.Refusals, cfg.Sessions = provision.OpenRefusals(state), provision.OpenSessionStore(state)
	cfg.TLS = redfish.TLS{Mode: redfish.TLSMode(o.tls), Pins: provision.OpenKnownBMCs(state), Legacy: o.legacy}
	if file, ok := strings.CutPrefix(o.tls, "ca:"); ok {
		cfg.TLS.Mode, cfg.TLS.CAFile = redfish.CA, file
	} else if cfg.TLS.Mode != redfish.Pin && cfg.TLS.Mode != redfish.Insecure {
		return cfg, "", fmt.Errorf("--tls %q: use pin, ca:FILE or insecure", o.tls)
	}
	return cfg, state, nil
}

// bmcError gives an error of redfish its exit code: an infrastructure that is not
// there waits for people, a wrong wish is bad input.
func bmcError(addr string, err error) error {
	if err == nil {
		return nil
	}
	if _, ours := errors.AsType[*exitError](err); ours {
		return err
	}
	e := &exitError{code: exitFailed, Code: "failed", Machine: addr, Message: err.Error(), err: err}
	for _, known := range []struct {
		is   error
		code int
		name string
	}{
		{redfish.ErrBadValue, exitUsage, "bad_value"},
		{redfish.ErrAmbiguousSystem, exitUsage, "ambiguous_system"},
		{redfish.ErrUnsupported, exitFailed, "unsupported"},
		{redfish.ErrLicence, exitFailed, "licence"},
		{redfish.ErrAuth, exitNotFinished, "auth"},
		{redfish.ErrPasswordChange, exitNotFinished, "password_change"},
		{redfish.ErrPinMismatch, exitNotFinished, "pin_mismatch"},
		{redfish.ErrSessionLimit, exitNotFinished, "session_limit"},
		{redfish.ErrUnreachable, exitNotFinished, "unreachable"},
		{context.Canceled, exitNotFinished, "stopped"},
	} {
		if errors.Is(err, known.is) {
			e.code, e.Code = known.code, known.name
			if known.name == "stopped" {
				e.Message, e.Next = "stopped; what the BMC was asked last may still happen", "rackproof bmc "+addr+" power"
			}
			break
		}
	}
	return e
}
