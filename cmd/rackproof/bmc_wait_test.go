package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/redfish"
)

// buffer can be written to by a goroutine while it is read.
type buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func TestWaitingForABMCIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out buffer
		a := &app{stderr: &out}
		stop := a.waitWords("192.0.2.1", powerWaits("off"), 10*time.Second)
		<-time.After(25 * time.Second)
		stop()
		<-time.After(time.Minute) // nothing more
		want := "BMC 192.0.2.1: waits for the operating system to shut down, after 3m0s its power is cut; 10s so far\n" +
			"BMC 192.0.2.1: waits for the operating system to shut down, after 3m0s its power is cut; 20s so far\n"
		if got := out.b.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestPlanInWords(t *testing.T) {
	text := planText(provision.MachinePlan{Machine: "m1", Minutes: 72*60 + 30, KW: 10.24, Changes: []provision.Change{
		{Step: "bios", What: "IOMMU", Now: "Enabled", Want: "Disabled"},
		{Step: "bios", What: "reset", Want: "1"},
		{Step: "boot", What: "boots", Now: "power On", Want: "image live"},
		{Step: "burn-in", What: "load", Want: "6s; writes to no disk"},
	}, Obstacles: []redfish.Obstacle{{What: "JID_1 is Scheduled", Do: "a reset runs it; or delete it"}}})
	want := "m1  72 h 30 min  10.2 kW under load\n  bios: IOMMU Enabled → Disabled\n  bios: restarts the machine once\n" +
		"  boot: starts image live (power On now)\n  burn-in: under load for 6s; writes to no disk\n" +
		"  in the way: JID_1 is Scheduled: a reset runs it; or delete it\n"
	if text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if text := planText(provision.MachinePlan{Machine: "m1", Problem: "silent"}); !strings.Contains(text, "kW under load not stated") {
		t.Error(text)
	}
}

// A signal in the middle ends in good order: resumable, and with the way to look.
func TestStoppedBMCVerb(t *testing.T) {
	err := bmcError("192.0.2.1", fmt.Errorf("BMC 192.0.2.1: %w", context.Canceled))
	e, ok := errors.AsType[*exitError](err)
	if !ok || e.code != exitNotFinished || e.Code != "stopped" || e.Next != "rackproof bmc 192.0.2.1 power" {
		t.Errorf("%+v", err)
	}
}
