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
	host, builds := countingRunner(t, t.TempDir())
	for range 2 {
		a := assignment(t, "")
		a.Module.Path = "testdata/hello"
		a.CustomConfig = map[string]any{"greeting": "good morning"}
		if _, err := host.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
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
		host, builds := countingRunner(t, cache)
		hosts = append(hosts, builds)
		a := assignment(t, "")
		a.Module.Path = folder
		group.Go(func() error {
			_, err := host.Run(t.Context(), a, runner.Limits{}, nil)
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
	tests := []struct {
		name, module string
		kind         runner.Kind
		says         string
	}{
		{"unknown builtin", "builtin:dnnn", runner.KindInput, `no builtin module "dnnn"; there are: test`},
		{"nothing there", "/no/such/module", runner.KindInput, "find module: stat /no/such/module: no such file or directory"},
		{"no program", data, runner.KindInput, "nor a folder with a Go program, nor an executable file"},
		{"no Go in it", t.TempDir(), runner.KindModule, "go.mod file not found"},
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
	host := newRunner(t, 0)
	for text, want := range map[string]string{ // sha256sum
		"one": "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
		"2":   "sha256:d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := host.Digest(t.Context(), module.Source{Path: path}); err != nil || got != want {
			t.Errorf("digest of %q is %s, error %v", text, got, err)
		}
	}
	if got, err := host.Digest(t.Context(), module.Source{Path: "builtin:test"}); err != nil || got != "builtin:test@1" {
		t.Errorf("digest of a builtin is %s, error %v", got, err)
	}
}

// programFiles is a Go program that speaks the protocol without anybody's help.
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

// program writes programFiles and changes to a new folder.
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
	host, err := runner.New(runner.Options{
		CacheDir: cache, Env: []string{childEnv + "=1"}, Logger: slog.New(&counter{builds: &builds}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host, &builds
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
