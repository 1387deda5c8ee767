package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/stoker-ml/stoker"

// eventPath is the code that one event crosses, from its publication to ModelTrained: the functions
// below events, storage and functions that the process of `stoker up` executes in between, in each
// of several runs, so that most periodic work drops out. The module itself runs in a child process,
// which is not counted.
type eventPath struct {
	All count // every function
	// Functions with a parameter of type context.Context: those that call the bus, the store or a
	// process, or wait.
	Steps count
	// PerPackage has the functions of each package, all and steps.
	PerPackage map[string][2]int
	Executed   []string // the steps, as file:name
}

type count struct{ Functions, Files, Packages int }

func (c count) String() string {
	return fmt.Sprintf("%d functions in %d files of %d packages", c.Functions, c.Files, c.Packages)
}

// function is a function or a method with a body. A function literal belongs to the function around
// it.
type function struct {
	file, name string
	step       bool
}

func newEventPath(executed map[function]bool) eventPath {
	p := eventPath{PerPackage: map[string][2]int{}}
	var all, steps []function
	for f := range executed {
		all = append(all, f)
		n := p.PerPackage[path.Dir(f.file)]
		n[0]++
		if f.step {
			steps = append(steps, f)
			n[1]++
			p.Executed = append(p.Executed, f.file+":"+f.name)
		}
		p.PerPackage[path.Dir(f.file)] = n
	}
	slices.Sort(p.Executed)
	p.All, p.Steps = countOf(all), countOf(steps)
	return p
}

func countOf(functions []function) count {
	files, packages := map[string]bool{}, map[string]bool{}
	for _, f := range functions {
		files[f.file], packages[path.Dir(f.file)] = true, true
	}
	return count{len(functions), len(files), len(packages)}
}

func (p eventPath) print(out io.Writer) {
	fmt.Fprintln(out, "path of one event, from publish to model.trained, executed by stoker up:")
	fmt.Fprintf(out, "  all:   %s\n  steps: %s (functions with a parameter of type context.Context)\n", p.All, p.Steps)
	for _, name := range slices.Sorted(maps.Keys(p.PerPackage)) {
		fmt.Fprintf(out, "  %5d %4d %s\n", p.PerPackage[name][0], p.PerPackage[name][1], name)
	}
}

// executedIn returns the functions of which a profile of coverage, in text, has a block that was
// executed.
func executedIn(root fs.FS, module, profile string) (map[function]bool, error) {
	executed, declared := map[function]bool{}, map[string][]declaration{}
	for line := range strings.Lines(profile) {
		file, line, ran := executedBlock(strings.TrimSpace(line))
		file, inside := strings.CutPrefix(file, module+"/")
		if !ran || !inside || strings.HasPrefix(file, "functions/stoker/") {
			continue
		}
		if _, parsed := declared[file]; !parsed {
			var err error
			if declared[file], err = declarations(root, file); err != nil {
				return nil, err
			}
		}
		for _, d := range declared[file] {
			if d.first <= line && line <= d.last {
				executed[d.function] = true
			}
		}
	}
	return executed, nil
}

// executedBlock reads a line like "module/file.go:3.16,5.2 1 7".
func executedBlock(text string) (file string, line int, ran bool) {
	file, rest, ok := strings.Cut(text, ".go:")
	fields := strings.Fields(rest)
	if !ok || len(fields) != 3 || fields[2] == "0" {
		return "", 0, false
	}
	start, _, _ := strings.Cut(fields[0], ".")
	line, err := strconv.Atoi(start)
	return file + ".go", line, err == nil
}

type declaration struct {
	function
	first, last int
}

func declarations(root fs.FS, file string) (all []declaration, err error) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		all = append(all, declaration{
			function: function{file: file, name: receiver(f) + f.Name.Name, step: hasContext(f)},
			first:    positions.Position(f.Pos()).Line, last: positions.Position(f.End()).Line,
		})
	}
	return all, nil
}

// receiver returns the type of a method with a dot, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	for of := f.Recv.List[0].Type; ; {
		switch t := of.(type) {
		case *ast.Ident:
			return t.Name + "."
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		default:
			return "?."
		}
	}
}

func hasContext(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(field *ast.Field) bool {
		selector, ok := field.Type.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		from, ok := selector.X.(*ast.Ident)
		return ok && from.Name == "context" && selector.Sel.Name == "Context"
	})
}
