package profiles

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"
)

// Bytes gives the resolved profile as YAML: every limit, ladder and catalogue entry that a judgement needs. The
// same profile always gives the same bytes.
func (p *Profile) Bytes() []byte { return slices.Clone(p.bytes) }

// SHA256 is the hash of [Profile.Bytes] in lower-case hex.
func (p *Profile) SHA256() string { return digest(p.bytes) }

// Bytes gives the resolved spec as YAML.
func (s *Spec) Bytes() []byte { return slices.Clone(s.bytes) }

// SHA256 is the hash of [Spec.Bytes] in lower-case hex.
func (s *Spec) SHA256() string { return digest(s.bytes) }

// MarshalJSON gives the resolved profile with the keys of its YAML.
func (p *Profile) MarshalJSON() ([]byte, error) { return yaml.YAMLToJSON(p.bytes) }

// MarshalJSON gives the resolved spec with the keys of its YAML.
func (s *Spec) MarshalJSON() ([]byte, error) { return yaml.YAMLToJSON(s.bytes) }

func (p *Profile) seal() (err error) {
	p.bytes, err = canonical(p)
	return err
}

func (s *Spec) seal() (err error) {
	s.bytes, err = canonical(s)
	return err
}

// canonical writes v: fields in their order, map keys sorted, comments and positions gone.
func canonical(v any) ([]byte, error) {
	b, err := yaml.MarshalWithOptions(v, yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("write resolved YAML: %w", err)
	}
	return b, nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// MarshalYAML gives the form that a profile is written in.
func (l *Limit) MarshalYAML() (any, error) {
	var operand any = l.Value.String()
	switch {
	case l.Relation == OneOf:
		operand = l.Text
	case len(l.Text) > 0:
		operand = l.Text[0]
	case l.Value.Unit == Count && l.Value.Value == float64(int64(l.Value.Value)):
		operand = int64(l.Value.Value)
	}
	return yaml.MapSlice{
		{Key: string(l.Relation), Value: operand},
		{Key: "provenance", Value: string(l.Provenance)},
		{Key: "source", Value: l.Source},
	}, nil
}

func quote(s string) string { return strconv.Quote(s) }
