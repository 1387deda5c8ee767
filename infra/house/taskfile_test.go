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

// The environment of a task does not reach the tasks that it calls: they get what the call passes as vars.
func TestNoTaskSetsAnEnvironmentForTheTasksThatItCalls(t *testing.T) {
	t.Parallel()
	called := regexp.MustCompile(`(?m)^      - task: `)
	for name, text := range taskTexts(t) {
		if strings.Contains(text, "\n    env: ") && called.MatchString(text) {
			t.Errorf("%s: env has no effect on the tasks that it calls; pass vars", name)
		}
	}
}

// The second tier fuzzes with a limit of memory, which the go command and the workers of the fuzzer read in their environment.
func TestTheMemoryLimitOfFuzzingReachesTheGoCommand(t *testing.T) {
	t.Parallel()
	tasks := taskTexts(t)
	if !regexp.MustCompile(`- task: fuzz\n        vars: \{.*\bMEMORY: [0-9]+GiB\b.*\}`).MatchString(tasks["test:fuzz"]) {
		t.Errorf("test:fuzz passes no limit of memory to fuzz:\n%s", tasks["test:fuzz"])
	}
	if !regexp.MustCompile(`(?m)^ +GOMEMLIMIT=\{\{\.MEMORY\}\} go test .* -fuzz `).MatchString(tasks["fuzz"]) {
		t.Errorf("fuzz runs go test without the limit:\n%s", tasks["fuzz"])
	}
}

// taskTexts are the lines of each task of the Taskfile, by its name.
func taskTexts(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../Taskfile.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\ntasks:\n")
	starts := regexp.MustCompile(`(?m)^  (\S+):$`).FindAllStringSubmatchIndex(list, -1)
	tasks := map[string]string{}
	for i, at := range starts {
		end := len(list)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		tasks[list[at[2]:at[3]]] = list[at[1]:end]
	}
	if len(tasks) < 20 {
		t.Fatalf("the Taskfile has %d tasks", len(tasks))
	}
	return tasks
}
