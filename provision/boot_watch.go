package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

const (
	probeProgress = "boot-progress"
	probeConsole  = "console"

	watchEvery   = 10 * time.Second // between two looks at a BMC that has better to do
	watchLogin   = 20 * time.Second // at a BMC whose word is not needed
	watchLines   = 2000
	consoleBytes = 4 << 20 // of a console that are kept: the newest
)

// BootTeller tells how far the start of a host is; a BMC may be one.
type BootTeller interface {
	BootProgress(context.Context) (redfish.BootProgress, error)
}

// Consoler shows the host's serial console; a BMC may be one.
type Consoler interface {
	Console(ctx context.Context, out io.Writer) error
}

// bootWatch looks on while a host starts, and keeps what there was to see: boot progress
// and POST codes as far as the BMC tells them, and the serial console where the batch asks
// for it. It decides nothing and delays nobody.
type bootWatch struct {
	env    *Env
	step   string
	start  time.Time
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	lines   bytes.Buffer
	count   int
	last    string
	console newestBytes
	refused error // the console
}

func newBootWatch(e *Env, step string, cancel context.CancelFunc) *bootWatch {
	w := &bootWatch{env: e, step: step, start: time.Now(), cancel: cancel}
	w.console.start = w.start
	return w
}

// watchBoot begins, with a BMC that is there already.
func (e *Env) watchBoot(ctx context.Context, c BMC, step string) *bootWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := newBootWatch(e, step, cancel)
	if teller, ok := c.(BootTeller); ok {
		w.wg.Go(func() { w.progress(ctx, teller) })
	}
	w.watchConsole(ctx, c)
	return w
}

// watchLoad keeps the console alone, while the host is loaded.
func (e *Env) watchLoad(ctx context.Context, step string) *bootWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := newBootWatch(e, step, cancel)
	if !e.Machine.Boot.Console {
		return w
	}
	c, err := e.Client(ctx)
	if err != nil {
		w.refused = err
		return w
	}
	w.watchConsole(ctx, c)
	return w
}

func (w *bootWatch) watchConsole(ctx context.Context, c BMC) {
	e := w.env
	if consoler, ok := c.(Consoler); ok && e.Machine.Boot.Console {
		w.wg.Go(func() {
			if err := consoler.Console(ctx, &w.console); err != nil && ctx.Err() == nil {
				e.Log.Warn("the console is not kept", "err", err)
				w.mu.Lock()
				w.refused = err
				w.mu.Unlock()
			}
		})
	}
}

// progress notes each change.
func (w *bootWatch) progress(ctx context.Context, c BootTeller) {
	for {
		p, err := c.BootProgress(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, redfish.ErrUnsupported):
			return
		case err == nil:
			w.note(p)
		}
		timer := time.NewTimer(max(watchEvery, w.env.poll()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (w *bootWatch) note(p redfish.BootProgress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := p.String()
	if said == w.last || said == "" || w.count >= watchLines {
		return
	}
	w.last = said
	w.count++
	fmt.Fprintf(&w.lines, "%s %s\n", time.Now().UTC().Format(time.RFC3339), said)
}

// end stops looking, keeps what was seen as evidence, and says in the word about a host
// that did not come up how far it was.
func (w *bootWatch) end(err error) error {
	w.cancel()
	w.wg.Wait()
	w.keep(probeProgress, w.lines.Bytes(), nil)
	if w.env.Machine.Boot.Console {
		w.keep(probeConsole, w.console.Bytes(), w.refused)
	}
	stuck, ok := errors.AsType[*Stuck](err)
	if ok && stuck.Suspect && w.last != "" {
		stuck.Why = strings.TrimRight(stuck.Why, ".") + "; its BMC says: " + w.last
	}
	return err
}

// keep makes evidence. A step that is tried again has one of each try.
func (w *bootWatch) keep(probe string, out []byte, refused error) {
	if len(out) == 0 && refused == nil {
		return
	}
	e := w.env
	name := w.step
	for n := 2; e.Store.Has(burnin.PhaseBMC, probe+"@"+name); n++ {
		name = fmt.Sprintf("%s-%d", w.step, n)
	}
	ev := &burnin.Evidence{
		Probe: probe, Instance: name, Phase: burnin.PhaseBMC, Source: burnin.FromBMC, Ended: burnin.EndedExit,
		Command: "BMC: " + probe + " during " + w.step, Started: w.start, Seconds: time.Since(w.start).Seconds(),
		Simulated: e.Machine.Boot.Image == SimulatedImage, Out: []byte(e.secrets.redact(string(out))),
	}
	if refused != nil {
		ev.Ended, ev.Err = burnin.EndedLost, []byte(e.secrets.redact(refused.Error())+"\n")
	}
	if err := e.Store.Add(ev); err != nil {
		e.Log.Warn("what was seen while the host started is not kept", "probe", probe, "err", err)
	}
}

const (
	// backlogPause ends what a BMC sends at once of what it had kept, and backlogWithin is
	// how long after the beginning that may come.
	backlogPause  = time.Second
	backlogWithin = 30 * time.Second
)

// newestBytes keeps the newest of what is written. Some BMCs begin with what the console
// had shown before anybody watched: what comes early and in one go is told apart from
// what is live by burnin.ConsoleLive, so that a crash of last week is none of today.
type newestBytes struct {
	start time.Time

	mu   sync.Mutex
	buf  []byte
	last time.Time // of a write
	live bool
}

func (b *newestBytes) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.last.IsZero() && now.Sub(b.start) > backlogWithin || !b.last.IsZero() && now.Sub(b.last) >= backlogPause {
		b.begin()
	}
	b.last = now
	b.buf = append(b.buf, p...)
	if len(b.buf) > 2*consoleBytes {
		b.buf = b.newest()
	}
	return len(p), nil
}

// begin marks that what follows is live.
func (b *newestBytes) begin() {
	if !b.live {
		b.live = true
		b.buf = append(b.buf, "\n"+burnin.ConsoleLive+"\n"...)
	}
}

// newest cuts what is too old; that the rest is live is said again.
func (b *newestBytes) newest() []byte {
	cut := b.buf[max(0, len(b.buf)-consoleBytes):]
	mark := []byte("\n" + burnin.ConsoleLive + "\n")
	if len(cut) < len(b.buf) && b.live && !bytes.Contains(cut, mark) {
		return append(mark, cut...)
	}
	return bytes.Clone(cut)
}

// Bytes are the newest, at most consoleBytes and the mark. All is backlog where nothing
// came since.
func (b *newestBytes) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.buf) > 0 {
		b.begin()
	}
	return b.newest()
}
