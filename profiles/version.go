package profiles

import (
	"cmp"
	"math/big"
	"regexp"
	"strings"
)

// CompareVersions compares versions as people number them: runs of digits by value, runs of letters by the alphabet,
// whatever stands between them as a mere separator. 2.10 is above 2.9, 1.4a above 1.4, U8E122J above U8E120K; 0x2A is
// one number. ok is false where nothing says which is the newer, or whether they are one: 5.19 and 5.1A are in this order
// when read as hexadecimal numbers, and in the other as a number and a letter behind it.
func CompareVersions(a, b string) (order int, ok bool) {
	order, ok = orderRuns(versionRuns(a), versionRuns(b))
	if hex := orderHex(a, b); hex != 0 && hex != order {
		ok = false
	}
	return order, ok
}

var (
	versionField = regexp.MustCompile(`[0-9a-z]+`)
	versionRun   = regexp.MustCompile(`\b0x[0-9a-f]+\b|[0-9]+|[a-z]+`)
	hexField     = regexp.MustCompile(`^[0-9a-f]+$`)
)

// orderHex orders the first fields that differ as hexadecimal numbers, 0 where they are none. Such fields are written
// with leading zeros, in one width: 4b of 1.4b is a number and a letter beside 5 of 1.5.
func orderHex(a, b string) int {
	x, y := versionField.FindAllString(strings.ToLower(a), -1), versionField.FindAllString(strings.ToLower(b), -1)
	for i := range min(len(x), len(y)) {
		switch {
		case x[i] == y[i]:
		case len(x[i]) == len(y[i]) && hexField.MatchString(x[i]) && hexField.MatchString(y[i]):
			return cmp.Compare(x[i], y[i])
		default:
			return 0
		}
	}
	return 0
}

// versionPart is one run of a version: a number without its leading zeros, or letters.
type versionPart struct {
	text string
	hex  bool // was written as 0x…
}

func versionRuns(s string) []versionPart {
	var out []versionPart
	for _, run := range versionRun.FindAllString(strings.ToLower(s), -1) {
		part := versionPart{text: strings.TrimLeft(run, "0")}
		if digits, ok := strings.CutPrefix(run, "0x"); ok && digits != "" {
			n, _ := new(big.Int).SetString(digits, 16) // the expression lets nothing else through
			part = versionPart{text: strings.TrimLeft(n.String(), "0"), hex: true}
		}
		out = append(out, part)
	}
	return out
}

// orderRuns orders by the first runs that differ; ok is false where one is written as 0x… and the other is not.
func orderRuns(x, y []versionPart) (order int, ok bool) {
	for i := range max(len(x), len(y)) {
		var a, b versionPart // nothing, and zero, are alike: 1.0 is 1.0.0
		if i < len(x) {
			a = x[i]
		}
		if i < len(y) {
			b = y[i]
		}
		mixed := a.hex != b.hex && a.text != "" && b.text != ""
		if c := compareRun(a.text, b.text); c != 0 || mixed {
			return c, !mixed
		}
	}
	return 0, true
}

// compareRun puts letters above nothing and numbers above letters.
func compareRun(a, b string) int {
	kind := func(run string) int {
		switch {
		case run == "":
			return 0
		case run[0] > '9':
			return 1
		}
		return 2
	}
	if c := cmp.Compare(kind(a), kind(b)); c != 0 || kind(a) < 2 {
		return cmp.Or(c, cmp.Compare(a, b))
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
