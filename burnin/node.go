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

	mu   sync.Mutex
	seen *bootSeen // of the last boot that was looked at
}

// bootSeen is what probes need to know of a boot of the node.
type bootSeen struct {
	facts  *Facts
	survey *survey
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
	f, _, err := askNode(ctx, n.Shell, tools(n.Probes, append(more, "sudo")...), nil)
	return f, err
}

// Collect runs the probes of a phase and returns their evidence in the order of
// the probes. What a probe found, or that it could not run, is evidence; the error
// is about the way to the node, and then the evidence is what there was until then.
func (n *Node) Collect(ctx context.Context, phase Phase) ([]*Evidence, error) {
	return n.collect(ctx, phase, nil, nil)
}

// look returns what is known of the node, and asks where nothing is. The node says
// itself when that has become too old: nothing of a phase runs in another boot.
func (n *Node) look(ctx context.Context) (*bootSeen, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen != nil {
		return n.seen, nil
	}
	f, s, err := askNode(ctx, n.Shell, tools(n.Probes, "sudo"), n.Probes)
	if err != nil {
		return nil, err
	}
	n.seen = &bootSeen{f, s}
	return n.seen, nil
}

// forget makes the next look ask again.
func (n *Node) forget(old *bootSeen) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == old {
		n.seen = nil
	}
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
	return "set -- " + quoteWords(args) + nodeMark + verb + "\n" + strings.TrimPrefix(script, "\n")
}

func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellQuote(w)
	}
	return strings.Join(quoted, " ")
}

// NodeCall reads a command line that a Node sends and that is no probe: "facts"
// (arguments: tools, and "instances PROBE", "version PROBE"), "phase" (see PhaseJobs),
// and the verbs of nodeside.sh. ok is false for every other line.
func NodeCall(line string) (verb string, args []string, ok bool) {
	rest, ok := strings.CutPrefix(line, "set -- ")
	if !ok {
		return "", nil, false
	}
	args, rest, err := shellWords(rest)
	if err != nil {
		return "", nil, false
	}
	verb, ok = strings.CutPrefix(rest, strings.TrimPrefix(nodeMark, " "))
	verb, _, _ = strings.Cut(verb, "\n")
	return verb, args, ok
}

func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellWords takes off s what shellQuote joined with blanks; rest begins with what is
// not quoted.
func shellWords(s string) (words []string, rest string, err error) {
	for s = strings.TrimLeft(s, " "); strings.HasPrefix(s, "'") || strings.HasPrefix(s, `\'`); s = strings.TrimLeft(s, " ") {
		var word strings.Builder
		for s != "" && s[0] != ' ' {
			if rest, ok := strings.CutPrefix(s, `\'`); ok {
				word.WriteByte('\'')
				s = rest
				continue
			}
			if s[0] != '\'' {
				return nil, s, fmt.Errorf("word not quoted at %.20q", s)
			}
			inner, rest, ok := strings.Cut(s[1:], "'")
			if !ok {
				return nil, s, errors.New("quote not closed")
			}
			word.WriteString(inner)
			s = rest
		}
		words = append(words, word.String())
	}
	return words, s, nil
}
