package burnin

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:embed nodeside.sh
var nodeSide string

// Claim says who wants to work on a node, and how long the node waits for a sign
// of life before it ends everything.
type Claim struct {
	Run     string
	Attempt int
	Owner   string        // person@host, shown to whoever is refused
	DeadMan time.Duration // 0 = 15 minutes
	Root    string        // folder on the node; "" = /run/rackproof, or a private one where we are not root
}

// defaultDeadMan lets a laptop start again, and ends the load of one that was carried away.
const defaultDeadMan = 15 * time.Minute

// HeldError says that another run works on the node.
type HeldError struct {
	Owner, Run, Host string
	Since            string
	Silent           time.Duration // since its last sign of life
	Patience         time.Duration // how long the node waits for one; 0 = there is no folder of that run
	Busy             bool          // its loads still run
}

// Error names the owner and the way on.
func (e *HeldError) Error() string {
	next := "Wait for it, or ask them."
	if !e.Busy && e.Silent > e.Patience {
		next = "It is dead: free the node with `rackproof burnin --release`, then start again."
	}
	silent := "silent for " + e.Silent.String()
	if e.Silent > 240*time.Hour {
		silent = "never seen since"
	}
	return fmt.Sprintf("%s is in work by %s (run %s since %s, %s). %s", e.Host, e.Owner, e.Run, e.Since, silent, next)
}

// nodeFolder is our folder on a node: what runs there runs without us, until the
// node has not heard of us for a while. See nodeside.sh.
type nodeFolder struct {
	shell Shell
	dir   string
	id    string // of this folder among all there ever were
	ended string // why its units were ended, when they were: endedDone …
	again bool   // it was there: we pick up what another process of this run began
}

var runID = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// acquire takes the node for a run, or picks up what this run has there.
func acquire(ctx context.Context, sh Shell, c Claim) (*nodeFolder, error) {
	if !runID.MatchString(c.Run) {
		return nil, fmt.Errorf("run name %q cannot be a folder name: want letters, digits, . _ -", c.Run)
	}
	if c.DeadMan <= 0 {
		c.DeadMan = defaultDeadMan
	}
	args := []string{
		c.Root, fmt.Sprintf("%s-%d", c.Run, c.Attempt), oneLine(c.Owner), c.Run, strconv.Itoa(c.Attempt),
		strconv.Itoa(int(c.DeadMan.Seconds())),
	}
	answer, err := sideCall(ctx, sh, "acquire", args)
	if err != nil {
		return nil, err
	}
	fields := answer.fields
	switch {
	case answer.has("held"):
		return nil, heldBy(fields)
	case answer.has("missing"):
		return nil, fmt.Errorf("the node has no %s, which keeps a load running when the connection is lost: install it (util-linux, mawk)", fields["missing"])
	case answer.has("foreign"):
		return nil, fmt.Errorf("%s on the node belongs to somebody else: remove it, or log in as its owner", fields["foreign"])
	case !answer.has("end") || fields["dir"] == "":
		return nil, answer.broken("acquire")
	}
	return &nodeFolder{shell: sh, dir: fields["dir"], id: fields["id"], ended: fields["ended"], again: fields["state"] == "same"}, nil
}

// ReleaseNode ends what a dead run, or the given one, has left on the node. A
// foreign run that still gives signs of life is a *HeldError. freed names what was
// there; "" when nothing was.
func ReleaseNode(ctx context.Context, sh Shell, root, run string) (freed string, err error) {
	answer, err := sideCall(ctx, sh, "release", []string{root, run})
	switch {
	case err != nil:
		return "", err
	case answer.has("held"):
		return "", heldBy(answer.fields)
	case answer.has("free"):
		return "", nil
	case !answer.has("end"):
		return "", answer.broken("release")
	}
	return fmt.Sprintf("run %s of %s", answer.fields["run"], answer.fields["owner"]), nil
}

// HaltNode ends the loads of a run that another process may watch: it sees that
// they were stopped. stuck is set when a process does not end.
func HaltNode(ctx context.Context, sh Shell, root, run string) (stuck bool, err error) {
	answer, err := sideCall(ctx, sh, "halt", []string{root, run})
	switch {
	case err != nil:
		return false, err
	case !answer.has("end") && !answer.has("free"):
		return false, answer.broken("halt")
	}
	return answer.has("stuck"), nil
}

func heldBy(fields map[string]string) error {
	silent, _ := strconv.Atoi(fields["silent"])
	patience, _ := strconv.Atoi(fields["patience"])
	return &HeldError{
		Owner: fields["owner"], Run: fields["run"], Host: fields["host"], Since: fields["since"],
		Silent: time.Duration(silent) * time.Second, Patience: time.Duration(patience) * time.Second, Busy: fields["busy"] != "",
	}
}

// start starts a unit, unless it was started before.
func (f *nodeFolder) start(ctx context.Context, name, kind, command string, longest time.Duration) error {
	out, err := f.call(ctx, "start", strings.NewReader(command), name, kind, strconv.Itoa(int(longest.Seconds())), strconv.Itoa(len(command)))
	if err != nil {
		return err
	}
	if a := parseAnswer(out); !a.has("started") && !a.has("exists") {
		return a.broken("start " + name)
	}
	return nil
}

// Why units were ended. A load that had run its time is over, whoever asks later;
// one that was cut proves nothing and begins anew.
const (
	endedDone    = "done"
	endedStop    = "stop"
	endedDeadMan = "dead-man"
)

// stop ends all units within five seconds, and writes down why. stuck is set when
// one does not end.
func (f *nodeFolder) stop(ctx context.Context, why string) (stuck bool, err error) {
	out, err := f.call(ctx, "stop", nil, why)
	if err != nil {
		return false, err
	}
	a := parseAnswer(out)
	if !a.has("end") {
		return false, a.broken("stop")
	}
	return a.has("stuck"), nil
}

// errNoFolder means that the folder is gone: the node was rebooted, or somebody
// has released it.
var errNoFolder = errors.New("our folder on the node is gone")

func (f *nodeFolder) call(ctx context.Context, verb string, stdin *strings.Reader, args ...string) (Output, error) {
	c := Command{Deadline: askLimit}
	if stdin != nil {
		c.Stdin = stdin
	}
	c.Line = nodeLine(verb, append([]string{f.dir}, args...),
		`[ -r "$1/side.sh" ] || { echo nofolder; exit 0; }`+"\n"+`exec /bin/sh "$1/side.sh" `+verb+` "$@"`)
	out, err := f.shell.Run(ctx, c)
	if err != nil {
		return out, err
	}
	if bytes.HasPrefix(out.Out, []byte("nofolder")) {
		return out, errNoFolder
	}
	return out, nil
}

// sideCall runs a verb before there is a folder: the script travels on stdin.
func sideCall(ctx context.Context, sh Shell, verb string, args []string) (answer, error) {
	out, err := sh.Run(ctx, Command{
		Line:     nodeLine(verb, args, `SIDE=$(cat); export SIDE; exec /bin/sh -c "$SIDE" rackproof `+verb+` "$@"`),
		Stdin:    strings.NewReader(nodeSide),
		Deadline: askLimit,
	})
	if err != nil {
		return answer{}, err
	}
	return parseAnswer(out), nil
}

// answer is what a verb printed: lines of a key and a value.
type answer struct {
	fields map[string]string
	out    Output
}

func parseAnswer(out Output) answer {
	a := answer{fields: map[string]string{}, out: out}
	for line := range bytes.Lines(out.Out) {
		key, value, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), " ")
		a.fields[key] = value
	}
	return a
}

func (a answer) has(key string) bool { _, ok := a.fields[key]; return ok }

func (a answer) broken(verb string) error {
	return fmt.Errorf("the node did not %s (%s)%s", verb, endWords(a.out), firstLine(a.out.Err))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
