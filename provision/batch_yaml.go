package provision

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/rackproof/rackproof/profiles"
)

// reader walks a YAML tree and gathers every mistake with its place: a batch of
// four hundred machines is corrected once, not line by line.
type reader struct {
	file     string
	problems profiles.Problems
}

// field takes the value of one key.
type field map[string]func(ast.Node)

// parse reads a file with exactly one document, and gives its root.
func (r *reader) parse(b []byte) ast.Node {
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		var syntax interface{ GetToken() *token.Token }
		pos := profiles.Position{File: r.file}
		if errors.As(err, &syntax) && syntax.GetToken() != nil {
			pos = tokenPlace(r.file, syntax.GetToken())
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		r.add(pos, "not YAML: %s", first)
		return nil
	}
	if len(f.Docs) != 1 || f.Docs[0].Body == nil {
		r.add(profiles.Position{File: r.file}, "want one YAML document with name: and machines:")
		return nil
	}
	return f.Docs[0].Body
}

func tokenPlace(file string, t *token.Token) profiles.Position {
	return profiles.Position{File: file, Line: t.Position.Line, Column: t.Position.Column}
}

// start is where a mapping begins: at its first key, not at that key's colon.
func (r *reader) start(n ast.Node) profiles.Position {
	switch m := n.(type) {
	case *ast.MappingNode:
		if m.IsFlowStyle || len(m.Values) == 0 {
			return r.at(n)
		}
		return r.at(m.Values[0].Key)
	case *ast.MappingValueNode:
		return r.at(m.Key)
	}
	return r.at(n)
}

func (r *reader) at(n ast.Node) profiles.Position { return tokenPlace(r.file, n.GetToken()) }

func (r *reader) add(pos profiles.Position, format string, args ...any) {
	r.problems = append(r.problems, profiles.Problem{Pos: pos, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) problem(n ast.Node, format string, args ...any) { r.add(r.at(n), format, args...) }

// pairs are the keys of a mapping. A mapping of one key has a node type of its
// own.
func (r *reader) pairs(n ast.Node, what string) []*ast.MappingValueNode {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}
	case *ast.NullNode:
		return nil
	}
	r.problem(n, "%s must be keys and values", what)
	return nil
}

// fields hands each key of a mapping to its taker.
func (r *reader) fields(n ast.Node, what string, take field) {
	seen := map[string]bool{}
	for _, p := range r.pairs(n, what) {
		key := keyOf(p)
		f, ok := take[key]
		switch {
		case !ok:
			known := make([]string, 0, len(take))
			for k := range take {
				known = append(known, k)
			}
			slices.Sort(known)
			r.problem(p.Key, "unknown key %q in %s%s", key, what, didYouMean(key, known))
		case seen[key]:
			r.problem(p.Key, "key %q stands twice in %s", key, what)
		default:
			f(p.Value)
		}
		seen[key] = true
	}
}

func keyOf(p *ast.MappingValueNode) string {
	if s, ok := p.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return p.Key.String()
}

// didYouMean ends an error message with the nearest known word, or with nothing.
func didYouMean(word string, known []string) string {
	if near := profiles.Nearest(word, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}

// str reads a word. Numbers are taken as they are written: a serial may look like
// one.
func (r *reader) str(to *string) func(ast.Node) {
	return func(n ast.Node) {
		switch v := n.(type) {
		case *ast.StringNode:
			*to = v.Value
		case *ast.LiteralNode:
			*to = v.Value.Value
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			*to = n.GetToken().Value
		case *ast.NullNode:
			r.problem(n, "no value; delete the line if nothing is to be said")
		default:
			r.problem(n, "want one word or number here")
		}
	}
}

func (r *reader) yes(to *bool) func(ast.Node) {
	return func(n ast.Node) {
		v, ok := n.(*ast.BoolNode)
		if !ok {
			r.problem(n, "want true or false, not %s", quoteNode(n))
			return
		}
		*to = v.Value
	}
}

func (r *reader) integer(to *int, least int) func(ast.Node) {
	return func(n ast.Node) {
		v, err := strconv.Atoi(n.GetToken().Value)
		if _, ok := n.(*ast.IntegerNode); !ok || err != nil || v < least {
			r.problem(n, "want a whole number of at least %d, not %s", least, quoteNode(n))
			return
		}
		*to = v
	}
}

func (r *reader) number(to *float64) func(ast.Node) {
	return func(n ast.Node) {
		v, err := strconv.ParseFloat(n.GetToken().Value, 64)
		if err != nil || v <= 0 {
			r.problem(n, "want a number above zero, not %s", quoteNode(n))
			return
		}
		*to = v
	}
}

// duration reads a quantity of time: "10 min".
func (r *reader) duration(to *Duration) func(ast.Node) {
	return func(n ast.Node) {
		var text string
		r.str(&text)(n)
		q, err := profiles.ParseQuantity(text)
		if err != nil {
			r.problem(n, "%v", err)
			return
		}
		seconds, err := q.In(profiles.Seconds)
		if err != nil || seconds <= 0 {
			r.problem(n, "%q is not a time: write it like \"10 min\" or \"2 s\"", text)
			return
		}
		*to = Duration(seconds * 1e9)
	}
}

// ref reads a reference to a secret. The text itself is never repeated: it may
// be the secret.
func (r *reader) ref(to *Ref) func(ast.Node) {
	return func(n ast.Node) {
		var text string
		r.str(&text)(n)
		if _, _, err := Ref(text).parts(); err != nil {
			r.problem(n, "%v", err)
			return
		}
		*to = Ref(text)
	}
}

func (r *reader) quantity(to **profiles.Quantity) func(ast.Node) {
	return func(n ast.Node) {
		var text string
		r.str(&text)(n)
		q, err := profiles.ParseQuantity(text)
		if err != nil {
			r.problem(n, "%v", err)
			return
		}
		*to = &q
	}
}

func (r *reader) count(to **int) func(ast.Node) {
	return func(n ast.Node) {
		v := -1
		r.integer(&v, 0)(n)
		if v >= 0 {
			*to = &v
		}
	}
}

func quoteNode(n ast.Node) string {
	text := n.GetToken().Value
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "…"
	}
	return strconv.Quote(text)
}
