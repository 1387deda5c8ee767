package house_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stoker-ml/stoker/infra/house"
)

// table is a house of three rooms: a kitchen that opens the cellar, and help for tests.
func table() house.Table {
	return house.Table{
		Module:   "example.org/house",
		TopLevel: "go.mod cellar kitchen help .gitignore",
		Rooms: map[string]house.Room{
			"cellar":  {},
			"kitchen": {Opens: "cellar"},
			"help":    {Opens: "cellar", TestHelp: true},
		},
		Fences: []house.Fence{
			{Library: "example.com/wine", Rooms: "cellar", Tests: "kitchen"},
			{Library: "example.com/fire"},
		},
	}
}

// sources is a house that keeps to the table.
func sources() fstest.MapFS {
	return files(map[string]string{
		"go.mod":                  "module example.org/house",
		".gitignore":              "# built\n/bin/\n*.test\n",
		"cellar/doc.go":           "// Package cellar keeps.\npackage cellar\nimport _ \"example.com/wine/red\"",
		"kitchen/cook.go":         "// Package kitchen cooks.\npackage kitchen\nimport _ \"example.org/house/cellar\"",
		"kitchen/cook_test.go":    "package kitchen_test\nimport (\n_ \"example.org/house/kitchen\"\n_ \"example.org/house/cellar\"\n_ \"example.org/house/help\"\n_ \"example.com/wine\"\n)",
		"help/doc.go":             "// Package help tests.\npackage help\nimport _ \"example.org/house/cellar\"",
		"kitchen/testdata/x/x.go": "package x\nimport _ \"example.com/fire\"",
		"bin/generated.go":        "package none",
		"cellar/_old/old.go":      "package old",
		"cellar/nested/go.mod":    "module example.org/nested",
		"cellar/nested/nested.go": "package nested\nimport _ \"example.com/fire\"",
	})
}

func files(texts map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range texts {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

func TestAHouseThatKeepsToTheTableHasNoFaults(t *testing.T) {
	t.Parallel()
	faults, err := table().Faults(sources())
	if err != nil || len(faults) != 0 {
		t.Fatalf("faults %q, error %v", faults, err)
	}
}

func TestEachFaultIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, text string
		want       string
	}{
		"a door that is not on the table": {
			"cellar/up.go", "package cellar\nimport _ \"example.org/house/kitchen\"",
			"cellar/up.go imports kitchen: no door from cellar to it"},
		"a door behind a build tag": {
			"cellar/up.go", "//go:build never\n\npackage cellar\nimport _ \"example.org/house/kitchen\"",
			"cellar/up.go imports kitchen: no door from cellar to it"},
		"a door for tests that is not on the table": {
			"cellar/up_test.go", "package cellar\nimport _ \"example.org/house/kitchen\"",
			"cellar/up_test.go imports kitchen: no door for tests from cellar to it"},
		"test help opened by code": {
			"kitchen/serve.go", "package kitchen\nimport _ \"example.org/house/help\"",
			"kitchen/serve.go imports help: no door from kitchen to it"},
		"a fenced library in another room": {
			"kitchen/drink.go", "package kitchen\nimport _ \"example.com/wine/white\"",
			"kitchen/drink.go imports example.com/wine/white: only for cellar"},
		"a library that nobody may import": {
			"cellar/burn.go", "package cellar\nimport _ \"example.com/fire\"",
			"cellar/burn.go imports example.com/fire: nobody may"},
		"a room that is not on the table": {
			"cellar/vault/doc.go", "// Package vault is new.\npackage vault",
			"cellar/vault: a folder with Go files that is no room on the table"},
		"a stranger at the top": {
			"util/notes.txt", "",
			"util: not on the list of what may stand at the top"},
		"a door that nobody uses": {
			"help/doc.go", "// Package help tests.\npackage help",
			"room help has a door to cellar that nobody uses"},
		"a door that only tests use": {
			"kitchen/cook.go", "// Package kitchen orders out.\npackage kitchen",
			"room kitchen has a door to cellar that nobody uses"},
		"a package comment in another form": {
			"help/doc.go", "// Helps tests.\npackage help\nimport _ \"example.org/house/cellar\"",
			`help: no package comment that begins with "Package help"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := sources()
			tree[test.file] = &fstest.MapFile{Data: []byte(test.text)}
			faults, err := table().Faults(tree)
			if err != nil || !slices.Equal(faults, []string{test.want}) {
				t.Fatalf("faults %q, error %v, want %q", faults, err, test.want)
			}
		})
	}
}

func TestATableThatNamesWhatIsNotThereIsAFault(t *testing.T) {
	t.Parallel()
	wrong := table()
	wrong.Rooms["attic"] = house.Room{Opens: "roof"}
	wrong.Fences = append(wrong.Fences, house.Fence{Library: "example.com/rope", Tests: "tower"})
	faults, err := wrong.Faults(sources())
	want := []string{
		"attic: a room on the table without Go files",
		"room attic names roof, which is no room on the table",
		"fence of example.com/rope names tower, which is no room on the table",
	}
	if err != nil || !slices.Equal(faults, want) {
		t.Fatalf("faults %q, error %v, want %q", faults, err, want)
	}
}

func TestADoorForTestsThatNobodyUsesIsAFault(t *testing.T) {
	t.Parallel()
	wrong := table()
	wrong.Rooms["cellar"] = house.Room{Tests: "kitchen"}
	faults, err := wrong.Faults(sources())
	if want := []string{"room cellar has a door for tests to kitchen that nobody uses"}; err != nil || !slices.Equal(faults, want) {
		t.Fatalf("faults %q, error %v, want %q", faults, err, want)
	}
}

func TestAFileThatDoesNotParseIsNamed(t *testing.T) {
	t.Parallel()
	tree := sources()
	tree["cellar/broken.go"] = &fstest.MapFile{Data: []byte("pakcage cellar")}
	if _, err := table().Faults(tree); err == nil || !strings.Contains(err.Error(), "cellar/broken.go:1:1") {
		t.Fatalf("error %v does not name cellar/broken.go:1:1", err)
	}
}

func ExampleTable_Faults() {
	all := house.Table{
		Module:   "github.com/stoker-ml/stoker/infra/house",
		TopLevel: "doc.go table.go read.go faults.go doors.go faults_test.go taskfile_test.go load_test.go",
		Rooms:    map[string]house.Room{".": {}},
		Fences:   []house.Fence{{Library: "go/parser"}},
	}
	faults, err := all.Faults(os.DirFS("."))
	fmt.Println(faults, err)
	// Output: [read.go imports go/parser: nobody may] <nil>
}
