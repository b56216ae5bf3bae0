package provision

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rackproof/rackproof/burnin"
)

// redactedText stands where a secret was.
const redactedText = "[redacted]"

// Secrets are the values that must never be written. Every value that a Ref
// resolves to is added before it is used.
type Secrets struct {
	mu     sync.RWMutex
	values []string
	anyOf  *strings.Replacer // takes all of them out in one pass, though not the longest first
}

// Add hides value from now on. Values of one or two characters are not hidden:
// they would make every text unreadable and are found out by guessing anyway.
func (s *Secrets) Add(value string) {
	if len(value) < 3 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.values, value) { // every step of a machine resolves its own again
		return
	}
	for _, v := range append([]string{value}, strings.Split(value, "\n")...) { // a key is also seen line by line
		for _, form := range spellings(v) {
			if len(form) >= 3 && !slices.Contains(s.values, form) {
				s.values = append(s.values, form)
			}
		}
	}
	// The longest first: what is left of one that holds another would be read else.
	slices.SortStableFunc(s.values, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(s.values))
	for _, v := range s.values {
		pairs = append(pairs, v, redactedText)
	}
	s.anyOf = strings.NewReplacer(pairs...)
}

// spellings are a value as it stands in text, in JSON, quoted and in an address.
func spellings(v string) []string {
	quoted := strconv.Quote(v)
	out := []string{v, quoted[1 : len(quoted)-1], url.QueryEscape(v), url.PathEscape(v)}
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(v) == nil {
			text := strings.TrimSuffix(b.String(), "\n")
			out = append(out, text[1:len(text)-1])
		}
	}
	return out
}

// freeText are the facts in which a sentence of a BMC or host may stand; the others are
// words of ours, and steps go by them.
var freeText = []string{FactNote, FactLine, FactFault, FactFaultDo, FactDiagnostics, FactHandover, FactUnmapped, FactSwap, FactVolumes}

// facts takes secrets out of those that repeat what others said.
func (s *Secrets) facts(f Facts) Facts {
	if s == nil {
		return f
	}
	for _, k := range freeText {
		if v, ok := f[k]; ok {
			f[k] = s.Redact(v)
		}
	}
	return f
}

// Redact returns text without secrets.
func (s *Secrets) Redact(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.anyOf == nil || s.anyOf.Replace(text) == text { // nearly always; a hall has thousands of secrets
		return text
	}
	for _, v := range s.values {
		text = strings.ReplaceAll(text, v, redactedText)
	}
	return text
}

// redact is Redact, also where there are no secrets.
func (s *Secrets) redact(text string) string {
	if s == nil {
		return text
	}
	return s.Redact(text)
}

// Handler wraps a slog.Handler so that no secret reaches it, wherever in a
// record it stands.
func (s *Secrets) Handler(next slog.Handler) slog.Handler { return &redactor{s, next} }

type redactor struct {
	secrets *Secrets
	next    slog.Handler
}

func (h *redactor) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h *redactor) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.secrets.Redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h *redactor) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return &redactor{h.secrets, h.next.WithAttrs(clean)}
}

func (h *redactor) WithGroup(name string) slog.Handler {
	return &redactor{h.secrets, h.next.WithGroup(name)}
}

// attr turns everything that is no plain number or time into redacted text:
// errors and structs can carry a secret inside.
func (h *redactor) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.secrets.Redact(v.String()))
	case slog.KindGroup:
		var group []slog.Attr
		for _, inner := range v.Group() {
			group = append(group, h.attr(inner))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	case slog.KindAny:
		return slog.String(a.Key, h.secrets.Redact(fmt.Sprint(v.Any())))
	default:
		return slog.Attr{Key: a.Key, Value: v}
	}
}

// clean takes secrets out of an error's texts and keeps its kind.
func (s *Secrets) clean(err error) error {
	if err == nil || s == nil {
		return err
	}
	var (
		stuck *Stuck
		hands *Hands
		fault *Fault
	)
	switch {
	case errors.As(err, &stuck):
		c := *stuck
		c.Why, c.Do, c.Next = s.Redact(c.Why), s.Redact(c.Do), s.Redact(c.Next)
		return &c
	case errors.As(err, &hands):
		c := *hands
		c.Why, c.Next, c.Where, c.Knows = s.Redact(c.Why), s.Redact(c.Next), s.Redact(c.Where), s.Redact(c.Knows)
		c.Do = s.advice(c.Do)
		return &c
	case errors.As(err, &fault):
		c := *fault
		c.Line, c.Why, c.Do = s.Redact(c.Line), s.Redact(c.Why), s.advice(c.Do)
		return &c
	}
	if text := err.Error(); s.Redact(text) != text {
		return &redactedError{s.Redact(text), err}
	}
	return err
}

func (s *Secrets) advice(rungs []burnin.Advice) []burnin.Advice {
	out := slices.Clone(rungs)
	for i := range out {
		out[i].Do, out[i].Retest = s.Redact(out[i].Do), s.Redact(out[i].Retest)
	}
	return out
}

// redactedError prints without secrets; errors.Is still sees the cause.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }
