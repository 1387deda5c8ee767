package modules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/python"
	"github.com/stoker-ml/stoker/functions/runner/snapshot"
	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// entryPoint is a function of a TFX module that is called.
type entryPoint struct {
	key   string   // of the module in a pipeline, which names it
	named string   // the name given there; "": none
	names []string // TFX's names of it: the first one that exists is called
	args  int      // number of arguments of the call
}

// entryPoints returns the functions that a worker calls to train, to tune, or both.
func entryPoints(source module.Source, trains, tunes bool) (all []entryPoint) {
	if trains {
		all = append(all, entryPoint{"run_fn", source.RunFn, []string{"run_fn", "trainer_fn"}, 1})
	}
	if tunes {
		all = append(all, entryPoint{"tuner_fn", source.TunerFn, []string{"tuner_fn"}, 1})
	}
	return all
}

// signature returns how TFX calls a function.
func signature(name string) string {
	if name == "trainer_fn" {
		return name + "(fn_args, schema)"
	}
	return name + "(fn_args)"
}

// argsOf returns the maximum number of arguments of the call: trainer_fn also gets the schema if it
// accepts it.
func (e entryPoint) argsOf(name string) int {
	if name == "trainer_fn" {
		return 2
	}
	return e.args
}

// wanted returns the names to search for, without their module.
func (e entryPoint) wanted() []string {
	if e.named == "" {
		return e.names
	}
	return []string{e.named[strings.LastIndexByte(e.named, '.')+1:]}
}

// readOutlines parses files of a module with the Python of this machine's workers, or else the
// machine's own. Without Python, it only searches the text, and prints a note.
func readOutlines(ctx context.Context, a *app.App, source module.Source, files snapshot.Snapshot, paths []string, calls []entryPoint) ([]python.Outline, error) {
	cache, err := ModuleCache()
	if err != nil {
		return nil, err
	}
	e, err := python.Find(ctx, python.Options{Named: source.Python, Default: os.Getenv(runner.PythonEnv), CacheDir: cache})
	own := err == nil
	if !own {
		e, err = python.System()
	}
	if err == nil {
		all, failed := python.ReadOutlines(ctx, e, paths...)
		if wrong, ok := errors.AsType[*python.SyntaxError](failed); ok {
			return nil, asRead(a, files, wrong, own)
		}
		if !own || len(source.Requirements) > 0 {
			trustImports(a, files, paths, all, calls)
		}
		if err = failed; err == nil || ctx.Err() != nil {
			return all, err
		}
	}
	a.Logger().Info("no Python parses the module", "module", source.Path, "error", err)
	fmt.Fprintf(a.Notes(), "%s: syntax not checked, because no Python on this machine can parse the file; workers check it with the first job\n", source.Path)
	var wanted []string
	for _, call := range calls {
		wanted = append(wanted, call.wanted()...)
	}
	return outlinesByText(paths, wanted)
}

// trustImports assumes that packages are installed if a Python other than the one that parsed the
// files may have them, and notes which functions depend on that.
func trustImports(a *app.App, files snapshot.Snapshot, paths []string, outlines []python.Outline, calls []entryPoint) {
	for i, outline := range outlines {
		name := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(paths[i]), filepath.ToSlash(files.Dir)), "/")
		for j, b := range outline.Names {
			if b.From == "" || b.Installed || strings.HasPrefix(b.From, ".") {
				continue
			}
			outline.Names[j].Installed = true
			called := slices.ContainsFunc(calls, func(e entryPoint) bool { return slices.Contains(e.wanted(), b.Name) })
			if called && len(files.Imported(name, b.From)) == 0 {
				fmt.Fprintf(a.Notes(), "%s:%d:%d: %s is imported from %s, which is not in the module's files: the Python of the workers must have it\n", files.Theirs(paths[i]), b.Line, b.Column, b.Name, b.From)
			}
		}
	}
}

// asRead returns a syntax error with the module's own path. A Python other than the workers' may
// not know their syntax.
func asRead(a *app.App, files snapshot.Snapshot, wrong *python.SyntaxError, own bool) error {
	text := files.Theirs(wrong.Error())
	if !own {
		text += fmt.Sprintf(" (according to Python %s of this machine)", wrong.Python)
	}
	return errors.New(text)
}

var (
	definition = regexp.MustCompile(`(?m)^(?:async[ \t]+def|def|class)[ \t]+([A-Za-z_]\w*)`)
	word       = regexp.MustCompile(`[A-Za-z_]\w*`)
	opener     = regexp.MustCompile(`import[ \t]*(?:\([ \t]*)?\*|\b(?:exec|eval|globals|locals|vars|setattr)\b|__getattr__|__dict__`)
)

// outlinesByText searches for names without Python: a name that is not in the text of a file is not
// bound by it. One that is there counts as bound, even in a comment.
func outlinesByText(paths, wanted []string) ([]python.Outline, error) {
	all := make([]python.Outline, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, at := range definition.FindAllSubmatchIndex(text, -1) {
			line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
			all[i].Names = append(all[i].Names, python.Binding{Name: string(text[at[2]:at[3]]), Line: line, Column: 1})
		}
		for _, at := range word.FindAllIndex(text, -1) {
			name := string(text[at[0]:at[1]])
			if slices.Contains(wanted, name) {
				all[i].Names = append(all[i].Names, python.Binding{Name: name, Line: 1, Column: 1})
			}
		}
		all[i].Open = opener.Match(text)
	}
	return all, nil
}

// checkEntry returns an error for a module whose file lacks the function to call, or has one that
// can't be called so. Files that may bind names in other ways, and those that are not the module's
// own, are left to the workers.
func checkEntry(a *app.App, files snapshot.Snapshot, e entryPoint, outlines map[string]python.Outline) error {
	for _, name := range files.Called(e.named) {
		path := filepath.Join(files.Dir, filepath.FromSlash(name))
		outline, there := outlines[path]
		if !there {
			continue
		}
		own := filepath.FromSlash(strings.TrimSuffix(files.Theirs(path+":"), ":"))
		for _, wanted := range e.wanted() {
			if found, bound := outline.Binds(wanted); bound {
				if err := checkImports(files, name, own, wanted, outline); err != nil {
					return err
				}
				return callable(own, found, e.argsOf(wanted))
			}
		}
		if outline.Open {
			fmt.Fprintf(a.Notes(), "%s: not checked whether it defines %s: it may define names at run time\n", own, strings.Join(e.wanted(), " or "))
			return nil
		}
		return e.missing(own, outline)
	}
	return nil
}

// checkImports returns an error for a function that its file imports from a module that is neither
// in the module's files nor installed. Of several imports, as in try and except, one must exist.
// Requirements may provide a module, and a Python that workers don't use does not have their
// packages: those cases are left to the workers.
func checkImports(files snapshot.Snapshot, name, own, wanted string, outline python.Outline) error {
	var missing error
	for _, b := range outline.Names {
		if b.Name != wanted {
			continue
		}
		if b.From == "" || b.Installed || len(files.Imported(name, b.From)) > 0 {
			return nil
		}
		missing = fmt.Errorf("%s:%d:%d: %s is imported from %s, which is neither in the module's files nor installed: put it there, add it to module.requirements, "+
			"or skip this check with --skip-module-check if the workers have it", own, b.Line, b.Column, wanted, b.From)
	}
	return missing
}

// missing returns the error that a file lacks a function, at the position of a similar one if there
// is one.
func (e entryPoint) missing(path string, outline python.Outline) error {
	wanted := e.wanted()
	for _, found := range outline.Names {
		for _, name := range wanted {
			if spelling.Suggestion(found.Name, []string{name}) != "" {
				return fmt.Errorf("%s:%d:%d: %s: expected %s; did you mean %s?", path, found.Line, found.Column, found.Name, signature(name), name)
			}
		}
	}
	calls := make([]string, len(wanted))
	for i, name := range wanted {
		calls[i] = signature(name)
	}
	return fmt.Errorf("%s:1:1: it does not define %s: define it, or name the function to call, as in module.%s: my_module.%s",
		path, strings.Join(calls, " or "), e.key, e.key)
}

// callable returns an error for a function that can't be called with one argument, or any number of
// them up to args.
func callable(path string, b python.Binding, args int) error {
	at := fmt.Sprintf("%s:%d:%d: %s", path, b.Line, b.Column, b.Name)
	switch {
	case b.Coroutine:
		return fmt.Errorf("%s: expected a plain function, got an async one, whose body would not run", at)
	case !b.Function:
		return nil
	case b.Least > args || b.Most == 0:
		return fmt.Errorf("%s: expected a function of %s, as TFX calls %s", at, map[int]string{1: "1 argument", 2: "1 or 2 arguments"}[args], signature(b.Name))
	case len(b.Keywords) > 0:
		return fmt.Errorf("%s: requires the keyword arguments %s, but TFX calls %s", at, strings.Join(b.Keywords, ", "), signature(b.Name))
	}
	return nil
}
