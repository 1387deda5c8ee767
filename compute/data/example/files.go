package example

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Files returns the files that glob patterns match, as TFX passes them to a module:
// <folder>/Split-<name>/*. The files of each pattern are sorted, patterns are in the order given,
// no file occurs twice, and directories are left out. A pattern that is the path of a file stands
// for that file. A pattern without any file is an error that names it.
func Files(patterns ...string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, inputError{errors.New("find examples: no patterns given")}
	}
	var files []string
	known := map[string]bool{}
	for _, pattern := range patterns {
		matches, err := match(pattern)
		if err != nil {
			return nil, fmt.Errorf("find examples %s: %w", pattern, err)
		}
		if len(matches) == 0 {
			return nil, inputError{fmt.Errorf("find examples: no file matches %s", pattern)}
		}
		for _, file := range matches {
			if !known[file] {
				known[file] = true
				files = append(files, file)
			}
		}
	}
	return files, nil
}

func match(pattern string) ([]string, error) {
	if isFile(pattern) {
		return []string{pattern}, nil
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, inputError{err}
	}
	files := slices.DeleteFunc(paths, func(path string) bool { return !isFile(path) })
	slices.Sort(files)
	return files, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// shortName returns a file's name for errors: with its split, but without the directories above it,
// which are the worker's own.
func shortName(path string) string {
	return filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}

func shortNames(paths []string) []string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = shortName(path)
	}
	return names
}
