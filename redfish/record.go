package redfish

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const redacted = "[redacted]"

// secretWords are parts of the names of fields that hold secrets.
var secretWords = []string{
	"passw", "passphrase", "token", "secret", "privatekey", "credential", "community", "communities",
	"sessionkey", "authkey", "authenticationkey", "encryptionkey", "presharedkey",
	"ipmikey", "v3key", // hashes of a password (iDRAC9)
	"licensekey", "licencekey", "productkey", "activationkey",
}

// settingWords are values that such a field has where it is a setting about a secret:
// PasswordStatus "Unlocked" (R750), LoadAuthentication_Key "Disabled" (SYS-821GE).
var settingWords = []string{"enabled", "disabled", "locked", "unlocked", "yes", "no", "none", "set", "not set", "installed", "not installed", "setup", "always"}

// secretText finds such a field in a body that is no JSON.
var secretText = regexp.MustCompile(`(?i)("[^"]*(?:` + strings.Join(secretWords, "|") + `)[^"]*"\s*:\s*)"[^"]*"`)

// keySigns are what writes a field's name differently from BMC to BMC.
var keySigns = strings.NewReplacer("_", "", "-", "", " ", "")

func secretKey(name string) bool {
	name = strings.ToLower(keySigns.Replace(name))
	return !strings.Contains(name, "@") && slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// recorder keeps the bodies that were read, as evidence. They are handed out
// without secrets.
type recorder struct {
	mu      sync.Mutex
	secrets []string          // literal values that must not appear anywhere
	bodies  map[string][]byte // as read
}

func newRecorder(secrets ...string) *recorder {
	r := &recorder{bodies: map[string][]byte{}}
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies[uri] = body
}

func (r *recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.bodies)
}

func (r *recorder) all() map[string]json.RawMessage {
	r.mu.Lock()
	bodies := maps.Clone(r.bodies)
	r.mu.Unlock()
	out := make(map[string]json.RawMessage, len(bodies))
	for uri, body := range bodies {
		out[r.literal(uri)] = r.redact(body)
	}
	return out
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
			hidden := secretKey(key) || password && (key == "CurrentValue" || key == "DefaultValue")
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
		if v == "" || slices.Contains(settingWords, strings.ToLower(v)) {
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
