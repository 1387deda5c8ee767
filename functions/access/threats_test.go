package access_test

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each line of the threat model names a test, and each of those is there.
func TestEveryThreatHasItsTest(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../infra/threats.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOf(t, os.DirFS("../.."))
	lines := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.TrimSpace(cells[3]) == "test" || strings.HasPrefix(cells[1], "---") {
			continue
		}
		lines++
		if name := strings.TrimSpace(cells[3]); !tests[name] {
			t.Errorf("%s: there is no test %q", strings.TrimSpace(cells[1]), name)
		}
	}
	if lines < 20 {
		t.Errorf("%d lines are a threat, of a page of more", lines)
	}
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// testsOf are the names of all tests below a folder.
func testsOf(t *testing.T, root fs.FS) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, top := range []string{"events", "storage", "functions", "local", "infra"} {
		err := fs.WalkDir(root, top, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(root, path)
			for _, match := range testName.FindAllSubmatch(bytes.TrimSpace(text), -1) {
				found[string(match[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}
