package provision

import (
	"context"
	"fmt"
	"slices"

	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
)

// MediaChanger puts images into virtual drives; a BMC may be one.
type MediaChanger interface {
	Media(context.Context) ([]redfish.MediaSlot, error)
	InsertMedia(ctx context.Context, url string) (redfish.MediaSlot, error)
	EjectMedia(context.Context, redfish.MediaSlot) error
}

// mediaBoot is one boot from a virtual drive. The BMC fetches the image when it
// likes, so that proves nothing: only the booted host can hand back the token in it.
type mediaBoot struct {
	e     *Env
	c     BMC
	drive MediaChanger
	token string
	url   string
}

// mediaBoot finds the boot of this attempt. With fresh it makes the ticket where
// there is none; else ok is false.
func (e *Env) mediaBoot(ctx context.Context, c BMC, fresh bool) (b *mediaBoot, ok bool, err error) {
	drive, can := c.(MediaChanger)
	if !can {
		return nil, false, fmt.Errorf("BMC %s: %w: no virtual media", e.Machine.BMC, redfish.ErrUnsupported)
	}
	t, ok := e.Boot.Find(e.Machine.Name, e.Attempt)
	switch {
	case !ok && !fresh:
		return nil, false, nil
	case !ok:
		if t, err = e.bootTicket(ctx); err != nil {
			return nil, false, err
		}
	}
	toBMC, err := facing(ctx, e.Machine.BMC, e.Boot.Addr)
	if err != nil {
		return nil, false, err
	}
	toHost, err := facing(ctx, or(e.Machine.Host, e.Machine.BMC), e.Boot.Addr)
	if err != nil {
		return nil, false, err
	}
	if err := e.Boot.FaceHost(t.Token, toHost); err != nil {
		return nil, false, err
	}
	return &mediaBoot{e: e, c: c, drive: drive, token: t.Token, url: e.Boot.MediaURL(toBMC, t.Token)}, true, nil
}

// ticket is the boot's ticket as it stands now.
func (b *mediaBoot) ticket() netboot.Ticket {
	t, _ := b.e.Boot.Find(b.e.Machine.Name, b.e.Attempt)
	return t
}

// booted: the host fetched its seed, whose address stands in the image alone.
func (b *mediaBoot) booted() bool { return !b.ticket().Seeded.IsZero() }

// holding are the drives with our image in them.
func (b *mediaBoot) holding(ctx context.Context) ([]redfish.MediaSlot, error) {
	slots, err := b.drive.Media(ctx)
	return slices.DeleteFunc(slots, func(s redfish.MediaSlot) bool { return !s.Holds(b.url) }), err
}

// insert puts the image into a drive, where it is in none, and empties every other that a
// machine could boot from: which of two CDs it takes is not ours to say.
func (b *mediaBoot) insert(ctx context.Context) error {
	slots, err := b.drive.Media(ctx)
	if err != nil {
		return err
	}
	held := false
	for _, s := range slots {
		held = held || s.Holds(b.url)
		if !s.Inserted || !s.CD() || s.Holds(b.url) {
			continue
		}
		b.e.Log.Warn("a virtual drive held another image, which is taken out", "slot", s.ID, "image", s.Image)
		if err := b.drive.EjectMedia(ctx, s); err != nil {
			return err
		}
	}
	if held {
		return nil
	}
	_, err = b.drive.InsertMedia(ctx, b.url)
	return err
}

// eject takes the image out again. It is asked of the machine, so that a drive that
// a killed rackproof left full is emptied too.
func (b *mediaBoot) eject(ctx context.Context) error {
	slots, err := b.holding(ctx)
	if err != nil {
		return err
	}
	for _, s := range slots {
		if err := b.drive.EjectMedia(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (b *mediaBoot) insertAct() Act {
	return Act{
		Name: "virtual media", Poll: b.e.poll(),
		Mark: func(context.Context) (string, error) { return b.url, nil },
		Seen: func(ctx context.Context, _ string) (Sight, error) {
			if b.booted() {
				return Happened, nil
			}
			slots, err := b.holding(ctx)
			switch {
			case err != nil:
				return CannotTell, err
			case len(slots) > 0:
				return Happened, nil
			}
			return Absent, nil
		},
		Do: b.insert,
	}
}

// bootFromMedia is a boot from a virtual drive.
func (e *Env) bootFromMedia(ctx context.Context, c BMC) (imageBoot, error) {
	b, _, err := e.mediaBoot(ctx, c, true)
	if err != nil {
		return imageBoot{}, err
	}
	return imageBoot{token: b.token, override: redfish.Boot{Target: "Cd", Enabled: "Once", Mode: "UEFI"}, begun: b.booted, nobody: b.silent, drive: b}, nil
}

// silent says how far a boot came from which nobody was heard.
func (b *mediaBoot) silent() (why, do string) {
	if b.ticket().MediaRead.IsZero() {
		return fmt.Sprintf("the BMC shows the image %s as inserted and never fetched it", b.url),
			"Check that the BMC reaches this machine at that address: VLAN, firewall, netboot.listen. It is inserted and booted again on resume."
	}
	return fmt.Sprintf("the BMC fetched the image %s, and no host that booted it was heard of", b.url),
		fmt.Sprintf("Look at the console: the host must start from the virtual CD, and then reach %s. It is booted again on resume.", b.ticket().Base)
}

// doneFromMedia: the host runs, and the drive is empty again.
func (boot) doneFromMedia(ctx context.Context, e *Env, c BMC) (bool, error) {
	if err := e.StartBoot(ctx); err != nil {
		return false, err
	}
	b, ok, err := e.mediaBoot(ctx, c, false)
	if err != nil || !ok || !b.booted() {
		return false, err
	}
	slots, err := b.holding(ctx)
	if err != nil || len(slots) > 0 {
		return false, err
	}
	t := b.ticket()
	e.Facts[FactBoot], e.Facts[FactToken], e.Facts[FactHostKey] = string(BootMedia), t.Token, t.HostKeyPublic
	return true, nil
}

// offersMedia reports whether the machine can be booted from a virtual drive, for which it
// must boot by UEFI: our image holds no program for a BIOS.
func offersMedia(ctx context.Context, c BMC, b redfish.Boot) bool {
	drive, ok := c.(MediaChanger)
	if !ok || !b.Supported || !b.Takes("UEFI") || !slices.ContainsFunc(b.Allowed, isCD) {
		return false
	}
	slots, err := drive.Media(ctx)
	return err == nil && slices.ContainsFunc(slots, redfish.MediaSlot.CD)
}
