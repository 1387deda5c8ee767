package modules

import (
	"context"
	"errors"
	"fmt"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/runner/python"
	"github.com/stoker-ml/stoker/functions/runner/snapshot"
	"github.com/stoker-ml/stoker/functions/stoker/app"
)

// CheckPath returns an error if a module that is named by a path isn't there.
func CheckPath(source module.Source) error {
	if !IsPath(source.Path) {
		return nil
	}
	_, err := os.Stat(source.Path)
	if err == nil {
		return nil
	}
	name, hint := filepath.Base(source.Path), ""
	if slices.Contains(builtin.Names(), name) {
		hint = "; did you mean " + module.BuiltinPrefix + name + "?"
	}
	return fmt.Errorf("%s: expected a folder with a Go program, a built one, or a TFX module file: %w%s", source.Path, app.Cause(err), hint)
}

// CheckModule reports the errors of a module that a worker would find with the first job that
// trains, or tunes, or both.
func CheckModule(ctx context.Context, a *app.App, source module.Source, trains, tunes bool) error {
	if own, ok := strings.CutPrefix(source.Path, module.BuiltinPrefix); ok {
		return checkBuiltin(own, source)
	}
	if !IsPath(source.Path) {
		return nil
	}
	if err := CheckPath(source); err != nil {
		return err
	}
	if snapshot.IsPython(source.Path) {
		return checkPython(ctx, a, source, entryPoints(source, trains, tunes))
	}
	if keys := source.PythonKeys(); len(keys) > 0 {
		return fmt.Errorf("%s is not a TFX module: remove %s (only for TFX modules)", source.Path, strings.Join(keys, ", "))
	}
	return checkProgram(source.Path)
}

// checkProgram returns an error for a path that is neither an executable file nor a folder with the
// Go files of a program, which are parsed and not built.
func checkProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return fmt.Errorf("%s is neither a TFX module (a .py file, or an archive with some) nor an executable file", path)
		}
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	packages := map[string]string{} // one file of each
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		// The go command ignores it.
		if used, err := build.Default.MatchFile(path, name); err == nil && !used {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(path, name), nil, parser.SkipObjectResolution)
		if list, ok := errors.AsType[scanner.ErrorList](err); ok && len(list) > 0 {
			return list[0] // its text begins with file:line:column
		}
		if err != nil {
			return err
		}
		packages[file.Name.Name] = name
	}
	switch {
	case len(packages) == 0:
		return fmt.Errorf("%s holds neither a Go program nor a TFX module: expected Go files of package main in it, or .py files", path)
	case packages["main"] == "":
		name := slices.Sorted(maps.Keys(packages))[0]
		return fmt.Errorf("%s is of package %s: expected package main, a program that serves a module", filepath.Join(path, packages[name]), name)
	}
	return nil
}

func checkBuiltin(name string, source module.Source) error {
	if !slices.Contains(builtin.Names(), name) {
		return fmt.Errorf("%s: no such module: expected one of %s%s", source.Path, strings.Join(builtin.Names(), ", "), spelling.Suggestion(name, builtin.Names()))
	}
	if keys := source.PythonKeys(); len(keys) > 0 {
		return fmt.Errorf("%s is not a TFX module: remove %s (only for TFX modules)", source.Path, strings.Join(keys, ", "))
	}
	return nil
}

// maxLeftShown is how many omitted files a note names.
const maxLeftShown = 20

// checkPython collects the module's files as a worker does, parses with Python those that hold the
// called functions, and searches for these.
func checkPython(ctx context.Context, a *app.App, source module.Source, calls []entryPoint) error {
	files, err := TakeModule(ctx, source.Path)
	if err != nil {
		return err
	}
	left, err := snapshot.LeftBehind(source.Path)
	if err != nil {
		return err
	}
	for _, found := range []struct {
		does  string
		names []string
	}{{"names", left.Named}, {"may read", left.Other}} {
		if names := found.names; len(names) > 0 {
			if more := len(names) - maxLeftShown; more > 0 {
				names = append(names[:maxLeftShown:maxLeftShown], fmt.Sprintf("%d more", more))
			}
			fmt.Fprintf(a.Notes(), "%s %s %s, which workers do not get: a module file comes only with the .py files next to it; to include all files, name the folder as module\n",
				filepath.Base(source.Path), found.does, strings.Join(names, ", "))
		}
	}
	called := calledFiles(files, calls)
	if len(called) == 0 {
		return files.Ambiguous()
	}
	read, err := readOutlines(ctx, a, source, files, called, calls)
	if err != nil {
		return err
	}
	outlines := map[string]python.Outline{}
	for i, path := range called {
		outlines[path] = read[i]
	}
	for _, call := range calls {
		if err := checkEntry(a, files, call, outlines); err != nil {
			return err
		}
	}
	return nil
}

// calledFiles returns the files that hold the called functions.
func calledFiles(files snapshot.Snapshot, calls []entryPoint) []string {
	var called []string
	for _, call := range calls {
		for _, name := range files.Called(call.named) {
			path := filepath.Join(files.Dir, filepath.FromSlash(name))
			if _, err := os.Stat(path); err == nil {
				called = append(called, path)
			}
		}
	}
	slices.Sort(called)
	return slices.Compact(called)
}

// TakeModule copies the files of a TFX module to the cache for modules that are tried here.
func TakeModule(ctx context.Context, path string) (snapshot.Snapshot, error) {
	cache, err := ModuleCache()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	return snapshot.Take(ctx, filepath.Join(cache, "python"), path)
}

// IsPath distinguishes a module on disk from builtin:dnn and s3://bucket/key.
func IsPath(module string) bool { return !strings.Contains(module, ":") }

// CheckUpload returns an error for a folder that is a TFX module whose file has a syntax error,
// which workers would find with the first job. It accepts any other folder, with or without Python
// files.
func CheckUpload(ctx context.Context, a *app.App, folder string) error {
	path, err := filepath.Abs(folder)
	if err != nil || !snapshot.IsPython(path) {
		return err
	}
	files, err := TakeModule(ctx, path)
	if err != nil || files.File == "" {
		return ctx.Err()
	}
	file := filepath.Join(files.Dir, files.File)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	calls := entryPoints(module.Source{}, true, true)
	for _, found := range definition.FindAllSubmatch(text, -1) {
		for _, call := range calls {
			if slices.Contains(call.names, string(found[1])) {
				_, err := readOutlines(ctx, a, module.Source{Path: path}, files, []string{file}, calls)
				return err
			}
		}
	}
	return nil
}

// RelativeTo makes the paths of a source absolute: those in a pipeline file are relative to its
// folder, those on a command line to the current directory. An interpreter without a slash is on
// the worker's PATH.
func RelativeTo(dir string, source module.Source) (module.Source, error) {
	var failed error
	from := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		absolute, err := filepath.Abs(filepath.Join(dir, path))
		if err != nil {
			failed = err
		}
		return absolute
	}
	if IsPath(source.Path) {
		source.Path = from(source.Path)
	}
	if strings.ContainsRune(filepath.ToSlash(source.Python), '/') {
		source.Python = from(source.Python)
	}
	wheels := make([]string, len(source.Requirements))
	for i, text := range source.Requirements {
		wheels[i] = text
		if r, err := module.ParseRequirement(text); err == nil && r.Wheel != "" {
			wheels[i] = from(r.Wheel)
		}
	}
	if len(wheels) > 0 {
		source.Requirements = wheels
	}
	return source, failed
}
