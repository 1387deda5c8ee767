package access_test

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each attack in the threat model names the test that tries it, and that test exists.
func TestEveryThreatHasItsTest(t *testing.T) {
	t.Parallel()
	tests := testsOf(t, os.DirFS("../../.."))
	rows := tableRows(t, "../../../infra/threats.md")
	for _, row := range rows {
		if name := row[2]; !tests[name] {
			t.Errorf("%s: there is no test %q", row[0], name)
		}
	}
	if len(rows) < 70 {
		t.Errorf("the page has %d attacks, and is longer", len(rows))
	}
}

// Each promise has its number and the tests that check it, and they exist.
func TestEverySecurityPromiseHasItsTests(t *testing.T) {
	t.Parallel()
	tests := testsOf(t, os.DirFS("../../.."))
	rows := tableRows(t, "../../../SECURITY.md")
	for i, row := range rows {
		if row[0] != strconv.Itoa(i+1) {
			t.Errorf("promise %d has the number %q", i+1, row[0])
		}
		for name := range strings.SplitSeq(aside.ReplaceAllString(row[2], ""), ", ") {
			if !tests[name] {
				t.Errorf("promise %s: there is no test %q", row[0], name)
			}
		}
	}
	if len(rows) < 15 {
		t.Errorf("the page has %d promises, and is longer", len(rows))
	}
}

// aside is a remark in parentheses after the name of a test.
var aside = regexp.MustCompile(` \([^)]*\)`)

// tableRows returns the rows of all tables with three columns of a page, without their heads.
func tableRows(t *testing.T, path string) (rows [][3]string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := ""
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		switch {
		case len(cells) != 5:
			head = ""
		case head == "":
			head = line
		case !strings.HasPrefix(cells[1], "---"):
			rows = append(rows, [3]string{strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])})
		}
	}
	return rows
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// testsOf returns the names of all tests below a directory.
func testsOf(t *testing.T, root fs.FS) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, top := range []string{"compute", "events", "storage", "functions", "local", "infra"} {
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
