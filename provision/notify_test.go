package provision

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// hook is a web hook that keeps what it is sent.
type hook struct {
	*httptest.Server
	got  []Notice
	keys []string
	fail bool
}

const hookPath = "/hooks/s3cret-T0ken"

func newHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var n Notice
		if err := json.Unmarshal(b, &n); err != nil || r.URL.Path != hookPath {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		h.got, h.keys = append(h.got, n), append(h.keys, r.Header.Get("Idempotency-Key"))
		if h.fail {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(h.Close)
	t.Setenv("HOOK", h.URL+hookPath)
	return h
}

func restingRun(to NotifyWish) *Run {
	return &Run{
		ID: "job", Last: time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC),
		Batch: &Batch{Name: "job", Notify: to, Workflow: "qualify", Machines: []Machine{{Name: "a", Profile: "p"}, {Name: "b", Profile: "p"}}},
		Machines: []MachineRun{
			{Machine: Machine{Name: "a"}, Attempt: 1, State: StatePassed},
			{Machine: Machine{Name: "b"}, Attempt: 1, State: StateStuck, Why: "BMC silent", Next: "rackproof resume job"},
		},
	}
}

// One message, also where the process that sent it looks again or is followed by another;
// a retest that comes to its end is another message.
func TestNotifyOnce(t *testing.T) {
	h, state := newHook(t), t.TempDir()
	run := restingRun(NotifyWish{URL: "env:HOOK"})
	for i := range 3 { // each as a new process
		sent, err := Notifier{State: state, Secrets: &Secrets{}}.Tell(t.Context(), run)
		if err != nil || sent != (i == 0) {
			t.Errorf("look %d: sent %v, %v", i, sent, err)
		}
	}
	if len(h.got) != 1 {
		t.Fatalf("%d messages", len(h.got))
	}
	n := h.got[0]
	if n.Kind != NoticeEnd || n.States[StatePassed] != 1 || len(n.Machines) != 1 || n.Machines[0].Why != "BMC silent" || n.Exit != exitNotFinished || n.ID != h.keys[0] {
		t.Errorf("message %+v, key %q", n, h.keys[0])
	}
	run.Machines[1].State, run.Machines[1].Attempt = StateRun, 2
	if sent, err := (Notifier{State: state}).Tell(t.Context(), run); sent || err != nil {
		t.Errorf("under way: %v, %v", sent, err)
	}
	run.Machines[1].State = StateFailed
	if sent, err := (Notifier{State: state}).Tell(t.Context(), run); !sent || err != nil || h.keys[0] == h.keys[1] {
		t.Errorf("behind the retest: %v, %v, keys %v", sent, err, h.keys)
	}
}

// While others wait, a repair that went well is no news, nor is a machine that wants what
// it wanted; another wish is, and that nobody must do anything any more.
func TestNotifyAsTheyRepair(t *testing.T) {
	h, state := newHook(t), t.TempDir()
	run := restingRun(NotifyWish{URL: "env:HOOK"})
	a, b := &run.Machines[0], &run.Machines[1]
	seat := func(m *MachineRun, do string) {
		m.Attempt++
		m.State, m.Hands = StateFailed, &Hands{Where: "R1", Do: []burnin.Advice{{Do: do}}}
	}
	well := func(m *MachineRun) { m.Attempt, m.State, m.Hands, m.Do, m.Why = m.Attempt+1, StatePassed, nil, "", "" }
	for i, test := range []struct {
		what string
		do   func()
		news bool
	}{
		{"both wait", func() { seat(a, "seat the DIMM") }, true},
		{"a again, the same", func() { seat(a, "seat the DIMM") }, false},
		{"a again, the next rung", func() { seat(a, "swap the DIMM") }, true},
		{"a is well", func() { well(a) }, false},
		{"looked at again", func() {}, false},
		{"a fails anew", func() { seat(a, "swap the DIMM") }, true},
		{"b is stuck otherwise", func() { b.Do = "free a session" }, true},
		{"b is well", func() { well(b) }, false},
		{"all are well", func() { well(a) }, true},
		{"tested again, all the same", func() { well(a) }, false},
	} {
		test.do()
		before := len(h.got)
		sent, err := Notifier{State: state}.Tell(t.Context(), run)
		if err != nil || sent != test.news || len(h.got)-before != map[bool]int{true: 1}[test.news] {
			t.Errorf("%d, %s: sent %v, %v", i, test.what, sent, err)
		}
	}
	seen := map[string]bool{}
	for _, key := range h.keys {
		if seen[key] {
			t.Errorf("two messages have the key %s", key)
		}
		seen[key] = true
	}
}

// A message that is not taken is an error without the address, and is sent again with the
// same ID, as one is whose sender was killed before it could write down that it was sent.
func TestNotifyFails(t *testing.T) {
	h, state := newHook(t), t.TempDir()
	h.fail = true
	run, secrets := restingRun(NotifyWish{URL: "env:HOOK"}), &Secrets{}
	for range 2 {
		if sent, err := (Notifier{State: state, Secrets: secrets}).Tell(t.Context(), run); sent || err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("sent %v, %v", sent, err)
		}
	}
	h.Close() // nobody listens: the error of the dial names the host alone
	if _, err := (Notifier{State: state}).Tell(t.Context(), run); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
	if len(h.keys) != 2 || h.keys[0] != h.keys[1] {
		t.Errorf("keys %v", h.keys)
	}
	kept, err := os.ReadFile(filepath.Join(RunDir(state, "job"), "notified"))
	if err != nil || strings.Contains(string(kept), "s3cret") || strings.Contains(string(kept), " sent\n") {
		t.Errorf("kept %q, %v", kept, err)
	}
}

// At the brake the message says what was stopped; the end of the run then is none of its own.
func TestNotifyBrake(t *testing.T) {
	h, state := newHook(t), t.TempDir()
	run := restingRun(NotifyWish{URL: "env:HOOK"})
	run.Machines[0].State = StateRun
	ro := Rollout{}.with("a", "no IOMMU").with("b", "no IOMMU")
	run.Rollouts = map[string]Rollout{rollout("firmware", run.Batch.Machines[0]): ro}
	for range 2 {
		if _, err := (Notifier{State: state}).Tell(t.Context(), run); err != nil {
			t.Error(err)
		}
		run.Machines[0].State = StateStuck // now it has come to rest
	}
	if len(h.got) != 1 || h.got[0].Kind != NoticeBrake || !strings.Contains(h.got[0].Text, "firmware: Stopped after 2 of 2: same cause (no IOMMU)") {
		t.Errorf("messages %+v", h.got)
	}
}

func TestNotifyCommand(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	run := restingRun(NotifyWish{Command: "cat >" + out})
	if sent, err := (Notifier{State: dir}).Tell(t.Context(), run); !sent || err != nil {
		t.Fatal(sent, err)
	}
	var n Notice
	b, err := os.ReadFile(out)
	if err = errors.Join(err, json.Unmarshal(b, &n)); err != nil || n.Schema != NotifySchema {
		t.Errorf("%q: %v", b, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run.Machines[1].Do = "something else"
	if sent, err := (Notifier{State: dir}).Tell(ctx, run); sent || err == nil {
		t.Errorf("cut: %v, %v", sent, err)
	}
}

func TestNewStepsInFile(t *testing.T) {
	newHook(t)
	t.Setenv("BMC_USER", "u")
	t.Setenv("BMC_PASSWORD", "old-one")
	t.Setenv("NEW_m", "new-one")
	const head = "name: a\nprofile: a40-4\ndefaults: {bmc: {new_password: 'env:NEW_{name}'}, raid: [{level: 1, drives: 2}]}\nmachines: [{name: m, bmc: 10.0.0.1}, {name: m2, bmc: {addr: 10.0.0.2, new_password: env:BMC_PASSWORD}, raid: []}]\n"
	b, err := ParseBatch("a.yaml", []byte(head+`workflow:
  steps: [preflight, verify-bmc, credentials, locate, {step: hands, say: "Plug  the cables", minutes: 5}, locate-off, raid,
    {step: secure-boot, want: off}, boot, wait-ssh, burn-in, restore-bios, power-off, report, {step: notify, url: env:HOOK}]
`), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.Flow()
	if err != nil {
		t.Fatal(err)
	}
	say, _ := w.Find("hands")
	if say.With[optSay] != "Plug the cables" || say.With[optMinutes] != "5" || b.Notify.URL != "env:HOOK" || len(w.Steps) != 14 {
		t.Errorf("%v, notify %v, %d steps", say.With, b.Notify, len(w.Steps))
	}
	m, m2 := b.Machines[0], b.Machines[1]
	if m.Login.New != "env:NEW_m" || len(m.RAID) != 1 || m.RAID[0] != (RAIDWish{Level: "RAID1", Drives: 2}) || m2.RAID == nil || len(m2.RAID) != 0 {
		t.Errorf("%+v, %v, %v", m.Login, m.RAID, m2.RAID)
	}
	var back Batch // as a journal keeps it
	text, err := json.Marshal(b)
	if err = errors.Join(err, json.Unmarshal(text, &back)); err != nil || back.Machines[1].RAID == nil || back.Own.Steps[4].With[optSay] == "" {
		t.Errorf("%v: %s", err, text)
	}
	for _, test := range []struct{ steps, want string }{
		{"[preflight, verify-bmc, hands, report]", "hands needs say"},
		{"[preflight, verify-bmc, {step: hands, tell: x}, report]", `unknown key "tell"`},
		{"[preflight, verify-bmc, locate, report]", "add locate-off"},
		{"[preflight, {step: hands, say: x}, verify-bmc, report]", "hands stands before verify-bmc"},
		{"[preflight, verify-bmc, {step: secure-boot, want: maybe}, handover, report]", "choose one of [on off]"},
		{"[preflight, verify-bmc, {step: secure-boot, want: off}, report]", "add handover or restore-bios"},
		{"[preflight, verify-bmc, {step: notify, url: env:HOOK}, report]", "stands last"},
		{"[preflight, verify-bmc, report, notify]", "says not where to"},
		{"[preflight, verify-bmc, report, {step: notify, url: env:HOOK, command: x}]", "either url"},
		{"[preflight, verify-bmc, report, {step: notify, url: 'https://hooks/s3cret'}]", "must be a reference"},
	} {
		_, err := ParseBatch("a.yaml", []byte(head+"workflow: {steps: "+test.steps+"}\n"), profiles.Open())
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s:\n%v\nwant %q", test.steps, err, test.want)
		}
	}
}
