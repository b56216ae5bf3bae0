package burnin

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

const (
	migTrialName = "mig-trial"
	// migTrialTime bounds the trial: switching and resetting takes a GPU about half a
	// minute, each of its instances a few seconds. No further GPU is begun after it.
	migTrialTime = 30 * time.Minute
	// migState is where the node keeps what a trial has changed and not put back. It is
	// not in the folder of the run, which is removed with it.
	migState = "/run/rackproof-mig"
)

//go:embed mig_trial.sh
var migTrialScript string

// MIGTrial is what the trial of the profile's layout printed, behind all else: see
// mig_trial.sh. It stands in the phase after.
var MIGTrial = Probe[MIGTrialLog]{
	Spec:  ProbeSpec{Name: migTrialName, Tool: "nvidia-smi", AnyExit: true},
	Parse: parseMIGTrial,
}

// MIGTrialLog is every command of the trial with what it printed, in their order.
type MIGTrialLog struct {
	Refused  string // why nothing was changed; "" = it was
	Cut      string // why it was ended before its time; "" = it was not
	Steps    []MIGStep
	Holders  []MIGHolder
	Complete bool // it came to its end and said how the GPUs are left
}

// MIGStep is one command. A GPU is named by its UUID; what is asked of all has none.
type MIGStep struct {
	GPU  string
	Name string   // mode-1, mode, reset, create, list, cuda@MIG-…, destroy-compute, destroy, mode-0, after-modes, after-list …
	Out  string   // both streams, as printed
	Exit Opt[int] // not set: the log was cut before it ended
}

// MIGHolder has a device file of NVIDIA open when a reset was refused.
type MIGHolder struct{ GPU, PID, Name string }

// String is the name as people look for it: "nv-hostengine (2180)".
func (h MIGHolder) String() string {
	if h.PID == "-" {
		return h.Name
	}
	return h.Name + " (" + h.PID + ")"
}

var migMark = regexp.MustCompile(`^#mig-trial (\S+) ?(.*)$`)

func parseMIGTrial(e *Evidence) (MIGTrialLog, error) {
	body, _ := e.Body()
	var l MIGTrialLog
	var open *MIGStep
	known := false
	for line := range strings.Lines(string(body)) {
		m := migMark.FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
		if m == nil {
			if open != nil {
				open.Out += line
			}
			continue
		}
		known = true
		rest := strings.Fields(m[2])
		switch {
		case m[1] == "rc" && open != nil:
			if n, err := strconv.Atoi(m[2]); err == nil {
				open.Exit = Opt[int]{V: n, Set: true, Text: m[2]}
			}
			open = nil
		case m[1] == "run" && len(rest) >= 2:
			l.Steps = append(l.Steps, MIGStep{GPU: strings.TrimPrefix(rest[0], "all"), Name: rest[1]})
			open = &l.Steps[len(l.Steps)-1]
		case m[1] == "holder" && len(rest) >= 3:
			l.Holders = append(l.Holders, MIGHolder{GPU: rest[0], PID: rest[1], Name: strings.Join(rest[2:], " ")})
		case m[1] == "refused":
			l.Refused = m[2]
		case m[1] == "cut":
			l.Cut = m[2]
		case m[1] == "end":
			l.Complete = strings.HasSuffix(line, "\n")
		}
	}
	if !known {
		return MIGTrialLog{}, errors.New("mig-trial: this is no log of a trial" + firstLine(append(body, e.Err...)))
	}
	return l, nil
}

// step is the last of that name and GPU that ended, or nil. One that a cut log does not
// show whole is none.
func (l *MIGTrialLog) step(gpu, name string) *MIGStep {
	for i := len(l.Steps) - 1; i >= 0; i-- {
		if s := &l.Steps[i]; s.GPU == gpu && s.Name == name && s.Exit.Set {
			return s
		}
	}
	return nil
}

// ok reports whether a command ended with status 0.
func (s *MIGStep) ok() bool { return s != nil && s.Exit.Set && s.Exit.V == 0 }

// said is the first line of what a command printed.
func (s *MIGStep) said() string {
	if s == nil {
		return ""
	}
	return firstLine([]byte(strings.TrimSpace(s.Out)))
}

// instances lists the instances of a GPU, of a step that ran nvidia-smi -L.
func (s *MIGStep) instances(gpu string) (g MIGGPU, ok bool) {
	if !s.ok() {
		return g, false
	}
	l, err := parseMIG(&Evidence{Out: []byte(s.Out), Ended: EndedUnknown})
	if err != nil {
		return g, false
	}
	for _, g := range l.GPUs {
		if g.UUID == gpu {
			return g, true
		}
	}
	return g, false
}

// migWanted are the instances of a layout in the order of the profile, which is the order
// in which they fit: "3g.40gb", "1g.10gb", "1g.10gb" of "1x 3g.40gb, 2x 1g.10gb".
func migWanted(p *profiles.Profile) ([]string, error) {
	if !p.GPU.MIGLayout.Set() || len(p.GPU.MIGLayout.Text) == 0 {
		return nil, errors.New("the profile wants no layout (gpu.mig_layout)")
	}
	var out []string
	for part := range strings.SplitSeq(p.GPU.MIGLayout.Text[0], ",") {
		m := migPart.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, fmt.Errorf("gpu.mig_layout %q: want instances as 7x 1g.10gb or 1x 3g.40gb, 4x 1g.10gb", part)
		}
		for range atoi(m[1]) {
			out = append(out, m[2])
		}
	}
	return out, nil
}

// migPart is so many instances of one profile; a GPU has at most 7.
var migPart = regexp.MustCompile(`^([1-7])x (\d+g\.\d+gb(?:[+-][a-z.]+)?)$`)

// migTrial makes the command of the trial, or one that says why there is none.
func migTrial(c Consent) func(*profiles.Profile, time.Duration) string {
	return func(p *profiles.Profile, d time.Duration) string {
		refused := c.Refused
		want, err := migWanted(p)
		switch {
		case refused != "":
		case !c.MIG:
			refused = "nobody has agreed to it"
		case err != nil:
			refused = err.Error()
		case p.GPU.MIGLeave == "":
			refused = "the profile does not say how the GPUs are to be left (gpu.mig_leave)"
		default:
			return migTrialCommand(migState, want, p.GPU.MIGLeave, d)
		}
		return Wrap("echo " + shellQuote("#mig-trial refused "+refused+"; no GPU was changed") + "; (exit 1)")
	}
}

// migTrialCommand runs the script in a session of its own: who ends all units ends what
// waits for it, and it puts the GPUs back.
func migTrialCommand(state string, want []string, leave profiles.MIGLeave, d time.Duration) string {
	vars := fmt.Sprintf("state=%s want=%s count=%d leave=%s seconds=%d\n", shellQuote(state), shellQuote(strings.Join(want, ",")), len(want), leave, seconds(d))
	return Wrap(`setsid sh -c ` + shellQuote(vars+migTrialScript) + ` mig-trial & trial=$!
trap 'kill -TERM "$trial" 2>/dev/null' TERM INT
wait "$trial"; rc=$?
while kill -0 "$trial" 2>/dev/null; do wait "$trial"; rc=$?; done
(exit $rc)`)
}
