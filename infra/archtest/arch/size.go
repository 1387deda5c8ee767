package main

import (
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// report are the figures of one revision.
type report struct {
	Revision string
	Size     size
	Path     *eventPath `json:",omitempty"`
}

// size counts hand-written Go files that are no tests. Generated files and testdata are left out;
// nested modules count.
type size struct {
	Lines     int // all
	CodeLines int // with at least one token: neither blank nor only comment
	Files     int
	Small     int // files of at most smallLines lines
	Packages  int
	Median    int // files per package
	P95       int
	Max       int
	Large     []packageSize // product packages with more than largeFiles files
}

type packageSize struct {
	Package string
	Files   int
}

const (
	smallLines = 60
	largeFiles = 40
)

// areas are the directories with the code of the product; infra has checks and tools.
var areas = []string{"compute", "events", "functions", "local", "storage"}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func sizeOf(root fs.FS) (size, error) {
	var s size
	perPackage := map[string]int{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil || generated.Match(text) {
			return err
		}
		lines := strings.Count(string(text), "\n")
		s.Lines += lines
		s.CodeLines += codeLines(text)
		s.Files++
		if lines <= smallLines {
			s.Small++
		}
		perPackage[path.Dir(name)]++
		return nil
	})
	s.packages(perPackage)
	return s, err
}

func (s *size) packages(files map[string]int) {
	var counts []int
	for name, n := range files {
		counts = append(counts, n)
		if area, _, _ := strings.Cut(name, "/"); n > largeFiles && slices.Contains(areas, area) {
			s.Large = append(s.Large, packageSize{name, n})
		}
	}
	slices.Sort(counts)
	slices.SortFunc(s.Large, func(a, b packageSize) int { return cmp.Or(b.Files-a.Files, strings.Compare(a.Package, b.Package)) })
	s.Packages = len(counts)
	if len(counts) > 0 {
		s.Median, s.P95, s.Max = counts[len(counts)/2], counts[len(counts)*95/100], counts[len(counts)-1]
	}
}

// codeLines counts the lines of a Go file on which a token stands.
func codeLines(text []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return len(lines)
		}
		if kind == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(at)
		for i := range strings.Count(literal, "\n") + 1 {
			lines[first+i] = true
		}
	}
}

func (r report) print(out io.Writer) error {
	s := r.Size
	fmt.Fprintf(out, "revision %s\n", r.Revision)
	fmt.Fprintf(out, "hand-written lines, no tests: %d, of which %d have code\n", s.Lines, s.CodeLines)
	fmt.Fprintf(out, "files: %d, of which %d (%d %%) have %d lines or fewer\n", s.Files, s.Small, 100*s.Small/max(1, s.Files), smallLines)
	fmt.Fprintf(out, "packages: %d; files per package: median %d, p95 %d, max %d\n", s.Packages, s.Median, s.P95, s.Max)
	for _, large := range s.Large {
		fmt.Fprintf(out, "  more than %d files: %s (%d)\n", largeFiles, large.Package, large.Files)
	}
	if r.Path != nil {
		r.Path.print(out)
	}
	return nil
}
