package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
)

// boot brings the host up: from the live image over HTTP, on a virtual drive or by
// PXE, from its installed system, or not at all where it is up.
type boot struct{}

func (boot) Name() string { return "boot" }

// method decides how the host comes up, once for an attempt.
func (e *Env) method(ctx context.Context, c BMC) (m BootMethod, note string, err error) {
	if m := e.Facts[FactBoot]; m != "" {
		return BootMethod(m), "", nil
	}
	if m := e.Machine.Boot.Method; m != BootAuto && m != "" {
		return m, "", nil
	}
	if why := e.noImage(); why != "" {
		return BootDisk, why + ", so the installed system was booted", nil
	}
	b, err := c.Boot(ctx)
	if err != nil {
		return "", "", err
	}
	http, settings, err := e.offersHTTP(ctx, c, b)
	switch {
	case err != nil:
		return "", "", err
	case http && !settings:
		return BootUEFIHTTP, "", nil
	case e.Boot.HasProgram(e.Machine.Boot.Image) && offersMedia(ctx, c, b):
		return BootMedia, "", nil
	case http:
		return BootUEFIHTTP, "", nil
	case b.Supported && e.Batch.Netboot.fixed() && e.Machine.MAC != "":
		return BootPXE, "", nil
	}
	return BootDisk, "the BMC offers neither UEFI HTTP boot nor virtual media, and for PXE netboot.listen and mac are not stated, so the installed system was booted", nil
}

// noImage says why this machine cannot boot an image from us; "" when it can.
func (e *Env) noImage() string {
	switch {
	case !e.Boot.HasImage(e.Machine.Boot.Image):
		return fmt.Sprintf("there is no image %q in %s", e.Machine.Boot.Image, e.Boot.Images)
	case e.Machine.Via != "" && !e.Batch.Netboot.fixed():
		return "images do not go through the bastion, and netboot.listen is not stated"
	}
	return ""
}

// isCD knows the words by which BMCs offer to boot from a CD.
func isCD(target string) bool { return strings.Contains(strings.ToLower(target), "cd") }

func (b boot) Done(ctx context.Context, e *Env) (bool, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return false, err
	}
	method, _, err := e.method(ctx, c)
	if err != nil {
		return false, err
	}
	switch method {
	case BootNone:
		return b.isUp(ctx, e, c)
	case BootUEFIHTTP, BootPXE:
		if err := e.StartBoot(ctx); err != nil {
			return false, err
		}
		if !e.bootFetched() {
			return false, nil
		}
		t, _ := e.Boot.Find(e.Machine.Name, e.Attempt)
		e.Facts[FactBoot], e.Facts[FactToken], e.Facts[FactHostKey] = string(method), t.Token, t.HostKeyPublic
		return true, nil
	case BootMedia:
		return b.doneFromMedia(ctx, e, c)
	default:
		return b.wasReset(ctx, e, c)
	}
}

func (boot) isUp(ctx context.Context, e *Env, c BMC) (bool, error) {
	state, err := c.Power(ctx)
	if err != nil {
		return false, err
	}
	if state == redfish.Off {
		return false, &Stuck{
			Why: "the machine is off, and boot.method none starts nothing",
			Do:  "Switch it on, or choose boot.method disk.",
		}
	}
	e.Facts[FactBoot] = string(BootNone)
	return true, nil
}

// wasReset asks the BMC whether the reset of this attempt is still the last one.
func (boot) wasReset(ctx context.Context, e *Env, c BMC) (bool, error) {
	if e.Facts[FactBoot] == "" {
		return false, nil
	}
	last, err := c.LastResetTime(ctx)
	if err != nil {
		return false, err
	}
	state, err := c.Power(ctx)
	return err == nil && last == e.Facts[FactReset] && state == redfish.On, err
}

func (b boot) Do(ctx context.Context, e *Env) (Facts, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	method, note, err := e.method(ctx, c)
	if err != nil {
		return nil, err
	}
	if note != "" {
		e.Log.Info(note)
		e.Facts[FactNote] = note
	}
	watch := e.watchBoot(ctx, c, b.Name())
	facts, err := b.by(ctx, e, c, method)
	return facts, watch.end(err)
}

// by boots the host that way.
func (b boot) by(ctx context.Context, e *Env, c BMC, method BootMethod) (Facts, error) {
	if method.fromUs() {
		return nil, b.fromUs(ctx, e, c, method)
	}
	return b.fromDisk(ctx, e, c)
}

func (boot) fromDisk(ctx context.Context, e *Env, c BMC) (Facts, error) {
	err := e.Act(ctx, e.overrideAct(c, redfish.Boot{Target: "Hdd", Enabled: "Once"}, nil))
	if errors.Is(err, redfish.ErrUnsupported) {
		e.Log.Warn("the BMC has no boot override; the host boots as its firmware likes")
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if err := e.restart(ctx, c, "boot reset", nil); err != nil {
		return nil, err
	}
	last, err := c.LastResetTime(ctx)
	if err != nil {
		return nil, err
	}
	return Facts{FactBoot: string(BootDisk), FactReset: last}, nil
}

// bootTicket is the ticket of this attempt's boot, made at the first call.
func (e *Env) bootTicket(ctx context.Context) (netboot.Ticket, error) {
	if t, ok := e.Boot.Find(e.Machine.Name, e.Attempt); ok {
		return t, nil
	}
	key, err := e.authorized(ctx)
	if err != nil {
		return netboot.Ticket{}, err
	}
	return e.Boot.Ticket(e.Machine.Name, e.Attempt, e.Machine.Boot.Image, key)
}

// bootFetched: the machine came for its boot.
func (e *Env) bootFetched() bool {
	t, ok := e.Boot.Find(e.Machine.Name, e.Attempt)
	return ok && !t.Fetched.IsZero()
}

// bootIsUp: the image that the machine booted has said so.
func (e *Env) bootIsUp() bool {
	t, ok := e.Boot.Find(e.Machine.Name, e.Attempt)
	return ok && t.Up != nil
}

const actOverride = "boot override"

// overrideAct sets the boot override. It is seen as set, or as used up when the
// boot has come already.
func (e *Env) overrideAct(c BMC, want redfish.Boot, used func() bool) Act {
	return Act{
		Name: actOverride, Poll: e.poll(),
		Mark: func(context.Context) (string, error) {
			return strings.TrimSpace(want.Target + " " + or(want.HTTPBootURI, or(want.Next, want.Path))), nil
		},
		Seen: func(ctx context.Context, _ string) (Sight, error) {
			if used != nil && used() {
				return Happened, nil
			}
			b, err := c.Boot(ctx)
			if err != nil {
				return CannotTell, err
			}
			if b.Is(want) {
				return Happened, nil
			}
			return Absent, nil
		},
		Do: func(ctx context.Context) error { return c.SetBoot(ctx, want) },
	}
}

// authorized is the public half of the key by which we log in.
func (e *Env) authorized(ctx context.Context) (string, error) {
	if e.Machine.SSH.Key == "" {
		return "", &Stuck{Why: "a host booted over the network needs our public key, and the batch names no ssh.key", Do: "Add `ssh: {key: file:…}`."}
	}
	pem, err := e.Machine.SSH.Key.ResolveFor(ctx, e.Machine.Name)
	if err != nil {
		return "", &Stuck{Why: err.Error(), Do: credentialChore}
	}
	return netboot.PublicKey([]byte(pem))
}

// facing is our address as a machine beside that BMC sees it.
func facing(ctx context.Context, bmc, listen string) (string, error) {
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			return host, nil
		}
	}
	if _, _, err := net.SplitHostPort(bmc); err != nil {
		bmc = net.JoinHostPort(bmc, "443")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", bmc) // sends nothing
	if err != nil {
		return "", &Stuck{Why: fmt.Sprintf("no way to BMC %s: %v", bmc, err), Do: "Check this machine's network, or name an address with netboot.listen."}
	}
	defer func() { _ = conn.Close() }()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return host, err
}

// Plan implements Planner.
func (b boot) Plan(ctx context.Context, e *Env) ([]Change, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	method, note, err := e.method(ctx, c)
	if err != nil || method == BootNone {
		return nil, err
	}
	state, err := c.Power(ctx)
	if err != nil {
		return nil, err
	}
	target := "the installed system"
	if method.fromUs() {
		target = fmt.Sprintf("image %s by %s", e.Machine.Boot.Image, method)
	}
	if note != "" {
		target += " (" + note + ")"
	}
	if step := e.Facts[FactCarried]; step != "" && method.fromUs() {
		return []Change{{Step: "boot", What: "boots", Now: "power " + string(state), Want: target + ", with the reset of step " + step}}, nil
	}
	return []Change{{Step: "boot", What: "reset", Want: "1"}, {Step: "boot", What: "boots", Now: "power " + string(state), Want: target}}, nil
}
