package burnin

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rackproof/rackproof/profiles"
)

// Opt is one value that a tool prints, or not. A zero that was printed and a
// value that was not are different things: only the first may pass.
type Opt[T any] struct {
	V    T
	Set  bool   // V was printed and could be read
	Text string // as printed; "" when the tool did not print the field at all
}

// Absent says why there is no value, for the list of what was not measured.
func (o Opt[T]) Absent(what string) error {
	if o.Text == "" {
		return fmt.Errorf("%s is not shown by this tool and driver", what)
	}
	return fmt.Errorf("%s reads %q, which is no measurement", what, o.Text)
}

// Fault reports whether the tool printed, in place of the value, that the part
// does not answer.
func (o Opt[T]) Fault() bool { return !o.Set && isFaultWord(o.Text) }

// notMeasured are the words that NVIDIA's tools print for a value that they do
// not have. They are no fault and no measurement; brackets and case do not count.
var notMeasured = []string{
	"n/a", "not supported", "not found", "not available", "unknown", "none reported",
	"insufficient permissions", "requested functionality has been deprecated",
}

// faultWords are printed in place of a value when the GPU does not answer.
var faultWords = []string{"gpu is lost", "gpu requires reset", "fallen off the bus", "unable to determine the device handle", "unknown error"}

// lostWords are those of faultWords that mean the whole GPU, not one field: a
// healthy GPU prints "Unknown Error" in fields its driver does not know, but never these.
var lostWords = faultWords[:4]

// errWord stands in place of any value, and never on a GPU that answers.
const errWord = "err!"

func isFaultWord(s string) bool {
	s = bareWord(s)
	return saysAny(s, faultWords) || lowerIs(s, errWord)
}

func isLostWord(s string) bool { return saysAny(bareWord(s), lostWords) }

func isErrWord(s string) bool { return lowerIs(bareWord(s), errWord) }

func isNotMeasured(s string) bool {
	s = bareWord(s)
	return s == "" || slices.ContainsFunc(notMeasured, func(word string) bool { return lowerIs(s, word) })
}

func bareWord(s string) string {
	s = strings.TrimSpace(s)
	const brackets = "[]<>"
	if s == "" || strings.IndexByte(brackets, s[0]) < 0 && strings.IndexByte(brackets, s[len(s)-1]) < 0 { // most
		return s
	}
	return strings.Trim(s, brackets)
}

// saysAny reports whether one of words, in lower case, is in s. Nearly all that tools
// print is shorter than any of them.
func saysAny(s string, words []string) bool {
	shortest := len(words[0])
	for _, w := range words {
		shortest = min(shortest, len(w))
	}
	if len(s) < shortest {
		return false
	}
	var room [64]byte
	low := room[:0]
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || i == len(room) { // what such a character becomes may be shorter
			return containsAny(strings.ToLower(s), words)
		}
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low = append(low, c)
	}
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(low, []byte(w)) })
}

// lowerIs is strings.ToLower(s) == word without a new string.
func lowerIs(s, word string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf: // what such a character becomes may be shorter
			return strings.ToLower(s) == word
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if i >= len(word) || c != word[i] {
			return false
		}
	}
	return len(s) == len(word)
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// optWord reads a word.
func optWord(text string) Opt[string] {
	text = strings.TrimSpace(text)
	if isNotMeasured(text) || isFaultWord(text) {
		return Opt[string]{Text: text}
	}
	return Opt[string]{V: text, Set: true, Text: text}
}

// optCount reads a count. Negative numbers and the all-ones values that drivers
// print for "no value" are none.
func optCount(text string) Opt[float64] {
	text = strings.TrimSpace(text)
	if text == "" || text[0] < '0' || text[0] > '9' { // an error would be made only to be dropped
		return Opt[float64]{Text: text}
	}
	number, _, _ := strings.Cut(text, " ")
	v, err := strconv.ParseUint(strings.TrimSuffix(number, "x"), 10, 64)
	if err != nil || v == math.MaxUint32 || v >= 1<<62 {
		return Opt[float64]{Text: text}
	}
	return Opt[float64]{V: float64(v), Set: true, Text: text}
}

// optQuantity reads a number with its unit and converts it to want. fallback is
// the unit that the column's head names, for values printed without one.
func optQuantity(text string, want, fallback profiles.Unit) Opt[float64] {
	text = strings.TrimSpace(text)
	number, unit, _ := strings.Cut(text, " ")
	if n, ok := strings.CutSuffix(number, "%"); ok {
		number, unit = n, "%"
	}
	if number == "" || !strings.ContainsRune("+-.0123456789", rune(number[0])) {
		return Opt[float64]{Text: text}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return Opt[float64]{Text: text}
	}
	u := nvidiaUnit(strings.TrimSpace(unit))
	if u == "" {
		u = fallback
	}
	v, err = profiles.Quantity{Value: v, Unit: u}.In(want)
	if err != nil {
		return Opt[float64]{Text: text}
	}
	return Opt[float64]{V: v, Set: true, Text: text}
}

// nvidiaUnit maps the spelling of NVIDIA's tools to ours: nvidia-smi prints KB/s.
func nvidiaUnit(s string) profiles.Unit {
	switch s {
	case "KB/s":
		return profiles.KBPerSecond
	case "KB":
		return profiles.KB
	default:
		return profiles.Unit(s)
	}
}

// optSum adds counters that together are one quantity. One that is above zero
// decides, whatever the others say; a zero is only a zero when every counter that
// the tool prints was readable.
func optSum(parts ...Opt[float64]) Opt[float64] {
	var sum Opt[float64]
	unread := ""
	for _, p := range parts {
		switch {
		case p.Set:
			sum.V += p.V
			sum.Set = true
			sum.Text = p.Text
		case p.Text != "":
			unread = p.Text
		}
	}
	if unread != "" && sum.V == 0 {
		return Opt[float64]{Text: unread}
	}
	return sum
}
