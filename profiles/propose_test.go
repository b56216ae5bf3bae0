package profiles

import (
	"path"
	"slices"
	"strings"
	"testing"
)

func TestPropose(t *testing.T) {
	twin := library(t, map[string]string{"twin.yaml": schemaLine + "name: twin\nmatch: {product: [DGXH100]}\n"})
	for _, test := range []struct {
		lib       *Library
		seen      Seen
		name, why string
	}{
		{Open(), Seen{Product: "DGXH100", Chassis: "DGXH100"}, "dgx-h100", `product "DGXH100"`},
		{Open(), Seen{Product: "G593", Board: "HGX_H100"}, "hgx-h100-8", `board "HGX_H100"`},
		{Open(), Seen{Product: "x", Board: "nvidia hgx h200 8-gpu ", Chassis: "x"}, "hgx-h200-8", `board "nvidia hgx h200 8-gpu"`},
		{Open(), Seen{Product: "PowerEdge XE9680", GPUs: []string{"10de:2335", "10de:2335"}}, "xe9680-h200", `product "PowerEdge XE9680"`},
		{Open(), Seen{Product: "PowerEdge XE9680"}, "", "both xe9680-h100 and xe9680-h200 fit; name one with --profile"},
		{Open(), Seen{Product: "PowerEdge XE9680L", GPUs: []string{"10de:2335"}}, "", `no profile knows product "PowerEdge XE9680L", board "", chassis "" with GPUs 10de:2335; name one with --profile`},
		{Open(), Seen{Product: "PowerEdge XE9680", GPUs: []string{"10de:2330", "10de:2335"}}, "", `no profile knows product "PowerEdge XE9680", board "", chassis "" with GPUs 10de:2330, 10de:2335; name one with --profile`},
		{Open(), Seen{Product: "SYS-821GE-TNHR", GPUs: slices.Repeat([]string{"10de:2330"}, 7)}, "sys-821ge-h100", `product "SYS-821GE-TNHR"`},
		{Open(), Seen{Product: "ThinkSystem SR680a V3"}, "", "sr680a-v3-b200, sr680a-v3-h100 and sr680a-v3-h200 fit; name one with --profile"},
		{Open(), Seen{Product: "PowerEdge R750"}, "", `no profile knows product "PowerEdge R750", board "", chassis ""; name one with --profile`},
		{Open(), Seen{}, "", `no profile knows product "", board "", chassis ""; name one with --profile`},
		{twin, Seen{Product: "DGXH100"}, "", "both dgx-h100 and twin fit; name one with --profile"},
	} {
		name, why, ok := test.lib.Propose(test.seen)
		if name != test.name || why != test.why || ok != (test.name != "") {
			t.Errorf("%v: %q, %q, %v", test.seen, name, why, ok)
		}
	}
}

// No machine is one of two profiles of the library: where the GPUs may be the same, no name fits both.
func TestMatchesAreApart(t *testing.T) {
	lib := Open()
	names := lib.ProfileNames()
	for i, a := range names {
		for _, b := range names[i+1:] {
			p, q := lib.match(a), lib.match(b)
			if len(p.GPU) > 0 && len(q.GPU) > 0 && !overlap(p.GPU, q.GPU) {
				continue
			}
			for _, noun := range []struct {
				name string
				a, b []string
			}{{"product", p.Product, q.Product}, {"board", p.Board, q.Board}, {"chassis", p.Chassis, q.Chassis}} {
				if overlap(noun.a, noun.b) {
					t.Errorf("%s and %s fit one %s: %v and %v", a, b, noun.name, noun.a, noun.b)
				}
			}
		}
	}
}

// overlap reports whether a name fits a pattern of each list. The patterns here are a word, or a word and a star at
// its end; another form must be thought about and added.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(p string) bool {
		return slices.ContainsFunc(b, func(q string) bool {
			fits := func(pattern, of string) bool {
				ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(strings.TrimSuffix(of, "*")))
				return ok || err != nil
			}
			return fits(p, q) || fits(q, p)
		})
	})
}

func TestOverlap(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"PowerEdge XE9680", "PowerEdge XE9680L", false},
		{"PowerEdge XE9680*", "PowerEdge XE9680L", true},
		{"HGX_H100*", "hgx_h100 8*", true},
		{"HGX_H100*", "HGX_H200*", false},
	} {
		if got := overlap([]string{test.a}, []string{test.b}); got != test.want || overlap([]string{test.b}, []string{test.a}) != test.want {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
	}
}
