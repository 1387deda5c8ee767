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

// directive begins a comment for a tool, which can't be wrapped.
var directive = regexp.MustCompile(`^//([a-z]+:|nolint)`)

// WideComments lists the lines of Go comments under root that are wider than CommentColumns, a tab
// counting as four columns. A comment at the end of a line of code counts with its code. It
// includes nested modules and tests. It excludes testdata, generated files, the expected output of
// examples, lines with a URL, and directives.
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
			switch {
			case columns <= CommentColumns || strings.Contains(line, "://"):
			case !strings.HasPrefix(comment.Text, "//") || directive.MatchString(comment.Text):
			case strings.HasPrefix(strings.TrimSpace(line), "//"):
				wide = append(wide, fmt.Sprintf("%s:%d: comment of %d columns: wrap it at %d", name, n, columns, CommentColumns))
			default:
				wide = append(wide, fmt.Sprintf("%s:%d: line of %d columns with a comment at its end: put the comment above the line", name, n, columns))
			}
		}
	}
	return wide, nil
}
