package burnin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// BurnOptions says what to burn in, how, and where the evidence goes.
type BurnOptions struct {
	Node    *Node
	Sources []Source // asked in every phase beside the node; a BMC reader
	Store   *Store
	Machine Machine // machine.json; its BootID is filled in
	Spec    []byte  // resolved bytes, stored with those of Node.Profile

	Run       string // whose work this is: the same name picks up what it has on the node
	Attempt   int
	Owner     string // person@host
	Rackproof string // version, for the record

	Duration time.Duration // of the load; 0 = look only: phase before, nothing else
	Soak     profiles.Soak // what an interruption does to it; without hours it begins anew
	Carried  *Carried      // hours of the attempts before, see CarryOn; may be nil
	Reboots  int           // restarts that Reboots will make behind it
	Loads    []Load        // usually Loads()
	// Narrow, where it is not nil, is shown what was measured before the load, and leaves
	// out of Loads what a retest need not measure again. Asked anew it answers the same.
	Narrow func(*Record, []Load) ([]Load, error)
	OnFail profiles.OnFail // what a fault under load does; "" = the loads on the other parts go on
	// Freeze keeps what the BMC knows of a fault under load; may be nil. What it returns
	// is stored, what it stores itself it does not return.
	Freeze   func(context.Context) ([]*Evidence, error)
	DeadMan  time.Duration // loads end by themselves this long after we were last heard; 0 = 15 minutes
	Root     string        // folder on the node, "" = the usual one
	Resume   bool          // what is stored already is not measured again
	Coverage Coverage      // what the record can prove; "" = host

	Log *slog.Logger // may be nil
}

// Errors of Burn that a caller decides by.
var (
	// ErrDetach, as the cause of a cancelled context, leaves the load running on the
	// node for another process of the same run. Any other cause ends it.
	ErrDetach = errors.New("detached: the load goes on")
	// ErrGPUBusy means that somebody else's work runs on the GPUs.
	ErrGPUBusy = errors.New("somebody else's GPU work runs on the node")
)

// Burn collects the evidence of one attempt: before, under load, after. It judges
// nothing. Everything is stored as soon as it is known, so a call with Resume goes
// on where an earlier one ended, in whichever process. A node that fails under
// load is evidence and no error; an error is about reaching it, or about us.
func Burn(ctx context.Context, o BurnOptions) error {
	b := &burn{BurnOptions: o, node: o.Node, all: o.Loads}
	if b.Log == nil {
		b.Log = slog.New(slog.DiscardHandler)
	}
	if err := b.open(ctx); err != nil {
		return err
	}
	err := b.phases(ctx)
	for errors.Is(err, errRebooted) { // the hours go on in the next boot
		err = b.phases(ctx)
	}
	if why := context.Cause(ctx); err != nil && why != nil && !errors.Is(err, why) {
		err = fmt.Errorf("%w: %w", why, err) // whatever was under way when it came
	}
	if err != nil {
		return err
	}
	return b.setMeta(func(m *Meta) { m.Ended = time.Now() })
}

func (b *burn) phases(ctx context.Context) error {
	err := b.phase(ctx, PhaseBefore)
	if err == nil && b.Duration > 0 && b.Narrow != nil {
		err = b.narrow()
	}
	if err == nil && b.Duration > 0 {
		if err = b.load(ctx); err == nil {
			if err = b.phase(ctx, PhaseAfter); err == nil {
				err = b.tryMIG(ctx)
			}
		}
	}
	return err
}

func (b *burn) narrow() error {
	rec, err := b.Store.Record()
	if err == nil {
		b.Loads, err = b.Narrow(rec, b.all)
	}
	return err
}

// burn is one call of Burn.
type burn struct {
	BurnOptions
	node  *Node
	facts *Facts
	all   []Load // before Narrow

	mu   sync.Mutex
	meta Meta
}

// open prepares the folder. What an earlier boot has measured is put aside: counters
// start at zero with every boot, so a change over two boots means nothing.
func (b *burn) open(ctx context.Context) (err error) {
	old, there, err := b.Store.Meta()
	if err != nil {
		return err
	}
	if b.facts, err = b.node.Facts(ctx, b.loadTools()...); err != nil {
		return err
	}
	if there && b.Resume {
		b.meta = old
		err = b.shelveDue()
		if err == nil && b.Store.bootID() != b.facts.BootID {
			err = b.otherBoot()
		}
	} else {
		b.meta = Meta{Simulated: b.facts.Simulated(), Run: b.Run, Machine: b.Machine.Name, Attempt: b.Attempt, Coverage: b.coverage(), Started: time.Now(), Rackproof: b.Rackproof}
		err = errors.Join(b.Store.forget(PhaseBefore, PhaseLoad, PhaseAfter), b.Store.forgetSpans())
	}
	if err != nil {
		return err
	}
	b.Machine.BootID, b.meta.Reboots, b.meta.Carried = b.facts.BootID, b.Reboots, b.Carried
	var profile []byte
	if b.node.Profile != nil {
		profile = b.node.Profile.Bytes()
	}
	return errors.Join(b.setMeta(nil), b.Store.SetMachine(b.Machine), b.Store.SetProfile(profile, b.Spec))
}

// loadTools are the programs of the loads.
func (b *burn) loadTools() []string {
	tools := []string{bugReportTool}
	for _, l := range b.Loads {
		tools = append(tools, l.Tool)
	}
	return tools
}

func (b *burn) coverage() Coverage {
	if b.Coverage == "" {
		return CoverHost
	}
	return b.Coverage
}

// phase collects a phase, without what is stored already.
func (b *burn) phase(ctx context.Context, phase Phase) error {
	skip := func(name string) bool { return b.Store.Has(phase, name) }
	if _, err := b.node.collect(ctx, phase, skip, b.Store.Add); err != nil {
		return fmt.Errorf("phase %s: %w", phase, err)
	}
	for _, s := range b.Sources {
		got, err := s.Collect(ctx, phase)
		for _, e := range got {
			if !skip(e.Name()) {
				err = errors.Join(err, b.Store.Add(e))
			}
		}
		if err != nil {
			return fmt.Errorf("phase %s: %w", phase, err)
		}
	}
	return nil
}

// note writes down what went wrong on the way.
func (b *burn) note(text string) {
	b.Log.Warn(text, "machine", b.Machine.Name)
	b.keep(text)
}

// remark writes down what happened on the way as it should.
func (b *burn) remark(text string) {
	b.Log.Info(text, "machine", b.Machine.Name)
	b.keep(text)
}

func (b *burn) keep(text string) {
	stamped := time.Now().UTC().Format(time.RFC3339) + " " + text
	err := b.setMeta(func(m *Meta) { m.Notes = append(m.Notes, stamped) })
	if err != nil {
		b.Log.Error("note not stored", "err", err)
	}
}

func (b *burn) setMeta(change func(*Meta)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if change != nil {
		change(&b.meta)
	}
	return b.Store.SetMeta(b.meta)
}

// bootID is the boot in which the stored evidence was measured; "" when nothing
// was yet.
func (s *Store) bootID() string {
	m, err := s.Machine()
	if err != nil {
		return ""
	}
	return m.BootID
}

// forget removes the evidence of phases.
func (s *Store) forget(phases ...Phase) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range phases {
		if !slices.Contains([]Phase{PhaseBefore, PhaseLoad, PhaseAfter}, p) {
			return fmt.Errorf("phase %s cannot be measured again", p)
		}
		if err := os.RemoveAll(s.path(string(p))); err != nil {
			return fmt.Errorf("forget evidence: %w", err)
		}
	}
	return nil
}
