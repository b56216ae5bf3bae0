package provision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rackproof/rackproof/redfish"
)

// secureBoot switches secure boot for the test. What was found is kept beside the BIOS
// settings, before it changes, and comes back with them.
type secureBoot struct{}

func (secureBoot) Name() string { return "secure-boot" }

const (
	optWant          = "want"
	intentSecureBoot = "secure-boot"
)

// want is the wish as attributes of this very board.
func (s secureBoot) want(ctx context.Context, e *Env, c BMC) (map[string]any, error) {
	wish := e.With[optWant]
	if set := e.Profile.BIOS[setBurnIn].Intents[intentSecureBoot]; set != "" && set != wish {
		return nil, &Stuck{
			Why: fmt.Sprintf("the workflow wants secure boot %s, and profile %s wants it %s for the burn-in", wish, e.Machine.Profile, set),
			Do:  "Take one of the two out: nothing was changed.",
		}
	}
	attrs, unmapped, err := c.MapIntents(ctx, map[string]string{intentSecureBoot: wish})
	if err == nil && len(unmapped) == 0 && len(attrs) > 0 {
		return attrs, s.agrees(e, attrs)
	}
	if err != nil && !errors.Is(err, redfish.ErrUnsupported) {
		return nil, err
	}
	return nil, &Stuck{
		Why: fmt.Sprintf("BMC %s has no switch for secure boot that is known", e.Machine.BMC),
		Do:  fmt.Sprintf("Switch it %s in the setup, and leave secure-boot out of the workflow for this model.", wish),
	}
}

// agrees refuses where the profile names one of the attributes with another value: step bios
// would set it back before the test, and the record would say what is not so.
func (s secureBoot) agrees(e *Env, attrs map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if set, ok := e.Profile.BIOS[setBurnIn].Attributes[name]; ok && fmt.Sprint(set) != fmt.Sprint(attrs[name]) {
			return &Stuck{
				Why: fmt.Sprintf("the workflow wants secure boot %s, so %s %v, and profile %s wants %s %v for the burn-in", e.With[optWant], name, attrs[name], e.Machine.Profile, name, set),
				Do:  "Take one of the two out: nothing was changed.",
			}
		}
	}
	return nil
}

func (s secureBoot) Done(ctx context.Context, e *Env) (bool, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return false, err
	}
	want, err := s.want(ctx, e, c)
	if err != nil {
		return false, err
	}
	open, err := c.VerifyBIOS(ctx, want)
	if err != nil || len(open) > 0 {
		return false, err
	}
	e.Facts[FactSecureBoot] = e.With[optWant]
	return true, nil
}

func (s secureBoot) Do(ctx context.Context, e *Env) (Facts, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	want, err := s.want(ctx, e, c)
	if err != nil {
		return nil, err
	}
	changes, err := c.PlanBIOS(ctx, want)
	if err != nil {
		return nil, err
	}
	if err := e.rememberBIOS(ctx, changes); err != nil {
		return nil, err
	}
	return nil, e.applyBIOS(ctx, c, want, s.Name(), false)
}

// Plan implements Planner.
func (s secureBoot) Plan(ctx context.Context, e *Env) ([]Change, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	want, err := s.want(ctx, e, c)
	if err != nil {
		return nil, err
	}
	changes, err := c.PlanBIOS(ctx, want)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	var out []Change
	for _, ch := range changes {
		out = append(out, Change{Step: s.Name(), What: or(ch.Display, ch.Attribute), Now: fmt.Sprint(ch.Now), Want: fmt.Sprint(ch.Want)})
	}
	return append(out, Change{Step: s.Name(), What: changeReset, Want: "1"}), nil
}
