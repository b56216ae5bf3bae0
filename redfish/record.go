package redfish

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"sync"
)

const redacted = "[redacted]"

var (
	secretKey  = regexp.MustCompile(`(?i)passw|passphrase|token|secret|private_?key|credential|community|session_?key|auth_?key|encryption_?key|preshared`)
	secretText = regexp.MustCompile(`(?i)("[^"]*(?:passw|passphrase|token|secret|private_?key|credential|community)[^"]*"\s*:\s*)"[^"]*"`)
)

// recorder keeps the bodies that were read, without secrets, as evidence.
type recorder struct {
	mu      sync.Mutex
	secrets []string // literal values that must not appear anywhere
	bodies  map[string]json.RawMessage
}

func newRecorder(secrets ...string) *recorder {
	r := &recorder{bodies: map[string]json.RawMessage{}}
	for _, s := range secrets {
		r.hide(s)
	}
	return r
}

// hide adds a literal secret, such as a session token. Very short ones are left
// to the redaction by key: replacing every "a" would ruin the evidence.
func (r *recorder) hide(secret string) {
	if len(secret) < 4 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = append(r.secrets, secret)
}

// keep stores a body under its URI. A body that is no JSON is kept as text, so
// that a firmware fault can be shown to the vendor.
func (r *recorder) keep(uri string, body []byte) {
	out := r.redact(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies[uri] = out
}

func (r *recorder) all() map[string]json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.bodies)
}

func (r *recorder) redact(body []byte) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // a figure in evidence must come out digit for digit
	var value any
	if err := dec.Decode(&value); err != nil || dec.More() {
		value = map[string]any{"unparsed": secretText.ReplaceAllString(string(body), `$1"`+redacted+`"`)}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.scrub(value)); err != nil {
		return json.RawMessage(`{"unparsed":"` + redacted + `"}`)
	}
	return json.RawMessage(bytes.TrimSpace(out.Bytes()))
}

// scrub walks a decoded value and takes the secrets out.
func (r *recorder) scrub(value any) any {
	switch v := value.(type) {
	case map[string]any:
		// A BIOS registry entry of type Password says so beside its value.
		password := v["Type"] == "Password"
		out := make(map[string]any, len(v))
		for key, inner := range v {
			hidden := secretKey.MatchString(key) && !strings.Contains(key, "@")
			hidden = hidden || password && (key == "CurrentValue" || key == "DefaultValue")
			out[r.literal(key)] = r.scrubField(hidden, inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.scrub(v[i])
		}
		return out
	case string:
		return r.literal(v)
	case json.Number:
		if s := r.literal(v.String()); s != v.String() {
			return s
		}
	}
	return value
}

func (r *recorder) scrubField(hidden bool, value any) any {
	if !hidden {
		return r.scrub(value)
	}
	switch v := value.(type) {
	case string:
		if v == "" {
			return v // that none is set is worth knowing and tells nothing
		}
		return redacted
	case []any:
		return redacted
	}
	return r.scrub(value)
}

// literal replaces known secrets inside any text, also in errors.
func (r *recorder) literal(s string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, redacted)
	}
	return s
}
