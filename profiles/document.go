package profiles

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// document is one parsed YAML file whose top is a mapping.
type document struct {
	file string
	root ast.Node
}

// parseDocument reads the YAML of a file. Syntax is all or nothing: the error is the first one.
func parseDocument(file string, b []byte) (document, error) {
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return document{}, syntaxProblem(file, err)
	}
	var roots []ast.Node
	for _, doc := range f.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			roots = append(roots, doc.Body)
		}
	}
	switch {
	case len(roots) == 0:
		return document{}, Problems{{Pos: Position{File: file}, Text: "the file holds nothing"}}
	case len(roots) > 1:
		return document{}, Problems{{Pos: position(file, roots[1]), Text: "one file holds one document; delete what follows the second ---"}}
	}
	if _, ok := roots[0].(ast.MapNode); !ok {
		return document{}, Problems{{Pos: position(file, roots[0]), Text: "the file must be keys and values"}}
	}
	return document{file: file, root: roots[0]}, nil
}

func syntaxProblem(file string, err error) error {
	problem := Problem{Pos: Position{File: file}, Text: strings.SplitN(err.Error(), "\n", 2)[0]}
	if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		problem.Text = syntax.Message
		if syntax.Token != nil && syntax.Token.Position != nil {
			problem.Pos.Line, problem.Pos.Column = syntax.Token.Position.Line, syntax.Token.Position.Column
		}
	}
	return Problems{problem}
}

// position is where node begins. The token of a block mapping is its first colon, so its first key stands for it.
func position(file string, node ast.Node) Position {
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return position(file, n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return position(file, n.Key)
	}
	pos := Position{File: file}
	if t := node.GetToken(); t != nil && t.Position != nil {
		pos.Line, pos.Column = t.Position.Line, t.Position.Column
	}
	return pos
}

// entries lists the pairs of a mapping; ok is false for any other node.
func entries(node ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// scalar gives the text of a scalar as it was written, without quotes; ok is false for anything else, null too.
func scalar(node ast.Node) (text string, ok bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, true
	}
	return "", false
}
