package main

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/rackproof/rackproof/provision"
)

func isTerminal(stream any) bool {
	if s, ok := stream.(*shared); ok {
		stream = s.to
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is that of the terminal on stdout, or of a pipe.
func (a *app) width() int {
	if f, ok := a.stdout.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > tableWidth {
			return w
		} else if err == nil {
			return tableWidth
		}
	}
	return pipeWidth
}

// display shows a run while it is under way.
type display interface {
	event(*provision.Run, provision.Event)
	close()
}

func (c *carry) display(sel provision.Selector) display {
	if c.live {
		return newLive(c.app.stdout, sel)
	}
	return newLines(c.app.progress, sel)
}

// lineWidth is the longest text of one line about a machine.
const lineWidth = 100

// live redraws the table on a terminal. It takes no keys: the program is ended as
// every other, by an interrupt.
type live struct {
	program *tea.Program
	seen    *mirror
	done    chan struct{}
}

func newLive(w io.Writer, sel provision.Selector) *live {
	seen := &mirror{}
	l := &live{
		seen:    seen,
		program: tea.NewProgram(screen{sel: sel, seen: seen}, tea.WithOutput(w), tea.WithInput(nil), tea.WithoutSignalHandler()),
		done:    make(chan struct{}),
	}
	go func() {
		defer close(l.done)
		_, _ = l.program.Run() // a terminal that cannot be drawn on is no reason to end the run
	}()
	return l
}

func (l *live) event(r *provision.Run, e provision.Event) { l.seen.follow(r, e) }

// mirror is a run in a copy that is read while the run goes on. An event changes one
// machine of it, not a thousand.
type mirror struct {
	mu  sync.Mutex
	run *provision.Run
	at  map[string]int
}

// follow takes in what e has changed in r.
func (c *mirror) follow(r *provision.Run, e provision.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, known := c.at[e.Machine]
	if c.run == nil || !known || i >= len(r.Machines) || len(r.Machines) != len(c.run.Machines) || r.Machines[i].Machine.Name != e.Machine {
		c.run, c.at = snapshot(r), map[string]int{}
		for i := range r.Machines {
			c.at[r.Machines[i].Machine.Name] = i
		}
		return
	}
	machines := c.run.Machines
	machines[i] = r.Machines[i]
	machines[i].Facts = maps.Clone(machines[i].Facts)
	now := *r
	now.Machines = machines
	c.run = &now
}

// snapshot is the run as it was last seen, nil before its first event.
func (c *mirror) snapshot() *provision.Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == nil {
		return nil
	}
	now := *c.run
	now.Machines = slices.Clone(c.run.Machines)
	return &now
}

// snapshot is r in a copy that can be read while the run goes on.
func snapshot(r *provision.Run) *provision.Run {
	c := *r
	c.Machines = slices.Clone(r.Machines)
	for i := range c.Machines {
		c.Machines[i].Facts = maps.Clone(c.Machines[i].Facts)
	}
	return &c
}

func (l *live) close() {
	l.program.Send(closing{}) // the final table comes in its place
	l.program.Quit()
	<-l.done
}

// screen is the model of the live table.
type screen struct {
	sel    provision.Selector
	seen   *mirror
	run    *provision.Run
	height int
	closed bool
}

type tick time.Time

// closing clears the screen for what is printed next.
type closing struct{}

func (s screen) Init() tea.Cmd { return soon() }

// soon is when the screen is drawn again: often enough for an eye.
func soon() tea.Cmd {
	return tea.Tick(250*time.Millisecond, func(t time.Time) tea.Msg { return tick(t) })
}

func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.height = msg.Height
	case closing:
		s.run, s.closed = nil, true
	case tick:
		if !s.closed {
			s.run = s.seen.snapshot()
		}
		return s, soon()
	}
	return s, nil
}

func (s screen) View() tea.View {
	if s.run == nil || s.run.Batch == nil {
		return tea.NewView("")
	}
	text := header(s.run) + tableOf(s.run, s.sel, tableStyle{width: tableWidth})
	rows := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if s.height > 2 && len(rows) > s.height-1 { // you first: what does not fit is what is well
		rows = append(rows[:s.height-2], "…")
	}
	return tea.NewView(strings.Join(rows, "\n"))
}
