package provision

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// handover puts the machine back: its BIOS gets the delivery settings of the
// profile, or what was found; a live image does not stay. A machine that failed
// is not handed over: it stays as it is for the retest.
type handover struct{}

func (handover) Name() string { return "handover" }

func (h handover) Done(ctx context.Context, e *Env) (bool, error) {
	failed, err := h.failedBefore(ctx, e)
	if err != nil {
		return false, err
	}
	if failed {
		e.Facts[FactHandover] = "not handed over: it failed, and keeps the settings of the test until the retest"
		return true, nil
	}
	c, err := e.Client(ctx)
	if err != nil {
		return false, err
	}
	want, what, err := h.settings(ctx, e, c)
	if err != nil {
		return false, err
	}
	if len(want) > 0 {
		open, err := c.VerifyBIOS(ctx, want)
		if err != nil || len(open) > 0 {
			return false, err
		}
	}
	if live(e) && !h.leftLive(e) {
		return false, nil
	}
	e.Facts[FactHandover], e.Facts[factBIOSBack] = what+"; "+h.stateWords(e), "true"
	if sticky := e.Facts[factSticky]; sticky != "" {
		e.Facts[FactHandover] += "; " + sticky
	}
	return true, nil
}

// leftLive reports whether an act of this step took the live image down. The
// power state alone does not tell: a machine that is on may run either.
func (handover) leftLive(e *Env) bool { return e.Facts[factLeft] != "" }

// factLeft says how the live image was left, by the words below.
const factLeft = "left_live"

const (
	leftOff       = "off"
	leftOwn       = "restarted, by its own order"
	leftRestarted = "restarted"
	leftUnknown   = "restarted, not proven"
	leftAgain     = "off, after our image again"
)

func (handover) stateWords(e *Env) string {
	switch e.Facts[factLeft] {
	case leftOff:
		return "powered off"
	case leftOwn:
		return "restarted by its own boot order"
	case leftAgain:
		return "powered off: after its restart it had started our image again"
	case leftUnknown:
		return "restarted, and it did not come to us for an image; its BMC does not tell the end of POST, so that its installed system runs is not proven"
	case leftRestarted:
		return "restarted into its installed system: it did not come to us for an image, and the boot override is off"
	}
	return "in its installed system, as found"
}

// live reports that an image of ours runs on the host.
func live(e *Env) bool { return BootMethod(e.Facts[FactBoot]).fromUs() }

// failed judges what is there already. Judging is pure, so the report will say
// the same.
func (handover) failed(ctx context.Context, e *Env) (failed bool, err error) {
	err = e.judging(ctx, func() error {
		rec, err := e.Store.Record()
		if err == nil {
			failed = burnin.Judge(rec, e.Profile, e.Spec).Result == burnin.Failed
		}
		return err
	})
	return failed, err
}

// failedBefore is failed, asked once in a step that measures nothing.
func (h handover) failedBefore(ctx context.Context, e *Env) (failed bool, err error) {
	if e.failed == nil {
		if failed, err = h.failed(ctx, e); err != nil {
			return false, err
		}
		e.failed = &failed
	}
	return *e.failed, nil
}

// settings are what the BIOS must have at handover, and in words where they come
// from.
func (handover) settings(ctx context.Context, e *Env, c BMC) (map[string]any, string, error) {
	want, err := biosFound(e.Facts)
	if err != nil {
		return nil, "", err
	}
	what := "BIOS as found"
	if _, ok := e.Profile.BIOS[setDelivery]; !ok {
		return want, what, nil
	}
	w, err := e.wishes(ctx, c, setDelivery)
	if err != nil {
		if errors.Is(err, redfish.ErrUnsupported) {
			return want, what, nil
		}
		return nil, "", err
	}
	all := maps.Clone(want)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, w.want)
	return all, "BIOS with the delivery settings of profile " + e.Machine.Profile, nil
}

func (h handover) Do(ctx context.Context, e *Env) (Facts, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	want, _, err := h.settings(ctx, e, c)
	if err != nil {
		return nil, err
	}
	changes, err := c.PlanBIOS(ctx, want)
	if err != nil {
		return nil, err
	}
	if live(e) {
		if err := e.leaving(ctx, c); err != nil {
			return nil, err
		}
	}
	_, begun := e.intents["handover reset"]
	if len(changes) > 0 || begun || e.intents["handover off"].Act == "" && e.begunBIOS() {
		if err := e.applyBIOS(ctx, c, want, "handover", false); err != nil {
			return nil, err
		}
		return h.leave(ctx, e, c)
	}
	if !live(e) {
		return nil, nil
	}
	return h.off(ctx, e, c, leftOff)
}

// leave ends a restart: where our image runs again, the host is switched off.
func (h handover) leave(ctx context.Context, e *Env, c BMC) (Facts, error) {
	if !live(e) {
		return Facts{factLeft: leftOwn}, nil
	}
	how, err := e.left(ctx, c)
	if err != nil {
		return nil, err
	}
	if how == leftAgain {
		return h.off(ctx, e, c, leftAgain)
	}
	return Facts{factLeft: how}, nil
}

// off takes the live image down with the host.
func (handover) off(ctx context.Context, e *Env, c BMC, how string) (Facts, error) {
	if err := e.Act(ctx, e.switchAct(c, "handover off", redfish.PowerOff, redfish.Off)); err != nil {
		return nil, fmt.Errorf("take the live image down: %w", err)
	}
	return Facts{factLeft: how}, nil
}

// begunBIOS reports whether an interrupted handover had begun to set the BIOS.
func (e *Env) begunBIOS() bool {
	_, ok := e.intents["handover settings"]
	return ok
}
