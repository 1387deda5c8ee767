package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner/snapshot"
)

// penguin is a module of two files.
var penguin = tree{"penguin.py": "import features\n\ndef run_fn(fn_args):\n  pass\n", "features.py": "KEYS = ['a']\n"}

func TestAFolderAndEachArchiveOfItAreOneModule(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	files := penguin.with("models/__init__.py", "").with("models/net.py", "DEPTH = 2\n").with("vocabulary.txt", "a\nb\n")
	folder := files.folder(t)
	want := take(t, cache, folder)
	if want.File != "penguin.py" {
		t.Errorf("file %q, want penguin.py: it alone defines run_fn", want.File)
	}
	if got := readTree(t, want.Dir); !got.equals(files) {
		t.Errorf("kept %v, want %v", got, files)
	}
	for _, name := range []string{"m.zip", "m.whl", "m.tar.gz", "m.tgz"} {
		got := take(t, cache, files.archive(t, name))
		if got.Digest != want.Digest || got.Dir != want.Dir || got.File != want.File {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestAModuleFileIsPackedWithItsSiblings(t *testing.T) {
	t.Parallel()
	files := penguin.with("other.py", "def run_fn(a):\n  pass\n").with("data.csv", "1").with("below/x.py", "").with(".hidden.py", "")
	s := take(t, t.TempDir(), filepath.Join(files.folder(t), "penguin.py"))
	if s.File != "penguin.py" || s.Ambiguous() != nil {
		t.Errorf("file %q, %v", s.File, s.Ambiguous())
	}
	want := penguin.with("other.py", files["other.py"])
	if got := readTree(t, s.Dir); !got.equals(want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}

func TestWhatIsNotImportedDoesNotChangeAModule(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	want := take(t, cache, penguin.folder(t))
	more := penguin.with("__pycache__/penguin.cpython-311.pyc", "x").with(".git/config", "x").with("tfx_user_code-0.0.dist-info/RECORD", "x")
	for _, path := range []string{more.folder(t), more.archive(t, "m.whl"), more.archive(t, "m.tgz")} {
		if got := take(t, cache, path); got.Digest != want.Digest {
			t.Errorf("%s: %s, want %s", filepath.Base(path), got.Digest, want.Digest)
		}
	}
}

func TestEachByteAndEachNameCounts(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	seen := map[string]string{}
	for what, files := range map[string]tree{
		"as it is": penguin, "another byte": penguin.with("features.py", "KEYS = ['b']\n"),
		"another name": {"penguin.py": penguin["penguin.py"], "feature.py": penguin["features.py"]},
		"another file": penguin.with("none.py", ""), "in a folder": penguin.with("features.py", "").with("a/features.py", penguin["features.py"]),
	} {
		digest := take(t, cache, files.folder(t)).Digest
		if same := seen[digest]; same != "" {
			t.Errorf("%s has the digest of %s", what, same)
		}
		seen[digest] = what
	}
}

func TestTheModuleFileIsTheOneThatDefinesAFunction(t *testing.T) {
	t.Parallel()
	const run, tune, none = "def run_fn(a):\n  pass\n", "x = 1\ndef  tuner_fn (a):\n  pass\n", "def run_fn_not(a):\n  pass\n  def run_fn(a): pass\n"
	tests := []struct {
		name  string
		files tree
		want  string // File, or what Ambiguous says
	}{
		{"alone", tree{"a.py": none}, "a.py"},
		{"the one with run_fn", tree{"a.py": none, "b.py": run}, "b.py"},
		{"the one with tuner_fn", tree{"a.py": tune, "b.py": none}, "a.py"},
		{"below the top", tree{"a.py": run, "b/c.py": run}, "a.py"},
		{"two", tree{"a.py": run, "b.py": tune, "c.py": none}, "a.py, b.py each define run_fn, tuner_fn or trainer_fn: name the function to call, as in run_fn: a.run_fn"},
		{"none of two", tree{"a.py": none, "b.py": none}, "no .py file at its top level defines run_fn, tuner_fn or trainer_fn: name the function, as in run_fn: my_module.run_fn"},
		{"nothing at the top", tree{"a/b.py": run}, "no .py file at its top level defines"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := take(t, t.TempDir(), tt.files.folder(t))
			if err := s.Ambiguous(); s.File != tt.want && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("file %q, error %v, want %s", s.File, err, tt.want)
			}
		})
	}
}

func TestWhatIsNoModuleIsRefusedByName(t *testing.T) {
	t.Parallel()
	dir := penguin.folder(t)
	for name, make := range map[string]func(path string) error{
		"gone.py":    func(string) error { return nil },
		"text.txt":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"broken.zip": func(path string) error { return os.WriteFile(path, []byte("PK"), 0o600) },
		"broken.tgz": func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
	} {
		path := filepath.Join(dir, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		_, err := snapshot.Take(t.Context(), t.TempDir(), path)
		if _, invalid := errors.AsType[*snapshot.Invalid](err); !invalid || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an *Invalid with its path", name, err)
		}
	}
}

func TestALinkToAFileIsTheFileAndOneToAFolderIsRefused(t *testing.T) {
	t.Parallel()
	// A ConfigMap.
	mounted := tree{"..data/penguin.py": penguin["penguin.py"], "..data/features.py": penguin["features.py"]}.folder(t)
	for name := range penguin {
		symlink(t, filepath.Join("..data", name), filepath.Join(mounted, name))
	}
	cache := t.TempDir()
	want := take(t, cache, penguin.folder(t)).Digest
	for _, path := range []string{mounted, filepath.Join(mounted, "penguin.py")} {
		if got := take(t, cache, path).Digest; got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	symlink(t, "/", filepath.Join(mounted, "root"))
	if _, err := snapshot.Take(t.Context(), cache, mounted); err == nil || !strings.Contains(err.Error(), "root is neither a file, nor a folder") {
		t.Errorf("a link to a folder: %v", err)
	}
}

func TestATextNamesTheFilesOfTheModuleNotOfTheCopy(t *testing.T) {
	t.Parallel()
	dir, archive := penguin.folder(t), penguin.archive(t, "m.zip")
	for path, want := range map[string]string{
		// Like a file of a directory m.zip.
		dir: dir, filepath.Join(dir, "penguin.py"): dir, archive: archive,
	} {
		s := take(t, t.TempDir(), path)
		if got := s.Theirs("File \"" + s.Dir + "/features.py\", line 1"); got != "File \""+want+"/features.py\", line 1" {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestIsPythonDistinguishesModulesFromGoPrograms(t *testing.T) {
	t.Parallel()
	for want, paths := range map[bool][]string{
		true: {
			penguin.folder(t), filepath.Join(penguin.folder(t), "penguin.py"), penguin.archive(t, "m.zip"), penguin.archive(t, "m.tgz"),
			tree{"models/net.py": ""}.folder(t),
		},
		false: {
			tree{"main.go": "package main"}.folder(t), penguin.with("main.go", "package main").folder(t), t.TempDir(),
			filepath.Join(penguin.with("module", "").folder(t), "module"), "gone.py", tree{".venv/x.py": ""}.folder(t),
		},
	} {
		for _, path := range paths {
			if got := snapshot.IsPython(path); got != want {
				t.Errorf("%s: %v, want %v", path, got, want)
			}
		}
	}
}

func ExampleSnapshot_Ambiguous() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	for _, name := range []string{"baseline.py", "wide.py"} {
		_ = os.WriteFile(filepath.Join(dir, name), []byte("def run_fn(fn_args):\n  ...\n"), 0o600)
	}
	s, err := snapshot.Take(context.Background(), filepath.Join(dir, ".cache"), dir)
	fmt.Println(err)
	fmt.Println(strings.ReplaceAll(s.Ambiguous().Error(), dir, "./models"))
	// Output:
	// <nil>
	// module ./models: baseline.py, wide.py each define run_fn, tuner_fn or trainer_fn: name the function to call, as in run_fn: baseline.run_fn
}

func TestADottedNameSaysTheFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"":                   {"m.py"},
		"train":              {"m.py"},
		"models.run_fn":      {"models.py", "models/__init__.py"},
		"models.wide.run_fn": {"models/wide.py", "models/wide/__init__.py"},
	} {
		if called := (snapshot.Snapshot{File: "m.py"}).Called(name); !slices.Equal(called, want) {
			t.Errorf("%s: %v, want %v", name, called, want)
		}
	}
	if called := (snapshot.Snapshot{}).Called("train"); called != nil {
		t.Errorf("of no file: %v", called)
	}
}
