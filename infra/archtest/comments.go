package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// CommentColumns is the width within which comments are wrapped.
const CommentColumns = 100

const tabColumns = 4

// outputMark begins the expected output of an example, which is compared as it is.
var outputMark = regexp.MustCompile(`^//\s*(?i:unordered output|output):`)

// WideComments lists the lines of Go comments under root that are wider than CommentColumns, a tab
// counting as four columns. It includes nested modules and tests. It excludes testdata, generated
// files, the expected output of examples, lines with a URL, and comments at the end of a line of
// code.
func WideComments(root fs.FS) (wide []string, err error) {
	skip := ignored(root)
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") || skip(name)):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		lines, err := wideComments(name, string(text))
		wide = append(wide, lines...)
		return err
	})
	return wide, err
}

func wideComments(name, text string) (wide []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	lines := strings.Split(text, "\n")
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if outputMark.MatchString(comment.Text) {
				break // the rest of the group is output
			}
			n := files.Position(comment.Pos()).Line
			line := strings.TrimSuffix(lines[n-1], "\r")
			columns := utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
			if strings.HasPrefix(strings.TrimSpace(line), "//") && columns > CommentColumns && !strings.Contains(line, "://") {
				wide = append(wide, fmt.Sprintf("%s:%d: comment of %d columns: wrap it at %d", name, n, columns, CommentColumns))
			}
		}
	}
	return wide, nil
}
