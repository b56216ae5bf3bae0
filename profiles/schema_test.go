package profiles

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T, b []byte, err error) *jsonschema.Schema {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("schema.json")
}

// plain reads YAML the way an editor does.
func plain(t *testing.T, b []byte) any {
	t.Helper()
	j, err := yaml.YAMLToJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(j))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Everything that ships, as written and as resolved, fits the schema that `profile schema` prints.
func TestShippedFilesFitTheSchema(t *testing.T) {
	lib := Open()
	profileBytes, err := lib.ProfileJSONSchema()
	profileSchema := compiled(t, profileBytes, err)
	specBytes, err := lib.SpecJSONSchema()
	specSchema := compiled(t, specBytes, err)

	for _, name := range lib.names(profileKind) {
		b, err := fs.ReadFile(shipped, name+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := profileSchema.Validate(plain(t, b)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p, err := lib.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := profileSchema.Validate(plain(t, p.Bytes())); err != nil {
			t.Errorf("%s, resolved: %v", name, err)
		}
	}
	for _, name := range lib.SpecNames() {
		b, err := fs.ReadFile(shipped, specFolder+"/"+name+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := specSchema.Validate(plain(t, b)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the loader refuses the schema refuses too, as far as a schema can.
func TestTheSchemaRefuses(t *testing.T) {
	lib := Open()
	profileBytes, err := lib.ProfileJSONSchema()
	profileSchema := compiled(t, profileBytes, err)
	specBytes, err := lib.SpecJSONSchema()
	specSchema := compiled(t, specBytes, err)

	const spec = "schema: rackproof/spec/1\nname: t\n"
	for _, test := range []struct {
		name, yaml string
	}{
		{"unknown key", head + "pcie: {gpu: {widht: {}}}"},
		{"unit of another dimension", head + "gpu: {memory: {min: 80 GB/s, provenance: spec, source: s}}"},
		{"no unit", head + "gpu: {memory: {min: 80, provenance: spec, source: s}}"},
		{"no source", head + "gpu: {count: {equal: 8, provenance: spec}}"},
		{"provenance", head + "gpu: {count: {equal: 8, provenance: hearsay, source: s}}"},
		{"two relations", head + "gpu: {count: {min: 8, max: 8, provenance: spec, source: s}}"},
		{"form", head + "gpu: {form: card}"},
		{"check", head + "checks: {gpu.nvlnk: {not_applicable: x}}"},
		{"who", head + "advice: {fan: [{do: x, minutes: 1, who: nobody}]}"},
		{"schema", "schema: rackproof/profile/9\nname: t\n"},
		{"scope", spec + "checks: {gpu.count: maybe}"},
		{"check of a spec", spec + "checks: {gpu.cuont: required}"},
	} {
		schema := profileSchema
		if strings.HasPrefix(test.yaml, spec) {
			schema = specSchema
		}
		if schema.Validate(plain(t, []byte(test.yaml))) == nil {
			t.Errorf("%s passes the schema", test.name)
		}
	}
}
