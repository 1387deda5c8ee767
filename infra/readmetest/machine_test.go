package readmetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/infra/readmetest"
)

func TestAMachineClonesTheWorkingTreeAsItStands(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	for name, text := range map[string]string{"kept": "old", "deleted": "", ".gitignore": "built\n"} {
		write(t, filepath.Join(source, name), text)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", source}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write(t, filepath.Join(source, "kept"), "new")
	write(t, filepath.Join(source, "new", "added"), "")
	write(t, filepath.Join(source, "built"), "")
	if err := os.Remove(filepath.Join(source, "deleted")); err != nil {
		t.Fatal(err)
	}

	machine, err := readmetest.NewMachine(t.Context(), t.TempDir(), source, "https://example.org/shop")
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := readmetest.Parse("README.md", fenced("", "console",
		"$ ls -A . ~", ".:", "", "...home:", ".gitconfig",
		"$ git clone -q https://example.org/shop && cd shop",
		"$ find . -type f -not -path './.git/*' | LC_ALL=C sort", "./.gitignore", "./kept", "./new/added",
		"$ cat kept", "new"))
	if err != nil {
		t.Fatal(err)
	}
	err = readmetest.Run(t.Context(), blocks, readmetest.Options{Dir: machine.Work, Env: machine.Env, Timeout: 2 * time.Minute, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
