package main

import (
	"sync"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// How often the time that is left of a load is told: what else happens is told at
// once.
const (
	leftOnTerminal = 10 * time.Second
	leftInLog      = time.Minute
)

// burninProgress prints how far a burn-in is. Safe for concurrent use.
type burninProgress struct {
	print func(format string, args ...any)
	every time.Duration

	mu   sync.Mutex
	last burnin.Progress
	said time.Time
}

func (a *app) burninProgress() *burninProgress {
	p := &burninProgress{print: a.progress, every: leftInLog}
	if isTerminal(a.stderr) {
		p.every = leftOnTerminal
	}
	return p
}

func (p *burninProgress) show(now burnin.Progress) { p.showAt(time.Now(), now) }

func (p *burninProgress) showAt(at time.Time, now burnin.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case now.Left > 0:
		same := p.last.Phase == now.Phase && p.last.Doing == now.Doing && p.last.Left > 0
		if same && at.Sub(p.said) < p.every {
			return
		}
		p.last, p.said = now, at
		p.print("%-6s %s, %s left", now.Phase, now.Doing, now.Left.Round(time.Second))
	case now.Total > 0:
		p.print("%-6s %s (%d of %d)", now.Phase, now.Doing, now.Done, now.Total)
	}
}
