package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// forbiddenImports reports the imports of one file that the rules don't allow.
func (r Rules) forbiddenImports(s source) (violations []string) {
	for _, imported := range s.imports {
		if dir, inside := r.inModule(imported); inside {
			if !r.allowed(s, dir) {
				violations = append(violations, fmt.Sprintf("%s imports %s: not an allowed import%s of %s", s.path, dir, inTests(s.test), s.dir()))
			}
			continue
		}
		violations = append(violations, r.restrictedImport(s, imported)...)
	}
	return violations
}

// dependency is an import of one package by another, in its code or in its tests.
type dependency struct {
	from, to string
	test     bool
}

// unusedImports reports the allowed imports that no file has. One that only tests have must be
// listed as an import of tests.
func (r Rules) unusedImports(sources []source) (violations []string) {
	used := map[dependency]bool{}
	for _, s := range sources {
		for _, imported := range s.imports {
			if dir, inside := r.inModule(imported); inside {
				used[dependency{s.dir(), dir, s.test}] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Packages)) {
		p := r.Packages[name]
		for _, d := range slices.Concat(r.dependencies(name, p.Imports, false), r.dependencies(name, p.TestImports, true)) {
			if !used[d] {
				violations = append(violations, fmt.Sprintf("package %s never uses its allowed import%s of %s", d.from, inTests(d.test), d.to))
			}
		}
	}
	return violations
}

// dependencies turns a list of imports into dependencies, without "*" and without packages that
// aren't listed.
func (r Rules) dependencies(from, imports string, test bool) (all []dependency) {
	for _, to := range strings.Fields(imports) {
		if _, known := r.Packages[to]; known {
			all = append(all, dependency{from, to, test})
		}
	}
	return all
}

// inModule turns an import path of this module into a directory.
func (r Rules) inModule(imported string) (dir string, inside bool) {
	if imported == r.Module {
		return ".", true
	}
	return strings.CutPrefix(imported, r.Module+"/")
}

func (r Rules) allowed(s source, dir string) bool {
	from, to := r.Packages[s.dir()], r.Packages[dir]
	switch {
	case s.dir() == dir: // a test in a package of its own
		return true
	case in(from.Imports, dir), in(from.Imports, "*") && !to.TestOnly:
		return true
	case !s.test:
		return false
	}
	return to.TestOnly || in(r.TestImports, dir) || in(from.TestImports, dir) || in(from.TestImports, "*")
}

func (r Rules) restrictedImport(s source, imported string) (violations []string) {
	for _, library := range r.Restricted {
		if imported != library.Path && !strings.HasPrefix(imported, library.Path+"/") {
			continue
		}
		if in(library.Packages, s.dir()) || s.test && in(library.TestImports, s.dir()) {
			continue
		}
		violations = append(violations, fmt.Sprintf("%s imports %s: restricted to %s", s.path, imported, library.allowedPackages()))
	}
	return violations
}

func (l Library) allowedPackages() string {
	if l.Packages == "" {
		return "no package"
	}
	return strings.Join(strings.Fields(l.Packages), ", ")
}

func inTests(test bool) string {
	if test {
		return " in tests"
	}
	return ""
}
