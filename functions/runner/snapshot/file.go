package snapshot

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// entry matches a function that TFX calls, defined at the left margin. Only the text is searched,
// so that no Python is needed. A module that defines it otherwise, by an import or within a
// condition, names it: run_fn: my_module.run_fn.
var entry = regexp.MustCompile(`(?m)^def[ \t]+(?:run_fn|tuner_fn|trainer_fn)[ \t]*\(`)

// findFile finds the module file: the one that was named, the only one at the top, or of several
// there the only one that defines a function to be called.
func (s *Snapshot) findFile() error {
	if isModuleFile(s.path) {
		s.File = filepath.Base(s.path)
		return nil
	}
	all, err := filesEnding(s.Dir, python)
	if err != nil {
		return keeping(err)
	}
	s.candidates = all
	if len(all) > 1 {
		if s.candidates, err = s.thoseDefining(all); err != nil {
			return keeping(err)
		}
	}
	if len(s.candidates) == 1 {
		s.File = s.candidates[0]
	}
	return nil
}

// Called returns the files below Dir, with slashes, that may define the function of a name as a
// pipeline gives it: those of a dotted name's module, which need not exist, else File.
func (s Snapshot) Called(function string) []string {
	end := strings.LastIndexByte(function, '.')
	switch {
	case end >= 0:
		file := strings.ReplaceAll(function[:end], ".", "/")
		return []string{file + python, file + "/__init__" + python}
	case s.File != "":
		return []string{s.File}
	}
	return nil
}

// Imported returns the files below Dir, with slashes, from which a file of the module imports a
// module: the module's file, or the directory of a package. It is empty if the files contain no
// such module.
func (s Snapshot) Imported(file, module string) []string {
	base := "."
	if strings.HasPrefix(module, ".") {
		levels := len(module) - len(strings.TrimLeft(module, "."))
		base = path.Dir(file)
		for range levels - 1 {
			base = path.Dir(base)
		}
		module = module[levels:]
	}
	name := path.Join(base, strings.ReplaceAll(module, ".", "/"))
	var found []string
	for _, candidate := range []string{name + python, name} {
		if _, err := os.Stat(filepath.Join(s.Dir, filepath.FromSlash(candidate))); err == nil {
			found = append(found, candidate)
		}
	}
	return found
}

func (s *Snapshot) thoseDefining(names []string) ([]string, error) {
	var found []string
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.Dir, name))
		if err != nil {
			return nil, err
		}
		if entry.Match(text) {
			found = append(found, name)
		}
	}
	return found, nil
}

// Ambiguous returns an *Invalid if File is "": then a dotted name has to say which file is called.
func (s Snapshot) Ambiguous() error {
	switch {
	case s.File != "":
		return nil
	case len(s.candidates) == 0:
		return &Invalid{s.path, fmt.Errorf("no %s file at its top level defines run_fn, tuner_fn or trainer_fn: name the function, "+
			"as in run_fn: my_module.run_fn", python)}
	default:
		return &Invalid{s.path, fmt.Errorf("%s each define run_fn, tuner_fn or trainer_fn: name the function to call, "+
			"as in run_fn: %s.run_fn", strings.Join(s.candidates, ", "), strings.TrimSuffix(s.candidates[0], python))}
	}
}
