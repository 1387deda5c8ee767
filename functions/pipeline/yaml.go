package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file, so that parsing any text is cheap.
const (
	maxBytes = 256 << 10
	maxDepth = 50
	maxNodes = 10_000 // after aliases are followed
)

// problemAt is a Problem that ends the parsing of a text.
type problemAt struct{ Problem }

func (p problemAt) Error() string { return p.String() }

func failAt(at position, format string, args ...any) error {
	return problemAt{Problem{Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...)}}
}

// readYAML reads a YAML 1.2 text of one document.
func readYAML(text []byte) (node, error) {
	if len(text) > maxBytes {
		return node{}, failAt(position{}, "longer than %d KiB", maxBytes>>10)
	}
	tokens := lexer.Tokenize(string(text))
	if err := checkDepth(tokens); err != nil {
		return node{}, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return node{}, syntaxProblem(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return node{}, failAt(positionOf(doc.Body), "more than one document")
		}
		body = doc.Body
	}
	if body == nil {
		return node{}, failAt(position{1, 1}, "the file holds no pipeline")
	}
	r := yamlReader{anchors: map[string]node{}}
	return r.node(body)
}

// checkDepth returns an error for a text on which the recursive parser would recurse deeply: nested
// flow collections, and nested block collections on one line. Other nesting requires indentation,
// which the file's size bounds.
func checkDepth(tokens token.Tokens) error {
	flow, opened, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, opened = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			opened++
		}
		if flow > maxDepth || opened > maxDepth {
			return failAt(position{line, t.Position.Column}, "nested more than %d deep", maxDepth)
		}
	}
	return nil
}

// syntaxProblem keeps the position and the text of the library's error, without its excerpt of the
// source.
func syntaxProblem(err error) error {
	known, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return failAt(position{}, "%v", err)
	}
	return failAt(tokenPosition(known.GetToken()), "%s", known.GetMessage())
}

// yamlReader converts the library's tree to nodes, and resolves aliases.
type yamlReader struct {
	anchors map[string]node
	nodes   int
	depth   int
}

func (r *yamlReader) node(n ast.Node) (node, error) {
	at := positionOf(n)
	r.depth++
	defer func() { r.depth-- }()
	if r.nodes++; r.nodes > maxNodes {
		return node{}, failAt(at, "more than %d values", maxNodes)
	}
	if r.depth > maxDepth {
		return node{}, failAt(at, "nested more than %d deep", maxDepth)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(at, n.Values)
	case *ast.MappingValueNode:
		return r.mapping(at, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		return r.sequence(at, n)
	case *ast.AnchorNode:
		return r.anchor(n)
	case *ast.AliasNode:
		return r.alias(at, n)
	case *ast.LiteralNode:
		return node{at: at, value: n.Value.Value, textLine: 1}, nil
	default:
		value, err := scalar(at, n)
		return node{at: at, value: value}, err
	}
}

func (r *yamlReader) mapping(at position, values []*ast.MappingValueNode) (node, error) {
	fields := make([]field, 0, len(values))
	for _, v := range values {
		key, err := keyOf(v.Key)
		if err != nil {
			return node{}, err
		}
		value, err := r.node(v.Value)
		if err != nil {
			return node{}, err
		}
		fields = append(fields, field{key: key, at: positionOf(v.Key), node: value})
	}
	return node{at: at, value: fields}, nil
}

func (r *yamlReader) sequence(at position, n *ast.SequenceNode) (node, error) {
	list := make([]node, 0, len(n.Values))
	for _, v := range n.Values {
		element, err := r.node(v)
		if err != nil {
			return node{}, err
		}
		list = append(list, element)
	}
	return node{at: at, value: list}, nil
}

func (r *yamlReader) anchor(n *ast.AnchorNode) (node, error) {
	value, err := r.node(n.Value)
	if err == nil {
		r.anchors[n.Name.GetToken().Value] = value
	}
	return value, err
}

// alias returns the value of the anchor, and counts it again: a few aliases can stand for very many
// values.
func (r *yamlReader) alias(at position, n *ast.AliasNode) (node, error) {
	name := n.Value.GetToken().Value
	value, ok := r.anchors[name]
	if !ok {
		return node{}, failAt(at, "alias *%s names no anchor before it", shorten(name))
	}
	if r.nodes += value.count(); r.nodes > maxNodes {
		return node{}, failAt(at, "more than %d values", maxNodes)
	}
	return value, nil
}

func (n node) count() int {
	total := 1
	switch v := n.value.(type) {
	case []node:
		for _, element := range v {
			total += element.count()
		}
	case []field:
		for _, f := range v {
			total += f.node.count()
		}
	}
	return total
}

func keyOf(k ast.MapKeyNode) (string, error) {
	if k.IsMergeKey() {
		return "", failAt(positionOf(k), "merge keys (<<) are not supported")
	}
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value, nil
	}
	return "", failAt(positionOf(k), "expected a key that is plain text, got %s", k.Type().YAMLName())
}

func scalar(at position, n ast.Node) (any, error) {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.StringNode:
		return plainText(at, n)
	case *ast.IntegerNode:
		return json.Number(fmt.Sprint(n.Value)), nil
	case *ast.FloatNode:
		if math.IsInf(n.Value, 0) || math.IsNaN(n.Value) {
			return nil, failAt(at, "number %s is too large", shorten(n.GetToken().Value))
		}
		return floatNumber(n.Value), nil
	case *ast.TagNode:
		return nil, failAt(at, "tags (%s) are not supported", shorten(n.GetToken().Value))
	default:
		return nil, failAt(at, "%s is not supported", n.Type().YAMLName())
	}
}

// exponent is a float of YAML 1.2's core schema (10.3.2) that the library parses as text: 1e-3.
var exponent = regexp.MustCompile(`^[-+]?[0-9]+[eE][-+]?[0-9]+$`)

func plainText(at position, n *ast.StringNode) (any, error) {
	quoted := n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
	if quoted || !exponent.MatchString(n.Value) {
		return n.Value, nil
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	if err != nil {
		return nil, failAt(at, "number %s is too large", shorten(n.Value))
	}
	return floatNumber(f), nil
}

// positionOf returns where a value begins. The token of a mapping is its first colon, so the key's
// is used.
func positionOf(n ast.Node) position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return positionOf(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return positionOf(n.Key)
	}
	return tokenPosition(n.GetToken())
}

func tokenPosition(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{t.Position.Line, t.Position.Column}
}
