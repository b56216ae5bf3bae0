package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// biosSettings brings the BIOS to the settings of the burn-in. What was there
// before is kept first, because it comes back at handover.
type biosSettings struct{}

func (biosSettings) Name() string { return "bios" }

const (
	setBurnIn   = "burnin"
	setDelivery = "delivery"
	probeBIOS   = "bios"
)

// wishes are attributes wanted on this very board.
type wishes struct {
	want     map[string]any
	unmapped []redfish.Unmapped
	required bool
}

// wishes translates a named set of the profile.
func (e *Env) wishes(ctx context.Context, c BMC, name string) (wishes, error) {
	set := e.Profile.BIOS[name]
	w := wishes{want: map[string]any{}, required: set.Required}
	if len(set.Intents) > 0 {
		attrs, unmapped, err := c.MapIntents(ctx, set.Intents)
		if err != nil {
			return w, err
		}
		w.unmapped = unmapped
		maps.Copy(w.want, attrs)
	}
	maps.Copy(w.want, set.Attributes)
	if len(set.Intents) == 0 && len(set.Attributes) > 0 {
		// What is not translated has not shown yet whether there is a BIOS to set.
		if _, err := c.BIOS(ctx); err != nil {
			return w, err
		}
	}
	return w, nil
}

// check refuses wishes that the board cannot have, where the profile requires
// them.
func (w wishes) check(profile string) error {
	if !w.required || len(w.unmapped) == 0 {
		return nil
	}
	return &Stuck{
		Why: "BIOS has no attribute for " + w.missing(),
		Do:  fmt.Sprintf("Give the attribute in profile %s (bios.%s.attributes), or take required out of the set.", profile, setBurnIn),
	}
}

func (w wishes) missing() string {
	names := make([]string, 0, len(w.unmapped))
	for _, u := range w.unmapped {
		text := u.Intent + ": " + u.Value
		if len(u.Nearest) > 0 {
			text += " (nearest: " + strings.Join(u.Nearest, ", ") + ")"
		}
		names = append(names, text)
	}
	return strings.Join(names, "; ")
}

// burnInWishes are those of the profile, and what a boot over HTTP needs. none:
// nothing is wanted, or the BMC does not give its BIOS and nothing is required.
func (e *Env) burnInWishes(ctx context.Context, c BMC) (w wishes, none bool, err error) {
	settings, err := e.bootSettings(ctx, c)
	if err != nil {
		return w, false, err
	}
	set := e.Profile.BIOS[setBurnIn]
	if len(settings)+len(set.Intents)+len(set.Attributes) == 0 {
		return w, true, nil
	}
	w, err = e.wishes(ctx, c, setBurnIn)
	if errors.Is(err, redfish.ErrUnsupported) {
		if w.required {
			return w, false, &Stuck{Why: fmt.Sprintf("BMC %s does not give BIOS settings", e.Machine.BMC), Do: "Set them by hand, and take required out of the profile's set."}
		}
		e.Facts[FactUnmapped] = "all: the BMC does not give BIOS settings"
		return w, true, nil
	}
	if err != nil {
		return w, false, err
	}
	for name, value := range settings {
		if _, stated := w.want[name]; !stated { // a profile knows its board
			w.want[name] = value
		}
	}
	return w, false, w.check(e.Machine.Profile)
}

func (s biosSettings) Done(ctx context.Context, e *Env) (bool, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return false, err
	}
	w, none, err := e.burnInWishes(ctx, c)
	if none || err != nil {
		return none, err
	}
	open, err := c.VerifyBIOS(ctx, w.want)
	if err != nil {
		return false, err
	}
	if len(open) > 0 {
		e.Log.Debug("BIOS differs", "attributes", len(open), "first", describe(open[0]))
		return false, nil
	}
	return true, s.keep(ctx, e, c, w)
}

// keep writes the BIOS as evidence, and what was found, wanted and is now.
func (biosSettings) keep(ctx context.Context, e *Env, c BMC, w wishes) error {
	start := time.Now()
	now, err := c.BIOS(ctx)
	if err != nil {
		return err
	}
	if len(w.unmapped) > 0 {
		e.Facts[FactUnmapped] = w.missing()
	}
	found, err := biosFound(e.Facts)
	if err != nil {
		return err
	}
	lines, err := asJSON(biosLines(found, w.want, now))
	if err != nil {
		return err
	}
	e.Facts[FactBIOSLines] = lines
	if e.Store.Has(burnin.PhaseBMC, probeBIOS) {
		return nil
	}
	bodies := c.Recorded()
	maps.DeleteFunc(bodies, func(uri string, _ json.RawMessage) bool { return !strings.Contains(strings.ToLower(uri), "bios") })
	return keepBodies(e.Store, probeBIOS, bodies, start)
}

func (s biosSettings) Do(ctx context.Context, e *Env) (Facts, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	w, none, err := e.burnInWishes(ctx, c)
	if none || err != nil {
		return nil, err
	}
	watch := e.watchBoot(ctx, c, s.Name())
	return nil, watch.end(e.applyBIOS(ctx, c, w.want, "bios", true))
}

// applyBIOS brings attributes into force: stage what differs, reset once, wait,
// and verify each. With keep, what is there now is remembered before it changes;
// what an earlier attempt found is not found again.
func (e *Env) applyBIOS(ctx context.Context, c BMC, want map[string]any, name string, keep bool) error {
	changes, err := c.PlanBIOS(ctx, want)
	if err != nil {
		return err
	}
	if keep {
		if err := e.rememberBIOS(ctx, changes); err != nil {
			return err
		}
	}
	round := 1
	for begun := true; begun; { // an interrupted one goes on where it was
		if _, begun = e.intents[roundName(name, round+1)+" settings"]; begun {
			round++
		}
	}
	for ; ; round++ {
		left, err := e.biosRound(ctx, c, want, changes, roundName(name, round), keep)
		if err != nil || len(left) == 0 {
			return err
		}
		if changes, err = c.PlanBIOS(ctx, want); err != nil || len(changes) == 0 {
			return err
		}
	}
}

// biosRound stages, resets once, waits until what could be set in this round is in
// force, and returns what depended on it and is left for another round: a BMC may
// judge a setting by the values in force only. Before a burn-in the last reset boots the
// host as well.
func (e *Env) biosRound(ctx context.Context, c BMC, want map[string]any, changes []redfish.BIOSChange, name string, boots bool) ([]redfish.BIOSChange, error) {
	first, later := maps.Clone(want), map[string]any{}
	for _, ch := range changes {
		if ch.Round > 1 {
			later[ch.Attribute] = ch.Want
			delete(first, ch.Attribute)
		}
	}
	job := ""
	if _, begun := e.intents[name+" settings"]; len(changes) > 0 || begun {
		act := e.stageAct(c, first, changes, name+" settings", &job)
		if err := e.Act(ctx, act); err != nil {
			return nil, err
		}
	}
	var begun func() bool
	if boots && len(later) == 0 {
		var err error
		if begun, err = e.carryBoot(ctx, c, name); err != nil {
			return nil, err
		}
	}
	if err := e.restart(ctx, c, name+" reset", begun); err != nil {
		return nil, err
	}
	if job != "" {
		if err := c.WaitJob(ctx, job); err != nil {
			return nil, err
		}
	}
	if err := e.waitPOST(ctx, c); err != nil {
		return nil, err
	}
	if err := e.waitBIOS(ctx, c, first); err != nil || len(later) == 0 {
		return nil, err
	}
	return c.VerifyBIOS(ctx, later)
}

// roundName names the acts of a round; the first has the plain name.
func roundName(name string, round int) string {
	if round == 1 {
		return name
	}
	return fmt.Sprintf("%s round %d", name, round)
}

// biosPolls is for how many polls behind POST the values may still be missing: some
// firmware takes minutes to tell its BMC. After that the step is tried again, and
// sets them anew: some BMCs lose what they have taken (FIELD-QUIRKS 48) and list
// nothing by which that could be seen before the reset.
const biosPolls = 200

// waitBIOS waits until every attribute reads back as wanted.
func (e *Env) waitBIOS(ctx context.Context, c BMC, want map[string]any) error {
	limited, cancel := context.WithTimeout(ctx, biosPolls*e.poll())
	defer cancel()
	var open []redfish.BIOSChange
	stuck := Stuck{Do: "Look at the setup screen: the BMC took the values and the BIOS did not. They are set again on resume.", Anew: true}
	err := e.WaitFor(limited, e.poll(), stuck, func() (bool, error) {
		var err error
		open, err = c.VerifyBIOS(ctx, want)
		if err != nil {
			e.Log.Debug("BIOS not read", "err", err)
			return false, nil
		}
		return len(open) == 0, nil
	})
	var s *Stuck
	if !errors.As(err, &s) || s.Why != "" {
		return err
	}
	s.Why = fmt.Sprintf("BMC %s: BIOS settings are not in force after the reset", e.Machine.BMC)
	if len(open) > 0 {
		s.Why += ": " + describe(open[0])
	}
	if ctx.Err() == nil { // there is time for another try
		return errors.New(s.Why + "; look at the setup screen")
	}
	return s
}

// rememberBIOS makes durable what was found, before anything changes.
func (e *Env) rememberBIOS(ctx context.Context, changes []redfish.BIOSChange) error {
	found, err := biosFound(e.Facts)
	if err != nil {
		return err
	}
	if found == nil {
		found = map[string]any{}
	}
	before := len(found)
	for _, ch := range changes {
		if _, known := found[ch.Attribute]; !known {
			found[ch.Attribute] = ch.Now
		}
	}
	if len(found) == before {
		return nil
	}
	text, err := asJSON(found)
	if err != nil {
		return err
	}
	return e.Learn(ctx, Facts{FactBIOSFound: text})
}

// stageAct gives the BMC the values for the next reset. They are seen as pending,
// or in force when the reset came already.
func (e *Env) stageAct(c BMC, want map[string]any, changes []redfish.BIOSChange, name string, job *string) Act {
	return Act{
		Name: name, Poll: e.poll(),
		Mark: func(context.Context) (string, error) { return asJSON(want) },
		Seen: func(ctx context.Context, _ string) (Sight, error) {
			open, err := c.VerifyBIOS(ctx, want)
			if err != nil {
				return CannotTell, err
			}
			b, err := c.BIOS(ctx)
			if err != nil {
				return CannotTell, err
			}
			for _, ch := range open {
				if p, ok := b.Pending[ch.Attribute]; !ok || fmt.Sprint(p) != fmt.Sprint(ch.Want) {
					return Absent, nil
				}
			}
			return Happened, nil
		},
		Do: func(ctx context.Context) error {
			var err error
			*job, err = c.StageBIOS(ctx, changes)
			return err
		},
	}
}

func describe(ch redfish.BIOSChange) string {
	return fmt.Sprintf("%s is %v, wanted %v", or(ch.Display, ch.Attribute), ch.Now, ch.Want)
}

// Plan implements Planner.
func (biosSettings) Plan(ctx context.Context, e *Env) ([]Change, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	w, none, err := e.burnInWishes(ctx, c)
	if none || err != nil {
		return nil, err
	}
	changes, err := c.PlanBIOS(ctx, w.want)
	if err != nil {
		return nil, err
	}
	var out []Change
	for _, ch := range changes {
		out = append(out, Change{Step: "bios", What: or(ch.Display, ch.Attribute), Now: fmt.Sprint(ch.Now), Want: fmt.Sprint(ch.Want)})
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.What, b.What) })
	if len(out) > 0 {
		if e.Facts[FactCarried] == "" {
			e.Facts[FactCarried] = "bios"
			out = append(out, Change{Step: "bios", What: changeReset, Want: "1"})
		}
		for range redfish.Rounds(changes) - 1 {
			out = append(out, Change{Step: "bios", What: changeReset, Want: "once more, where its BMC sets what depends on other settings only after them"})
		}
	}
	return out, nil
}
