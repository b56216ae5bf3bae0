package burnin

import "fmt"

// Verdict is the answer of one check about one quantity of one part. Verdicts
// are ordered from best to worst: of several, the worst counts.
type Verdict int

// Verdicts, best first. NotApplicable stands outside the order: the profile says
// that the question does not arise on this machine.
const (
	NotApplicable Verdict = iota
	Pass
	Warn
	Unknown
	Fail
)

var verdictNames = [...]string{"not_applicable", "pass", "warn", "unknown", "fail"}

// String returns the word used in JSON and reports.
func (v Verdict) String() string {
	if v < NotApplicable || v > Fail {
		return fmt.Sprintf("Verdict(%d)", int(v))
	}
	return verdictNames[v]
}

// MarshalText implements encoding.TextMarshaler.
func (v Verdict) MarshalText() ([]byte, error) {
	if v < NotApplicable || v > Fail {
		return nil, fmt.Errorf("verdict %d has no name", int(v))
	}
	return []byte(verdictNames[v]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *Verdict) UnmarshalText(b []byte) error {
	for i, n := range verdictNames {
		if n == string(b) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("verdict %q: want one of %v", b, verdictNames)
}

// Worse returns the worse of two verdicts.
func Worse(a, b Verdict) Verdict { return max(a, b) }
