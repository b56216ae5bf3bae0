package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/rackproof/rackproof/redfish"
)

// UpdateTeller says by which ways a BMC takes firmware; a BMC may be one. One that is
// none is taken to be sent it.
type UpdateTeller interface {
	UpdateWays(context.Context) (redfish.UpdateWays, error)
}

// firmwareImage is an image by the way that the BMC takes: sent to it, or where it takes
// none that is sent (an iLO 5 2.72 names no MultipartHttpPushUri) fetched by it from our
// boot server under a token. Nothing is served by this: a plan asks with a token that
// nobody made.
func (e *Env) firmwareImage(ctx context.Context, u FirmwareUpdater, p pendingFirmware, token string) (redfish.Image, error) {
	ways := redfish.UpdateWays{Push: true}
	if teller, ok := u.(UpdateTeller); ok {
		var err error
		if ways, err = teller.UpdateWays(ctx); err != nil {
			return redfish.Image{}, err
		}
	}
	image := redfish.Image{Targets: p.targets(ways)}
	if ways.Push || !ways.Fetches {
		image.Name, image.Size = filepath.Base(p.file.File), p.file.Size
		image.Open = func() (io.ReadCloser, error) { return os.Open(p.file.File) }
		return image, nil
	}
	if e.Machine.Via != "" && !e.Batch.Netboot.fixed() {
		return image, &Stuck{
			Why: "the BMC fetches firmware itself, and through the bastion it does not reach us",
			Do:  "State netboot.listen with an address that the BMC reaches, or take the image out of the firmware folder and update by hand.", Owner: OwnerTool,
		}
	}
	host, err := facing(ctx, e.Machine.BMC, e.Boot.Addr)
	image.URL = e.Boot.OfferURL(host, token, p.file.File)
	return image, err
}

// targets are the entries of the component, where the BMC lists each of them as one that
// can be named. Naming some of them would leave the others old (XCC lists its backup
// alone), so then the BMC, which knows its images, is left to choose.
func (p pendingFirmware) targets(ways redfish.UpdateWays) []string {
	if slices.ContainsFunc(p.uris, func(uri string) bool { return !ways.Names(uri) }) {
		return nil
	}
	return p.uris
}

// planToken stands in the URL of an image that is not offered yet.
const planToken = "0123456789abcdef"

// offerFirmware lets the BMC fetch an image, where it does, and goes on doing so in
// another life. token is "" where the image is sent.
func (e *Env) offerFirmware(ctx context.Context, u FirmwareUpdater, p pendingFirmware) (image redfish.Image, token string, err error) {
	image, err = e.firmwareImage(ctx, u, p, planToken)
	if err != nil || image.URL == "" {
		return image, "", err
	}
	if err := e.StartBoot(ctx); err != nil {
		return image, "", err
	}
	if token, err = e.Boot.Offer(e.Machine.Name, p.file.File, p.file.Size); err != nil {
		return image, "", err
	}
	image, err = e.firmwareImage(ctx, u, p, token)
	return image, token, err
}

// withdrawFirmware ends an offer with its update; one that may go on keeps it. The word
// about an update that failed says where nobody came for the image.
func (e *Env) withdrawFirmware(token string, image redfish.Image, err error) error {
	failed := errors.Is(err, redfish.ErrJobFailed)
	if token == "" || err != nil && !failed {
		return err
	}
	if failed && e.Boot.Fetched(token).IsZero() {
		err = fmt.Errorf("%w; the BMC never fetched %s: look for a firewall on this machine and for the BMC's way to it", err, image.URL)
	}
	if err := e.Boot.Withdraw(token); err != nil {
		e.Log.Warn("a firmware image is still offered", "err", err)
	}
	return err
}
