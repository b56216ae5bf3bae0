package provision

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
)

const planted = "hunter2-planted"

func TestNoSecretReachesALog(t *testing.T) {
	var out bytes.Buffer
	s := &Secrets{}
	log := slog.New(s.Handler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	s.Add(planted)
	type config struct{ User, Password string }
	early := log.With("password", planted).WithGroup("bmc").With(slog.Group("login", "secret", planted))
	early.Info("login with "+planted, "err", fmt.Errorf("POST: %w", errors.New("bad password "+planted)))
	log.Debug("config", "cfg", config{"root", planted}, "ptr", &config{"root", planted}, "n", 7)
	if strings.Contains(out.String(), planted) {
		t.Errorf("the secret is in the log:\n%s", out.String())
	}
	if n := strings.Count(out.String(), redactedText); n != 6 {
		t.Errorf("%d redactions, want 6:\n%s", n, out.String())
	}
	if !strings.Contains(out.String(), "n=7") {
		t.Errorf("a plain number is gone:\n%s", out.String())
	}
}

func TestNoSecretReachesTheJournal(t *testing.T) {
	s := &Secrets{}
	s.Add(planted)
	cause := errors.New("sentinel")
	for _, err := range []error{
		&Stuck{Why: "said " + planted, Next: "type " + planted},
		&Hands{Why: planted},
		&Fault{Why: planted, Line: planted},
		fmt.Errorf("step: %w %s", cause, planted),
		fmt.Errorf("wrapped: %w", &Stuck{Why: planted}),
	} {
		got := s.clean(err)
		if strings.Contains(got.Error(), planted) {
			t.Errorf("%T prints the secret: %v", err, got)
		}
		if waits(got) != waits(err) || errors.Is(got, cause) != errors.Is(err, cause) {
			t.Errorf("%T is another error without its secret: %T", err, got)
		}
	}
	if plain := errors.New("plain"); !errors.Is(s.clean(plain), plain) {
		t.Error("an error without a secret was changed")
	}
}

func TestAKeyIsHiddenLineByLine(t *testing.T) {
	s := &Secrets{}
	s.Add("-----BEGIN\nabcdef\n-----END\n")
	if got := s.Redact("it says abcdef here"); got != "it says "+redactedText+" here" {
		t.Error(got)
	}
}

// A secret is hidden as JSON, quotes and addresses spell it, whole where it holds another,
// and in what a person is told to do.
func TestSpellingsOfASecret(t *testing.T) {
	s := &Secrets{}
	s.Add("Pl4n")
	s.Add(`Pl4n"t\<&>%ed One`)
	for _, text := range []string{
		`Pl4n"t\<&>%ed One`, `{"p":"Pl4n\"t\\\u003c\u0026\u003e%ed One"}`, `{"p":"Pl4n\"t\\<&>%ed One"}`, "https://h/Pl4n%22t%5C%3C&%3E%25ed%20One", "q=Pl4n%22t%5C%3C%26%3E%25ed+One",
	} {
		if got := s.Redact(text); strings.Contains(got, "Pl4n") || strings.Contains(got, "One") || !strings.Contains(got, redactedText) {
			t.Errorf("%s is written %s", text, got)
		}
	}
	var h *Hands
	if err := s.clean(&Hands{Why: "w", Do: []burnin.Advice{{Do: "type Pl4n"}}}); !errors.As(err, &h) || strings.Contains(h.Do[0].Do, "Pl4n") {
		t.Errorf("told to do %+v", h)
	}
	if f := s.facts(Facts{FactNote: "said Pl4n", FactBMCAddr: "Pl4n.example"}); f[FactNote] != "said "+redactedText || f[FactBMCAddr] != "Pl4n.example" {
		t.Errorf("facts %v", f)
	}
}

// Of two secrets that overlap in a text the longer one is hidden whole.
func TestOverlappingSecrets(t *testing.T) {
	s := &Secrets{}
	s.Add("xy1")
	s.Add("1long-secret")
	for text, want := range map[string]string{
		"xy1long-secret": "xy" + redactedText,
		"xy1 and 1long":  redactedText + " and 1long",
		"nothing of it":  "nothing of it",
	} {
		if got := s.Redact(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A line of the log in a hall of a thousand machines with their own passwords, beside one of a single machine.
func BenchmarkRedact(b *testing.B) {
	for _, machines := range []int{1, 1000} {
		b.Run(fmt.Sprint(machines, "-machines"), func(b *testing.B) {
			s := &Secrets{}
			for i := range machines {
				s.Add(fmt.Sprintf("factory-%04d-Pa55", i))
			}
			for b.Loop() {
				s.Redact("BIOS differs: Intel VT for Directed I/O (VT-d) is Enable, wanted Disable; set at the next reset of r12u07")
			}
		})
	}
}
