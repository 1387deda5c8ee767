package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/guest/python"
	"github.com/stoker-ml/stoker/functions/guest/snapshot"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// checkModule says at once what a worker would find out with the first job.
func (a *app) checkModule(ctx context.Context, source module.Source) error {
	if own, ok := strings.CutPrefix(source.Path, module.BuiltinPrefix); ok {
		return checkBuiltin(own, source)
	}
	if !isPath(source.Path) {
		return nil
	}
	if _, err := os.Stat(source.Path); err != nil {
		return fmt.Errorf("%s: expected a folder with a Go program, a built one, or a TFX module file: %w", source.Path, errors.Unwrap(err))
	}
	if snapshot.IsPython(source.Path) {
		return a.checkPython(ctx, source)
	}
	if keys := source.PythonKeys(); len(keys) > 0 {
		return fmt.Errorf("%s is no TFX module, and %s is for those", source.Path, strings.Join(keys, ", "))
	}
	return nil
}

func checkBuiltin(name string, source module.Source) error {
	if !slices.Contains(builtin.Names(), name) {
		return fmt.Errorf("%s: no such module: expected one of %s", source.Path, strings.Join(builtin.Names(), ", "))
	}
	if keys := source.PythonKeys(); len(keys) > 0 {
		return fmt.Errorf("%s is for TFX modules, and %s is none", strings.Join(keys, ", "), source.Path)
	}
	return nil
}

// checkPython takes the module's files as a worker does, and has Python read those that will be called.
func (a *app) checkPython(ctx context.Context, source module.Source) error {
	files, err := takeModule(ctx, source.Path)
	if err != nil {
		return err
	}
	called := calledFiles(files, source)
	if len(called) == 0 {
		return files.Ambiguous()
	}
	cache, err := moduleCache()
	if err != nil {
		return err
	}
	found, err := python.Find(ctx, python.Options{Named: source.Python, Default: os.Getenv(guest.PythonEnv), CacheDir: cache})
	if err != nil { // workers may have one where this machine has none
		a.logger().Info("the module's syntax is not checked", "module", source.Path, "error", err)
		return nil
	}
	err = python.CheckSyntax(ctx, found, called...)
	if wrong, ok := errors.AsType[*python.SyntaxError](err); ok {
		return errors.New(files.Theirs(wrong.Error()))
	}
	return err
}

// calledFiles are the files that hold what is called.
func calledFiles(files snapshot.Snapshot, source module.Source) []string {
	var called []string
	for _, name := range slices.Concat(files.Called(source.RunFn), files.Called(source.TunerFn)) {
		path := filepath.Join(files.Dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			called = append(called, path)
		}
	}
	slices.Sort(called)
	return slices.Compact(called)
}

// takeModule keeps the files of a TFX module where modules that are tried here are kept.
func takeModule(ctx context.Context, path string) (snapshot.Snapshot, error) {
	cache, err := moduleCache()
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	return snapshot.Take(ctx, filepath.Join(cache, "python"), path)
}

// isPath tells a module on disk from builtin:dnn and s3://bucket/key.
func isPath(module string) bool { return !strings.Contains(module, ":") }
