package main

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/rackproof/rackproof/provision"
)

func isTerminal(stream any) bool {
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
	done    chan struct{}
}

func newLive(w io.Writer, sel provision.Selector) *live {
	l := &live{
		program: tea.NewProgram(screen{sel: sel}, tea.WithOutput(w), tea.WithInput(nil), tea.WithoutSignalHandler()),
		done:    make(chan struct{}),
	}
	go func() {
		defer close(l.done)
		_, _ = l.program.Run() // a terminal that cannot be drawn on is no reason to end the run
	}()
	return l
}

func (l *live) event(r *provision.Run, _ provision.Event) {
	l.program.Send(snapshot(r))
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
	run    *provision.Run
	height int
}

type tick time.Time

// closing clears the screen for what is printed next.
type closing struct{}

func (s screen) Init() tea.Cmd { return everySecond() }

func everySecond() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) })
}

func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case *provision.Run:
		s.run = msg
	case tea.WindowSizeMsg:
		s.height = msg.Height
	case closing:
		s.run = nil
	case tick:
		return s, everySecond()
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
