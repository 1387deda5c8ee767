package runner_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

func TestAGoFolderIsBuiltOnceAndRun(t *testing.T) {
	t.Parallel()
	r, builds := countingRunner(t, t.TempDir())
	for range 2 {
		a := assignment(t, "")
		a.Module.Path = "testdata/hello"
		a.CustomConfig = map[string]any{"greeting": "good morning"}
		if _, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(a.ServingModelDir, "greeting")); err != nil || string(text) != "good morning" {
			t.Errorf("greeting is %q, error %v", text, err)
		}
	}
	if n := builds.Load(); n != 1 {
		t.Errorf("built %d times", n)
	}
}

func TestAModuleInAnyLanguageCanSpeakTheProtocol(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "module.sh")
	text := `#!/bin/sh
read -r assignment
echo "got $assignment" >&2
echo '{"type":"done","metrics":{"accuracy":0.5}}' >&$STOKER_PROGRESS_FD
`
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	a := assignment(t, "")
	a.Module.Path = script
	outcome, err := newRunner(t, 0).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Metrics["accuracy"] != 0.5 || !strings.HasPrefix(outcome.LogTail, `got {"version":1,"module":"/`) {
		t.Errorf("outcome is %+v", outcome)
	}
}

func TestManyBuildersBuildOnce(t *testing.T) {
	t.Parallel()
	cache, folder := t.TempDir(), program(t, nil)
	var group errgroup.Group
	var hosts []*atomic.Int64
	for range 4 {
		r, builds := countingRunner(t, cache)
		hosts = append(hosts, builds)
		a := assignment(t, "")
		a.Module.Path = folder
		group.Go(func() error {
			_, err := r.Run(t.Context(), a, runner.Limits{}, nil)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, builds := range hosts {
		total += builds.Load()
	}
	if total != 1 {
		t.Errorf("built %d times", total)
	}
}

func TestTheDigestOfSourceFollowsWhatIsBuilt(t *testing.T) {
	t.Parallel()
	original := digest(t, program(t, nil))
	if !strings.HasPrefix(original, "sha256:") || len(original) != 7+64 {
		t.Errorf("digest is %q", original)
	}
	for name, files := range map[string]map[string]string{
		"a copy in another folder": nil,
		"a test":                   {"main_test.go": "package main\n"},
		"a file that is not built": {"other_windows.go": "package main\n", "notes.txt": "notes\n"},
	} {
		if digest(t, program(t, files)) != original {
			t.Errorf("%s changes the digest", name)
		}
	}
	for name, files := range map[string]map[string]string{
		"another main":        {"main.go": programFiles()["main.go"] + "// and a word\n"},
		"one more file":       {"more.go": "package main\n"},
		"an embedded file":    {"embedded.txt": "two\n"},
		"another Go language": {"go.mod": "module hello\n\ngo 1.25\n"},
	} {
		if digest(t, program(t, files)) == original {
			t.Errorf("%s does not change the digest", name)
		}
	}
}

func TestWhatCanNotBeRunSaysWhy(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data.txt")
	if err := os.WriteFile(data, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	noGo := program(t, map[string]string{"go.mod": "module hello\n"})
	if err := os.Remove(filepath.Join(noGo, "main.go")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, module string
		kind         runner.Kind
		says         string
	}{
		{"unknown builtin", "builtin:dnnn", runner.KindInput, `no builtin module "dnnn"; there are: test`},
		{"nothing there", "/no/such/module", runner.KindInput, "find module: stat /no/such/module: no such file or directory"},
		{"no program", data, runner.KindInput, "nor a folder with a Go program, nor an executable file"},
		{"no Go in it", noGo, runner.KindModule, "no Go files in " + noGo},
		{"does not compile", program(t, map[string]string{"main.go": "package main\n\nfunc main() { none() }\n"}), runner.KindModule, "main.go:3:15: undefined: none"},
		{"no main package", program(t, map[string]string{"main.go": "package hello\n"}), runner.KindModule, "is package hello, expected main"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := assignment(t, "")
			a.Module.Path = test.module
			_, err := newRunner(t, 0).Run(t.Context(), a, runner.Limits{}, nil)
			if failed := asError(t, err); failed.Kind != test.kind || !strings.Contains(failed.Error(), test.says) {
				t.Errorf("%s: %s, want %s: %s", failed.Kind, failed, test.kind, test.says)
			}
		})
	}
}

func TestAFailedBuildKeepsTheCompilersExitStatus(t *testing.T) {
	t.Parallel()
	a := assignment(t, "")
	a.Module.Path = program(t, map[string]string{"main.go": "package main\n\nfunc main() { none() }\n"})
	_, err := newRunner(t, 0).Run(t.Context(), a, runner.Limits{}, nil)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("error is %v", err)
	}
}

func TestSourceWithoutAGoCommandSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := newRunner(t, 0).Digest(t.Context(), module.Source{Path: "testdata/hello"})
	if failed := asError(t, err); failed.Kind != runner.KindModule || !strings.Contains(failed.Error(), "there is no go command to build it") {
		t.Errorf("%s: %s", failed.Kind, failed)
	}
}

func TestTheDigestOfABinaryIsItsSHA256(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "module")
	r := newRunner(t, 0)
	for text, want := range map[string]string{ // as sha256sum prints them
		"one": "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
		"2":   "sha256:d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Digest(t.Context(), module.Source{Path: path}); err != nil || got != want {
			t.Errorf("digest of %q is %s, error %v", text, got, err)
		}
	}
	if got, err := r.Digest(t.Context(), module.Source{Path: "builtin:test"}); err != nil || got != "builtin:test@1" {
		t.Errorf("digest of a builtin is %s, error %v", got, err)
	}
}

// programFiles returns a Go program that implements the protocol without a library.
func programFiles() map[string]string {
	return map[string]string{
		"go.mod": "module hello\n\ngo 1.26\n",
		"main.go": `package main

import (
	_ "embed"
	"os"
)

//go:embed embedded.txt
var text string

func main() { os.NewFile(3, "progress").WriteString("{\"type\":\"done\"}\n") }
`,
		"embedded.txt": "one\n",
	}
}

// program writes programFiles and changes to a new directory.
func program(t *testing.T, changes map[string]string) string {
	t.Helper()
	dir, files := t.TempDir(), programFiles()
	maps.Copy(files, changes)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func digest(t *testing.T, folder string) string {
	t.Helper()
	digest, err := newRunner(t, 0).Digest(t.Context(), module.Source{Path: folder})
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// countingRunner counts the builds that it logs.
func countingRunner(t *testing.T, cache string) (*runner.Runner, *atomic.Int64) {
	t.Helper()
	var builds atomic.Int64
	r, err := runner.New(runner.Options{
		CacheDir: cache, Env: []string{childEnv + "=1"}, Logger: slog.New(&counter{builds: &builds}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, &builds
}

type counter struct {
	slog.Handler
	builds *atomic.Int64
}

func (c *counter) Enabled(context.Context, slog.Level) bool { return true }

func (c *counter) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "building module" {
		c.builds.Add(1)
	}
	return nil
}

// A module runs as the worker's user, so without a sandbox it can replace every program that the
// worker has built.
func TestABuiltModuleThatAnotherReplacedIsBuiltAgain(t *testing.T) {
	t.Parallel()
	cache, folder, loot := t.TempDir(), program(t, nil), filepath.Join(t.TempDir(), "loot")
	r, builds := countingRunner(t, cache)
	run := func(r *runner.Runner) {
		t.Helper()
		a := assignment(t, "")
		a.Module.Path = folder
		if outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
			t.Fatal(err, outcome.LogTail)
		}
		if text, err := os.ReadFile(loot); err == nil {
			t.Fatalf("the replaced program ran, and says %s", text)
		}
	}
	run(r)
	poison(t, cache, loot)
	run(r)
	if n := builds.Load(); n != 2 {
		t.Errorf("built %d times, want again after the program was replaced", n)
	}
	session, err := r.Open(t.Context(), module.Source{Path: folder})
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

// A worker that has just started can't trust any program: one in the cache may have been written by
// another process.
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
	r, _ := countingRunner(t, cache)
	a := assignment(t, "")
	a.Module.Path = folder
	if outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	if text, err := os.ReadFile(loot); err == nil {
		t.Errorf("the program that was there ran, and says %s", text)
	}
}

// poison replaces each program that was built by one of an attacker's.
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

// The outcome names the digest that ran, so that the caller notices if it is not the requested one.
func TestTheOutcomeNamesTheDigestThatRan(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "module.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nread -r line\necho '{\"type\":\"done\"}' >&3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, 0)
	for _, path := range []string{script, program(t, nil)} {
		want, err := r.Digest(t.Context(), module.Source{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		a := assignment(t, "")
		a.Module.Path = path
		outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
		if err != nil || outcome.Module != want {
			t.Errorf("%s: ran %q, error %v, want %q", path, outcome.Module, err, want)
		}
	}
}

// Size and modification time are easily forged.
func TestADigestIsTakenAnewOfAFileThatOnlyLooksUnchanged(t *testing.T) {
	t.Parallel()
	path, r := filepath.Join(t.TempDir(), "module"), newRunner(t, 0)
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
		digest, err := r.Digest(t.Context(), module.Source{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	if write("good") == write("evil") {
		t.Error("the digest is that of what was there before")
	}
}

// The go command reads settings from the user's home, which a module may write: -toolexec runs any
// program.
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

// The sums in go.sum determine a module's dependencies. The go command compares them when it
// fetches the dependencies, never after.
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
	r, err := runner.New(runner.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if failed, ok := asRunner(err); !ok || failed.Kind != runner.KindHost || !strings.Contains(failed.Error(), "golang.org/x/sync@v0.") {
		t.Errorf("got %v, want an error that names the module; it printed %q", err, outcome.LogTail)
	}
}

func asRunner(err error) (*runner.Error, bool) {
	failed, ok := err.(*runner.Error)
	return failed, ok
}

// lines returns the lines of a file that begin with a text, ignoring what comes before it.
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

// keepGoFolders makes builds find the packages that were built and fetched before, wherever the
// home is.
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

// runs has a new runner build and run a module.
func runs(t *testing.T, folder string) {
	t.Helper()
	r, _ := countingRunner(t, t.TempDir())
	a := assignment(t, "")
	a.Module.Path = folder
	if outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err, outcome.LogTail)
	}
}
