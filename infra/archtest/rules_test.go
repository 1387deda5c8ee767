package archtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stoker-ml/stoker/infra/archtest"
)

// rules returns those of a module with three packages: a server that imports a store, and a
// test-only package.
func rules() archtest.Rules {
	return archtest.Rules{
		Module:   "example.org/shop",
		TopLevel: "go.mod store server storetest .gitignore",
		Packages: map[string]archtest.Package{
			"store":     {},
			"server":    {Imports: "store"},
			"storetest": {Imports: "store", TestOnly: true},
		},
		Restricted: []archtest.Library{
			{Path: "example.com/sql", Packages: "store", TestImports: "server"},
			{Path: "example.com/unsafe"},
		},
	}
}

// sources returns a module that keeps to the rules.
func sources() fstest.MapFS {
	return files(map[string]string{
		"go.mod":                 "module example.org/shop",
		".gitignore":             "# built\n/bin/\n*.test\n",
		"store/doc.go":           "// Package store keeps orders.\npackage store\nimport _ \"example.com/sql/driver\"",
		"server/serve.go":        "// Package server serves orders.\npackage server\nimport _ \"example.org/shop/store\"",
		"server/serve_test.go":   "package server_test\nimport (\n_ \"example.org/shop/server\"\n_ \"example.org/shop/store\"\n_ \"example.org/shop/storetest\"\n_ \"example.com/sql\"\n)",
		"storetest/doc.go":       "// Package storetest tests stores.\npackage storetest\nimport _ \"example.org/shop/store\"",
		"server/testdata/x/x.go": "package x\nimport _ \"example.com/unsafe\"",
		"bin/generated.go":       "package none",
		"store/_old/old.go":      "package old",
		"store/nested/go.mod":    "module example.org/nested",
		"store/nested/nested.go": "package nested\nimport _ \"example.com/unsafe\"",
	})
}

func files(texts map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range texts {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

func TestAModuleThatKeepsToTheRulesHasNoViolations(t *testing.T) {
	t.Parallel()
	violations, err := rules().Violations(sources())
	if err != nil || len(violations) != 0 {
		t.Fatalf("violations %q, error %v", violations, err)
	}
}

func TestEachViolationIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, text string
		want       string
	}{
		"an import that is not allowed": {
			"store/up.go", "package store\nimport _ \"example.org/shop/server\"",
			"store/up.go imports server: not an allowed import of store"},
		"an import behind a build tag": {
			"store/up.go", "//go:build never\n\npackage store\nimport _ \"example.org/shop/server\"",
			"store/up.go imports server: not an allowed import of store"},
		"a test's import that is not allowed": {
			"store/up_test.go", "package store\nimport _ \"example.org/shop/server\"",
			"store/up_test.go imports server: not an allowed import in tests of store"},
		"a test-only package imported by code": {
			"server/check.go", "package server\nimport _ \"example.org/shop/storetest\"",
			"server/check.go imports storetest: not an allowed import of server"},
		"a restricted library in another package": {
			"server/query.go", "package server\nimport _ \"example.com/sql/query\"",
			"server/query.go imports example.com/sql/query: restricted to store"},
		"a library that no package may import": {
			"store/fast.go", "package store\nimport _ \"example.com/unsafe\"",
			"store/fast.go imports example.com/unsafe: restricted to no package"},
		"a package that is not listed": {
			"store/cache/doc.go", "// Package cache is new.\npackage cache",
			"store/cache: package is not listed"},
		"a name at the top that is not listed": {
			"util/notes.txt", "",
			"util: not on the list of names allowed at the top"},
		"an allowed import that no file has": {
			"storetest/doc.go", "// Package storetest tests stores.\npackage storetest",
			"package storetest never uses its allowed import of store"},
		"an allowed import that only tests have": {
			"server/serve.go", "// Package server serves nothing.\npackage server",
			"package server never uses its allowed import of store"},
		"a package comment in another form": {
			"storetest/doc.go", "// Tests stores.\npackage storetest\nimport _ \"example.org/shop/store\"",
			`storetest: no package comment that begins with "Package storetest"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := sources()
			tree[test.file] = &fstest.MapFile{Data: []byte(test.text)}
			violations, err := rules().Violations(tree)
			if err != nil || !slices.Equal(violations, []string{test.want}) {
				t.Fatalf("violations %q, error %v, want %q", violations, err, test.want)
			}
		})
	}
}

func TestRulesThatNameAMissingPackageAreAViolation(t *testing.T) {
	t.Parallel()
	wrong := rules()
	wrong.Packages["client"] = archtest.Package{Imports: "wire"}
	wrong.Restricted = append(wrong.Restricted, archtest.Library{Path: "example.com/http", TestImports: "proxy"})
	violations, err := wrong.Violations(sources())
	want := []string{
		"client: listed package has no Go files",
		"package client names wire, which is not a listed package",
		"library example.com/http names proxy, which is not a listed package",
	}
	if err != nil || !slices.Equal(violations, want) {
		t.Fatalf("violations %q, error %v, want %q", violations, err, want)
	}
}

func TestAnAllowedImportOfTestsThatNoTestHasIsAViolation(t *testing.T) {
	t.Parallel()
	wrong := rules()
	wrong.Packages["store"] = archtest.Package{TestImports: "server"}
	violations, err := wrong.Violations(sources())
	if want := []string{"package store never uses its allowed import in tests of server"}; err != nil || !slices.Equal(violations, want) {
		t.Fatalf("violations %q, error %v, want %q", violations, err, want)
	}
}

func TestAFileThatDoesNotParseIsNamed(t *testing.T) {
	t.Parallel()
	tree := sources()
	tree["store/broken.go"] = &fstest.MapFile{Data: []byte("pakcage store")}
	if _, err := rules().Violations(tree); err == nil || !strings.Contains(err.Error(), "store/broken.go:1:1") {
		t.Fatalf("error %v does not name store/broken.go:1:1", err)
	}
}

func ExampleRules_Violations() {
	rules := archtest.Rules{
		Module:     "example.org/shop",
		TopLevel:   "store",
		Packages:   map[string]archtest.Package{"store": {}},
		Restricted: []archtest.Library{{Path: "net/http"}},
	}
	source := "// Package store keeps orders.\npackage store\nimport _ \"net/http\""
	violations, err := rules.Violations(fstest.MapFS{"store/doc.go": {Data: []byte(source)}})
	fmt.Println(violations, err)
	// Output: [store/doc.go imports net/http: restricted to no package] <nil>
}
