package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// unlistedAtTop reports the entries of the top directory that the rules don't list.
func (r Rules) unlistedAtTop(top []fs.DirEntry, skip func(name string) bool) (violations []string) {
	for _, entry := range top {
		if name := entry.Name(); !in(r.TopLevel, name) && !skip(name) {
			violations = append(violations, fmt.Sprintf("%s: not on the list of names allowed at the top", name))
		}
	}
	return violations
}

// unlistedPackages reports the directories with Go files that the rules don't list.
func (r Rules) unlistedPackages(sources []source) (violations []string) {
	seen := map[string]bool{}
	for _, s := range sources {
		if _, known := r.Packages[s.dir()]; !known && !seen[s.dir()] {
			violations = append(violations, fmt.Sprintf("%s: package is not listed", s.dir()))
		}
		seen[s.dir()] = true
	}
	return violations
}

// missingPackages reports the packages that the rules name and that don't exist, or that they don't
// list.
func (r Rules) missingPackages(sources []source) (violations []string) {
	exists := map[string]bool{}
	for _, s := range sources {
		exists[s.dir()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(r.Packages)) {
		if !exists[name] {
			violations = append(violations, fmt.Sprintf("%s: listed package has no Go files", name))
		}
		violations = append(violations, r.unlistedNames("package "+name, r.Packages[name].Imports+" "+r.Packages[name].TestImports)...)
	}
	for _, library := range r.Restricted {
		violations = append(violations, r.unlistedNames("library "+library.Path, library.Packages+" "+library.TestImports)...)
	}
	return append(violations, r.unlistedNames("list of packages for tests", r.TestImports)...)
}

// unlistedNames reports the names in one of the rules that are no listed package.
func (r Rules) unlistedNames(rule, names string) (violations []string) {
	for _, name := range strings.Fields(names) {
		if _, known := r.Packages[name]; !known && name != "*" {
			violations = append(violations, fmt.Sprintf("%s names %s, which is not a listed package", rule, name))
		}
	}
	return violations
}

// undocumented reports the packages without a package comment in Go's form. That of a command is
// free.
func undocumented(sources []source) (violations []string) {
	documented, names := map[string]bool{}, map[string]string{}
	for _, s := range sources {
		names[s.dir()] = s.pkg
		if s.comment != "" && (s.pkg == "main" || strings.HasPrefix(s.comment, "Package "+s.pkg+" ")) {
			documented[s.dir()] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		if !documented[dir] {
			violations = append(violations, fmt.Sprintf("%s: no package comment that begins with %q", dir, "Package "+names[dir]))
		}
	}
	return violations
}
