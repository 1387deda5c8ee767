package tftest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func ask1(t *testing.T, script string, in any) question {
	t.Helper()
	q, err := questionOf(request{Script: script, Input: in})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// folderWith returns a new folder of one file.
func folderWith(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "model", "weights"), text)
	return dir
}

func TestAQuestionIsTheSameInEveryFolder(t *testing.T) {
	t.Parallel()
	in := func(dir string) any {
		return map[string]any{"dir": dir, "prefix": filepath.Join(dir, "model", "weig"), "n": 1}
	}
	a, b := ask1(t, "s", in(folderWith(t, "x"))), ask1(t, "s", in(folderWith(t, "x")))
	if a.key != b.key {
		t.Errorf("two folders with the same files: %s and %s", a.key, b.key)
	}
	for what, other := range map[string]question{
		"other content": ask1(t, "s", in(folderWith(t, "y"))),
		"other script":  ask1(t, "s2", in(folderWith(t, "x"))),
		"other input":   ask1(t, "s", map[string]any{"dir": folderWith(t, "x"), "n": 2}),
	} {
		if other.key == a.key {
			t.Errorf("%s has the same key", what)
		}
	}
}

func TestAnAnswerIsKeptWithTheFilesThatTheScriptWrote(t *testing.T) {
	t.Parallel()
	made, dir := t.TempDir(), folderWith(t, "x")
	q := ask1(t, "s", []string{made, dir})
	write(t, filepath.Join(made, "saved", "pb"), "graph")
	k, err := q.pack(answer{Output: json.RawMessage(`{"at": "` + made + `/saved", "n": [1, 2.5]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(k.Output); strings.Contains(text, made) {
		t.Errorf("the kept answer names a folder of this machine: %s", text)
	}
	path := filepath.Join(t.TempDir(), "testdata", "tensorflow", "T.json.gz")
	if err := (&goldenFile{path: path, answers: map[string]kept{}}).keep(q.key, k); err != nil {
		t.Fatal(err)
	}

	answers, err := readGolden(path)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	again := ask1(t, "s", []string{elsewhere, dir})
	got, err := again.unpack(answers[again.key])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"at":"` + elsewhere + `/saved","n":[1,2.5]}`; string(got.Output) != want {
		t.Errorf("answer %s, want %s", got.Output, want)
	}
	if text, err := os.ReadFile(filepath.Join(elsewhere, "saved", "pb")); string(text) != "graph" {
		t.Errorf("file %q, %v", text, err)
	}
}

func TestAnswersThatAreNotCurrentAreFound(t *testing.T) {
	t.Parallel()
	g := &goldenFile{path: "T.json.gz", answers: map[string]kept{"k": {Output: json.RawMessage(`{"x": [1, 0.5], "s": "a"}`)}, "e": {Error: "ValueError"},
		"b": {Output: json.RawMessage(`"AACAP2gGeT8ULog9qgskPwAAAD8="`)}}}
	for _, c := range []struct {
		key  string
		now  kept
		want string
	}{
		{"k", kept{Output: json.RawMessage(`{"s": "a", "x": [1, 0.50001]}`)}, ""},
		{"k", kept{Output: json.RawMessage(`{"s": "a", "x": [1, 0.51]}`)}, "answer.x[1]"},
		{"k", kept{Output: json.RawMessage(`{"s": "b", "x": [1, 0.5]}`)}, "answer.s"},
		{"k", kept{Output: json.RawMessage(`{"s": "a", "x": [1]}`)}, "answer.x"},
		// 1, 0.9727545, ...: rounded differently
		{"b", kept{Output: json.RawMessage(`"AACAP2gGeT8VLog9qgskPwAAAD8="`)}, ""},
		{"b", kept{Output: json.RawMessage(`"AACAPwAAAD8ULog9qgskPwAAAD8="`)}, "answer"},
		{"k", kept{Error: "KeyError"}, "KeyError"},
		{"e", kept{Error: "ValueError: other words"}, ""},
		{"e", kept{Output: json.RawMessage(`1`)}, "ValueError"},
		{"other", kept{Output: json.RawMessage(`1`)}, "no answer"},
	} {
		err := g.check(c.key, c.now)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("check(%s, %s %s): %v, want %q", c.key, c.now.Output, c.now.Error, err, c.want)
		}
	}
	if err := (&goldenFile{path: "none.json.gz"}).check("k", kept{}); err != nil {
		t.Errorf("a test that keeps no answers: %v", err)
	}
}

func TestAModeThatIsUnknownIsRefused(t *testing.T) {
	t.Setenv(modeVariable, "alive")
	if _, err := currentMode(); err == nil || !strings.Contains(err.Error(), "alive") {
		t.Errorf("error %v", err)
	}
}
