package burnin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// stream keeps what comes off the node while a load runs, one .part file for each
// file of the node. Its length is where to go on, so another process of the same
// run continues it without a gap or a repeat.
type stream struct {
	dir  string
	size map[string]int64
}

// partName lists the files of the node that are fetched.
var partName = regexp.MustCompile(`^(units/[a-z0-9-]+/(out|err)|samples/[a-z0-9-]+)$`)

// streamFolder and streamIDFile, the id of the folder on the node that is fetched.
const (
	streamFolder = ".stream"
	streamIDFile = ".id"
)

// streamID is the id of the node's folder of which we have fetched a part.
func streamID(s *Store) string {
	b, err := os.ReadFile(s.path(filepath.Join(string(PhaseLoad), streamFolder, streamIDFile)))
	if err != nil {
		return ""
	}
	return string(b)
}

func openStream(s *Store, id string) (*stream, error) {
	folder := filepath.Join(string(PhaseLoad), streamFolder)
	st := &stream{dir: s.path(folder), size: map[string]int64{}}
	if err := s.write(filepath.Join(folder, streamIDFile), []byte(id)); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(st.dir)
	if err != nil {
		return nil, fmt.Errorf("stream off the node: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("stream off the node: %w", err)
		}
		st.size[strings.ReplaceAll(e.Name(), "+", "/")] = info.Size()
	}
	return st, nil
}

func (s *stream) path(file string) string {
	return filepath.Join(s.dir, strings.ReplaceAll(file, "/", "+"))
}

func (s *stream) offsets() map[string]int64 { return s.size }

// take appends what a poll brought.
func (s *stream) take(chunks []chunk) error {
	for _, c := range chunks {
		if !partName.MatchString(c.file) {
			return fmt.Errorf("stream off the node: unexpected file %.80q", c.file)
		}
		if c.offset != s.size[c.file] {
			return fmt.Errorf("stream off the node: %s continues at %d, want %d", c.file, c.offset, s.size[c.file])
		}
		f, err := os.OpenFile(s.path(c.file), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("stream off the node: %w", err)
		}
		n, err := f.Write(c.data)
		s.size[c.file] += int64(n)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("stream off the node: %w", err)
		}
	}
	return nil
}

// read returns what was fetched of a file, nothing when it was empty.
func (s *stream) read(file string) ([]byte, error) {
	b, err := os.ReadFile(s.path(file))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// finish turns what was fetched into evidence: samples beside the full capture of
// their probe, the output of every load, and last the list of units.
func (r *loadRun) finish(by SpanEnd, dead ...string) error {
	if err := r.finishSamples(); err != nil {
		return err
	}
	var units []unitState
	if r.last != nil {
		units = r.last.units
	}
	var list strings.Builder
	for _, l := range slices.Concat(r.alone, r.loads) {
		for _, s := range r.stretchesOf(l) {
			u := unitOf(units, s.unit())
			if err := r.finishLoad(l, s, u, by); err != nil {
				return err
			}
			fmt.Fprintf(&list, "%s %s\n", s.unit(), u.words())
		}
	}
	for _, d := range r.dropped() {
		fmt.Fprintf(&list, "dropped at %s: GPU %s %s: %s\n", d.At.Format(time.RFC3339), d.Address, d.UUID, d.Why)
	}
	if by != SpanDone {
		fmt.Fprintf(&list, "interrupted: %s\n", by)
	}
	if r.last != nil && r.last.ended != "" && r.last.ended != endedDone {
		fmt.Fprintf(&list, "ended by the node: %s\n", r.last.ended)
	}
	err := errors.Join(r.finishFollow(), r.record(by, dead))
	if err != nil {
		return err
	}
	err = r.Store.Add(&Evidence{
		Probe: loadsProbe, Phase: PhaseLoad, Command: nodeSideName, Source: r.node.Origin, Started: r.began,
		BootID: r.boot, Seconds: time.Since(r.began).Seconds(), Exit: new(int), Ended: EndedExit, Out: []byte(list.String()),
	})
	return errors.Join(err, os.RemoveAll(r.stream.dir))
}

// nodeSideName is the command of evidence that our own script on the node gave.
const nodeSideName = "nodeside.sh poll"

func (r *loadRun) finishSamples() error {
	for _, p := range r.sampled() {
		raw, err := r.stream.read("samples/" + samplePrefix + p.Name)
		if err != nil {
			return err
		}
		samples, err := ParseSamples(raw)
		if err != nil && !errors.Is(err, errCutSample) { // the sampler was ended while it wrote
			r.note(fmt.Sprintf("samples of %s: %v", p.Name, err))
		}
		if len(samples) == 0 {
			continue
		}
		e, err := r.Store.evidence(PhaseLoad, p.Name)
		if err != nil {
			return err
		}
		if e == nil { // sampled only: the samples are all there is
			e = &Evidence{
				Probe: p.Name, Phase: PhaseLoad, Command: sampleCommand(p, r.node), Source: r.node.Origin,
				Started: samples[0].At.Add(-r.skew), NodeClock: samples[0].At.UTC().Format(time.RFC3339), BootID: r.boot, StandIn: r.facts.StandsIn(p.Tool), Exit: new(int), Ended: EndedExit,
				Seconds: samples[len(samples)-1].At.Sub(samples[0].At).Seconds(),
			}
		}
		e.Samples = samples
		if err := r.Store.Add(e); err != nil {
			return err
		}
	}
	return nil
}

func (r *loadRun) finishLoad(l Load, s stretch, u unitState, by SpanEnd) error {
	command := r.command(l)
	if s.N > 1 {
		command = r.commandOf(l, s)
	}
	e := &Evidence{
		Probe: l.Name, Instance: s.instance(), Phase: PhaseLoad, Command: command, Source: r.node.Origin,
		Started: r.began, BootID: r.boot, StandIn: r.facts.StandsIn(l.Tool), Seconds: u.seconds, Ended: EndedLost,
	}
	if !u.started.IsZero() {
		e.Started, e.NodeClock = u.started.Add(-r.skew), u.started.Format(time.RFC3339)
	}
	ran := r.seen != nil && r.seen.state(s.unit()) == "runs"
	if ran && u.seconds == 0 && !u.started.IsZero() {
		e.Seconds = max(r.seen.At.Sub(e.Started).Seconds(), 0)
	}
	switch {
	case ran && by != SpanDone && by != SpanReboot: // its end was no doing of its own, whatever its exit status
		e.Ended = EndedSignal
	case u.state == "exit" && u.exit > 128 && by == SpanStop: // stopped before anybody saw it run
		e.Ended = EndedSignal
	case u.state == "exit":
		e.Ended, e.Exit = EndedExit, &u.exit
	case u.state == "gone":
		e.Ended = EndedSignal
	}
	var err1, err2 error
	e.Out, err1 = r.stream.read("units/" + s.unit() + "/out")
	e.Err, err2 = r.stream.read("units/" + s.unit() + "/err")
	return errors.Join(err1, err2, r.Store.Add(e))
}

func unitOf(units []unitState, name string) unitState {
	for _, u := range units {
		if u.name == name {
			return u
		}
	}
	return unitState{name: name, state: "unknown"}
}

func (u unitState) words() string {
	if u.state == "exit" {
		return fmt.Sprintf("exit %d after %.0f s", u.exit, u.seconds)
	}
	return u.state
}
