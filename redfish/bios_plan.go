package redfish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PlanBIOS types the wishes by the registry and returns those that differ from
// what is in force, in the order in which they can be set and then of their names.
// It asks and changes nothing. An unknown or read-only attribute, a value that is
// not allowed, and wishes that contradict each other are errors wrapping
// ErrBadValue, all at once, with what would be allowed.
func (c *Client) PlanBIOS(ctx context.Context, want map[string]any) ([]BIOSChange, error) {
	place, err := c.biosPlace(ctx)
	if err != nil {
		return nil, err
	}
	reg := c.registryOf(ctx, place.bios.Registry, place.bios.Attributes)
	wishes, wrong := reg.typed(want, place.bios.Attributes)
	changes := reg.differences(wishes, place)
	if err := place.secure.refuses(changes); err != nil {
		wrong = append(wrong, err)
	}
	if stuck := slices.IndexFunc(changes, func(ch BIOSChange) bool { return ch.Attribute != secureBootAttribute }); place.bios.ReadOnly && stuck >= 0 {
		wrong = append(wrong, fmt.Errorf("%w: its BIOS has no settings object, %s stays %v", ErrUnsupported, changes[stuck].Attribute, changes[stuck].Now))
	} else {
		wrong = append(wrong, reg.order(changes, wishes, place.bios.Attributes)...)
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("BMC %s: %w", c.cfg.Addr, errors.Join(wrong...))
	}
	return changes, nil
}

// VerifyBIOS reads again and returns what still differs.
func (c *Client) VerifyBIOS(ctx context.Context, want map[string]any) ([]BIOSChange, error) {
	place, err := c.biosPlace(ctx)
	if err != nil {
		return nil, err
	}
	reg := c.registryOf(ctx, place.bios.Registry, place.bios.Attributes)
	wishes, wrong := reg.typed(want, place.bios.Attributes)
	if len(wrong) > 0 {
		return nil, fmt.Errorf("BMC %s: %w", c.cfg.Addr, errors.Join(wrong...))
	}
	return reg.differences(wishes, place), nil
}

// typed brings the wishes to this machine's names and types.
func (r registry) typed(want, attributes map[string]any) (wishes map[string]any, wrong []error) {
	wishes = map[string]any{}
	for _, asked := range slices.Sorted(maps.Keys(want)) {
		name, ok := resolve(asked, attributes, r)
		if !ok {
			wrong = append(wrong, fmt.Errorf("BIOS attribute %q: %w: not on this machine; nearest are %s", asked, ErrBadValue,
				strings.Join(nearest(asked, attributes), ", ")))
			continue
		}
		value, err := r.coerce(name, want[asked], attributes[name])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("BIOS attribute %s: %w", name, err))
			continue
		}
		wishes[name] = value
	}
	return wishes, wrong
}

func (r registry) differences(wishes map[string]any, place biosPlace) []BIOSChange {
	var changes []BIOSChange
	for _, name := range slices.Sorted(maps.Keys(wishes)) {
		now := place.bios.Attributes[name]
		if !equalValue(now, wishes[name]) || place.waits(name) {
			changes = append(changes, BIOSChange{
				Attribute: name, Now: now, Want: wishes[name], Display: strings.TrimSpace(string(r.entries[name].Display)), Round: 1,
			})
		}
	}
	return changes
}

// order gives each change its round and sorts by it: it plays the changes over
// the values in force, round by round, as the registry's dependencies have it.
func (r registry) order(changes []BIOSChange, wishes, attributes map[string]any) (wrong []error) {
	state := maps.Clone(attributes)
	left := map[string]int{} // of changes not played yet: index by name
	for i, ch := range changes {
		left[ch.Attribute] = i
	}
	for round := 1; len(left) > 0; round++ {
		free := r.free(left, state)
		if len(free) == 0 {
			for _, name := range slices.Sorted(maps.Keys(left)) {
				wrong = append(wrong, fmt.Errorf("BIOS attribute %s: %w: %s, stays %v", name, ErrBadValue, r.locked(name, state), state[name]))
			}
			return wrong
		}
		next := r.play(free, wishes, state)
		for _, name := range free {
			// What another one of this round resets is set in the next.
			if forced, ok := r.forced(name, next); ok && !r.sameValue(name, forced, wishes[name]) && len(left) > 1 && round <= len(changes) {
				next[name] = forced
				continue
			}
			changes[left[name]].Round = round
			delete(left, name)
		}
		state = next
	}
	for _, name := range slices.Sorted(maps.Keys(wishes)) {
		why := r.locked(name, state)
		if forced, ok := r.forced(name, state); ok && why != "" && !r.sameValue(name, forced, wishes[name]) {
			wrong = append(wrong, fmt.Errorf("BIOS attribute %s: %w: %v contradicts another wish, which makes it %v: %s", name, ErrBadValue,
				wishes[name], forced, why))
		}
	}
	slices.SortStableFunc(changes, func(a, b BIOSChange) int { return a.Round - b.Round })
	return wrong
}

func (r registry) free(left map[string]int, state map[string]any) []string {
	var free []string
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if r.locked(name, state) == "" {
			free = append(free, name)
		}
	}
	return free
}

// play gives the values after a round, with what the round imposes on others.
func (r registry) play(free []string, wishes, state map[string]any) map[string]any {
	next := maps.Clone(state)
	for _, name := range free {
		next[name] = wishes[name]
	}
	for name := range r.byTarget {
		if _, wished := wishes[name]; wished {
			continue
		}
		value, is := r.forced(name, next)
		before, was := r.forced(name, state)
		if is && (!was || !equalValue(before, value)) {
			next[name] = value
		}
	}
	return next
}
