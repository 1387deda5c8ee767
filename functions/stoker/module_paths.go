package main

import (
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/functions/module"
)

// relativeTo makes the paths of a source absolute: those of a pipeline file are meant relative to its folder, those of
// a command line to where it is given. An interpreter without a slash is one of the worker's PATH.
func relativeTo(dir string, source module.Source) (module.Source, error) {
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
	if isPath(source.Path) {
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
