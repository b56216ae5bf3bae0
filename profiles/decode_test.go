package profiles

import (
	"strings"
	"testing"
	"testing/fstest"
)

// head begins the profiles of these tests; line 3 is the first of the case.
const (
	schemaLine = "schema: rackproof/profile/1\n"
	head       = schemaLine + "name: t\n"
)

func TestMistakesOfAProfile(t *testing.T) {
	for _, test := range []struct {
		name, yaml string
		want       []string
	}{
		{
			"unknown key", "pcie: {gpu: {widht: {min: 16 lanes, provenance: spec, source: s}}}",
			[]string{`t.yaml:3:14: unknown key "widht", did you mean "width"?`},
		},
		{
			"unknown key far from all", "psu: {colour: red}",
			[]string{`t.yaml:3:7: unknown key "colour"; known here: count`},
		},
		{
			"unknown unit", "gpu:\n  memory: {min: 80 GIB, provenance: spec, source: s}",
			[]string{`t.yaml:4:17: memory: unknown unit "GIB" in "80 GIB", did you mean "GiB"?`},
		},
		{
			"unit of another dimension", "gpu:\n  memory: {min: 80 GB/s, provenance: spec, source: s}",
			[]string{`t.yaml:4:17: memory is given in MiB: "80 GB/s" measures data rate, not data`},
		},
		{
			"unit of a count", "psu: {count: {equal: 6 W, provenance: spec, source: s}}",
			[]string{`t.yaml:3:22: count is a plain number: "6 W" measures power`},
		},
		{
			"no unit", "gpu:\n  memory: {min: 80, provenance: spec, source: s}",
			[]string{`t.yaml:4:17: memory has no unit: write "80 MiB"`},
		},
		{
			"no ground", "gpu:\n  count: {equal: 8}",
			[]string{
				`t.yaml:4:10: count has no provenance; say where the limit comes from: spec, vendor, measured, derived, agreed`,
				`t.yaml:4:10: count has no source; name the document or capture that states it`,
			},
		},
		{
			"bad ground", "gpu:\n  count: {equal: 8, provenance: vendr, source: ''}",
			[]string{
				`t.yaml:4:33: unknown provenance "vendr", did you mean "vendor"?`,
				`t.yaml:4:40: the source of count is empty`,
			},
		},
		{
			"two relations", "gpu:\n  count: {min: 8, max: 8, provenance: spec, source: s}",
			[]string{`t.yaml:4:10: count needs exactly one of min, max, equal and one_of`},
		},
		{
			"relation for words", "gpu:\n  product: {min: H100, provenance: spec, source: s}",
			[]string{`t.yaml:4:13: product is text: use equal or one_of, not min`},
		},
		{
			"relation for numbers", "gpu:\n  count: {one_of: [8], provenance: spec, source: s}",
			[]string{`t.yaml:4:11: count is a quantity: use min, max or equal, not one_of`},
		},
		{
			"relation for versions", "gpu:\n  driver_min: {equal: 535.1, provenance: spec, source: s}",
			[]string{`t.yaml:4:16: driver_min is a version: use min, not equal`},
		},
		{
			"a bare number is no limit", "gpu:\n  count: 8",
			[]string{`t.yaml:4:10: count must be a limit: {min: …, provenance: …, source: …}`},
		},
		{
			"word of a fixed set", "gpu: {form: SXM5}",
			[]string{`t.yaml:3:13: unknown form "SXM5", did you mean "sxm"?`},
		},
		{
			"unknown load", "load:\n  order: [gpu-burn, gpu-friar]",
			[]string{`t.yaml:4:21: unknown order "gpu-friar", did you mean "gpu-fryer"?`},
		},
		{
			"unknown check", "checks: {gpu.nvlnk: {not_applicable: none here}}",
			[]string{`t.yaml:3:10: unknown check "gpu.nvlnk", did you mean "gpu.nvlink"?`},
		},
		{
			"reason missing", "checks: {gpu.mig: {}}",
			[]string{`t.yaml:3:19: not_applicable is missing`},
		},
		{
			"nothing said", "gpu:\n",
			[]string{`t.yaml:3:6: gpu has no value; delete the line if nothing is to be said`},
		},
		{
			"alias", "match: &m {}\nnvme: *m",
			[]string{
				`t.yaml:3:8: anchors, aliases and tags are not used here; write the value out or use extends`,
				`t.yaml:4:7: anchors, aliases and tags are not used here; write the value out or use extends`,
			},
		},
		{
			"list expected", "match: {board: HGX}",
			[]string{`t.yaml:3:16: board must be a list: [a, b]`},
		},
		{
			"negative minutes", "minutes: {post: -1}",
			[]string{`t.yaml:3:17: post must be a whole number, not "-1"`},
		},
		{
			"advice of nobody", "xid: {79: {advice: sxm}}",
			[]string{`t.yaml: xid 79: there is no advice for "sxm"`},
		},
		{
			"pattern", "match: {board: ['[']}",
			[]string{`t.yaml: match: "[" is no pattern`},
		},
		{
			"several at once, in their order", "psu: {count: {max: two, provenance: spec, source: s}}\nnick: {}\ngpu: {cout: {}}",
			[]string{
				`t.yaml:3:20: count: "two" is not a quantity: write one number and its unit, such as "16 GB/s"`,
				`t.yaml:4:1: unknown key "nick", did you mean "nic"?`,
				`t.yaml:5:7: unknown key "cout", did you mean "count"?`,
			},
		},
		{
			"key twice", "gpu: {}\ngpu: {}",
			[]string{`t.yaml:4:1: mapping key "gpu" already defined at [3:1]`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := ParseProfile("t.yaml", []byte(head+test.yaml), Open())
			if err == nil {
				t.Fatalf("loads as %s, want an error", p.Name)
			}
			if want := strings.Join(test.want, "\n"); err.Error() != want {
				t.Errorf("\n got %s\nwant %s", err, want)
			}
		})
	}
}

func TestMistakesOfAFile(t *testing.T) {
	for _, test := range []struct{ name, yaml, want string }{
		{"empty", "", "t.yaml: the file holds nothing"},
		{"comment only", "# nothing\n", "t.yaml: the file holds nothing"},
		{"no schema", "name: t\n", "t.yaml:1:1: schema is missing; a profile begins with schema: rackproof/profile/1"},
		{"later schema", "schema: rackproof/profile/9\nfuture: 1\n", `t.yaml:1:9: schema "rackproof/profile/9" is not read here; a profile has rackproof/profile/1`},
		{"no name", "schema: rackproof/profile/1\n", "t.yaml:1:1: name is missing"},
		{"no mapping", "- a\n", "t.yaml:1:1: the file must be keys and values"},
		{"two documents", head + "---\n" + head, "t.yaml:4:1: one file holds one document; delete what follows the second ---"},
		{"parent unknown", head + "extends: [hgx-h10-8]\n", `t.yaml:3:11: unknown profile "hgx-h10-8", did you mean "hgx-h100-8"?`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseProfile("t.yaml", []byte(test.yaml), Open())
			if err == nil || err.Error() != test.want {
				t.Errorf("\n got %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestMistakesOfASpec(t *testing.T) {
	const spec = "schema: rackproof/spec/1\nname: t\nchecks:\n  gpu.cuont: required\n  gpu.xid/codes: maybe\non_fail: stop\nsoak: {hours: long}\n"
	want := strings.Join([]string{
		`t.yaml:4:3: unknown check "gpu.cuont", did you mean "gpu.count"?`,
		`t.yaml:5:18: unknown gpu.xid/codes "maybe"; known: required, recorded, out_of_scope`,
		`t.yaml:6:10: unknown on_fail "stop", did you mean "stop-machine"?`,
		`t.yaml:7:15: hours must be a number, not "long"`,
	}, "\n")
	_, err := ParseSpec("t.yaml", []byte(spec), Open())
	if err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}

// small is a library for fuzzing: the shipped one is parsed and merged anew for each input.
func small() *Library {
	return &Library{sources: []source{{label: "small", files: fstest.MapFS{
		"base.yaml":        {Data: []byte(schemaLine + "name: base\ngpu: {form: sxm}\n")},
		"specs/base.yaml":  {Data: []byte("schema: rackproof/spec/1\nname: base\nsoak: {hours: 1}\n")},
		"catalog/all.yaml": {Data: []byte("schema: rackproof/catalogue/1\nchecks: {gpu.mig: off}\nadvice: {fan: [{do: x, minutes: 1, who: hands}]}\n")},
	}}}}
}

func FuzzParseProfile(f *testing.F) {
	lib := small()
	f.Add([]byte(head + "gpu:\n  count: {equal: 8, provenance: spec, source: s}\n"))
	f.Add([]byte(head + "extends: [base, part/none]\nchecks: {gpu.mig: {not_applicable: x}}\n"))
	f.Add([]byte(head + "extends: [base]\ngpu: {product: {one_of: ['8', yes, \"a: b\"], provenance: spec, source: '#'}}\n"))
	f.Add([]byte(head + "bios: {burnin: {attributes: {A: 1, B: x, C: true, D: 1.5}}}\nxid: {79: {class: info}}\n"))
	f.Add([]byte("schema: rackproof/profile/1\nname: r\nlineage: [r]\n"))
	f.Add([]byte("? {a: b}\n: &x !!str y\n<<: *x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseProfile("f.yaml", b, lib)
		if err != nil {
			return
		}
		// What loads reads back from its own bytes as the same profile.
		again, err := ParseResolved(p.Bytes())
		if err != nil {
			t.Fatalf("resolved bytes do not read: %v\n%s", err, p.Bytes())
		}
		if again.SHA256() != p.SHA256() {
			t.Fatalf("resolved bytes read as another profile:\n%s\nand\n%s", p.Bytes(), again.Bytes())
		}
	})
}

func FuzzParseSpec(f *testing.F) {
	lib := small()
	f.Add([]byte("schema: rackproof/spec/1\nname: s\nextends: [base]\nchecks: {gpu.mig/mode: recorded}\nsoak: {hours: 0.5, mode: accumulated}\n"))
	f.Add([]byte("schema: rackproof/spec/1\nname: s\nclock_after_repair: {'': part}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSpec("f.yaml", b, lib)
		if err != nil {
			return
		}
		again, err := ParseResolvedSpec(s.Bytes())
		if err != nil {
			t.Fatalf("resolved bytes do not read: %v\n%s", err, s.Bytes())
		}
		if again.SHA256() != s.SHA256() {
			t.Fatalf("resolved bytes read as another spec:\n%s\nand\n%s", s.Bytes(), again.Bytes())
		}
	})
}
