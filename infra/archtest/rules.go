// Package archtest checks that the code keeps to an architecture: which packages there are, which
// of them each may import, and which libraries only some may use.
//
// It knows no package by name: architecture_test.go at the root holds the rules of this project. It
// reads the sources itself, in the test process, so that go test runs a cached test again when an
// import changes anywhere. Read Rules first.
package archtest

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Rules are the architecture. Lists of packages are written with spaces between them.
type Rules struct {
	Module string // the module's path, as in go.mod
	// The names allowed at the top, in addition to those that .gitignore leaves out.
	TopLevel string
	Packages map[string]Package // by directory, "." for the top
	// Packages that every test may import, in addition to the test-only ones.
	TestImports string
	Restricted  []Library
}

// Package is what the package of one directory may import.
type Package struct {
	Imports     string // packages that its code may import; "*" for all but the test-only ones
	TestImports string // packages that its tests may import as well; "*" for all
	TestOnly    bool   // for import by tests and by other test-only packages
}

// Library is a library that only some packages may import.
type Library struct {
	Path        string // import path; the packages below it are restricted with it
	Packages    string // the packages that may import it; "" for none
	TestImports string // the packages whose tests may import it as well
}

// Violations lists where the code under root differs from the rules, one line each. It is empty if
// the code keeps to them.
func (r Rules) Violations(root fs.FS) ([]string, error) {
	skip := ignored(root)
	sources, err := read(root, skip)
	if err != nil {
		return nil, fmt.Errorf("read the sources: %w", err)
	}
	top, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, fmt.Errorf("read the top directory: %w", err)
	}
	violations := slices.Concat(r.unlistedAtTop(top, skip), r.unlistedPackages(sources), r.missingPackages(sources),
		undocumented(sources), r.unusedImports(sources))
	for _, s := range sources {
		violations = append(violations, r.forbiddenImports(s)...)
	}
	return violations, nil
}

// in reports whether name is one of a list written with spaces.
func in(list, name string) bool { return slices.Contains(strings.Fields(list), name) }
