package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// outlets are the ways to print without terminal.Stream that the product's code may use: "file:
// way", with the reason.
var outlets = map[string]string{
	"functions/stoker/main.go: os.Stdout":              "run wraps it",
	"functions/stoker/main.go: os.Stderr":              "run wraps it",
	"functions/stoker/main.go: log.SetOutput":          "what libraries log is made safe too",
	"functions/stoker/serve/up.go: os.Stderr":          "what libraries write there goes to the log instead",
	"functions/stoker/table/limit_other.go: os.Stderr": "a child that is out of memory ends as Go's runtime ends it",
	"functions/stoker/run/logs.go: Raw":                "--raw asks for the bytes as they are",

	"functions/stoker/admin/access.go: Data":         "configuration of nats-server; policies, in JSON",
	"functions/stoker/app/app.go: Data":              "log lines in JSON",
	"functions/stoker/try/fromtfx.go: Data":          "a pipeline file, in YAML",
	"functions/stoker/try/schema.go: Data":           "a schema, in protocol buffers' text format",
	"functions/stoker/model/lineage.go: Data":        "a graph for Graphviz",
	"functions/stoker/serve/lineage_export.go: Data": "OpenLineage's events, in JSON",
	"functions/stoker/study/best.go: Data":           "a study, in CSV or JSON",
	"functions/stoker/try/try.go: Data":              "an assignment, in JSON",
	"functions/stoker/try/tune.go: Data":             "a study's configuration, in JSON",
	"functions/stoker/terminal/print.go: Data":       "results in JSON and YAML",

	// Separate programs. A module's standard error is the job's log, which `stoker logs` prints.
	"functions/module/module.go: os.Stderr":            "the job's log",
	"functions/module/serve.go: os.Stderr":             "the job's log",
	"functions/module/estimator/run.go: os.Stderr":     "the job's log",
	"functions/module/builtin/run.go: os.Stderr":       "the job's log",
	"functions/module/training/training.go: os.Stderr": "the job's log",
	"functions/module/module.go: os.NewFile":           "the pipe to the runner",
	"functions/stoker-cuda/main.go: os.Stdout":         "what it found, in JSON, for the worker that started it",
	"functions/stoker-cuda/main.go: os.Stderr":         "its own errors, and the log of a job",
	"compute/kernel/asm/main.go: os.Stderr":            "a generator of code, for developers",
	"compute/tf/tftest/server.go: os.Stderr":           "tests",
	"compute/tf/tftest/server.go: /dev/tty":            "tests",

	"functions/module/modelcheck/modelcheck.go: os.Stderr": "the log of a check",
	"compute/tf/skew/python.go: os.Stderr":                 "the log of a check",
	"compute/tf/skew/transformer.go: os.Stderr":            "the log of a check",

	"functions/runner/process/fork_server_linux.go: os.NewFile":              "a socket to a module's process",
	"functions/runner/process/launch_linux.go: os.NewFile":                   "a module's program, in memory",
	"functions/internal/peer/peertest/client_linux.go: os.Stdout":            "tests",
	"functions/internal/peer/peertest/client_linux.go: os.Stderr":            "tests",
	"functions/runner/process/processtest/fork_server_linux.go: os.NewFile":  "tests",
	"functions/runner/process/processtest/fork_server_linux.go: fmt.Println": "tests",
}

func TestNothingIsPrintedPastTheTerminalPackage(t *testing.T) {
	t.Parallel()
	root, used := os.DirFS("../.."), map[string]bool{}
	for _, dir := range []string{"functions", "compute", "events", "storage", "local"} {
		err := fs.WalkDir(root, dir, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return fs.SkipDir
			case path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			source, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			found, err := findOutlets(name, source)
			for _, outlet := range found {
				used[outlet] = true
				if outlets[outlet] == "" {
					t.Errorf("%s: print through functions/stoker/terminal, or add it to outlets with the reason", outlet)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, outlet := range slices.Sorted(maps.Keys(outlets)) {
		if !used[outlet] {
			t.Errorf("%s: is not used any more", outlet)
		}
	}
}

// printers are functions and variables of the standard library that print on the process's own
// streams, by package; * means all.
var printers = map[string][]string{
	"os":                    {"Stdout", "Stderr", "NewFile"},
	"fmt":                   {"Print", "Printf", "Println"},
	"log":                   {"*"},
	"log/slog":              {"Debug", "Info", "Warn", "Error", "Log", "Default", "DebugContext", "InfoContext", "WarnContext", "ErrorContext"},
	"syscall":               {"Stdout", "Stderr", "Write"},
	"golang.org/x/sys/unix": {"Stdout", "Stderr", "Write"},
}

// findOutlets lists the ways to print without terminal.Stream in a source file: "file: way".
func findOutlets(name string, source []byte) (found []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	add := func(way string) { found = append(found, name+": "+way) }
	imported := map[string]string{}
	for _, spec := range file.Imports {
		library, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if _, prints := printers[library]; !prints {
			continue
		}
		local := path.Base(library)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == "." {
			add("names of " + library + " without its own")
		}
		imported[local] = library
	}
	command := strings.HasPrefix(name, "functions/stoker/")
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			if of, ok := node.X.(*ast.Ident); ok {
				library := imported[of.Name]
				if in := printers[library]; slices.Contains(in, node.Sel.Name) || slices.Contains(in, "*") {
					add(library + "." + node.Sel.Name)
				}
			}
		case *ast.CallExpr:
			switch called := node.Fun.(type) {
			case *ast.Ident:
				if called.Name == "print" || called.Name == "println" {
					add(called.Name)
				}
			case *ast.SelectorExpr:
				raw := called.Sel.Name == "Raw" && len(node.Args) == 0
				if command && (raw || called.Sel.Name == "Data" && len(node.Args) == 1) {
					add(called.Sel.Name)
				}
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(node.Value)
			if node.Kind != token.STRING || err != nil {
				return true
			}
			if slices.Contains([]string{"/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2", "/proc/self/fd/1", "/proc/self/fd/2"}, text) {
				add(text)
			}
			if command && !strings.HasPrefix(name, "functions/stoker/terminal/") && strings.ContainsAny(text, "\x1b\u009b") {
				add("escape sequence")
			}
		}
		return true
	})
	slices.Sort(found)
	return slices.Compact(found), nil
}

func TestWaysAroundTheTerminalPackageAreFound(t *testing.T) {
	t.Parallel()
	for body, way := range map[string]string{
		`import "os"; func f() { os.Stdout.WriteString("x") }`:                   "os.Stdout",
		`import other "os"; var w = other.Stderr`:                                "os.Stderr",
		`import "os"; var w = os.NewFile(1, "")`:                                 "os.NewFile",
		`import "fmt"; func f() { fmt.Println("x") }`:                            "fmt.Println",
		`import . "fmt"; func f() { Println("x") }`:                              "names of fmt without its own",
		`import "log"; func f() { log.Fatal("x") }`:                              "log.Fatal",
		`import "log/slog"; func f() { slog.Info("x") }`:                         "log/slog.Info",
		`import "syscall"; func f() { syscall.Write(1, nil) }`:                   "syscall.Write",
		`import "golang.org/x/sys/unix"; func f() { unix.Write(1, nil) }`:        "golang.org/x/sys/unix.Write",
		`func f() { println("x") }`:                                              "println",
		`import "os"; func f() { os.OpenFile("/dev/tty", 1, 0) }`:                "/dev/tty",
		`var a app; var w = a.stdout.Raw()`:                                      "Raw",
		`var a app; var w = a.stdout.Data("csv")`:                                "Data",
		"import \"io\"; func f(w io.Writer) { io.WriteString(w, \"\\x1b[2J\") }": "escape sequence",
	} {
		const name = "functions/stoker/x.go"
		found, err := findOutlets(name, []byte("package main\n"+body+"\n"))
		if err != nil || fmt.Sprint(found) != "["+name+": "+way+"]" {
			t.Errorf("in %s %q was found, %v; want %s", body, found, err, way)
		}
	}
	const fine = `package main; import ("fmt"; "os"); func f(a app) { fmt.Fprintln(a.stdout, os.Args); _ = a.raw.Data }`
	if found, err := findOutlets("functions/stoker/x.go", []byte(fine)); err != nil || len(found) > 0 {
		t.Errorf("%q, %v", found, err)
	}
}
