package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// snapshot is a release of this checkout's commit, built from a clone.
type snapshot struct {
	dir, version, commit string
	dist                 string // what would be published
}

// platforms that a release is for.
var platforms = []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"}

func (s snapshot) archive(platform string) string {
	return filepath.Join(s.dist, "stoker_"+s.version+"_"+platform+".tar.gz")
}

var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "stoker-release-") })

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, err := scratch(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(status)
}

// goreleaser is the program that go.mod pins.
var goreleaser = sync.OnceValues(func() (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "goreleaser")
	return program, in(".", nil, "go", "build", "-o", program, "github.com/goreleaser/goreleaser/v2")
})

// made is the snapshot that tests examine.
var made = sync.OnceValues(func() (snapshot, error) {
	dir, err := scratch()
	if err != nil {
		return snapshot{}, err
	}
	return build(filepath.Join(dir, "first"), nil)
})

// build clones the commit to dir and has goreleaser make a snapshot there.
func build(dir string, env []string) (snapshot, error) {
	program, err := goreleaser()
	if err != nil {
		return snapshot{}, err
	}
	if err := in(".", nil, "git", "clone", "--quiet", "--no-hardlinks", "../..", dir); err != nil {
		return snapshot{}, err
	}
	s := snapshot{dir: dir, dist: filepath.Join(dir, "bin/release")}
	if s.version, err = output(dir, "git", "describe", "--tags", "--always", "--dirty"); err != nil {
		return s, err
	}
	if s.commit, err = output(dir, "git", "rev-parse", "HEAD"); err != nil {
		return s, err
	}
	return s, in(dir, env, program, "release", "--snapshot", "--skip=sign", "--clean", "-f", "infra/release/goreleaser.yaml")
}

func in(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s: %w\n%s", name, err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
