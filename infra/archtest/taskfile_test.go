package archtest_test

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

// testFunction matches the declaration of a test.
var testFunction = regexp.MustCompile(`(?m)^func (Test\w*)\(t \*testing\.T\)`)

// A test behind a build tag runs nowhere unless a task names its tag and its package, and the
// task's -run pattern matches its name.
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
		if match == nil || !slices.Contains(tags, string(match[1])) {
			return nil
		}
		tag, folder := string(match[1]), path.Dir(file)
		for _, declared := range testFunction.FindAllSubmatch(source, -1) {
			name := string(declared[1])
			if !slices.ContainsFunc(lines, func(line string) bool { return runs(line, tag, folder, name) }) {
				t.Errorf("%s: no task runs go test with -tags %s and a -run pattern that matches %s on ./%s", file, tag, name, folder)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// runs reports whether a line of the Taskfile runs a test of a folder with a tag. Without -run it
// runs all of them.
func runs(line, tag, folder, test string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" '\"[]", r) })
	if !slices.Contains(strings.Split(flag(words, "-tags"), ","), tag) {
		return false
	}
	if pattern, err := regexp.Compile(flag(words, "-run")); err != nil || !pattern.MatchString(test) {
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool {
		return word == "./"+folder || strings.HasSuffix(word, "/...") && strings.HasPrefix("./"+folder+"/", strings.TrimSuffix(word, "..."))
	}) || slices.Contains(words, folder) && slices.Contains(words, ".")
}

var (
	taskName  = regexp.MustCompile(`^  ([a-z][a-z:_]*):$`)
	taskCall  = regexp.MustCompile(`^ +- task: ([a-z:_]+)$`)
	firstTier = regexp.MustCompile(`(?m)^run ([a-z:]+)( .*)?$`)
)

// byHand are the tasks with tests that no tier runs: one needs a GPU, one makes the program wrong,
// and what one runs is in another.
var byHand = []string{"test:gpu", "test:mutations", "test:short"}

// A task with tests that neither .ci/run nor task test:peers calls would never run.
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

// flag returns the value of a flag on a command line, "" without it.
func flag(words []string, name string) string {
	at := slices.Index(words, name)
	if at < 0 || at+1 >= len(words) {
		return ""
	}
	return words[at+1]
}

func TestALineOfTheTaskfileRunsWhatItsPatternMatches(t *testing.T) {
	t.Parallel()
	const line = `    cmds: [go test -count=1 -timeout 30m -tags distribute,tfx -run "Workers|ONNX" ./functions/runner ./infra/...]`
	for _, test := range []struct {
		line, tag, folder, name string
		want                    bool
	}{
		{line, "distribute", "functions/runner", "TestTwoWorkers", true},
		{line, "tfx", "infra/docs", "TestONNXFiles", true},
		{line, "distribute", "functions/runner", "TestAMirroredModule", false},
		{line, "warm", "functions/runner", "TestTwoWorkers", false},
		{line, "distribute", "functions/stoker", "TestTwoWorkers", false},
		{"      - go test -tags hosts -v ./infra/hosts", "hosts", "infra/hosts", "TestAnything", true},
		{"      - go test ./infra/hosts", "hosts", "infra/hosts", "TestAnything", false},
	} {
		if got := runs(test.line, test.tag, test.folder, test.name); got != test.want {
			t.Errorf("%s: runs %s of %s with tag %s: %v, want %v", test.line, test.name, test.folder, test.tag, got, test.want)
		}
	}
}

// The environment of a task does not reach the tasks that it calls: they get what the call passes
// as vars.
func TestNoTaskSetsAnEnvironmentForTheTasksThatItCalls(t *testing.T) {
	t.Parallel()
	called := regexp.MustCompile(`(?m)^      - task: `)
	for name, text := range taskTexts(t) {
		if strings.Contains(text, "\n    env: ") && called.MatchString(text) {
			t.Errorf("%s: env has no effect on the tasks that it calls; pass vars", name)
		}
	}
}

// The second tier fuzzes with a limit of memory, which the go command and the workers of the fuzzer
// read in their environment.
func TestTheMemoryLimitOfFuzzingReachesItsProcesses(t *testing.T) {
	t.Parallel()
	tasks := taskTexts(t)
	if !regexp.MustCompile(`- task: fuzz\n        vars: \{.*\bMEMORY: [0-9]+GiB\b.*\}`).MatchString(tasks["test:fuzz"]) {
		t.Errorf("test:fuzz passes no limit of memory to fuzz:\n%s", tasks["test:fuzz"])
	}
	if !regexp.MustCompile(`\n    env: \{GOMEMLIMIT: '\{\{\.MEMORY\}\}'\}\n    cmds: \['infra/fuzz.sh `).MatchString(tasks["fuzz"]) {
		t.Errorf("fuzz runs without the limit:\n%s", tasks["fuzz"])
	}
}

// taskTexts returns the lines of each task of the Taskfile, by its name.
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
