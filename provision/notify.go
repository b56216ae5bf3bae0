package provision

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// NotifySchema names the form of a Notice.
const NotifySchema = "rackproof/notify/1"

// NotifyWish is where the one message about a run goes: to a web hook, or to the
// standard input of a command. Neither is there where nothing is sent.
type NotifyWish struct {
	URL     Ref    `json:"url,omitempty"` // a reference, because such an address is a secret
	Command string `json:"command,omitempty"`
}

// Stated reports whether a message is wanted.
func (n NotifyWish) Stated() bool { return n != NotifyWish{} }

func (n NotifyWish) String() string { return or(string(n.URL), "command "+n.Command) }

// Kinds of a Notice.
const (
	NoticeEnd   = "end"   // nothing of the run goes on without people
	NoticeBrake = "brake" // a change was stopped, and goes to no further machine
)

// Notice is the message.
type Notice struct {
	Schema   string          `json:"schema"`
	ID       string          `json:"id"` // of this very message: one that comes twice has the same
	Kind     string          `json:"kind"`
	Run      RunID           `json:"run"`
	Batch    string          `json:"batch"`
	At       time.Time       `json:"at"`
	Text     string          `json:"text"` // one line for people
	Exit     int             `json:"exit"`
	States   map[State]int   `json:"states"`
	Machines []NoticeMachine `json:"machines"` // but for those that PASSED

	needs []string // what people must do, each by a word of its own
}

// NoticeMachine is one machine of a Notice.
type NoticeMachine struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Why   string `json:"why,omitempty"`
	Next  string `json:"next,omitempty"`
}

// Braked says why a change goes to no further machine, "" where none was stopped.
func (r *Run) Braked() string {
	total := models(r.Batch)
	for _, model := range slices.Sorted(maps.Keys(r.Rollouts)) {
		step, before := changedBefore(model, func(key string) bool { _, done := r.Rollouts[key]; return done })
		if why := r.Rollouts[model].stopped(total[model], 0, step, before); why != "" {
			return step + ": " + why
		}
	}
	return ""
}

// Notice is what there is to say about the run now; ok reports whether there is anything.
// It is the same message, by its ID, until a machine stands otherwise or wants something
// else, or the brake has been let go.
func (r *Run) Notice() (n Notice, ok bool) {
	if r.Batch == nil || r.Cancelled {
		return n, false
	}
	n = Notice{
		Schema: NotifySchema, Kind: NoticeEnd, Run: r.ID, Batch: r.Batch.Name, At: r.Last.UTC(), Exit: r.ExitCode(Selector{}),
		Text: string(r.ID) + ": " + r.Summary(Selector{}), States: map[State]int{}, Machines: []NoticeMachine{},
	}
	story := []string{}
	if why := r.Braked(); why != "" {
		n.Kind, n.Text = NoticeBrake, string(r.ID)+": "+why
		story = append(story, fmt.Sprint(r.Released))
	} else if !r.Settled() {
		return n, false
	}
	for i := range r.Machines {
		m := &r.Machines[i]
		n.States[m.State]++
		if n.Kind == NoticeEnd {
			need := m.need()
			story = append(story, fmt.Sprint(m.Machine.Name, " ", m.Attempt, " ", m.State, " ", need))
			if need != "" {
				n.needs = append(n.needs, need)
			}
		}
		if !m.Passed() || m.State == StateDeviations {
			n.Machines = append(n.Machines, NoticeMachine{Name: m.Machine.Name, State: m.State, Why: or(m.said(), m.Why), Next: m.Next})
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(story, "\n")))
	n.ID = string(r.ID) + "/" + n.Kind + "/" + hex.EncodeToString(sum[:6])
	return n, true
}

// need is what a person must do about a machine, by one word that is the same as long as
// that is; "" where nobody must do anything.
func (m *MachineRun) need() string {
	if !m.Waits() {
		return ""
	}
	what := []string{m.Machine.Name, string(m.State), m.Step, m.Do}
	if m.Hands != nil && len(m.Hands.Do) > 0 {
		what = append(what, m.Hands.Where, m.Hands.Do[0].Do)
	}
	sum := sha256.Sum256([]byte(strings.Join(what, "\n")))
	return hex.EncodeToString(sum[:6])
}

// toldBefore reports whether a notice says nothing new: it was sent, or it is of a run
// that has come to rest again, of which people must do nothing but what they were told
// already. A run of which nobody must do anything any more is news. standing is the line
// of how it stood.
func toldBefore(log string, n Notice) (told bool, standing string) {
	known := false
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, notifyStanding) {
			known, standing = true, line
		}
	}
	if strings.Contains("\n"+log, "\n"+n.ID+" "+notifySent+"\n") {
		return true, standing
	}
	if n.Kind == NoticeBrake || !known {
		return false, standing
	}
	was := strings.Fields(standing)[1:]
	news := slices.ContainsFunc(n.needs, func(need string) bool { return !slices.Contains(was, need) })
	return !news && (len(n.needs) > 0 || len(was) == 0), standing
}

// Notifier sends the message of a run once, and another only when people must do something
// else than they were told, or nothing any more. That it is about to be sent, and that it was
// taken, is kept beside the run: a process that is killed in between sends it again, with
// the same ID, so that whoever gets it can tell. More than that no sender can promise.
type Notifier struct {
	State   string // folder
	Secrets *Secrets
	Client  *http.Client // nil = http.DefaultClient
}

const (
	notifyPatience = 10 * time.Second
	notifySent     = "sent"
	notifyStanding = "standing" // before what people must do, as it stood when the run last came to rest
)

// Tell sends what there is to say about the run, unless that was said before. An error
// says that it was not taken; it is sent anew when the run is looked at the next time.
func (n Notifier) Tell(ctx context.Context, r *Run) (sent bool, err error) {
	notice, ok := r.Notice()
	if !ok || !r.Batch.Notify.Stated() {
		return false, nil
	}
	path := filepath.Join(RunDir(n.State, r.ID), "notified")
	before, _ := os.ReadFile(path) // not there: nothing was told
	standing := strings.Join(append([]string{notifyStanding}, notice.needs...), " ") + "\n"
	if told, as := toldBefore(string(before), notice); told {
		if notice.Kind == NoticeBrake || as == standing {
			return false, nil
		}
		return false, appendDurably(path, standing)
	}
	body, err := json.Marshal(notice)
	if err != nil {
		return false, err
	}
	if err := appendDurably(path, notice.ID+" sending\n"); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, notifyPatience)
	defer cancel()
	if err := n.send(ctx, r.Batch.Notify, notice.ID, []byte(n.Secrets.redact(string(body)))); err != nil {
		return false, fmt.Errorf("notify: %s", n.Secrets.redact(err.Error()))
	}
	line := notice.ID + " " + notifySent + "\n"
	if notice.Kind == NoticeEnd {
		line += standing
	}
	return true, appendDurably(path, line)
}

func (n Notifier) send(ctx context.Context, to NotifyWish, id string, body []byte) error {
	if to.Command != "" {
		return feedCommand(ctx, to.Command, string(body)+"\n")
	}
	address, err := to.URL.Resolve(ctx)
	if err != nil {
		return err
	}
	if n.Secrets != nil {
		n.Secrets.Add(address)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s is no address of a web hook", to.URL) // the error would repeat it
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", id)
	client := n.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(req)
	if ue, ok := errors.AsType[*url.Error](err); ok { // without the address in it
		err = ue.Err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", to.URL, err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s: answered %s", to.URL, answer.Status)
	}
	return errors.Join(err, answer.Body.Close())
}

// appendDurably adds a line to a file of mode 0600.
func appendDurably(path, line string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Sync(), f.Close())
}

// notify takes where the message goes.
func (l *loader) notify(n ast.Node) {
	to := &l.batch.Notify
	l.fields(n, "notify", l.notifyKeys(to))
	if (to.URL == "") == (to.Command == "") {
		l.add(l.start(n), "notify: state either url (a reference: env:NAME, file:PATH, command:…) or command")
	}
}

func (l *loader) notifyKeys(to *NotifyWish) field {
	return field{
		"url":     func(n ast.Node) { l.ref(&to.URL)(n); to.URL = l.fromHere(to.URL); l.notifyRef(n, to.URL) },
		"command": l.str(&to.Command),
	}
}

// notifyRef refuses what no process that carries or watches a run can resolve.
func (l *loader) notifyRef(n ast.Node, r Ref) {
	if kind, _, err := r.parts(); err == nil && (kind == "csv" || kind == "secret") {
		l.problem(n, "notify: %s is of a machine or a worker, and the message is of the run: write env:NAME, file:PATH or command:…", r)
	} else if err == nil {
		if err := r.Check(""); err != nil {
			l.problem(n, "notify: %v", err)
		}
	}
}

// stepNotify is how a workflow names the message: behind its last step. It is of the run,
// and no step of a machine.
const stepNotify = "notify"

// notifyStep takes the last item of a workflow where that is the message.
func (l *loader) notifyStep(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		if n.GetToken().Value != stepNotify {
			return false
		}
		if _, stated := l.top[stepNotify]; !stated {
			l.problem(n, "notify says not where to: write {step: notify, url: env:HOOK} or {step: notify, command: …}, or the batch's own key notify")
		}
		return true
	}
	i := slices.IndexFunc(l.pairs(n, "a step"), func(p *ast.MappingValueNode) bool { return keyOf(p) == "step" })
	if i < 0 || l.pairs(n, "a step")[i].Value.GetToken().Value != stepNotify {
		return false
	}
	to := &NotifyWish{}
	f := l.notifyKeys(to)
	f["step"] = func(ast.Node) {}
	l.fields(n, "notify", f)
	switch _, stated := l.top[stepNotify]; {
	case stated:
		l.add(l.start(n), "notify is stated twice: in the workflow and as a key of the batch")
	case (to.URL == "") == (to.Command == ""):
		l.add(l.start(n), "notify: state either url (a reference: env:NAME, file:PATH, command:…) or command")
	default:
		l.batch.Notify = *to
	}
	return true
}
