package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// file reads the configuration file. It may be missing if no setting names it.
func (s *Settings) file() (layer, error) {
	path, named := s.filePath()
	if path == "" {
		return layer{}, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && named == "" {
		return layer{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("configuration file%s: %w", named, err)
	}
	s.File = path
	return parseFile(path, text)
}

// filePath returns the file, and what names it; "" if nothing does.
func (s *Settings) filePath() (path, named string) {
	if s.sources.File != "" {
		return s.expand(s.sources.File), " (--config-file)"
	}
	if path := s.env.get("STOKER_CONFIG"); path != "" {
		return s.expand(path), " (STOKER_CONFIG)"
	}
	if dir := configDir(s.sources.Environ, s.sources.Home); dir != "" {
		return filepath.Join(dir, "stoker", "config.yaml"), ""
	}
	return "", ""
}

// parseFile parses YAML: keys as in All, where a dot is a level. Relative paths begin at the file's
// directory.
func parseFile(path string, text []byte) (layer, error) {
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, notYAML(path, err)
	}
	f := file{path: path, said: layer{}}
	for _, doc := range parsed.Docs {
		if err := f.mapping("", doc.Body); err != nil {
			return nil, err
		}
	}
	return f.said, nil
}

// notYAML returns err with its position in the file. It shows no values, because there may be
// secrets among them.
func notYAML(path string, err error) error {
	known, ok := errors.AsType[yaml.Error](err)
	if !ok || known.GetToken() == nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	at := known.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %s", path, at.Line, at.Column, known.GetMessage())
}

type file struct {
	path string
	said layer
}

// mapping reads the keys below prefix.
func (f *file) mapping(prefix string, node ast.Node) error {
	var entries []*ast.MappingValueNode
	switch n := node.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		return f.wrong(node, "expected settings like root: s3://bucket")
	}
	for _, entry := range entries {
		if err := f.entry(prefix+entry.Key.GetToken().Value, entry); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) entry(key string, entry *ast.MappingValueNode) error {
	if slices.Contains(groups(), key) {
		return f.mapping(key+".", entry.Value)
	}
	setting, ok := setting(Key(key))
	if !ok {
		return f.wrong(entry.Key, "unknown key %q: expected one of %s", key, siblings(key))
	}
	text, ok := scalar(entry.Value)
	if !ok {
		return f.wrong(entry.Value, "%s: expected one value", key)
	}
	if setting.isPath && text != "" && !filepath.IsAbs(text) && !strings.HasPrefix(text, "~/") {
		text = filepath.Join(filepath.Dir(f.path), text)
	}
	f.said.set(setting.Key, text, fmt.Sprintf("%s:%d", f.path, entry.Key.GetToken().Position.Line))
	return nil
}

// scalar returns a value as it is written, without quotes; "" for none.
func scalar(node ast.Node) (text string, ok bool) {
	switch n := node.(type) {
	case *ast.NullNode:
		return "", true
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), true
	case ast.ScalarNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// wrong returns an error for a mistake in the file. It shows no values, because there may be
// secrets among them.
func (f *file) wrong(at ast.Node, format string, args ...any) error {
	position := at.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %s", f.path, position.Line, position.Column, fmt.Sprintf(format, args...))
}

// groups returns the keys that have others below them.
func groups() (names []string) {
	for _, setting := range All() {
		if group, _, below := strings.Cut(string(setting.Key), "."); below && !slices.Contains(names, group) {
			names = append(names, group)
		}
	}
	return names
}

// siblings returns the keys that could have been meant by one that doesn't exist.
func siblings(key string) string {
	group, _, nested := strings.Cut(key, ".")
	var names []string
	for _, setting := range All() {
		of, name, below := strings.Cut(string(setting.Key), ".")
		switch {
		case nested && below && of == group:
			names = append(names, name)
		case !nested && !below:
			names = append(names, of)
		}
	}
	if !nested {
		names = append(names, groups()...)
	}
	return strings.Join(names, ", ")
}
