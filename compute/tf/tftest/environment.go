package tftest

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gofrs/flock"
)

// The packages of the environments, at fixed versions.
var (
	//go:embed requirements.lock
	lockfile []byte

	//go:embed requirements-analysis.lock
	analysisLockfile []byte

	//go:embed requirements-estimator.lock
	estimatorLockfile []byte

	//go:embed requirements-orbax.lock
	orbaxLockfile []byte
)

// completeMarker is written last: an environment without it is incomplete.
const completeMarker = "complete"

// describePython prints what an environment depends on besides the packages: the base interpreter's
// own path is part of it, since a venv points there.
const describePython = `import sys, platform; print(sys.version, platform.system(), platform.machine(), sys.base_prefix)`

// environment is a Python venv in a directory whose name depends on everything that determines its
// content.
type environment struct {
	dir  string
	base string // the python3 that makes it
	lock []byte // its packages
	// Receives messages of slow work, since a test's own log is seen only at its end.
	notice io.Writer
}

// findEnvironment returns the environment for this lock and this python3, without creating it.
func findEnvironment(cache string, lock []byte, notice io.Writer) (environment, error) {
	base, err := exec.LookPath("python3")
	if err != nil {
		return environment{}, fmt.Errorf("tests against TensorFlow need python3 (or run go test -short): %w", err)
	}
	description, err := command(base, "-c", describePython)
	if err != nil {
		return environment{}, err
	}
	digest := sha256.Sum256(append([]byte(description+"\n"), lock...))
	dir := filepath.Join(cache, "stoker", "python", fmt.Sprintf("%x", digest[:8]))
	return environment{dir: dir, base: base, lock: lock, notice: notice}, nil
}

// python returns the path of the environment's interpreter.
func (e environment) python() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(e.dir, "Scripts", "python.exe")
	}
	return filepath.Join(e.dir, "bin", "python")
}

// ensure creates the environment unless it exists and is complete. Test binaries run at the same
// time, so it holds a file lock.
func (e environment) ensure(install func(environment) error) error {
	if e.complete() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(e.dir), 0o755); err != nil {
		return fmt.Errorf("make the folder of Python environments: %w", err)
	}
	lock := flock.New(e.dir + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock Python environment %s: %w", e.dir, err)
	}
	defer lock.Unlock() // the lock ends with the process at the latest
	if e.complete() {
		return nil
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("remove half-made Python environment: %w", err)
	}
	fmt.Fprintf(e.notice, "installing Python packages for tests into %s, once, some minutes\n", e.dir)
	if err := install(e); err != nil {
		return fmt.Errorf("install Python packages for tests into %s: %w", e.dir, err)
	}
	return os.WriteFile(filepath.Join(e.dir, completeMarker), nil, 0o644)
}

func (e environment) complete() bool {
	_, err := os.Stat(filepath.Join(e.dir, completeMarker))
	return !errors.Is(err, fs.ErrNotExist)
}

// installPackages makes the venv and fills it with wheels at the versions of the lock. No package
// is built from source.
func installPackages(e environment) error {
	if _, err := command(e.base, "-m", "venv", e.dir); err != nil {
		return err
	}
	lock := filepath.Join(e.dir, "requirements.lock")
	if err := os.WriteFile(lock, e.lock, 0o644); err != nil {
		return err
	}
	_, err := command(e.python(), "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "-r", lock)
	return err
}

// command runs a program and returns its output; an error carries the last line it wrote to stderr.
func command(name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, lastLine(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
