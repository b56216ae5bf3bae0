package redfish

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	emailText   = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}`)
	privatePEM  = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`)
	accountPath = regexp.MustCompile(`(/Accounts/)([^/?#]+)`)
)

// personalKeys are fields about a person, beside e-mail addresses, which are found by
// their form; sent are those that hold what is sent to others for us.
var personalKeys = []string{
	"contact", "contactname", "contactperson", "adminphone", "servicephone", "phone", "primarytelephone", "smsnumber",
	"httpheaders", "authorization",
}

// bareKey is a field's name without what writes it differently: "Users.2.UserName" is
// "username". Annotations give "".
func bareKey(key string) string {
	if strings.Contains(key, "@") {
		return ""
	}
	key = key[strings.LastIndexByte(key, '.')+1:]
	return strings.ToLower(keySigns.Replace(key))
}

// userKey tells a field that holds the name of a user.
func userKey(key string) bool {
	key = bareKey(key)
	return strings.HasSuffix(key, "username") || strings.HasSuffix(key, "authuser") ||
		slices.Contains([]string{"user", "loginname", "loginid", "primaryuser", "ownername"}, key)
}

// captureScrub takes out of a tree what nobody else may see.
type captureScrub struct {
	record *recorder
	alias  map[string]string // of users, by name
	names  *regexp.Regexp    // of users, in texts; nil for none
	masks  *masks            // nil: machines keep their numbers
}

// redact replaces the bodies by those without secrets, and every URI likewise.
func (c *Capture) redact(rec *recorder, user string, anonymise bool) {
	docs := map[string]any{}
	raw := map[string][]byte{}
	for uri, body := range c.bodies {
		doc, err := decodeAny(body)
		if err != nil {
			raw[uri] = body
			continue
		}
		docs[uri] = doc
	}
	s := &captureScrub{record: rec}
	s.meet(docs, user)
	if anonymise {
		s.masks = newMasks(docs)
	}
	c.bodies = map[string][]byte{}
	for uri, doc := range docs {
		c.bodies[s.uri(uri)] = encodePlain(s.resource(uri, doc))
	}
	for uri, body := range raw {
		c.bodies[s.uri(uri)] = s.raw(body)
	}
	refused := map[string]Refusal{}
	for uri, r := range c.Refused {
		r.body = s.raw(r.body)
		refused[s.uri(uri)] = r
	}
	c.Refused = refused
	for i, skipped := range c.Skipped {
		c.Skipped[i] = SkippedResource{s.uri(skipped.URI), s.uri(skipped.Why)}
	}
}

func encodePlain(value any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(value); err != nil {
		return []byte("{}")
	}
	return bytes.TrimSpace(out.Bytes())
}

// meet finds the names of users in all resources.
func (s *captureScrub) meet(docs map[string]any, user string) {
	found := map[string]bool{}
	if user != "" {
		found[user] = true
	}
	for _, doc := range docs {
		eachText(doc, "", func(key, value string) {
			if value = strings.TrimSpace(value); value != "" && userKey(key) {
				found[value] = true
			}
		})
	}
	s.alias = map[string]string{}
	var words []string
	for i, name := range slices.Sorted(maps.Keys(found)) {
		s.alias[name] = fmt.Sprintf("user-%d", i+1)
		if len(name) >= 3 {
			words = append(words, regexp.QuoteMeta(name))
		}
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	if len(words) > 0 {
		s.names = regexp.MustCompile(`(^|[^A-Za-z0-9_])(` + strings.Join(words, "|") + `)($|[^A-Za-z0-9_])`)
	}
}

// eachText calls do with every text in a value, and the key above it.
func eachText(value any, key string, do func(key, value string)) {
	switch v := value.(type) {
	case map[string]any:
		for k, inner := range v {
			eachText(inner, k, do)
		}
	case []any:
		for _, inner := range v {
			eachText(inner, key, do)
		}
	case string:
		do(key, v)
	}
}

// uri is a resource's place without names and numbers.
func (s *captureScrub) uri(uri string) string { return s.text(s.record.literal(uri)) }

// resource is one without secrets: those by key and known value, as in all evidence,
// then what a capture for others leaves out beyond that.
func (s *captureScrub) resource(uri string, doc any) any {
	if m, ok := doc.(map[string]any); ok && strings.Contains(uri, "/Accounts/") {
		for _, key := range []string{"Id", "Name"} {
			if name, _ := m[key].(string); s.alias[name] != "" {
				m[key] = s.alias[name]
			}
		}
	}
	told := strings.Contains(uri, "/Entries") || strings.Contains(uri, "/Jobs") || strings.Contains(uri, "/Tasks")
	return s.value(s.record.scrub(doc), "", told)
}

// value walks a value; told says that it holds texts in which users are named.
func (s *captureScrub) value(value any, key string, told bool) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			if slices.Contains(personalKeys, bareKey(k)) {
				inner = hideFilled(inner)
			}
			out[s.mask(k)] = s.value(inner, k, told)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.value(v[i], key, told)
		}
		return out
	case string:
		return s.field(key, v, told)
	case json.Number:
		if masked := s.mask(v.String()); masked != v.String() {
			return masked
		}
	}
	return value
}

// hideFilled hides a value that says something.
func hideFilled(value any) any {
	switch v := value.(type) {
	case string:
		if v != "" {
			return redacted
		}
	case []any:
		if len(v) > 0 {
			return []any{}
		}
	}
	return value
}

// field is one text, by the field that it stands in.
func (s *captureScrub) field(key, value string, told bool) string {
	switch bare := bareKey(key); {
	case userKey(key):
		if alias := s.alias[strings.TrimSpace(value)]; alias != "" {
			return alias
		}
	case s.masks != nil && (bare == "certificatestring" || bare == "sshhostkey" || bare == "publickey"):
		return redacted // names its machine inside
	case told && s.names != nil && (bare == "message" || bare == "messageargs" || bare == "description" || bare == "messageid"):
		value = s.names.ReplaceAllStringFunc(value, s.named)
	}
	return s.text(value)
}

// named gives a user's alias in the text around the name.
func (s *captureScrub) named(found string) string {
	m := s.names.FindStringSubmatch(found)
	return m[1] + s.alias[m[2]] + m[3]
}

// text is any text: without e-mail addresses, private keys and accounts by name.
func (s *captureScrub) text(value string) string {
	if strings.Contains(value, "@") {
		value = emailText.ReplaceAllStringFunc(value, func(found string) string {
			if strings.Contains(found, "@odata.") || strings.Contains(found, "@Redfish.") || strings.Contains(found, "@Message.") {
				return found
			}
			return redacted
		})
	}
	if strings.Contains(value, "PRIVATE KEY") {
		value = privatePEM.ReplaceAllString(value, redacted)
	}
	if strings.Contains(value, "/Accounts/") {
		value = accountPath.ReplaceAllStringFunc(value, func(found string) string {
			name := strings.TrimPrefix(found, "/Accounts/")
			if alias := s.alias[name]; alias != "" {
				return "/Accounts/" + alias
			}
			return found
		})
	}
	return s.mask(value)
}

// raw is a body that is no JSON, which a firmware fault makes worth keeping.
func (s *captureScrub) raw(body []byte) []byte {
	if len(body) == 0 {
		return nil
	}
	if doc, err := decodeAny(body); err == nil {
		return encodePlain(s.resource("", doc))
	}
	text := secretText.ReplaceAllString(s.record.literal(string(body)), `$1"`+redacted+`"`)
	text = userText.ReplaceAllStringFunc(text, func(found string) string {
		m := userText.FindStringSubmatch(found)
		if s.alias[m[2]] == "" {
			return m[1] + `"` + redacted + `"`
		}
		return m[1] + `"` + s.alias[m[2]] + `"`
	})
	return []byte(s.text(text))
}

// userText finds the name of a user in a body that is no JSON.
var userText = regexp.MustCompile(`(?i)("[^"]*username"\s*:\s*)"([^"]+)"`)

func (s *captureScrub) mask(value string) string {
	if s.masks == nil {
		return value
	}
	return s.masks.text(value)
}
