package burnin

import (
	"slices"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

func TestPartsAreListedOnceForAProfile(t *testing.T) {
	var lists partLists[string]
	listed := 0
	ask := func(p *profiles.Profile) []string {
		return lists.of(p, func() []string {
			listed++
			return []string{p.Name, "spare"}
		})
	}
	one, other := &profiles.Profile{Name: "one"}, &profiles.Profile{Name: "other"}
	first := ask(one)
	first[0] = "changed by who asked"
	for _, p := range []*profiles.Profile{one, other, one} {
		if got, want := ask(p), []string{p.Name, "spare"}; !slices.Equal(got, want) {
			t.Errorf("parts of profile %s = %q, want %q", p.Name, got, want)
		}
	}
	if listed != 2 {
		t.Errorf("listed %d times for two profiles, want once for each", listed)
	}
}

func TestNoPartsAreListedOnceToo(t *testing.T) {
	var lists partLists[string]
	listed := 0
	for range 2 {
		if got := lists.of(nil, func() []string { listed++; return nil }); got != nil {
			t.Errorf("parts = %q, want none", got)
		}
	}
	if listed != 1 {
		t.Errorf("an empty list was made %d times, want once", listed)
	}
}
