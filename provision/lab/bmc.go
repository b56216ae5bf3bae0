package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// bmcs are the two BMCs of a machine as they run now, and what is wrong with
// them.
type bmcs struct {
	mu    sync.Mutex
	sim   *ipmiSim      // nil = no power
	front *redfishFront // nil = no power
	dead  bool
	late  time.Duration
	image string           // URL in the virtual drive
	cert  *tls.Certificate // of the Redfish BMC, over all its lives
}

// certificate is made once: a BMC that had no power shows the same again.
func (b *bmcs) certificate() (*tls.Certificate, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if b.cert == nil {
		b.cert, err = redfishtest.NewCertificate()
	}
	return b.cert, err
}

func (b *bmcs) insert(image string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.image = image
}

func (b *bmcs) inserted() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.image
}

// wake makes the Redfish BMC look at the machine.
func (b *bmcs) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.front != nil {
		b.front.wake()
	}
}

// running is the machine's ipmi_sim, or nil.
func (b *bmcs) running() *ipmiSim {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sim
}

// started takes an ipmi_sim that is up, and makes it as slow as the machine's
// BMC is.
func (b *bmcs) started(s *ipmiSim) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sim = s
	s.relay.setLate(b.late)
	return nil
}

func (b *bmcs) stopped(s *ipmiSim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sim == s {
		b.sim = nil
	}
}

func (b *bmcs) frontStarted(f *redfishFront) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.front = f
	return f.setLate(b.late)
}

func (b *bmcs) frontStopped(f *redfishFront) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.front == f {
		b.front = nil
	}
}

// slow makes every answer of both BMCs late by d; 0 heals.
func (b *bmcs) slow(d time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.late = d
	if b.sim != nil {
		b.sim.relay.setLate(d)
	}
	if b.front == nil {
		return nil
	}
	return b.front.setLate(d)
}

// die takes the BMC off its network, and its KCS interface with it: nothing
// refuses, nothing answers.
func (b *bmcs) die(ctx context.Context, s Spec) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead {
		return nil
	}
	if b.sim == nil {
		return errors.New("the BMC has no power")
	}
	if err := address(ctx, "del", s); err != nil {
		return err
	}
	b.dead = true
	return b.sim.pause(true)
}

// revive undoes die. Taking the mains away and giving it back does so too.
func (b *bmcs) revive(ctx context.Context, s Spec) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.dead {
		return nil
	}
	if err := address(ctx, "add", s); err != nil {
		return err
	}
	b.dead = false
	if b.sim == nil {
		return nil
	}
	return b.sim.pause(false)
}

// address adds or deletes the BMC's address.
func address(ctx context.Context, verb string, s Spec) error {
	out, err := exec.CommandContext(ctx, "ip", "addr", verb, s.BMCIP()+"/32", "dev", BMCBridge).CombinedOutput()
	if err != nil {
		return fmt.Errorf("address of the BMC: ip: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
