package burnin

import (
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// Modules of several speeds, and one whose speed nobody knows.
func TestRatedSpeeds(t *testing.T) {
	of := func(speeds ...float64) []DMIModule {
		var out []DMIModule
		for _, v := range speeds {
			out = append(out, DMIModule{Locator: "DIMMA1", Speed: Opt[float64]{V: v, Set: v > 0}})
		}
		return out
	}
	shipped := gpuProfile(t, "host-node").Memory.RatedSpeeds
	for _, c := range []struct {
		name    string
		modules []DMIModule
		limit   *profiles.Limit
		want    string
	}{
		{"one speed", of(4800, 4800), shipped, "pass"},
		{"two speeds", of(4800, 5600), shipped, "warn"},
		{"two speeds where one was agreed", of(4800, 5600), countLimit(profiles.Max, 1), "fail"},
		{"one does not tell", of(4800, 0), shipped, "not_run"},
		{"none tells", of(0, 0), shipped, "not_run"},
		{"two speeds, and one does not tell", of(4800, 5600, 0), shipped, "warn"},
		{"one does not tell, and nobody asks", of(4800, 0), nil, "not_applicable"},
	} {
		p := *gpuProfile(t, "host-node")
		p.Memory.RatedSpeeds = c.limit
		about := func(quantity string, part Part) Finding { return About("memory.ecc", quantity, part) }
		f := modulesAlike(about, c.modules, &p)[0]
		if got := gpuAnswer(f); f.Quantity != "rated_speeds" || got != c.want {
			t.Errorf("%s: %s is %s (%s%s), want %s", c.name, f.Quantity, got, f.Why, f.NotRun, c.want)
		}
	}
}
