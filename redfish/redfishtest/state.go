package redfishtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
)

// State is that of the first system with a Reset action; see [BMC.States].
func (b *BMC) State() State { return b.States()[0] }

// States are those of all systems with a Reset action, in the tree's order;
// more than one on a BMC with several nodes.
func (b *BMC) States() []State {
	b.mu.Lock()
	defer b.mu.Unlock()
	states := make([]State, len(b.systems))
	for i, s := range b.systems {
		states[i] = s.state()
	}
	return states
}

func (s *system) state() State {
	st := State{
		System: s.uri, Power: s.power, POST: s.post, Boot: s.boot, Locator: s.locator,
		LastReset: s.lastReset, Boots: s.boots, Media: map[string]string{},
	}
	for _, slot := range s.bmc.slots {
		if slot.image != "" {
			st.Media[slot.id] = slot.image
		}
	}
	if s.bios != nil {
		st.BIOS, st.Pending = maps.Clone(s.bios.current), maps.Clone(s.bios.pending)
	}
	return st
}

// The Set methods set up the first system for a test: at once, without an act
// and without a hook.

// SetPower puts the system on or off and ends what was under way.
func (b *BMC) SetPower(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.systems[0]
	s.transition(func(context.Context) {})
	s.power, s.shown, s.post = powerOff, "", false
	if on {
		s.power = powerOn
	}
}

// RestartHost is a restart that the host's operating system orders: no act of the BMC.
func (b *BMC) RestartHost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.systems[0]; s.power == powerOn {
		s.restart()
	}
}

// Started tells that the first system began to start: its LastResetTime moves
// on, staged BIOS values and firmware that waited for it take effect, and a boot
// override for once is used up. It returns what the override chose. For a machine
// with a life of its own, see [Hooks.Power].
func (b *BMC) Started() BootChoice {
	b.mu.Lock()
	s := b.systems[0]
	s.power, s.shown, s.post = powerOn, "", false
	s.stamp()
	var applied map[string]any
	if s.biosDue() {
		applied = s.takeEffect(s.bios.job)
	}
	b.activate(ActivateHost)
	choice := s.useOverride()
	s.boots++
	if hook := b.opts.Hooks.OnBIOS; hook != nil && len(applied) > 0 {
		b.aside(func() { hook(b.ctx, applied) })
	}
	b.mu.Unlock()
	return choice
}

// SetBoot sets the boot override.
func (b *BMC) SetBoot(boot Boot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.systems[0].boot, b.systems[0].viaSetting = boot, false
}

// SetLocator switches the identification light.
func (b *BMC) SetLocator(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.systems[0]
	s.locator, s.led = on, s.resting
	if on {
		s.led = "Blinking"
	}
}

// SetMedia puts an image into a virtual drive, or takes it out ("").
func (b *BMC) SetMedia(slot, image string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.slots {
		if s.id == slot {
			s.image, s.rest = image, ""
			return nil
		}
	}
	return fmt.Errorf("the tree has no virtual drive %s", slot)
}

// SetAttribute sets a current BIOS attribute.
func (b *BMC) SetAttribute(name string, value any) error {
	raw, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		return fmt.Errorf("BIOS attribute %s: %w", name, err)
	}
	object, err := decodeObject(raw) // in the form that the wire has
	if err != nil {
		return fmt.Errorf("BIOS attribute %s: %w", name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.systems[0]
	if s.bios == nil {
		return fmt.Errorf("BIOS attribute %s: the tree has no BIOS", name)
	}
	s.bios.current = maps.Clone(s.bios.current)
	maps.Copy(s.bios.current, object)
	return nil
}
