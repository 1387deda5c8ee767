package runner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A module runs as the worker's user, so that without a sandbox it can replace every program that the worker has built.
func TestABuiltModuleThatAnotherReplacedIsBuiltAgain(t *testing.T) {
	t.Parallel()
	cache, folder, loot := t.TempDir(), program(t, nil), filepath.Join(t.TempDir(), "loot")
	host, builds := countingRunner(t, cache)
	run := func(host *runner.Runner) {
		t.Helper()
		a := assignment(t, "")
		a.Module.Path = folder
		if outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
			t.Fatal(err, outcome.LogTail)
		}
		if text, err := os.ReadFile(loot); err == nil {
			t.Fatalf("the replaced program ran, and says %s", text)
		}
	}
	run(host)
	poison(t, cache, loot)
	run(host)
	if n := builds.Load(); n != 2 {
		t.Errorf("built %d times, want again after the program was replaced", n)
	}
	session, err := host.Open(t.Context(), module.Source{Path: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	poison(t, cache, loot)
	a := assignment(t, "")
	a.Module.Path = folder
	if _, err := session.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(loot); err == nil {
		t.Errorf("the replaced program ran in a session, and says %s", text)
	}
}

// A worker that has just started knows of no program what it is: one that lies in the cache may be anybody's.
func TestAWorkerDoesNotRunAProgramThatAnotherProcessLeftInItsCache(t *testing.T) {
	t.Parallel()
	cache, folder, loot := t.TempDir(), program(t, nil), filepath.Join(t.TempDir(), "loot")
	before := newRunner(t, 0)
	digest, err := before.Digest(t.Context(), module.Source{Path: folder})
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(cache, strings.TrimPrefix(digest, "sha256:"))
	if err := os.MkdirAll(place, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(place, "module"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	poison(t, cache, loot)
	host, _ := countingRunner(t, cache)
	a := assignment(t, "")
	a.Module.Path = folder
	if outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	if text, err := os.ReadFile(loot); err == nil {
		t.Errorf("the program that was there ran, and says %s", text)
	}
}

// poison puts a program of an attacker's in the place of each that was built.
func poison(t *testing.T, cache, loot string) {
	t.Helper()
	built, err := filepath.Glob(filepath.Join(cache, "*", "module"))
	if err != nil || len(built) == 0 {
		t.Fatalf("built are %v, error %v", built, err)
	}
	text := "#!/bin/sh\necho poisoned > " + loot + "\necho '{\"type\":\"done\"}' >&$STOKER_PROGRESS_FD\n"
	for _, path := range built {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// What runs is told, so that its caller sees where that is not what it had asked for.
func TestWhatRanIsToldByItsDigest(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "module.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nread -r line\necho '{\"type\":\"done\"}' >&3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	host := newRunner(t, 0)
	for _, path := range []string{script, program(t, nil)} {
		want, err := host.Digest(t.Context(), module.Source{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		a := assignment(t, "")
		a.Module.Path = path
		outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
		if err != nil || outcome.Module != want {
			t.Errorf("%s: ran %q, error %v, want %q", path, outcome.Module, err, want)
		}
	}
}

// The same size and the same time of change are easily had.
func TestADigestIsTakenAnewOfAFileThatOnlyLooksUnchanged(t *testing.T) {
	t.Parallel()
	path, host := filepath.Join(t.TempDir(), "module"), newRunner(t, 0)
	write := func(text string) string {
		t.Helper()
		info, before := os.Stat(path)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if before == nil {
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}
		digest, err := host.Digest(t.Context(), module.Source{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	if write("good") == write("evil") {
		t.Error("the digest is that of what was there before")
	}
}

// The go command reads settings from the user's home, which a module may write: -toolexec runs any program.
func TestSettingsInTheHomeHaveNoPartInABuild(t *testing.T) {
	keepGoFolders(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GOFLAGS", "")
	loot, tool := filepath.Join(home, "loot"), filepath.Join(home, "tool.sh")
	if err := os.MkdirAll(filepath.Join(home, ".config", "go"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		tool: "#!/bin/sh\nenv > " + loot + "\nexec \"$@\"\n",
		filepath.Join(home, ".config", "go", "env"): "GOFLAGS=-toolexec=" + tool + "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	runs(t, program(t, nil))
	t.Setenv("GOFLAGS", "-toolexec="+tool)
	runs(t, program(t, map[string]string{"more.go": "package main\n"}))
	if text, err := os.ReadFile(loot); err == nil {
		t.Errorf("a program of the home's settings ran, with the environment %.200s", text)
	}
}

// What a module's dependencies are is known by the sums in go.sum, which the go command compares when it fetches them, never after.
func TestADependencyThatWasChangedIsNotBuilt(t *testing.T) {
	keepGoFolders(t)
	modules := t.TempDir()
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(filepath.Join(goEnv(t, "GOMODCACHE"), "cache", "download")))
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOMODCACHE", modules)
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", modules).Run() })
	const dependency = "golang.org/x/sync v0."
	required, sums := lines(t, "../../go.mod", dependency), lines(t, "../../go.sum", dependency)
	files := map[string]string{
		"go.mod":  "module hello\n\ngo 1.26.0\n\nrequire " + strings.TrimSpace(required) + "\n",
		"go.sum":  sums,
		"more.go": "package main\n\nimport _ \"golang.org/x/sync/errgroup\"\n",
	}
	runs(t, program(t, files))
	found, err := filepath.Glob(filepath.Join(modules, "golang.org", "x", "sync@*", "errgroup", "errgroup.go"))
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, error %v", found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(found[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(found[0], append(text, "\nfunc init() { println(\"poisoned\") }\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	files["more.go"] += "// and a word, so that it is built again\n"
	a := assignment(t, "")
	a.Module.Path = program(t, files)
	host, err := runner.New(runner.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil)
	if failed, ok := asRunner(err); !ok || failed.Kind != runner.KindHost || !strings.Contains(failed.Error(), "golang.org/x/sync@v0.") {
		t.Errorf("got %v, want an error that names the module; it printed %q", err, outcome.LogTail)
	}
}

func asRunner(err error) (*runner.Error, bool) {
	failed, ok := err.(*runner.Error)
	return failed, ok
}

// lines are those of a file that begin with a text, whatever stands before it.
func lines(t *testing.T, file, begin string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var found string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(strings.TrimSpace(line), begin) {
			found += line
		}
	}
	if found == "" {
		t.Fatalf("%s has no line of %s", file, begin)
	}
	return found
}

// keepGoFolders has builds find what was built and fetched before, wherever home is.
func keepGoFolders(t *testing.T) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		t.Setenv(name, goEnv(t, name))
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// runs has a new host build and run a module.
func runs(t *testing.T, folder string) {
	t.Helper()
	host, _ := countingRunner(t, t.TempDir())
	a := assignment(t, "")
	a.Module.Path = folder
	if outcome, err := host.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err, outcome.LogTail)
	}
}
