package burnin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Node is a booted machine, reached through a Shell. It is a Source. Set the
// fields before the first use; safe for concurrent use then.
type Node struct {
	Shell    Shell
	Origin   Origin            // FromSSH or FromLocal
	Probes   []ProbeSpec       // usually Probes()
	Profile  *profiles.Profile // commands depend on it; nil where none is known
	Progress func(Progress)    // may be nil
	Log      *slog.Logger      // may be nil

	mu      sync.Mutex
	surveys map[string]*survey // by boot id
}

// Progress says what is going on, for a line on a terminal or an event.
type Progress struct {
	Phase Phase
	Doing string // a probe, or in the phase load a load: "nvidia-smi", "stress-ng"
	Done  int
	Total int           // probes of the phase; 0 = not known
	Left  time.Duration // of a load; 0 = not known
}

// Facts asks the node about itself. more are tools to look for beside those of
// the probes.
func (n *Node) Facts(ctx context.Context, more ...string) (*Facts, error) {
	return askFacts(ctx, n.Shell, tools(n.Probes, append(more, "sudo")...))
}

// Collect runs the probes of a phase and returns their evidence in the order of
// the probes. What a probe found, or that it could not run, is evidence; the error
// is about the way to the node, and then the evidence is what there was until then.
func (n *Node) Collect(ctx context.Context, phase Phase) ([]*Evidence, error) {
	return n.collect(ctx, phase, nil, nil)
}

// surveyed returns the survey of the current boot.
func (n *Node) surveyed(ctx context.Context, f *Facts) (*survey, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.surveys[f.BootID]; s != nil {
		return s, nil
	}
	var there []ProbeSpec
	for _, p := range n.Probes {
		if f.Has(p.Tool) {
			there = append(there, p)
		}
	}
	s, err := askSurvey(ctx, n.Shell, there)
	if err != nil {
		return nil, err
	}
	if n.surveys == nil {
		n.surveys = map[string]*survey{}
	}
	n.surveys[f.BootID] = s
	return s, nil
}

func (n *Node) profile() *profiles.Profile {
	if n.Profile == nil {
		return &profiles.Profile{}
	}
	return n.Profile
}

func (n *Node) log() *slog.Logger {
	if n.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return n.Log
}

func (n *Node) tell(p Progress) {
	if n.Progress != nil {
		n.Progress(p)
	}
}

// nodeMark ends the first line of every command line of ours that is no probe.
const nodeMark = " #rackproof "

// nodeLine makes a command line of ours: the first line sets the arguments of the
// script and says what it is for, so that a simulated node can answer in its place.
func nodeLine(verb string, args []string, script string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = shellQuote(a)
	}
	return "set -- " + strings.Join(quoted, " ") + nodeMark + verb + "\n" + strings.TrimPrefix(script, "\n")
}

// NodeCall reads a command line that a Node sends and that is no probe: "facts"
// (arguments: tools), "survey" (arguments: "instances PROBE", "version PROBE"), and
// the verbs of nodeside.sh. ok is false for every other line.
func NodeCall(line string) (verb string, args []string, ok bool) {
	head, _, _ := strings.Cut(line, "\n")
	rest, ok := strings.CutPrefix(head, "set -- ")
	if !ok {
		return "", nil, false
	}
	words, verb, ok := cutLast(rest, nodeMark)
	if !ok {
		return "", nil, false
	}
	args, err := shellWords(words)
	return verb, args, err == nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellWords splits what shellQuote joined with blanks.
func shellWords(s string) ([]string, error) {
	var words []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimLeft(s, " ") {
		var word strings.Builder
		for s != "" && s[0] != ' ' {
			if rest, ok := strings.CutPrefix(s, `\'`); ok {
				word.WriteByte('\'')
				s = rest
				continue
			}
			if s[0] != '\'' {
				return nil, fmt.Errorf("word not quoted at %.20q", s)
			}
			inner, rest, ok := strings.Cut(s[1:], "'")
			if !ok {
				return nil, errors.New("quote not closed")
			}
			word.WriteString(inner)
			s = rest
		}
		words = append(words, word.String())
	}
	return words, nil
}
