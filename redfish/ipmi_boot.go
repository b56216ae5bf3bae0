package redfish

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
)

const (
	cmdSetBoot = 0x08
	cmdGetBoot = 0x09

	// Parameters of the boot options (IPMI 2.0, table 28-14).
	bootSetInProgress = 0
	bootKeepValid     = 3
	bootAcknowledge   = 4
	bootFlags         = 5

	flagValid, flagPersistent, flagEFI = 0x80, 0x40, 0x20
)

type bootDevice struct {
	target string
	number byte
}

// bootDevices are the targets that IPMI has a number for.
var bootDevices = []bootDevice{{"None", 0}, {"Pxe", 1}, {"Hdd", 2}, {"Cd", 5}, {"BiosSetup", 6}}

// bootMemory is an override that was set in this session at a BMC which keeps the
// device and loses the flags beside it.
type bootMemory struct {
	mu  sync.Mutex
	set *Boot
}

// Boot reads the override. A BMC that keeps the device and loses whether it is in
// force, for which boots and in which mode, shows what was set in this session, and
// Note says so. Supported is false where the BMC has no boot flags.
func (c *IPMI) Boot(ctx context.Context) (Boot, error) {
	b, err := c.command(ctx, ipmiCommand{name: "Get System Boot Options", netFn: netFnChassis, cmd: cmdGetBoot, data: []byte{bootFlags, 0, 0}})
	if notOffered(err) {
		return Boot{Enabled: overrideOff, Note: err.Error()}, nil
	}
	if err != nil {
		return Boot{}, err
	}
	boot, err := parseBootFlags(b)
	if err != nil {
		return Boot{}, fmt.Errorf("BMC %s: Get System Boot Options: %w", c.cfg.Addr, err)
	}
	c.keep("boot", map[string]any{"raw": hex.EncodeToString(b), "boot": boot})
	c.boot.mu.Lock()
	defer c.boot.mu.Unlock()
	if set := c.boot.set; set != nil && boot.Enabled == overrideOff && boot.Target == set.Target {
		return *set, nil
	}
	return boot, nil
}

// parseBootFlags reads parameter 5: its version, its number, then the flags.
func parseBootFlags(b []byte) (Boot, error) {
	if len(b) < 4 || b[1]&0x7f != bootFlags {
		return Boot{}, errors.New("no boot flags in the answer")
	}
	boot := Boot{Supported: true, Enabled: overrideOff}
	for _, d := range bootDevices {
		boot.Allowed = append(boot.Allowed, d.target)
	}
	device := b[3] >> 2 & 0x0f
	boot.Target = fmt.Sprintf("device 0x%x", device)
	for _, d := range bootDevices {
		if d.number == device {
			boot.Target = d.target
		}
	}
	marked := b[1]&0x80 != 0 // the parameter itself is marked invalid
	if b[2]&flagValid == 0 || marked {
		return boot, nil
	}
	boot.Enabled, boot.Mode = "Once", "Legacy"
	if b[2]&flagPersistent != 0 {
		boot.Enabled = "Continuous"
	}
	if b[2]&flagEFI != 0 {
		boot.Mode = "UEFI"
	}
	return boot, nil
}

// SetBoot sets the override and reads the bytes back. Without a mode it keeps the
// one that is set, else takes UEFI. It wraps ErrUnsupported where the BMC has no boot
// flags, ErrBadValue for a target that IPMI has no number for.
func (c *IPMI) SetBoot(ctx context.Context, want Boot) error {
	now, err := c.Boot(ctx)
	if err != nil {
		return err
	}
	switch {
	case !now.Supported:
		return fmt.Errorf("BMC %s: %w: no boot override (%s); use the BIOS boot order", c.cfg.Addr, ErrUnsupported, now.Note)
	case want.HTTPBootURI != "":
		return fmt.Errorf("BMC %s: %w: IPMI carries no boot URI; boot with Pxe", c.cfg.Addr, ErrUnsupported)
	}
	if want.Target == "None" {
		want.Enabled = overrideOff
	}
	if want.Enabled == "" {
		want.Enabled = "Once"
	}
	if want.Target, err = now.target(want); err != nil {
		return fmt.Errorf("BMC %s: %w", c.cfg.Addr, err)
	}
	if now.Is(want) && now.Note == "" {
		return nil
	}
	flags := want.flags(firstOf(want.Mode, now.Mode, "UEFI"))
	if err := c.writeBoot(ctx, flags); err != nil {
		return fmt.Errorf("boot override %s was not taken: %w", want, err)
	}
	return c.checkBoot(ctx, want)
}

// flags writes parameter 5: no flag but those that are wanted.
func (b Boot) flags(mode string) []byte {
	data := []byte{bootFlags, 0, 0, 0, 0, 0}
	if b.Enabled == overrideOff {
		return data
	}
	i := slices.IndexFunc(bootDevices, func(d bootDevice) bool { return d.target == b.Target })
	data[1], data[2] = flagValid, bootDevices[i].number<<2
	if b.Enabled == "Continuous" {
		data[1] |= flagPersistent
	}
	if mode == "UEFI" {
		data[1] |= flagEFI
	}
	return data
}

// writeBoot sends the flags with what belongs to them. Only the flags themselves must
// be taken: many a BMC refuses the rest. That the flags stay valid when no restart
// follows within 60 s is asked for first (kinvolk/racker #36, go-ipmi #74).
func (c *IPMI) writeBoot(ctx context.Context, flags []byte) error {
	set := func(data ...byte) error {
		_, err := c.command(ctx, ipmiCommand{name: fmt.Sprintf("Set System Boot Options %d", data[0]), netFn: netFnChassis, cmd: cmdSetBoot, data: data})
		if err != nil {
			c.cfg.Log.DebugContext(ctx, "boot option not taken", "bmc", c.cfg.Addr, "err", err)
		}
		return err
	}
	const begin, done, keepOverTime, byBIOS = 1, 0, 0x08, 0x01
	begun := set(bootSetInProgress, begin) == nil
	_ = set(bootKeepValid, keepOverTime)
	_ = set(bootAcknowledge, byBIOS, byBIOS)
	err := set(flags...)
	if begun {
		_ = set(bootSetInProgress, done)
	}
	return err
}

// checkBoot reads back what was set. ipmi_sim keeps the device alone; a BMC that
// keeps the flags must show each as wanted (ipmitool #163, #236: "efiboot" lost).
func (c *IPMI) checkBoot(ctx context.Context, want Boot) error {
	c.boot.mu.Lock()
	c.boot.set = nil
	c.boot.mu.Unlock()
	after, err := c.Boot(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read the boot override back: %w", err)
	case after.Is(want):
		return nil
	case after.Enabled != overrideOff || after.Target != want.Target:
		return fmt.Errorf("BMC %s: boot override %s was accepted, and reads back %s; set it by hand", c.cfg.Addr, want, after)
	}
	kept := want
	kept.Allowed, kept.Supported, kept.Mode = after.Allowed, true, ""
	kept.Note = "the BMC keeps the boot device and not whether it is in force, how often, and whether for UEFI: those could not be read back"
	c.cfg.Log.WarnContext(ctx, kept.Note, "bmc", c.cfg.Addr)
	c.boot.mu.Lock()
	c.boot.set = &kept
	c.boot.mu.Unlock()
	return nil
}
