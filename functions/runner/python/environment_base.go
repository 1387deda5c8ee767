package python

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// base is a Python that environments are made with: a venv is a folder of links to it.
type base struct {
	Interpreter string `json:"interpreter"`
	Version     string `json:"version"`
	Minor       int    `json:"minor"` // of 3.x; 0 of any other
	Prefix      string `json:"prefix"`
	System      string `json:"system"`
}

const baseScript = `import sys, platform, json
print(json.dumps({"interpreter": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3], "prefix": sys.base_prefix,
  "minor": sys.version_info[1] if sys.version_info[0] == 3 else 0, "system": platform.system() + " " + platform.machine()}))`

// findBase takes the Python that is named, or else the first on PATH that all packages have wheels
// for.
func findBase(ctx context.Context, named string, minors []int) (base, error) {
	if named != "" {
		b, err := describe(ctx, named)
		if err == nil && !slices.Contains(minors, b.Minor) {
			err = fmt.Errorf("%s is Python %s, and there are wheels for %s", named, b.Version, versions(minors))
		}
		return b, err
	}
	names := []string{"python3"}
	for _, minor := range minors {
		names = append(names, fmt.Sprintf("python3.%d", minor))
	}
	var found []string
	for _, name := range names {
		b, err := describe(ctx, name)
		switch {
		case ctx.Err() != nil:
			return base{}, context.Cause(ctx)
		case err != nil: // not there, or there in name only, as pyenv has it
		case slices.Contains(minors, b.Minor):
			return b, nil
		default:
			found = append(found, name+" is "+b.Version)
		}
	}
	if len(found) == 0 {
		found = append(found, "there is no python3 on PATH")
	}
	return base{}, fmt.Errorf("there are wheels for %s, and %s: install one of these, and name it with --python",
		versions(minors), strings.Join(found, ", "))
}

func describe(ctx context.Context, named string) (base, error) {
	path, err := locate(named)
	if err != nil {
		return base{}, err
	}
	var b base
	if err := ask(ctx, nil, &b, path, "-I", "-c", baseScript); err != nil {
		return base{}, fmt.Errorf("ask Python %s for its version: %w", path, err)
	}
	return b, nil
}

// versions lists them for people: Python 3.11, 3.12 and 3.13.
func versions(minors []int) string {
	var names []string
	for _, minor := range minors {
		names = append(names, fmt.Sprintf("3.%d", minor))
	}
	last := len(names) - 1
	if last == 0 {
		return "Python " + names[0]
	}
	return "Python " + strings.Join(names[:last], ", ") + " and " + names[last]
}
