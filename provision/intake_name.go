package provision

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// codes recognise, by kind of part, the word that says which make it is: H100, L40S and
// MI300X of GPUs, 8480C and 9654 of processors, R750, XE9680 and 821GE of machines.
var codes = map[PartKind]*regexp.Regexp{
	KindGPU: regexp.MustCompile(`^[a-z]{1,3}\d{2,4}[a-z]?$`),
	KindCPU: regexp.MustCompile(`^(\d{4,5})[a-z]{0,2}$`), // 8480C is 8480CL by the BMC of a DGX H100
	"":      regexp.MustCompile(`^[a-z]{0,3}\d{3,5}[a-z]{0,3}\d?$`),
}

// implied are makers that a code of their make says already; some BMCs leave them out.
var implied = map[PartKind][]string{KindGPU: {"nvidia", "amd", "intel"}, KindCPU: {"intel", "amd"}}

// wordsOf are the words of names, in lower case, each once: letters and digits, whatever
// stands between.
func wordsOf(names ...string) []string {
	var out []string
	for _, name := range names {
		for word := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if !slices.Contains(out, word) {
				out = append(out, word)
			}
		}
	}
	return out
}

// sameName compares the name in an order with the words by which a BMC names the thing.
// All words in it: the same. Two codes of one form that are not the same: another make.
// Anything between is not told: makers, shops and BMCs name one thing differently.
func sameName(kind PartKind, want string, here []string) Delivered {
	words := wordsOf(want)
	lacks := func(w string) bool { return !slices.Contains(here, w) && !slices.Contains(implied[kind], w) }
	if len(here) > 0 && !slices.ContainsFunc(words, lacks) {
		return AsExpected
	}
	together := strings.Join(here, "")
	if whole := strings.Join(words, ""); whole == together || slices.Contains(here, whole) { // DGX H100 is DGXH100 by its BMC
		return AsExpected
	}
	code := codes[kind]
	if code == nil {
		return NotTold
	}
	a, b := codesIn(code, words), codesIn(code, here)
	shared := slices.ContainsFunc(a, func(w string) bool { return slices.Contains(b, w) })
	if len(a) > 0 && len(b) > 0 && !shared {
		return Differs
	}
	return NotTold
}

// codesIn are the codes among words, without what a form says of them that does not count.
func codesIn(form *regexp.Regexp, words []string) (found []string) {
	for _, w := range words {
		if m := form.FindStringSubmatch(w); m != nil {
			found = append(found, m[len(m)-1])
		}
	}
	return found
}
