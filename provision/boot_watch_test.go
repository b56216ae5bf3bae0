package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// starting is a BMC whose host starts.
type starting struct {
	*fakeBMC
	mu       sync.Mutex
	progress redfish.BootProgress
	err      error  // of the progress
	text     string // of the console
	console  error
}

func (s *starting) BootProgress(context.Context) (redfish.BootProgress, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress, s.err
}

func (s *starting) set(p redfish.BootProgress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = p
}

func (s *starting) Console(ctx context.Context, out io.Writer) error {
	if s.console != nil {
		return s.console
	}
	_, err := io.WriteString(out, s.text)
	<-ctx.Done()
	return err
}

// pass lets time go by.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

func evidenceOf(t *testing.T, e *Env, name string) (out, errs string) {
	t.Helper()
	for suffix, to := range map[string]*string{".out": &out, ".err": &errs} {
		b, err := os.ReadFile(filepath.Join(e.Store.Dir(), "bmc", name+suffix))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		*to = string(b)
	}
	return out, errs
}

func TestBootIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := stepEnv(t, newFakeBMC(), Machine{Boot: Boot{Console: true}})
		e.secrets = &Secrets{}
		e.secrets.Add("pl4nted")
		s := &starting{fakeBMC: newFakeBMC(), text: "Linux version 6.1 pl4nted\n"}
		s.set(redfish.BootProgress{State: "MemoryInitializationStarted", Code: "31"})
		w := e.watchBoot(t.Context(), s, "boot")
		pass(t, 35*time.Second)
		s.set(redfish.BootProgress{State: "PCIResourceConfigStarted", Code: "94"})
		pass(t, 35*time.Second)
		stuck := &Stuck{Why: "the machine never came.", Suspect: true}
		if err := w.end(fmt.Errorf("m1: %w", stuck)); !errors.Is(err, stuck) || stuck.Why != "the machine never came; its BMC says: PCIResourceConfigStarted, POST code 94" {
			t.Errorf("%v: %q", err, stuck.Why)
		}
		out, _ := evidenceOf(t, e, "boot-progress@boot")
		if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 2 || !strings.HasSuffix(lines[0], "MemoryInitializationStarted, POST code 31") {
			t.Errorf("progress %q, want each state once", out)
		}
		if out, _ := evidenceOf(t, e, "console@boot"); out != "Linux version 6.1 [redacted]\n\n"+burnin.ConsoleLive+"\n" {
			t.Errorf("console %q", out)
		}
		// A second try does not replace what the first saw.
		if err := e.watchBoot(t.Context(), s, "boot").end(nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !e.Store.Has(burnin.PhaseBMC, "console@boot") {
			t.Error("the first console is gone")
		}
	})
}

func TestBootWatchDecidesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		bmc  BMC
		want string // in the console's evidence
	}{
		"nothing told":     {newFakeBMC(), ""},
		"BMC does not say": {&starting{fakeBMC: newFakeBMC(), err: errors.New("503"), console: fmt.Errorf("BMC: %w", redfish.ErrUnsupported)}, "does not offer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, _ := stepEnv(t, newFakeBMC(), Machine{Boot: Boot{Console: true}})
				w := e.watchBoot(t.Context(), c.bmc, "wait-ssh")
				synctest.Wait()
				if err := w.end(nil); err != nil {
					t.Errorf("%v", err)
				}
				if _, errs := evidenceOf(t, e, "console@wait-ssh"); !strings.Contains(errs, c.want) || c.want == "" && errs != "" {
					t.Errorf("console says %q, want %q", errs, c.want)
				}
				if out, _ := evidenceOf(t, e, "boot-progress@wait-ssh"); out != "" {
					t.Errorf("progress %q of nothing", out)
				}
			})
		})
	}
}

func TestNewestBytes(t *testing.T) {
	var b newestBytes
	line := bytes.Repeat([]byte("x"), 1<<20)
	for range 20 {
		if n, err := b.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	_, _ = b.Write([]byte("end"))
	got := b.Bytes()
	mark := "\n" + burnin.ConsoleLive + "\n"
	if len(got) != consoleBytes+len(mark) || !bytes.HasPrefix(got, []byte(mark)) || !bytes.HasSuffix(got, []byte("xend")) || cap(b.buf) > 4*consoleBytes {
		t.Errorf("%d bytes kept in %d, ending %q", len(got), cap(b.buf), got[len(got)-4:])
	}
}

// What a BMC had kept from before is no crash of today; what comes live is.
func TestConsoleBacklog(t *testing.T) {
	const died, well = "[  301.0] Kernel panic - not syncing: Fatal machine check\r\n", "node login: \r\n"
	type words struct {
		after time.Duration
		text  string
	}
	for name, c := range map[string]struct {
		said []words
		want bool
	}{
		"an old panic":          {[]words{{time.Second, died}, {10 * time.Millisecond, well}}, false},
		"an old panic, then on": {[]words{{time.Second, died}, {2 * time.Second, well}}, false},
		"dies after a backlog":  {[]words{{time.Second, well}, {2 * time.Second, died}}, true},
		"silent, then dies":     {[]words{{time.Minute, died}}, true},
		"lives":                 {[]words{{time.Minute, well}}, false},
		"says nothing":          {nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			e, _ := stepEnv(t, newFakeBMC(), Machine{})
			b := newestBytes{start: time.Now()}
			for _, w := range c.said {
				pass(t, w.after)
				_, _ = io.WriteString(&b, w.text)
			}
			if got := burnin.ConsoleCrash(b.Bytes(), e.Profile); (got != "") != c.want {
				t.Errorf("%s: crash %q", name, got)
			}
		})
	}
}
