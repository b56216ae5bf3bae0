package redfish

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

var (
	uuidForm = regexp.MustCompile(`[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}`)
	// macForm also finds the longer WWNs, and fingerprints.
	macForm  = regexp.MustCompile(`\b[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5,}\b|\b[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5,}\b`)
	ipv4Text = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	// fromText is an address in a log's sentence.
	fromText = regexp.MustCompile(`(?i)(?:from|ip|address|host|at|via|client|://)[ :=(\[]*(\d{1,3}(?:\.\d{1,3}){3})\b`)
)

// wordLength is from where on a number is so much itself that it is also replaced within
// other words; a shorter one only where it stands alone.
const wordLength = 7

// masks give each number by which a machine is known another of the same form, the same
// one wherever it stands. The key is drawn for each capture: nobody can try all serials.
type masks struct {
	key   []byte
	whole map[string]string // numbers that stand alone
	words *strings.Replacer // numbers within texts
	names *regexp.Regexp    // of hosts and domains, as words of texts; nil for none
	ips   map[string]string
}

// newMasks gathers what is to be replaced.
func newMasks(docs map[string]any) *masks {
	m := &masks{key: make([]byte, 32), whole: map[string]string{}, ips: map[string]string{}}
	_, _ = rand.Read(m.key) // never fails
	addresses := map[netip.Addr]bool{}
	for _, doc := range docs {
		eachText(doc, "", func(key, value string) {
			m.gatherNumber(key, value)
			gatherAddresses(key, value, addresses)
		})
	}
	pairs := map[string]string{}
	for number, mask := range m.whole {
		if len(number) >= wordLength {
			pairs[number] = mask
		}
	}
	m.names = m.gatherNames(docs)
	m.fakeAddresses(addresses, pairs)
	m.words = longestFirst(pairs)
	return m
}

// longestFirst makes a replacer that never takes a part of a longer word.
func longestFirst(pairs map[string]string) *strings.Replacer {
	list := slices.SortedFunc(maps.Keys(pairs), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var args []string
	for _, word := range list {
		args = append(args, word, pairs[word])
	}
	return strings.NewReplacer(args...)
}

// numberKey tells a field that holds a number of this one machine or part.
func numberKey(key string) bool {
	for _, word := range []string{"serialnumber", "servicetag", "servicecode", "assettag", "engineid", "durablename", "identificationnumber"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return slices.Contains([]string{"nodeid", "uuid", "guid", "wwn", "wwpn", "wwnn", "chassisserial", "boardserial"}, key)
}

func (m *masks) gatherNumber(key, value string) {
	for _, mac := range macForm.FindAllString(value, -1) {
		if hex := hexOf(mac); len(hex) == 12 && !oneDigit(hex) { // also without its colons
			mask := m.hex(hex)
			m.whole[hex], m.whole[strings.ToUpper(hex)] = mask, strings.ToUpper(mask)
		}
	}
	clean := text(value).clean()
	if !numberKey(bareKey(key)) || len(clean) < 4 || oneDigit(clean) || !strings.ContainsAny(clean, "0123456789") {
		return
	}
	if uuidForm.MatchString(clean) || macForm.MatchString(clean) || ipv4Text.MatchString(clean) {
		return // by their form
	}
	m.whole[clean] = m.shape(clean)
}

// nameKey tells a field that holds the name of a host or its domain.
func nameKey(key string) bool {
	return strings.HasSuffix(key, "fqdn") || strings.HasSuffix(key, "domainname") || key == "hostname" || key == "dnsracname"
}

// nameForm is one, and no sentence of a schema about it.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// nobodysName are what stands in such a field where no name was given, or what would be
// taken for another word of the protocol.
var nobodysName = []string{"localhost", "localdomain", "localhost.localdomain", "local", "default", "hostname", "fqdn", "system", "enabled", "disabled", "redfish"}

// nameLength is from where on a name is replaced as a word of a text, not only alone.
const nameLength = 4

// gatherNames takes the names of hosts and domains, of whatever letters they are.
func (m *masks) gatherNames(docs map[string]any) *regexp.Regexp {
	var words []string
	for _, doc := range docs {
		eachText(doc, "", func(key, value string) {
			name := text(value).clean()
			if !nameKey(bareKey(key)) || !nameForm.MatchString(name) || slices.Contains(nobodysName, strings.ToLower(name)) || ipv4Text.MatchString(name) {
				return
			}
			m.whole[name] = m.shape(name)
			if len(name) >= nameLength {
				words = append(words, regexp.QuoteMeta(name))
			}
		})
	}
	if len(words) == 0 {
		return nil
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return regexp.MustCompile(`\b(?:` + strings.Join(slices.Compact(words), "|") + `)\b`)
}

// oneDigit tells a number of one digit alone, which nobody has.
func oneDigit(s string) bool { return strings.Trim(s, s[:1]) == "" }

func hexOf(s string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(s, ":", ""), "-", ""))
}

// addressKey tells a field that holds an address.
func addressKey(key string) bool {
	for _, word := range []string{"address", "gateway", "dns", "ipv4", "ipv6", "server", "ntp", "origin", "hostname", "destination", "userip", "host"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

func gatherAddresses(key, value string, into map[netip.Addr]bool) {
	add := func(s string) {
		if a, err := netip.ParseAddr(s); err == nil && !a.IsUnspecified() && !a.IsLoopback() && !strings.HasPrefix(s, "255.") {
			into[a] = true
		}
	}
	if addressKey(bareKey(key)) {
		add(strings.TrimSpace(value))
	}
	for _, found := range fromText.FindAllStringSubmatch(value, -1) {
		add(found[1])
	}
}

// fakeAddresses gives each address one of those set aside for tests (RFC 2544) and for
// documents (RFC 3849). IPv6 ones join the words.
func (m *masks) fakeAddresses(addresses map[netip.Addr]bool, words map[string]string) {
	for i, a := range slices.SortedFunc(maps.Keys(addresses), netip.Addr.Compare) {
		if a.Is4() {
			m.ips[a.String()] = fmt.Sprintf("198.18.%d.%d", (i+1)>>8&255, (i+1)&255)
			continue
		}
		plain := a.WithZone("")
		fake := fmt.Sprintf("2001:db8::%x", i+1)
		for _, form := range []string{plain.String(), strings.ToUpper(plain.String()), plain.StringExpanded(), strings.ToUpper(plain.StringExpanded())} {
			if len(form) >= 6 {
				words[form] = fake
			}
		}
	}
}

// text replaces everything in a text.
func (m *masks) text(value string) string {
	if mask, ok := m.whole[strings.TrimSpace(value)]; ok {
		return mask
	}
	if len(value) < min(wordLength, nameLength) {
		return value
	}
	if m.names != nil {
		value = m.names.ReplaceAllStringFunc(value, func(found string) string { return m.whole[found] })
	}
	value = m.words.Replace(value)
	if strings.Contains(value, "-") {
		value = uuidForm.ReplaceAllStringFunc(value, m.same)
	}
	if strings.ContainsAny(value, ":-") {
		value = macForm.ReplaceAllStringFunc(value, m.same)
	}
	if strings.Contains(value, ".") {
		value = ipv4Text.ReplaceAllStringFunc(value, func(found string) string { return cmp.Or(m.ips[found], found) })
	}
	return value
}

// same masks the hex digits of a UUID or MAC and keeps what stands between them, and
// whether they are upper case.
func (m *masks) same(found string) string {
	hex := hexOf(found)
	if oneDigit(hex) {
		return found
	}
	mask := m.hex(hex)
	if strings.ToUpper(found) == found {
		mask = strings.ToUpper(mask)
	}
	var out strings.Builder
	at := 0
	for _, r := range found {
		if r == ':' || r == '-' {
			out.WriteRune(r)
			continue
		}
		out.WriteByte(mask[at])
		at++
	}
	return out.String()
}

// hex gives other hex digits; those of a MAC are of one that nobody was given.
func (m *masks) hex(digits string) string {
	const set = "0123456789abcdef"
	out := make([]byte, len(digits))
	for i := range digits {
		out[i] = set[m.byte(digits, i)&15]
	}
	if len(out) == 12 {
		out[0], out[1] = '0', '2'
	}
	return string(out)
}

// shape gives letters for letters and digits for digits.
func (m *masks) shape(value string) string {
	out := []byte(value)
	for i, b := range out {
		n := m.byte(strings.ToLower(value), i)
		switch {
		case b >= '0' && b <= '9':
			out[i] = '0' + n%10
		case b >= 'A' && b <= 'Z':
			out[i] = 'A' + n%26
		case b >= 'a' && b <= 'z':
			out[i] = 'a' + n%26
		}
	}
	return string(out)
}

// byte is the i-th of a value's keyed hash.
func (m *masks) byte(value string, i int) byte {
	h := hmac.New(sha256.New, m.key)
	_, _ = fmt.Fprintf(h, "%d %s", i/sha256.Size, value)
	return h.Sum(nil)[i%sha256.Size]
}
