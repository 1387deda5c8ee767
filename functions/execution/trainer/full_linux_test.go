package trainer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// fullEnv is set in a process that may mount: it is root in a user namespace of its own.
const fullEnv = "TRAINER_TEST_FULL"

// inNamespace runs the test that calls it in a process that may mount, and reports whether this is
// that process.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(fullEnv) != "" {
		return true
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), fullEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Start()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("NOT TESTED: a full disk needs user and mount namespaces, which this machine does not allow: %v", err)
	}
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil || !strings.Contains(out.String(), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out.String())
	}
	return false
}

// smallDisk returns a directory on a file system of the given size.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left on the disk: %v, %v", left, err)
	}
}

func TestADiskThatFillsUpWhileStagingIsTheMachinesFault(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	b := setup(t, writesModel)
	b.put(t, "up/tx/Split-train/data-1", strings.Repeat("x", 4<<20))
	disk := smallDisk(t, 1<<20)
	s := b.shift(t, b.store, b.runner, "a1", 1)
	s.trainer = trainer.New(execution.New(b.store, b.runner, execution.Options{Root: storage.Ref{Bucket: "stoker"}, WorkDir: disk}), trainer.Options{})
	_, err := s.handle(t.Context())
	if kindOf(err) != events.FailureUnavailable || !errors.Is(err, syscall.ENOSPC) || b.runner.runs.Load() > 0 {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
	wantEmpty(t, disk)
	if _, err := b.shift(t, b.store, b.runner, "a2", 2).handle(t.Context()); err != nil {
		t.Errorf("with enough space: %v", err)
	}
}

func TestADiskThatFillsUpWhileAModuleSavesIsTheMachinesFault(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	root := storage.Ref{Bucket: "stoker"}
	l := openLab(t, storagetest.NewMemory(), root, 1)
	s := l.shift(t, l.store, 1, "", func(module.Message) {})
	large := strings.Replace(longSpec, "[8, 4]", "[512, 512]", 1) // a checkpoint of some 3 MB
	large = strings.Replace(large, fmt.Sprintf("num_steps: %d", longSteps), "num_steps: 25", 1)
	s.job.Spec = job(t, "j1", "monday", large).Spec
	roomy := s.trainer
	disk := smallDisk(t, 2<<20)
	s.trainer = trainer.New(execution.New(l.store, runnerOf(t), execution.Options{Root: root, WorkDir: disk}), trainer.Options{})
	_, err := s.handle(t.Context())
	if kindOf(err) != events.FailureUnavailable || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("kind %q of %v", kindOf(err), err)
	}
	wantEmpty(t, disk)
	s.trainer, s.attempt.ID = roomy, "a2"
	if _, err := s.handle(t.Context()); err != nil {
		t.Errorf("with enough space: %v", err)
	}
}

func runnerOf(t *testing.T) *runner.Runner {
	t.Helper()
	host, err := runner.New(runner.Options{Builtins: map[string]string{"dnn": "builtin:dnn@test"}, Env: []string{childEnv + "=1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

// saves is a module that reports a file of its own as a checkpoint.
type saves struct{ execution.Runner }

func (g saves) Run(_ context.Context, a module.Assignment, _ runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	file := filepath.Join(a.WorkingDir, "weights")
	if err := os.WriteFile(file, make([]byte, 600<<10), 0o600); err != nil {
		return runner.Outcome{}, err
	}
	on(module.Message{Type: module.MessageCheckpoint, Step: 1})
	if err := os.Remove(file); err != nil {
		return runner.Outcome{}, err
	}
	return writesModel(a)
}

func TestAFullDiskThatFitsNoCopyCostsNoModel(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	b := setup(t, writesModel)
	var log bytes.Buffer
	s := b.shift(t, b.store, b.runner, "a1", 1)
	s.trainer = trainer.New(execution.New(b.store, saves{b.runner}, execution.Options{
		Root: storage.Ref{Bucket: "stoker"}, WorkDir: smallDisk(t, 1<<20), Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}), trainer.Options{})
	if _, err := s.handle(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "checkpoint not saved") {
		t.Errorf("log:\n%s", log.String())
	}
}
