package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
)

// FirmwareUpdater installs firmware; a BMC may be one.
type FirmwareUpdater interface {
	Firmware(context.Context) ([]redfish.Firmware, error)
	CheckUpdate(context.Context, redfish.Image) error
	Update(context.Context, redfish.Image) (job string, err error)
	WaitUpdate(ctx context.Context, job string) (reset bool, err error)
}

// firmwareUpdate brings firmware to the newest of the batch's folder, where the batch
// asks for that; else the check firmware compares and nothing is changed. Components go
// in the order of the profile. An update that failed is not tried again: the machine
// waits for a person.
type firmwareUpdate struct{}

func (firmwareUpdate) Name() string { return stepFirmware }

const (
	stepFirmware  = "firmware"
	probeFirmware = "firmware"
)

// pending is one component that is to be updated.
type pendingFirmware struct {
	name string
	want profiles.Firmware
	file FirmwareFile
	now  string   // version
	uris []string // entries of the inventory
}

// pendingFirmware lists what differs, in the order of updates.
func (e *Env) pendingFirmware(ctx context.Context, u FirmwareUpdater) ([]pendingFirmware, error) {
	have, err := u.Firmware(ctx)
	if err != nil {
		return nil, err
	}
	var out []pendingFirmware
	for _, name := range e.Profile.FirmwareOrder() {
		file, ok := e.Machine.Images[name]
		if !ok {
			continue
		}
		p := pendingFirmware{name: name, want: e.Profile.Firmware[name], file: file}
		older := false
		for _, f := range have {
			if !p.want.Names(f.ID, f.Name) {
				continue
			}
			p.uris = append(p.uris, f.URI)
			version, known := p.want.VersionIn(f.Version)
			p.now = version
			order, ok := profiles.CompareVersions(version, file.Version)
			if known && !ok {
				return nil, &Stuck{
					Why: fmt.Sprintf("nothing says whether %s of %s, which is there, or %s of the firmware folder is the newer", version, f.ID, file.Version),
					Do:  "Update by hand with `rackproof bmc ADDR firmware update` if it is wanted, and take the image out of the firmware folder.", Owner: OwnerTool,
				}
			}
			older = older || !known || order < 0
		}
		switch {
		case len(p.uris) == 0:
			return nil, &Stuck{
				Why: fmt.Sprintf("there is an image for %s, and the BMC lists no firmware entry %s", name, strings.Join(p.want.Entries, ", ")),
				Do:  "Take the image out of the firmware folder, or correct the profile's entries.", Owner: OwnerTool,
			}
		case older:
			out = append(out, p)
		}
	}
	return out, nil
}

func (firmwareUpdate) wanted(e *Env) bool {
	return e.Batch.Firmware.Update && len(e.Machine.Images) > 0
}

func (s firmwareUpdate) Done(ctx context.Context, e *Env) (bool, error) {
	if !s.wanted(e) {
		return true, nil
	}
	u, err := e.updater(ctx)
	if err != nil {
		return false, err
	}
	pending, err := e.pendingFirmware(ctx, u)
	if err != nil || len(pending) > 0 {
		return false, err
	}
	return true, e.keepFirmware(ctx)
}

func (e *Env) updater(ctx context.Context) (FirmwareUpdater, error) {
	c, err := e.Client(ctx)
	if errors.Is(err, redfish.ErrPinMismatch) && e.begunFirmware() { // our own update, before we were interrupted
		if err = e.renewPin(ctx); err == nil {
			c = e.bmc
		}
	}
	if err != nil {
		return nil, err
	}
	u, ok := c.(FirmwareUpdater)
	if !ok {
		return nil, fmt.Errorf("BMC %s: %w: it takes no firmware this way", e.Machine.BMC, redfish.ErrUnsupported)
	}
	return u, nil
}

// begunFirmware reports whether this step has sent firmware to the BMC.
func (e *Env) begunFirmware() bool {
	for name := range e.intents {
		if strings.HasPrefix(name, stepFirmware+" ") {
			return true
		}
	}
	return false
}

// keepFirmware keeps what the BMC tells after the update as evidence: the inventory was
// read before it.
func (e *Env) keepFirmware(ctx context.Context) error {
	if e.Store.Has(burnin.PhaseBMC, probeFirmware) {
		return nil
	}
	c, err := e.Client(ctx)
	if err != nil {
		return err
	}
	bodies := c.Recorded()
	maps.DeleteFunc(bodies, func(uri string, _ json.RawMessage) bool { return !strings.Contains(uri, "FirmwareInventory") })
	return keepBodies(e.Store, probeFirmware, bodies, time.Now())
}

func (s firmwareUpdate) Do(ctx context.Context, e *Env) (Facts, error) {
	u, err := e.updater(ctx)
	if err != nil {
		return nil, err
	}
	pending, err := e.pendingFirmware(ctx, u)
	if err != nil {
		return nil, err
	}
	resets := ""
	for _, p := range pending {
		reset, err := s.install(ctx, e, p)
		if err != nil {
			return nil, err
		}
		resets = laterReset(resets, reset)
	}
	if err := s.bringIntoForce(ctx, e, pending, resets); err != nil {
		return nil, err
	}
	return nil, s.waitVersions(ctx, e, pending)
}

// resetOrder is what brings an update into force, the one that includes the others last:
// one reset is enough for all.
var resetOrder = []string{"", "none", "bmc", "host", "ac"}

func laterReset(a, b string) string {
	if slices.Index(resetOrder, b) > slices.Index(resetOrder, a) {
		return b
	}
	return a
}

// install sends one image and follows it to its end. It says what brings it into force.
func (s firmwareUpdate) install(ctx context.Context, e *Env, p pendingFirmware) (reset string, err error) {
	job := factFirmwareJob + p.name
	u, err := e.updater(ctx)
	if err != nil {
		return "", err
	}
	image, token, err := e.offerFirmware(ctx, u, p)
	if err != nil {
		return "", err
	}
	if err := e.Act(ctx, s.sendAct(e, p, image, job)); err != nil {
		if stuck, ok := errors.AsType[*Stuck](err); ok {
			stuck.Looked = true
			stuck.Do = "The BMC may be flashing: do not take its power away. Look at its firmware versions and its job queue; resume when it is idle."
		}
		return "", err
	}
	waits, err := e.followUpdate(ctx, e.Facts[job])
	if err = e.withdrawFirmware(token, image, err); err != nil {
		return "", failedUpdate(e, p, err)
	}
	if waits {
		return laterReset("host", p.want.Resets), nil
	}
	return p.want.Resets, nil
}

// factFirmwareJob begins the name of the fact that holds the job of a component.
const factFirmwareJob = "firmware_job_"

// sendAct gives the BMC an image, once: after a lost answer nothing but the version
// tells whether it is at work.
func (s firmwareUpdate) sendAct(e *Env, p pendingFirmware, image redfish.Image, job string) Act {
	return Act{
		Name: "firmware " + p.name, Poll: e.poll(),
		Mark: func(ctx context.Context) (string, error) {
			u, err := e.updater(ctx)
			if err == nil {
				err = errors.Join(p.file.unchanged(), u.CheckUpdate(ctx, image))
			}
			return p.now + " -> " + p.file.Version, err
		},
		Seen: func(ctx context.Context, _ string) (Sight, error) {
			u, err := e.updater(ctx)
			if err != nil {
				return CannotTell, err
			}
			open, err := e.pendingFirmware(ctx, u)
			if err != nil {
				return CannotTell, err
			}
			if !slices.ContainsFunc(open, func(o pendingFirmware) bool { return o.name == p.name }) {
				return Happened, nil
			}
			return CannotTell, nil
		},
		Do: func(ctx context.Context) error {
			u, err := e.updater(ctx)
			if err != nil {
				return err
			}
			if err := p.file.unchanged(); err != nil {
				return err
			}
			e.Progress(ctx, zeroTime, "sends %s %s", p.name, p.file.Version)
			named, err := u.Update(ctx, image)
			if err != nil {
				return err
			}
			return e.Learn(ctx, Facts{job: named})
		},
	}
}

// followUpdate follows a job, over a restart of the BMC and a new certificate.
func (e *Env) followUpdate(ctx context.Context, job string) (reset bool, err error) {
	for {
		u, err := e.updater(ctx)
		if err == nil {
			e.Progress(ctx, zeroTime, "the BMC installs firmware; do not take its power away")
			reset, err = u.WaitUpdate(ctx, job)
		}
		if !errors.Is(err, redfish.ErrPinMismatch) {
			return reset, err
		}
		if err := e.renewPin(ctx); err != nil {
			return false, err
		}
	}
}

// failedUpdate marks the machine: a person looks before anything is sent again.
func failedUpdate(e *Env, p pendingFirmware, err error) error {
	if !errors.Is(err, redfish.ErrJobFailed) {
		return err
	}
	return &Hands{
		Why:   fmt.Sprintf("firmware update of %s from %s to %s failed and is not tried again by itself: %v", p.name, p.now, p.file.Version, err),
		Where: or(e.Machine.Where(), e.Machine.Name),
		Do: []burnin.Advice{{
			Do: "read the BMC's log and job queue; compare image and model; update by hand where the vendor says how", Minutes: 40, Who: OwnerHands,
			Retest: "the BMC shows " + p.name + " " + p.file.Version,
		}},
		Next: "rackproof done " + e.Machine.Name, Knows: "it asks the BMC for its versions again",
	}
}

// bringIntoForce resets once for all that were installed.
func (firmwareUpdate) bringIntoForce(ctx context.Context, e *Env, installed []pendingFirmware, reset string) error {
	if reset != "host" && reset != "ac" {
		return nil
	}
	c, err := e.Client(ctx)
	if err != nil {
		return err
	}
	if reset == "ac" {
		return e.acCycle(ctx, c, "firmware")
	}
	if !slices.ContainsFunc(installed, pendingFirmware.ofBIOS) {
		return e.resetForAll(ctx, c, stepFirmware)
	}
	if err := e.restart(ctx, c, "firmware reset", nil); err != nil {
		return err
	}
	return e.waitPOST(ctx, c)
}

// ofBIOS: a new BIOS may have other settings and forget those that wait, so it starts by
// itself before any is set.
func (p pendingFirmware) ofBIOS() bool { return p.name == "BIOS" }

// waitVersions waits until the BMC shows what was installed: it reads some versions
// late, and is away while it restarts.
func (firmwareUpdate) waitVersions(ctx context.Context, e *Env, pending []pendingFirmware) error {
	limited, cancel := context.WithTimeout(ctx, firmwarePolls*e.poll())
	defer cancel()
	var open []pendingFirmware
	err := e.WaitFor(limited, e.poll(), Stuck{}, func() (bool, error) {
		u, err := e.updater(limited)
		if err == nil {
			open, err = e.pendingFirmware(limited, u)
		}
		switch {
		case errors.Is(err, redfish.ErrPinMismatch):
			return false, e.renewPin(limited)
		case err != nil:
			e.Log.Debug("versions not read", "err", err)
			return false, nil
		}
		return len(open) == 0, nil
	})
	if _, ok := errors.AsType[*Stuck](err); !ok {
		return err
	}
	p := pending[len(pending)-1]
	if len(open) > 0 {
		p = open[0]
	}
	return failedUpdate(e, p, fmt.Errorf("%w: the BMC said that it was done, and shows %s", redfish.ErrJobFailed, or(p.now, "no version")))
}

// firmwarePolls is for how many polls the new version may be missing: 30 minutes at the
// usual pace, since a host trains its memory after a BIOS update.
const firmwarePolls = 600

// Plan implements Planner.
func (s firmwareUpdate) Plan(ctx context.Context, e *Env) ([]Change, error) {
	if !s.wanted(e) {
		return nil, nil
	}
	u, err := e.updater(ctx)
	if err != nil {
		return nil, err
	}
	pending, err := e.pendingFirmware(ctx, u)
	if err != nil {
		return nil, err
	}
	var out []Change
	resets := ""
	for _, p := range pending {
		image, err := e.firmwareImage(ctx, u, p, planToken)
		if err == nil {
			err = u.CheckUpdate(ctx, image)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Change{Step: stepFirmware, What: p.name, Now: p.now, Want: fmt.Sprintf("%s (%s, SHA-256 %.16s…)", p.file.Version, filepath.Base(p.file.File), p.file.SHA256)})
		resets = laterReset(resets, p.want.Resets)
	}
	if resets == "host" && !slices.ContainsFunc(pending, pendingFirmware.ofBIOS) {
		e.Facts[FactCarried] = stepFirmware
	}
	if resets == "host" || resets == "ac" {
		out = append(out, Change{Step: stepFirmware, What: changeReset, Want: "1"})
	}
	return out, nil
}
