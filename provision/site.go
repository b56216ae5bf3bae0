package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision/netboot"
)

// site is what the steps of one run share: its log, its boot server, its brake,
// its meeting of machines, and the profiles it is judged with.
type site struct {
	log     *slog.Logger
	file    *os.File
	netboot *netboot.Server
	brake   *Brake
	meeting *Meeting
	inrush  *Inrush

	silences *silences
	desk     desk

	mu      sync.Mutex
	started bool
	known   map[string]resolved // by both hashes
}

func (b *Bench) site(t Task) (*site, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.runs[t.Run]; s != nil {
		s.brake.Expect(models(t.Batch))
		s.brake.Follow(t.Rollouts, t.Released+1)
		return s, nil
	}
	dir := RunDir(b.State, t.Run)
	f, err := openLog(filepath.Join(dir, "run.log"))
	if err != nil {
		return nil, err
	}
	file := slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})
	s := &site{
		log:   slog.New(b.Secrets.Handler(slog.NewMultiHandler(file, b.Log.Handler()))).With("run", t.Run),
		file:  f,
		brake: NewBrake(models(t.Batch)),
		known: map[string]resolved{}, meeting: NewMeeting(), inrush: NewInrush(t.Batch), silences: openSilences(filepath.Join(dir, "silences.json")), desk: newDesk(),
	}
	s.brake.Follow(t.Rollouts, t.Released+1)
	s.netboot = b.newNetboot(t, filepath.Join(dir, "netboot.json"), s.log)
	if b.runs == nil {
		b.runs = map[RunID]*site{}
	}
	b.runs[t.Run] = s
	return s, nil
}

func (b *Bench) newNetboot(t Task, state string, log *slog.Logger) *netboot.Server {
	images := t.Batch.Netboot.Images
	if images == "" {
		images = filepath.Join(b.State, "images")
	}
	return &netboot.Server{Addr: listenAddr(t.Batch), Images: images, State: state, Log: log}
}

// models counts the machines of each model, for each change that goes canary first.
func models(b *Batch) map[string]int {
	n := map[string]int{}
	w, _ := b.Flow() // the steps of another one than ours are counted as they come
	for _, s := range w.Steps {
		for _, m := range b.Machines {
			if s.Canary {
				n[rollout(s.Step.Name(), m)]++
			}
		}
	}
	return n
}

// listenAddr is where boots are served: as the batch says; on loopback alone
// when all BMCs are there, as those of the simulated rack; else everywhere.
func listenAddr(b *Batch) string {
	if b.Netboot.Listen != "" {
		return b.Netboot.Listen
	}
	for _, m := range b.Machines {
		host, _, err := net.SplitHostPort(m.BMC)
		if err != nil {
			host = m.BMC
		}
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			return ":0"
		}
	}
	return "127.0.0.1:0"
}

// startNetboot listens when the first machine of the run boots from us.
func (s *site) startNetboot(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return nil
	}
	if err := s.netboot.Start(context.WithoutCancel(ctx)); err != nil {
		return &Stuck{Why: err.Error(), Do: "Free that address on this machine, or name another with netboot.listen."}
	}
	s.started = true
	return nil
}

// resolve gives the profile and spec that the run carries, by their bytes.
func (s *site) resolve(t Task) (*profiles.Profile, *profiles.Spec, error) {
	key := t.Machine.ProfileSHA256 + t.Machine.SpecSHA256
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.known[key]; ok {
		return r.profile, r.spec, nil
	}
	p, err := profiles.ParseResolved(t.Batch.Resolved[t.Machine.ProfileSHA256])
	if err != nil {
		return nil, nil, fmt.Errorf("profile %s as the run carries it: %w", t.Machine.Profile, err)
	}
	spec, err := profiles.ParseResolvedSpec(t.Batch.Resolved[t.Machine.SpecSHA256])
	if err != nil {
		return nil, nil, fmt.Errorf("spec %s as the run carries it: %w", t.Machine.Spec, err)
	}
	s.known[key] = resolved{p, spec}
	return p, spec, nil
}

func (s *site) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.started {
		err = s.netboot.Close()
	}
	return errors.Join(err, s.file.Close())
}
