package redfishtest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// reset is POST …/Actions/ComputerSystem.Reset.
func (s *system) reset(req *request) reply {
	kind := text(req.body, "ResetType")
	switch {
	case kind == "":
		return failure(http.StatusBadRequest, baseRegistry+"ActionParameterMissing",
			"ResetType is required.", "ComputerSystem.Reset", "ResetType")
	case !slices.Contains(s.allowed, kind):
		return failure(http.StatusBadRequest, baseRegistry+"ActionParameterValueNotInList",
			"ResetType "+kind+" is not allowed.", kind, "ResetType", "ComputerSystem.Reset")
	}
	act, start := s.plan(kind)
	if act == "" {
		return s.bmc.vendor.alreadyThere(s.power)
	}
	s.bmc.effect(req, act, kind, start)
	if s.bmc.vendor == ami { // the DGX H100 answers with a task per reset
		t := s.bmc.tasks.add(s.bmc, req, "Computer Reset", waitsForNothing)
		s.bmc.spawn(func() { s.bmc.carryOut(s.bmc.ctx, t) })
		return s.bmc.accepted(t)
	}
	if s.bmc.vendor == hpe || s.bmc.vendor == supermicro {
		return success()
	}
	return noContent()
}

// plan names the act of a reset type and how it starts; "" when the power
// state does not allow it. On waits for a shutdown to end; off is possible
// from everywhere but off, so that a forced one can follow a graceful one.
func (s *system) plan(kind string) (act string, start func()) {
	if kind == "PushPowerButton" {
		kind = "GracefulShutdown"
		if s.power == powerOff {
			kind = "On"
		}
	}
	r, ok := resets[kind]
	if !ok || !slices.Contains(r.from, s.power) {
		return "", nil
	}
	if _, deaf := s.bmc.faults["graceful-stuck"]; deaf && strings.HasPrefix(kind, "Graceful") {
		return "power.request", func() {}
	}
	return r.act, func() { s.begin(kind, r.start) }
}

// begin simulates a power act, or hands it to the machine behind the BMC. The
// lock is held.
func (s *system) begin(kind string, simulate func(*system)) {
	hook := s.bmc.opts.Hooks.Power
	if hook == nil {
		simulate(s)
		return
	}
	s.bmc.aside(func() { hook(s.bmc.ctx, kind) })
}

// resets are the reset types: what they are counted as, from which power
// states they can be had, what they do.
var resets = map[string]struct {
	act   string
	from  []string
	start func(*system)
}{
	"On":               {"power.on", []string{powerOff}, (*system).turnOn},
	"ForceOn":          {"power.on", []string{powerOff}, (*system).turnOn},
	"ForceOff":         {"power.off", []string{powerOn, powerRising, powerFalling}, (*system).turnOff},
	"GracefulShutdown": {"power.off", []string{powerOn, powerRising, powerFalling}, (*system).turnOff},
	"Nmi":              {"power.nmi", []string{powerOn}, func(*system) {}},
	"PowerCycle":       {"power.reset", []string{powerOn}, (*system).cycle},
	"FullPowerCycle":   {"power.reset", []string{powerOn}, (*system).cycle},
	"ForceRestart":     {"power.reset", []string{powerOn}, (*system).restart},
	"GracefulRestart":  {"power.reset", []string{powerOn}, (*system).restart},
}

// transition runs steps beside the requests and overtakes the transition under
// way, as a forced off overtakes POST. Steps wait for the ones overtaken, so
// hooks keep their order. Their context outlives them: it ends when the next
// transition begins. Called with the lock held.
func (s *system) transition(steps func(ctx context.Context)) {
	if s.overtake != nil {
		s.overtake()
	}
	ctx, cancel := context.WithCancel(s.bmc.ctx)
	before, done := s.settled, make(chan struct{})
	s.overtake, s.settled = cancel, done
	s.bmc.spawn(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		steps(ctx)
	})
}

func (s *system) turnOn() {
	s.moving(powerRising)
	s.transition(func(ctx context.Context) {
		if s.riseAfter(ctx, s.bmc.opts.PowerDelay) {
			s.bootUp(ctx)
		}
	})
}

func (s *system) turnOff() {
	s.moving(powerFalling)
	s.transition(func(ctx context.Context) { s.fallAfter(ctx, s.bmc.opts.PowerDelay) })
}

func (s *system) cycle() {
	s.moving(powerFalling)
	s.transition(func(ctx context.Context) {
		if s.fallAfter(ctx, s.bmc.opts.PowerDelay) && s.riseAfter(ctx, s.bmc.opts.PowerDelay) {
			s.bootUp(ctx)
		}
	})
}

// restart keeps the power; the node is gone at once.
func (s *system) restart() {
	s.stamp()
	s.post = true
	s.transition(func(ctx context.Context) {
		if hook := s.bmc.opts.Hooks.OnReset; hook != nil {
			s.bmc.call(func() { hook(ctx) })
		}
		s.bootUp(ctx)
	})
}

func (s *system) moving(power string) {
	s.shown = ""
	if _, stale := s.bmc.faults.fire("stale-power"); stale {
		s.shown = s.power
	}
	s.power = power
	if power == powerFalling {
		s.post = false
	}
}

func (s *system) fallAfter(ctx context.Context, d time.Duration) bool {
	return s.arrive(ctx, d, powerOff)
}

func (s *system) riseAfter(ctx context.Context, d time.Duration) bool {
	return s.arrive(ctx, d, powerOn)
}

// arrive reaches a power state after its delay, unless overtaken.
func (s *system) arrive(ctx context.Context, d time.Duration, power string) bool {
	if !wait(ctx, d) {
		return false
	}
	s.bmc.mu.Lock()
	if ctx.Err() != nil { // overtaken between the wait and here
		s.bmc.mu.Unlock()
		return false
	}
	s.power, s.shown, s.post = power, "", power == powerOn
	if power == powerOn {
		s.stamp()
	}
	s.bmc.mu.Unlock()
	if hook := s.bmc.opts.Hooks.OnPower; hook != nil {
		s.bmc.call(func() { hook(ctx, power == powerOn) })
	}
	return true
}

// stamp moves LastResetTime on. BMCs tell whole seconds, and here two resets
// can fall into one; a client must still see that there was another.
func (s *system) stamp() {
	now := s.bmc.now().Truncate(time.Second)
	if !now.After(s.lastReset) {
		now = s.lastReset.Add(time.Second)
	}
	s.lastReset = now
}

// bootUp is POST and the boot behind it: staged BIOS values take effect, the
// override is used, the machine behind the BMC boots.
func (s *system) bootUp(ctx context.Context) {
	if !wait(ctx, s.bmc.opts.POSTDelay) || !s.applyBIOS(ctx) {
		return
	}
	s.bmc.mu.Lock()
	if ctx.Err() != nil { // overtaken between the wait and here
		s.bmc.mu.Unlock()
		return
	}
	s.bmc.activate(ActivateHost)
	if s.secure != nil {
		s.secure.current = s.secure.enable
	}
	choice := s.useOverride()
	s.post = false
	s.boots++
	media := s.bmc.lastHook
	s.bmc.mu.Unlock()
	if media != nil { // what was inserted before is in the drive now
		select {
		case <-media:
		case <-ctx.Done():
			return
		}
	}
	if hook := s.bmc.opts.Hooks.OnBoot; hook != nil {
		s.bmc.call(func() { hook(ctx, choice) })
	}
}

// wait reports whether the time passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// overlayPOST shows how far the host is, in the form that the tree has: a
// BootProgress (Supermicro), PostState (iLO), SystemStatus (XCC). A BMC that
// does not say stays silent.
func (s *system) overlayPOST(object map[string]any) {
	s.progress(at(object, "BootProgress"), "LastState", "None", "MemoryInitializationStarted", "OSBootStarted")
	s.progress(at(object, "Oem", "Hpe"), "PostState", "PowerOff", "InPost", "FinishedPost")
	s.progress(at(object, "Oem", "Lenovo"), "SystemStatus",
		"SystemPowerOff_StateUnknown", "SystemRunningInUEFI", "BootingOSOrInUndetectedOS")
}

// progress sets one such property. With the host up the word of the tree
// stays, unless it is one of the other two.
func (s *system) progress(parent any, key, off, post, up string) {
	object, ok := parent.(map[string]any)
	if !ok || object[key] == nil {
		return
	}
	switch {
	case s.power == powerOff || s.power == powerRising:
		object[key] = off
	case s.post:
		object[key] = post
	case object[key] == off || object[key] == post:
		object[key] = up
	}
}
