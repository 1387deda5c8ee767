package house_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// buildTag is the constraint of a test file of the second tier: one tag alone.
var buildTag = regexp.MustCompile(`(?m)^//go:build ([a-z_]+)$`)

// A test behind a build tag runs nowhere unless a task names its tag and its package.
func TestTheTaskfileRunsEveryTestBehindABuildTag(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Taskfile.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "TAGS: ")
	list, _, _ = strings.Cut(list, " ")
	tags := append(strings.Split(list, ","), "targets")
	lines := strings.Split(string(text), "\n")
	err = fs.WalkDir(os.DirFS("../.."), ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") {
			return err
		}
		source, err := os.ReadFile(path.Join("../..", file))
		if err != nil {
			return err
		}
		match := buildTag.FindSubmatch(source)
		if match == nil || !slices.Contains(tags, string(match[1])) || !strings.Contains(string(source), "\nfunc Test") {
			return nil
		}
		if tag, folder := string(match[1]), path.Dir(file); !slices.ContainsFunc(lines, func(line string) bool { return runs(line, tag, folder) }) {
			t.Errorf("%s: no task runs go test with -tags %s on ./%s", file, tag, folder)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// runs reports whether a line of the Taskfile tests a folder with a tag.
func runs(line, tag, folder string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" '\"[]", r) })
	at := slices.Index(words, "-tags")
	if at < 0 || at+1 >= len(words) || !slices.Contains(strings.Split(words[at+1], ","), tag) {
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool {
		return word == "./"+folder || strings.HasSuffix(word, "/...") && strings.HasPrefix("./"+folder+"/", strings.TrimSuffix(word, "..."))
	}) || slices.Contains(words, folder) && slices.Contains(words, ".")
}

var (
	taskName  = regexp.MustCompile(`^  ([a-z][a-z:_]*):$`)
	taskCall  = regexp.MustCompile(`^ +- task: ([a-z:_]+)$`)
	firstTier = regexp.MustCompile(`(?m)^run ([a-z:]+)$`)
)

// byHand are the tasks with tests that no tier runs: one needs a GPU, one makes the program wrong, and what one runs is in another.
var byHand = []string{"test:gpu", "test:mutations", "test:short"}

// A task with tests that neither .ci/run nor task test:peers calls is one that nobody runs.
func TestEveryTaskWithTestsIsRunByATier(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Taskfile.yml")
	if err != nil {
		t.Fatal(err)
	}
	ci, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	calls, name := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if match := taskName.FindStringSubmatch(line); match != nil {
			name = match[1]
			calls[name] = nil
		} else if match := taskCall.FindStringSubmatch(line); match != nil {
			calls[name] = append(calls[name], match[1])
		}
	}
	todo := append([]string{"test:peers"}, byHand...)
	for _, match := range firstTier.FindAllStringSubmatch(string(ci), -1) {
		todo = append(todo, match[1])
	}
	run := map[string]bool{}
	for len(todo) > 0 {
		called, known := calls[todo[0]]
		if !known {
			t.Errorf("there is no task %s", todo[0])
		}
		if !run[todo[0]] {
			run[todo[0]], todo = true, append(todo, called...)
		}
		todo = todo[1:]
	}
	for name := range calls {
		if (name == "test" || strings.HasPrefix(name, "test:")) && !run[name] {
			t.Errorf("task %s is called by neither .ci/run nor task test:peers", name)
		}
	}
}
