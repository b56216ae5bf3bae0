package provision

import (
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// A load that is too short for what the spec requires is told before a day is lost.
func TestSoakAdvice(t *testing.T) {
	for _, test := range []struct {
		spec string
		load time.Duration
		want string
	}{
		{"strict", 6 * time.Second, "spec strict requires 72 h under load and limits.load is 6s: the soak will not be proven, and no better than INCOMPLETE comes of 2 machines"},
		{"strict", 72 * time.Hour, ""},
		{"strict", 0, ""},
		{"standard", 6 * time.Second, ""},
	} {
		s, err := profiles.Open().Spec(test.spec)
		if err != nil {
			t.Fatal(err)
		}
		b := &Batch{
			Limits: Limits{Load: Duration(test.load)}, Resolved: map[string][]byte{s.SHA256(): s.Bytes()},
			Machines: []Machine{{Name: "a", SpecSHA256: s.SHA256()}, {Name: "b", SpecSHA256: s.SHA256()}},
		}
		if got := strings.Join(SoakAdvice(b), "\n"); got != test.want {
			t.Errorf("%s, %s: %q, want %q", test.spec, test.load, got, test.want)
		}
	}
}
