package main

import (
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/rackproof/rackproof/provision"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
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
	return &lines{print: c.app.progress, sel: sel, last: map[string]string{}}
}

// lines prints one line to stderr for every change of a machine's state or step.
type lines struct {
	print func(format string, args ...any)
	sel   provision.Selector
	last  map[string]string
}

func (l *lines) event(r *provision.Run, e provision.Event) {
	m := r.Find(e.Machine)
	if m == nil || !l.sel.Match(m) || m.Runnable() && m.Step == "" { // between its last step and its result
		return
	}
	now := string(m.State) + " " + m.Step
	if m.State != provision.StateRun {
		now += " " + m.Line()
	}
	if l.last[e.Machine] == now {
		return
	}
	l.last[e.Machine] = now
	l.print("%s", strings.TrimRight(clock(e.At)+" "+pad(m.Machine.Name, 12)+" "+pad(short(m.State), 10)+" "+pad(m.Step, 10)+" "+fit(m.Line(), lineWidth), " "))
}

func (*lines) close() {}

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
	c := *r // the machines are read by the screen while the run goes on
	c.Machines = append([]provision.MachineRun(nil), r.Machines...)
	l.program.Send(&c)
}

func (l *live) close() {
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
	case tick:
		return s, everySecond()
	}
	return s, nil
}

func (s screen) View() tea.View {
	if s.run == nil || s.run.Batch == nil {
		return tea.NewView("")
	}
	text := header(s.run) + tableOf(s.run, s.sel)
	rows := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if s.height > 2 && len(rows) > s.height-1 { // you first: what does not fit is what is well
		rows = append(rows[:s.height-2], "…")
	}
	return tea.NewView(strings.Join(rows, "\n"))
}
