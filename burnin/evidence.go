package burnin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Phase is the part of an attempt in which a probe ran. Reboot cycles have the
// phases boot-01, boot-02 and so on.
type Phase string

// Phases of an attempt in their order.
const (
	PhaseBMC    Phase = "bmc"    // asked of the BMC by provision
	PhaseBefore Phase = "before" // machine up and idle
	PhaseLoad   Phase = "load"   // under load
	PhaseAfter  Phase = "after"  // load ended
)

// Origin says how evidence came to us.
type Origin string

// Origins of evidence.
const (
	FromSSH    Origin = "ssh"
	FromLocal  Origin = "local"
	FromBMC    Origin = "bmc"
	FromScript Origin = "script" // printed by `capture --script` on a host we cannot reach
	FromLoose  Origin = "loose"  // a file handed to `judge --probe`; exit status and time unknown
)

// Ended says how a command ended.
type Ended string

// Ways in which a command ends. Only EndedExit comes with an exit status.
const (
	EndedExit    Ended = "exit"
	EndedSignal  Ended = "signal"
	EndedTimeout Ended = "timeout" // deadline passed; the process may still hang on the node
	EndedLost    Ended = "lost"    // connection lost while it ran
	EndedNoTool  Ended = "no_tool" // the program is not on the node
	EndedUnknown Ended = "unknown" // loose file
)

// Evidence is exactly what was run and what it printed. Its JSON form is the
// `.json` file beside the raw `.out` and `.err` files (rackproof/evidence/1).
type Evidence struct {
	Probe       string    `json:"probe"`
	Instance    string    `json:"instance,omitempty"` // nvme0n1 of nvme-smart@nvme0n1
	Phase       Phase     `json:"phase"`
	Command     string    `json:"command"`
	Source      Origin    `json:"source"`
	Started     time.Time `json:"started,omitzero"` // our clock, UTC, milliseconds
	NodeClock   string    `json:"node_clock,omitempty"`
	BootID      string    `json:"boot_id,omitempty"`
	Seconds     float64   `json:"seconds"`
	Exit        *int      `json:"exit"`
	Ended       Ended     `json:"ended"`
	ToolVersion string    `json:"tool_version,omitempty"`
	StandIn     bool      `json:"stand_in,omitempty"`  // printed by a stand-in, not by the real tool
	Simulated   bool      `json:"simulated,omitempty"` // printed by the simulated rack
	SHA256Out   string    `json:"sha256_out"`
	SHA256Err   string    `json:"sha256_err"`

	Out     []byte   `json:"-"`
	Err     []byte   `json:"-"`
	Samples []Sample `json:"-"` // of a probe repeated while a load runs

	sample bool   // this is one of Samples, on its way to the parser
	span   string // folder of the earlier span of which this is, see Span
}

// Sample is one output of a probe that is repeated under load.
type Sample struct {
	At  time.Time // node clock as the sampler wrote it, UTC
	Out []byte
}

// Ref names evidence as findings cite it: "load/pci-sysfs", "before/nvme-smart@nvme0".
// What an earlier span has left has its folder before it: "span-01/load/gpu-burn".
func (e *Evidence) Ref() string {
	ref := string(e.Phase) + "/" + e.Name()
	if e.span != "" {
		return e.span + "/" + ref
	}
	return ref
}

// Name is the file name without suffix: probe, or probe@instance.
func (e *Evidence) Name() string {
	if e.Instance == "" {
		return e.Probe
	}
	return e.Probe + "@" + e.Instance
}

// Seal sets both hashes from the raw output.
func (e *Evidence) Seal() {
	e.SHA256Out, e.SHA256Err = sum(e.Out), sum(e.Err)
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// endMark is the last line our wrapper prints behind the output of every command
// that it ran to its end: absence of errors is only believed when it is there.
const endMark = "#rackproof-end "

// Wrap returns the shell line that runs command and prints the end mark behind
// its output. The exit status stays that of command.
func Wrap(command string) string {
	return "{ " + command + "\n}; rc=$?; printf '\\n" + endMark + "%s\\n' \"$rc\"; exit $rc"
}

// Body returns the output without our end mark, and whether the mark was there:
// a capture that was cut, or that we did not wrap, is not known to be complete.
// What we did wrap and was cut ends with its last whole line: "Link 17: 2" is no
// rate.
func (e *Evidence) Body() (body []byte, complete bool) {
	body, _, ok := cutEndMark(e.Out)
	if i := bytes.LastIndexByte(body, '\n'); !ok && i >= 0 && e.wrapped() && !closed(body) {
		body = body[:i+1]
	}
	return body, ok
}

// closed reports whether an output ends with a bracket, as whole JSON and XML do.
func closed(body []byte) bool { return bytes.ContainsAny(body[len(body)-1:], "}]>") }

// cutEndMark takes our end mark off an output; rc is the exit status in it.
func cutEndMark(out []byte) (body []byte, rc int, ok bool) {
	trimmed := bytes.TrimRight(out, "\r\n")
	i := bytes.LastIndexByte(trimmed, '\n')
	rest, ok := bytes.CutPrefix(trimmed[i+1:], []byte(endMark))
	if !ok {
		return out, 0, false
	}
	rc, err := strconv.Atoi(string(rest))
	if err != nil {
		return out, 0, false
	}
	return out[:max(i, 0)], rc, true
}

// Usable reports why the output cannot be believed at all, or nil. A non-zero
// exit is not by itself a reason: smartctl and nvidia-smi carry findings in it, so
// each parser decides with Exit in hand.
func (e *Evidence) Usable() error {
	switch e.Ended {
	case EndedNoTool:
		return errors.New(notThere(toolOf(e.Probe)))
	case EndedTimeout:
		return fmt.Errorf("%s did not answer within %.0f s", e.Probe, e.Seconds)
	case EndedLost:
		if why := bytes.TrimSpace(e.Err); e.Source == FromBMC && len(why) > 0 { // our reader's own words
			return errors.New(string(why))
		}
		return fmt.Errorf("the connection was lost while %s ran", e.Probe)
	case EndedSignal:
		return fmt.Errorf("%s was killed by a signal", e.Probe)
	case EndedExit, EndedUnknown:
	}
	if body, _ := e.Body(); len(bytes.TrimSpace(body)) == 0 && len(bytes.TrimSpace(e.Err)) == 0 {
		return fmt.Errorf("%s printed nothing", e.Probe)
	}
	return nil
}
