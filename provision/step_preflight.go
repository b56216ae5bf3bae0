package provision

import (
	"context"
	"fmt"
)

// preflight asks whether the machine can be worked on at all: credentials, BMC,
// certificate, image, a BMC that is locked. It changes nothing.
type preflight struct{}

func (preflight) Name() string { return "preflight" }

func (preflight) Done(ctx context.Context, e *Env) (bool, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return false, err
	}
	e.Facts[FactPrint] = c.Fingerprint()
	if c.Insecure() {
		e.Facts[FactInsecure] = "true"
	}
	if words := transport(c); words != "" {
		e.Facts[FactTransport] = words
	}
	if e.Machine.Boot.Method.fromUs() && !e.Boot.HasImage(e.Machine.Boot.Image) {
		return false, &Stuck{
			Why: fmt.Sprintf("there is no image %q in %s", e.Machine.Boot.Image, e.Boot.Images),
			Do:  "Put vmlinuz, initrd and cmdline into that folder, or choose another boot.image or boot.method.",
		}
	}
	if e.Machine.Boot.Method == BootMedia && !e.Boot.HasProgram(e.Machine.Boot.Image) {
		return false, &Stuck{
			Why: fmt.Sprintf("image %q in %s has no boot.stub, by which it becomes the one program that starts from a virtual CD", e.Machine.Boot.Image, e.Boot.Images),
			Do:  "Put linuxx64.efi.stub of Debian's systemd-boot-efi there under that name, or choose another boot.method.",
		}
	}
	if err := e.unlocked(ctx, c); err != nil {
		return false, err
	}
	return true, nil
}

func (preflight) Do(context.Context, *Env) (Facts, error) { return nil, nil }
