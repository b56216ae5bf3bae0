package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const freshPassword = "fr3sh-Passw0rd-9"

// ledger keeps what a journal would, and dies before or after one of its events.
type ledger struct {
	t       *testing.T
	facts   Facts
	intents map[string]Intent
	text    strings.Builder // all that was written
	left    int             // events until it dies; below 0 = never
	after   bool            // it dies with the event kept
}

var errKilled = errors.New("killed")

func (l *ledger) Record(_ context.Context, kind Kind, data any) error {
	l.left--
	if l.left == -1 && !l.after {
		return errKilled
	}
	text, err := json.Marshal(data)
	if err != nil {
		l.t.Error(err)
	}
	fmt.Fprintf(&l.text, "%s %s\n", kind, text)
	switch v := data.(type) {
	case Facts:
		maps.Copy(l.facts, v)
	case Intent:
		l.intents[v.Act] = Intent{Act: v.Act, Mark: v.Mark, Acted: kind == Acted}
	}
	if l.left == -1 {
		return errKilled
	}
	return nil
}

// life is one process that does the step.
func (l *ledger) life(b *Bench, m Machine, step Step, logged *strings.Builder) error {
	log := slog.New(b.Secrets.Handler(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	e := &Env{
		Run: "job", Attempt: 1, Batch: &Batch{Name: "job", Limits: Limits{Poll: Duration(1e6)}}, Machine: m.withNewPassword(l.facts), Log: log,
		Facts: l.facts.Clone(), rec: l, intents: maps.Clone(l.intents), open: b.openers(), secrets: b.Secrets,
	}
	err := doneDoDone(l.t.Context(), StepInfo{Step: step}, Task{}, e, nil)
	_ = e.Close()
	if err == nil {
		maps.Copy(l.facts, news(l.facts, e.Facts))
	}
	return err
}

// A change of password that is killed at any of its events, or whose answer is lost, ends
// with the new password in force, set once; and no password is written anywhere.
func TestCredentialsKilled(t *testing.T) {
	for _, faults := range [][]string{nil, {"lost-response=account.password*1"}} {
		for events := -1; events < 4; events++ {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/%d/%v", faults, events, after), func(t *testing.T) {
					bmc := rotationBMC(t, false, faults...)
					b, m := credentialsBench(t, bmc)
					var logged strings.Builder
					l := &ledger{t: t, facts: Facts{}, intents: map[string]Intent{}, left: events, after: after}
					first := l.life(b, m, credentials{}, &logged)
					l.left = -1
					if first != nil {
						if !strings.Contains(first.Error(), errKilled.Error()) {
							t.Fatal(first)
						}
						if err := l.life(b, m, credentials{}, &logged); err != nil {
							t.Fatalf("after a kill: %v", err)
						}
					}
					if n := bmc.Acts()["account.password"]; n != 1 || l.facts[FactPassword] != passwordNew {
						t.Errorf("set %d times, fact %q", n, l.facts[FactPassword])
					}
					if n := bmc.Unauthorized(); n > 1 {
						t.Errorf("%d logins were refused", n)
					}
					if err := l.life(b, m, verifyLogin{}, &logged); err != nil {
						t.Errorf("the next step: %v", err)
					}
					checkNoSecret(t, b.State, l.text.String()+logged.String())
					if bmc.OpenSessions() != 0 {
						t.Errorf("%d sessions stay open", bmc.OpenSessions())
					}
				})
			}
		}
	}
}

func checkNoSecret(t *testing.T, state, written string) {
	t.Helper()
	err := filepath.Walk(state, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		written += string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{tagPassword, freshPassword} {
		if i := strings.Index(written, secret); i >= 0 {
			t.Errorf("a password was written behind %q", written[max(0, i-80):i])
		}
	}
}

// verifyLogin is a step that needs a session.
type verifyLogin struct{}

func (verifyLogin) Name() string { return "login" }
func (verifyLogin) Done(ctx context.Context, e *Env) (bool, error) {
	_, err := e.Client(ctx)
	return err == nil, err
}
func (verifyLogin) Do(context.Context, *Env) (Facts, error) { return nil, nil }

func credentialsBench(t *testing.T, bmc *redfishtest.BMC) (*Bench, Machine) {
	t.Helper()
	t.Setenv("OLD", tagPassword)
	t.Setenv("NEW", freshPassword)
	t.Setenv("WHO", "ADMIN")
	b := &Bench{State: t.TempDir(), Secrets: &Secrets{}, Log: slog.New(slog.DiscardHandler)}
	return b, Machine{Name: "m1", BMC: bmc.Addr(), Poll: Duration(1e6), Login: BMCLogin{User: "env:WHO", Password: "env:OLD", New: "env:NEW", TLS: "insecure"}}
}

// A machine whose password an earlier run has set is logged in to with the new one; one
// whose BMC keeps the old, or takes neither, is STUCK and not locked out.
func TestCredentialsElsewhere(t *testing.T) {
	t.Run("set before", func(t *testing.T) {
		bmc := rotationBMC(t, false)
		b, m := credentialsBench(t, bmc)
		setPassword(t, bmc, tagPassword, freshPassword)
		acts := bmc.Acts()["account.password"]
		l := &ledger{t: t, facts: Facts{}, intents: map[string]Intent{}, left: -1}
		if err := l.life(b, m, credentials{}, &strings.Builder{}); err != nil {
			t.Fatal(err)
		}
		if l.facts[FactPassword] != passwordNew || bmc.Acts()["account.password"] != acts || bmc.Unauthorized() != 1 {
			t.Errorf("facts %v, %d refused", l.facts, bmc.Unauthorized())
		}
	})
	t.Run("the answer lies", func(t *testing.T) {
		bmc := rotationBMC(t, false, "lost-effect=account.password*1")
		b, m := credentialsBench(t, bmc)
		l := &ledger{t: t, facts: Facts{}, intents: map[string]Intent{}, left: -1}
		err := l.life(b, m, credentials{}, &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), "kept the old password") || l.facts[FactPassword] != "" {
			t.Fatalf("%v, facts %v", err, l.facts)
		}
		if err := l.life(b, m, verifyLogin{}, &strings.Builder{}); err != nil {
			t.Errorf("the old password does not count any more: %v", err)
		}
	})
	t.Run("neither", func(t *testing.T) {
		bmc := rotationBMC(t, false)
		b, m := credentialsBench(t, bmc)
		setPassword(t, bmc, tagPassword, "c0lleagues-0wn-Word")
		l := &ledger{t: t, facts: Facts{}, intents: map[string]Intent{}, left: -1}
		for range 2 { // the second asks nobody
			var stuck *Stuck
			if err := l.life(b, m, credentials{}, &strings.Builder{}); !errors.As(err, &stuck) || !strings.Contains(stuck.Why, "refused too") {
				t.Errorf("error %v", err)
			}
		}
		if n := bmc.Unauthorized(); n != 2 {
			t.Errorf("%d logins were refused, want one for each password", n)
		}
	})
	t.Run("too long for the BMC", func(t *testing.T) {
		bmc := rotationBMC(t, true)
		b, m := credentialsBench(t, bmc)
		t.Setenv("NEW", strings.Repeat("aB3-", 6))
		l := &ledger{t: t, facts: Facts{}, intents: map[string]Intent{}, left: -1}
		if err := l.life(b, m, credentials{}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "nothing was changed") || bmc.Acts()["account.password"] != 0 {
			t.Errorf("error %v, acts %v", err, bmc.Acts())
		}
	})
}
