package python

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// fill makes the venv and installs the packages of the lock as they stand: wheels alone, nothing is
// built, and nothing else is brought along.
func fill(ctx context.Context, from base, dir string, opts MakeOptions) error {
	if err := venv(ctx, nil, from.Interpreter, dir); err != nil {
		return err
	}
	lock := filepath.Join(dir, "requirements.lock")
	if err := os.WriteFile(lock, opts.Lock, 0o644); err != nil {
		return err
	}
	command := pipInstall(interpreterIn(dir))
	if uv, err := exec.LookPath("uv"); err == nil && !opts.Pip {
		command = []string{uv, "pip", "install", "--python", interpreterIn(dir)}
	}
	command = append(command, "--no-deps", "--only-binary", ":all:", "-r", lock)
	if said, err := talk(ctx, nil, opts.Progress, command, Needs{}); err != nil {
		return fmt.Errorf("install its packages: %w: %s", err, strings.Join(said.lines(5), "; "))
	}
	return nil
}

// venv makes an environment with nothing but pip in it.
func venv(ctx context.Context, by Runner, python, dir string, options ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, beginning), nil, 0o644); err != nil {
		return err
	}
	command := append([]string{python, "-I", "-m", "venv"}, options...)
	if said, err := talk(ctx, by, io.Discard, append(command, dir), Needs{Write: []string{dir}}); err != nil {
		return fmt.Errorf("%s -m venv: %w: %s", python, err, strings.Join(said.lines(5), "; "))
	}
	return nil
}

func pipInstall(python string) []string {
	return []string{
		python, "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "2",
	}
}

// talk runs an installer, shows what it says, and keeps the end of it.
func talk(ctx context.Context, by Runner, progress io.Writer, command []string, needs Needs) (*tail, error) {
	runtime.LockOSThread() // the kernel takes the thread that starts a process for its parent
	defer runtime.UnlockOSThread()
	said := &tail{}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.WaitDelay, cmd.SysProcAttr = installEnv(os.Environ()), time.Second, endsWithUs()
	cmd.Stdout = io.MultiWriter(said, progress)
	cmd.Stderr = cmd.Stdout
	if err := by.run(cmd, needs); err != nil {
		if ctx.Err() != nil {
			return said, context.Cause(ctx)
		}
		if _, ended := errors.AsType[*exec.ExitError](err); ended {
			err = fmt.Errorf("%s ended with %w", filepath.Base(command[0]), err)
		}
		return said, err
	}
	return said, nil
}
