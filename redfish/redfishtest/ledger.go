package redfishtest

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// Bounds of what a BMC remembers: a day of polling must not fill the memory.
const (
	maxActs  = 20000
	maxKinds = 20000
)

// ledger counts what was asked and what was done.
type ledger struct {
	acts         map[string]int
	log          []Act
	requests     map[string]int
	statuses     map[int]int
	unauthorized int
	inFlight     atomic.Int64
	maxInFlight  atomic.Int64
}

func (l *ledger) act(a Act) {
	a.Time = time.Now()
	if len(l.log) >= maxActs {
		l.log = slices.Delete(l.log, 0, maxActs/2)
	}
	l.log = append(l.log, a)
	if a.Lost {
		return
	}
	if l.acts == nil {
		l.acts = map[string]int{}
	}
	l.acts[a.Name]++
}

func (l *ledger) request(kind string) {
	if l.requests == nil {
		l.requests = map[string]int{}
	}
	if _, known := l.requests[kind]; !known && len(l.requests) >= maxKinds {
		kind = "other"
	}
	l.requests[kind]++
}

func (l *ledger) answered(status int) {
	if l.statuses == nil {
		l.statuses = map[int]int{}
	}
	l.statuses[status]++
}

func (l *ledger) enter() {
	now := l.inFlight.Add(1)
	for {
		highest := l.maxInFlight.Load()
		if now <= highest || l.maxInFlight.CompareAndSwap(highest, now) {
			return
		}
	}
}

func (l *ledger) leave() { l.inFlight.Add(-1) }

// Acts counts the state-changing acts that took effect, by name: "power.on",
// "power.off", "power.reset", "power.nmi", "power.request" (a graceful reset that
// no operating system heard), "boot.set", "boot.used" (an override
// was taken at a boot), "bios.stage", "bios.apply", "bios.reset", "bios.discard", "task.delete", "locator.set", "task.create",
// "media.insert", "media.eject", "log.clear", "event.test", "diagnostics.collect",
// "firmware.update", "firmware.activate", "bmc.reset",
// "session.create", "session.delete", "session.expire", "account.password",
// "property.set". What a fault made void is in the log only, marked Lost.
func (b *BMC) Acts() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	acts := maps.Clone(b.ledger.acts)
	if acts == nil {
		acts = map[string]int{}
	}
	return acts
}

// ActLog is every act in order, the newest 10000 at least.
func (b *BMC) ActLog() []Act {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ledger.log)
}

// Requests counts what arrived, by "METHOD URI" as sent, faults included.
func (b *BMC) Requests() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.ledger.requests)
}

// Statuses counts the answers that were sent, by HTTP status.
func (b *BMC) Statuses() map[int]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.ledger.statuses)
}

// Unauthorized counts refused credentials: what a lockout counts.
func (b *BMC) Unauthorized() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ledger.unauthorized
}

// MaxInFlight is the highest number of requests that were open at once.
func (b *BMC) MaxInFlight() int { return int(b.ledger.maxInFlight.Load()) }
