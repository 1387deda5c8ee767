package docs_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// invariant is a row of the table below "Write order" in contributing/architecture.md.
type invariant struct {
	number string
	tests  map[string][]string // by package
}

var (
	invariantRow = regexp.MustCompile(`(?m)^\| (\d+) \| [^|]+ \| ` + "`[^|`]+`" + ` \| ([^|]+) \|$`)
	testsOf      = regexp.MustCompile("^`([^`]+)`: (Test\\w+(?:, Test\\w+)*)$")
)

func invariants(t *testing.T) (rows []invariant) {
	t.Helper()
	_, section, _ := strings.Cut(read(t, "contributing/architecture.md"), "\n## Write order\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, match := range invariantRow.FindAllStringSubmatch(section, -1) {
		row := invariant{number: match[1], tests: map[string][]string{}}
		for list := range strings.SplitSeq(match[2], "; ") {
			found := testsOf.FindStringSubmatch(list)
			if found == nil {
				t.Fatalf("invariant %s: expected `package`: TestOne, TestTwo; got %q", row.number, list)
			}
			row.tests[found[1]] = strings.Split(found[2], ", ")
		}
		rows = append(rows, row)
	}
	if lines := strings.Count(section, "\n| ") - 1; len(rows) != lines {
		t.Fatalf("%d of %d rows are of the form | number | invariant | `file` | tests |", len(rows), lines)
	}
	return rows
}

// Each invariant has its number and the tests that guard it, and these are in their packages.
func TestEveryInvariantHasItsTests(t *testing.T) {
	t.Parallel()
	rows := invariants(t)
	if len(rows) < 25 {
		t.Errorf("found %d invariants, expected at least 25", len(rows))
	}
	for i, row := range rows {
		if row.number != strconv.Itoa(i+1) {
			t.Errorf("invariant %d has the number %s", i+1, row.number)
		}
		for _, folder := range slices.Sorted(maps.Keys(row.tests)) {
			source := testsIn(t, folder)
			for _, name := range row.tests[folder] {
				if !strings.Contains(source, "\nfunc "+name+"(t *testing.T)") {
					t.Errorf("invariant %s: %s has no test %s", row.number, folder, name)
				}
			}
		}
	}
}

// testsIn returns the text of the test files of a package.
func testsIn(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, file := range files {
		text.WriteString(read(t, file))
	}
	return text.String()
}

var guardTests = regexp.MustCompile(`\btests: "([^"]+)"`)

// Each guard that task test:mutations removes belongs to an invariant: the page has a test that
// notices its absence.
func TestEveryGuardBelongsToAnInvariant(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, row := range invariants(t) {
		for _, names := range row.tests {
			listed = append(listed, names...)
		}
	}
	guards := guardTests.FindAllStringSubmatch(read(t, "../chaos/mutations_list_test.go"), -1)
	if len(guards) < 20 {
		t.Fatalf("found %d guards", len(guards))
	}
	for _, guard := range guards {
		pattern := regexp.MustCompile("^(?:" + guard[1] + ")")
		if !slices.ContainsFunc(listed, pattern.MatchString) {
			t.Errorf("no invariant of contributing/architecture.md names a test that matches %s", guard[1])
		}
	}
}

var (
	glossaryRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| [^|]+ \\| (?:`(\\w+)\\.(\\w+)` )?\\|$")
	declared    = regexp.MustCompile(`(?m)^(?:type|func) (\w+)`)
)

// Each type that the glossary names is in a package of that name.
func TestTheGlossarysTypesAreThere(t *testing.T) {
	t.Parallel()
	rows := glossaryRow.FindAllStringSubmatch(read(t, "contributing/glossary.md"), -1)
	if len(rows) < 50 {
		t.Fatalf("found %d rows", len(rows))
	}
	found := map[string]bool{}
	for _, area := range []string{"compute", "events", "functions", "storage"} {
		err := filepath.WalkDir(filepath.Join("../..", area), func(path string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, name := range declared.FindAllStringSubmatch(read(t, path), -1) {
				found[filepath.Base(filepath.Dir(path))+"."+name[1]] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range rows {
		if name := row[1] + "." + row[2]; name != "." && !found[name] {
			t.Errorf("the glossary names %s, which does not exist", name)
		}
	}
}

// A picture is made from the source next to it, as it is now: the picture names its digest.
func TestEveryPictureIsMadeFromItsSource(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("contributing/*.d2")
	if err != nil || len(sources) < 2 {
		t.Fatal(sources, err)
	}
	for _, source := range sources {
		picture := strings.TrimSuffix(source, ".d2") + ".svg"
		digest := fmt.Sprintf("%s (sha256:%x)", filepath.Base(source), sha256.Sum256([]byte(read(t, source))))
		if head, _, _ := strings.Cut(read(t, picture), "\n"); !strings.Contains(head, digest) {
			t.Errorf("%s is not made from %s as it is now: task docs:diagrams renders it again", picture, source)
		}
	}
	pictures, err := filepath.Glob("contributing/*.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, picture := range pictures {
		if _, err := os.Stat(strings.TrimSuffix(picture, ".svg") + ".d2"); err != nil {
			t.Errorf("%s has no source: %v", picture, err)
		}
	}
}
