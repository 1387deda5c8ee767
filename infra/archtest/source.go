package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// source is what the checks read of one Go file.
type source struct {
	path    string
	test    bool
	pkg     string // the package clause, without _test
	comment string // the package comment
	imports []string
}

func (s source) dir() string { return path.Dir(s.path) }

// read parses the Go files of one module, including those behind build tags. Like the go command,
// it skips testdata, names that begin with a dot or an underscore, and nested modules.
func read(root fs.FS, ignored func(name string) bool) ([]source, error) {
	var sources []source
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && excluded(root, name, ignored):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		s, err := parse(root, name)
		sources = append(sources, s)
		return err
	})
	return sources, err
}

func excluded(root fs.FS, dir string, ignored func(name string) bool) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil || ignored(dir)
}

func parse(root fs.FS, name string) (source, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return source{}, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return source{}, fmt.Errorf("parse: %w", err)
	}
	return source{
		path:    name,
		test:    strings.HasSuffix(name, "_test.go"),
		pkg:     strings.TrimSuffix(file.Name.Name, "_test"),
		comment: file.Doc.Text(),
		imports: imports(file),
	}, nil
}

func imports(file *ast.File) []string {
	var paths []string
	for _, spec := range file.Imports {
		// The parser guarantees a string literal here.
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// ignored returns a function that reports whether .gitignore excludes a name at the top. It
// understands plain names and patterns of one element only; what it doesn't understand makes the
// check stricter.
func ignored(root fs.FS) func(name string) bool {
	text, _ := fs.ReadFile(root, ".gitignore") // without the file, nothing is excluded
	return func(name string) bool {
		for line := range strings.Lines(string(text)) {
			pattern := strings.Trim(strings.TrimSpace(line), "/")
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return true
			}
		}
		return false
	}
}
