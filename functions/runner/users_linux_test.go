package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// userRunner returns a runner whose modules have users of their own, and its working directory. It
// needs root.
func userRunner(t *testing.T, opts runner.Options) (r *runner.Runner, work string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give modules users of their own: run this test as root")
	}
	t.Setenv("STOKER_MODULE_USER", "on")
	work = passable(t, 0o700)
	opts.WorkDir = work
	if opts.CacheDir == "" {
		opts.CacheDir = passable(t, 0o755)
	}
	opts.Builtins, opts.Env = map[string]string{"test": "builtin:test@1"}, append(opts.Env, childEnv+"=1")
	r, err := runner.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, work
}

// passable returns a directory that all users can access.
func passable(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stoker-users-")
	if err == nil {
		err = os.Chmod(dir, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// job returns an assignment in a workspace of its own, as functions/execution makes them, with an
// input and a file of the worker's.
func job(t *testing.T, work, do string) (a module.Assignment, workspace string) {
	t.Helper()
	workspace, err := os.MkdirTemp(work, "train-")
	if err != nil {
		t.Fatal(err)
	}
	a = assignmentIn(filepath.Join(workspace, "working"), do)
	a.ServingModelDir = filepath.Join(workspace, "out", "model", "Format-Serving")
	for _, path := range []string{"in/schema/schema.pbtxt", "working/checkpoint", "log.txt", "out/model/left"} {
		path = filepath.Join(workspace, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("text"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	a.SchemaPath = filepath.Join(workspace, "in", "schema", "schema.pbtxt")
	return a, workspace
}

// expect compares lines of raid with what a module may do.
func expect(t *testing.T, said string, want map[string]bool) {
	t.Helper()
	for what, can := range want {
		if line := what + map[bool]string{true: " succeeds", false: " fails"}[can]; !strings.Contains(said, line+"\n") {
			t.Errorf("want %q in\n%s", line, said)
		}
	}
}

// Users of their own are enough to keep a module from its worker and from other slots: this machine
// needs no Landlock for that.
func TestAModuleUnderItsOwnUserTouchesItsWorkspaceAlone(t *testing.T) {
	t.Setenv("STOKER_MODULE_SANDBOX", "off")
	for name, opts := range map[string]runner.Options{"cold": {}, "kept ready": {Warm: 1}} {
		t.Run(name, func(t *testing.T) {
			r, work := userRunner(t, opts)
			key := filepath.Join(passable(t, 0o755), "key")
			if err := os.WriteFile(key, []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			other, otherWorkspace := job(t, work, "wait") // of another slot
			stop := runUntil(t, r, other)
			for range 2 {
				a, workspace := job(t, work, "raid")
				own, theirs := filepath.Join(a.WorkingDir, "checkpoint"), filepath.Join(other.WorkingDir, "checkpoint")
				input := a.SchemaPath
				a.CustomConfig["file"] = strings.Join([]string{key, own, theirs, other.SchemaPath, input, work, workspace, otherWorkspace, other.WorkingDir,
					a.WorkingDir, "/root", filepath.Join(workspace, "out", "model", "left")}, ":")
				outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
				if err != nil {
					t.Fatal(err, outcome.LogTail)
				}
				expect(t, outcome.LogTail, map[string]bool{
					"read " + key: false, "write " + key: false, "replace " + key: false,
					"read " + theirs: false, "write " + theirs: false, "replace " + theirs: false, "read " + other.SchemaPath: false,
					"read " + input: true, "write " + input: false, "replace " + input: false,
					"read " + own: true, "write " + own: true, "replace " + own: true,
					"create " + work: false, "create " + workspace: false, "create " + otherWorkspace: false, "read " + other.WorkingDir: false,
					"create " + a.WorkingDir: true, "read " + filepath.Join(workspace, "out", "model", "left"): true,
					"create /root": false, "write parent": false, "signal parent": false, "look for parent": false, "limit parent": false, "slow down parent": false,
				})
				isTakenBack(t, workspace)
			}
			stop()
			isTakenBack(t, otherWorkspace)
		})
	}
}

// runUntil runs a module, and returns once it works. The function that it returns ends the module.
func runUntil(t *testing.T, r *runner.Runner, a module.Assignment) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := r.Run(ctx, a, runner.Limits{}, func(module.Message) { close(begun) })
		ended <- err
	}()
	select {
	case <-begun:
	case err := <-ended:
		cancel()
		t.Fatal(err)
	}
	return sync.OnceFunc(func() { cancel(); <-ended })
}

// isTakenBack fails if a directory of the module's does not belong to the worker alone: the
// module's user may be another module's by now.
func isTakenBack(t *testing.T, workspace string) {
	t.Helper()
	if info, err := os.Lstat(workspace); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the workspace has mode %v, %v", info.Mode(), err)
	}
	err := filepath.WalkDir(workspace, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if id := ownerOf(t, path); id != 0 {
			t.Errorf("%s belongs to user %d", path, id)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A session's process works in one directory after another, each made when it is named.
func TestTrialsOfASessionRunUnderOneUser(t *testing.T) {
	r, work := userRunner(t, runner.Options{})
	a, workspace := job(t, work, "report user")
	session, err := r.Open(t.Context(), a.Module)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	users := map[string]bool{}
	for i := range 3 {
		trial := a
		trial.WorkingDir = filepath.Join(workspace, "trials", fmt.Sprint(i), "working")
		trial.ServingModelDir = ""
		trial.Call, trial.Trial = module.CallTrial, &module.Trial{Study: "s", ID: fmt.Sprintf("%04d", i)}
		trial.CustomConfig = map[string]any{"do": "report user"}
		outcome, err := session.Run(t.Context(), trial, runner.Limits{}, nil)
		if err != nil {
			t.Fatal(err, outcome.LogTail)
		}
		user, err := os.ReadFile(filepath.Join(trial.WorkingDir, "user"))
		if err != nil {
			t.Fatal(err)
		}
		users[string(user)] = true
	}
	if len(users) != 1 || users["0\n"] {
		t.Errorf("they ran under users %v", users)
	}
}

func TestAWorkerThatGivesFoldersAwayFollowsNoLinkOfAModule(t *testing.T) {
	r, work := userRunner(t, runner.Options{})
	prey := passable(t, 0o755)
	a, workspace := job(t, work, "trap")
	a.WorkingDir = filepath.Join(workspace, "trials", "0", "working")
	a.Call, a.Trial = module.CallTrial, &module.Trial{Study: "s", ID: "0000"}
	a.CustomConfig["file"] = prey
	if err := os.MkdirAll(filepath.Join(workspace, "trials"), 0o755); err != nil {
		t.Fatal(err)
	}
	a.Trial.StopPath = ""
	if outcome, err := r.Run(t.Context(), withTrials(a), runner.Limits{}, nil); err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	next := a
	next.WorkingDir = filepath.Join(workspace, "trials", "next", "working")
	if _, err := r.Run(t.Context(), next, runner.Limits{}, nil); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("%v, want that the link is refused", err)
	}
	if entries, err := os.ReadDir(prey); err != nil || len(entries) > 0 {
		t.Errorf("%v in the folder that the link leads to, %v", entries, err)
	}
	if info, err := os.Stat(prey); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("the folder that the link leads to belongs to another user, %v", err)
	}
}

// withTrials gives the directory of all trials to the module, as in a search.
func withTrials(a module.Assignment) module.Assignment {
	a.ModelRunDir = filepath.Dir(filepath.Dir(a.WorkingDir))
	return a
}

// The check can read files that only the module could, under yet another user.
func TestACheckReadsWhatAModuleUnderItsOwnUserLeft(t *testing.T) {
	r, work := userRunner(t, runner.Options{})
	a, workspace := job(t, work, "report user")
	if outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	question, err := json.Marshal(filepath.Join(a.ServingModelDir, "weights"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := r.Check(t.Context(), question, runner.Limits{Reads: workspace})
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		User        int
		Read, Write bool
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		t.Fatal(err)
	}
	if found.User == 0 || !found.Read || found.Write {
		t.Errorf("the check has %+v, want a user that reads and does not write", found)
	}
}

// The states of trials are moved between a running module and its worker.
func TestFoldersThatAreMovedBelongToWhoeverHasThem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give modules users of their own: run this test as root")
	}
	base := passable(t, 0o755)
	own, state, moved := filepath.Join(base, "own"), filepath.Join(base, "state"), filepath.Join(base, "own", "trial")
	file := func(dir string) string { return filepath.Join(dir, "weights") }
	const user = 70300
	err := errors.Join(os.Mkdir(own, 0o755), os.Chown(own, user, user), os.Mkdir(state, 0o755), os.WriteFile(file(state), nil, 0o600))
	if err == nil {
		err = runner.MoveIn(state, base, moved)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := []int{ownerOf(t, moved), ownerOf(t, file(moved))}; got[0] != user || got[1] != user {
		t.Errorf("with the module they belong to users %v", got)
	}
	if err := runner.MoveOut(base, moved, state); err != nil {
		t.Fatal(err)
	}
	if got := []int{ownerOf(t, state), ownerOf(t, file(state))}; got[0] != 0 || got[1] != 0 {
		t.Errorf("with the worker they belong to users %v", got)
	}
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// goModule is a module without dependencies that reports its user.
const goModule = `package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Println("user", os.Getuid())
	fmt.Fprintln(os.NewFile(3, "progress"), ` + "`" + `{"type":"done"}` + "`" + `)
}
`

// Builds have a user of their own, whose caches no module writes to.
func TestAGoModuleIsBuiltAndRunUnderOtherUsers(t *testing.T) {
	cache := passable(t, 0o755)
	r, work := userRunner(t, runner.Options{CacheDir: cache})
	source := passable(t, 0o755)
	err := errors.Join(os.WriteFile(filepath.Join(source, "main.go"), []byte(goModule), 0o644),
		os.WriteFile(filepath.Join(source, "go.mod"), []byte("module example.com/user\n\ngo 1.26\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a, _ := job(t, work, "")
		a.Module.Path = source
		outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
		if err != nil {
			t.Fatal(err, outcome.LogTail)
		}
		if !strings.HasPrefix(outcome.LogTail, "user 6") {
			t.Errorf("it says %s", outcome.LogTail)
		}
	}
	info, err := os.Stat(filepath.Join(cache, "go", "cache"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 61099 {
		t.Errorf("the go command's cache is not the last user's: %v", err)
	}
	if err := os.Chmod(source, 0o700); err != nil {
		t.Fatal(err)
	}
	a, _ := job(t, work, "")
	a.Module.Path = source
	if _, err := r.Run(t.Context(), a, runner.Limits{}, nil); err == nil || !strings.Contains(err.Error(), "users of modules can't read") {
		t.Errorf("%v, want that the sources can't be read", err)
	}
}

// A script is executed from sealed memory, which its interpreter opens under the module's user.
func TestAScriptRunsUnderItsOwnUser(t *testing.T) {
	r, work := userRunner(t, runner.Options{})
	a, _ := job(t, work, "")
	// A directory that the user can't access.
	a.Module.Path = filepath.Join(passable(t, 0o700), "module")
	const text = "#!/bin/sh\nread -r line\necho \"user $(id -u)\"\necho '{\"type\":\"done\"}' >&$STOKER_PROGRESS_FD\n"
	if err := os.WriteFile(a.Module.Path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || !strings.HasPrefix(outcome.LogTail, "user 6") {
		t.Errorf("it says %s, %v", outcome.LogTail, err)
	}
}

func TestAWorkerSaysWhatUsersOfModulesCanNotReach(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Setenv("STOKER_MODULE_USER", "on")
		if _, err := runner.New(runner.Options{CacheDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "STOKER_MODULE_USER=on: only root") {
			t.Errorf("%v, want that only root can", err)
		}
		return
	}
	t.Setenv("STOKER_MODULE_USER", "on")
	closed := filepath.Join(passable(t, 0o700), "cache")
	if _, err := runner.New(runner.Options{CacheDir: closed}); err == nil || !strings.Contains(err.Error(), "users of modules can't reach "+closed) {
		t.Errorf("%v, want that the cache can't be reached", err)
	}
	t.Setenv("STOKER_MODULE_USER", "nobody")
	if _, err := runner.New(runner.Options{CacheDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "expected on, off or a range") {
		t.Errorf("%v, want that the setting is refused", err)
	}
}

// writesFiles is a TFX module that reports its user and leaves a model that no other user may read.
const writesFiles = `
import os

def run_fn(fn_args):
    print("user", os.getuid(), "groups", os.getgroups())
    for path in ("/root", os.path.dirname(fn_args.working_dir), os.path.dirname(os.environ["HOME"])):
        try:
            open(os.path.join(path, "raided"), "w").close()
            print("create", path, "succeeds")
        except OSError:
            print("create", path, "fails")
    os.umask(0o77)
    import tensorflow as tf
    model = tf.Module()
    model.weight = tf.Variable(2.0)
    model.serve = tf.function(lambda x: x * model.weight, input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"serving_default": model.serve})
`

func TestATFXModuleTrainsUnderItsOwnUser(t *testing.T) {
	python := tftest.Python(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can give modules users of their own: run this test as root")
	}
	if !withinReach(t, python) {
		return
	}
	t.Setenv("STOKER_MODULE_SANDBOX", "off")
	for _, way := range runner.Warmth() {
		t.Run(way, func(t *testing.T) {
			r, work := userRunner(t, runner.Options{Python: python, Warm: 1, PythonWarm: way, Env: []string{"STOKER_PRELOAD="}})
			source := filepath.Join(passable(t, 0o755), "user_module.py")
			if err := os.WriteFile(source, []byte(writesFiles), 0o600); err != nil {
				t.Fatal(err)
			}
			servers := map[string]bool{}
			var jobs errgroup.Group
			var mu sync.Mutex
			for range 3 { // at once: each has another user
				a, workspace := job(t, work, "")
				a.Module, a.TrainSteps = module.Source{Path: source}, new(3)
				jobs.Go(func() error {
					outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
					if err != nil {
						return fmt.Errorf("%w: %s", err, outcome.LogTail)
					}
					expect(t, outcome.LogTail, map[string]bool{"create /root": false, "create " + workspace: false})
					if _, err := os.Stat(filepath.Join(a.ServingModelDir, "saved_model.pb")); err != nil {
						return err
					}
					mu.Lock()
					defer mu.Unlock()
					_, said, _ := strings.Cut(outcome.LogTail, "user ")
					user, _, _ := strings.Cut(said, "\n")
					servers[user] = true
					return nil
				})
			}
			if err := jobs.Wait(); err != nil {
				t.Fatal(err)
			}
			if len(servers) != 3 {
				t.Errorf("three jobs at once ran under users %v", servers)
			}
		})
	}
}

func TestRequirementsAreInstalledUnderAnotherUserAndBelongToTheWorker(t *testing.T) {
	python := tftest.Python(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can give modules users of their own: run this test as root")
	}
	if !withinReach(t, python) {
		return
	}
	cache := passable(t, 0o755)
	r, work := userRunner(t, runner.Options{Python: python, CacheDir: cache})
	wheel := wheelOf(t, [2]string{"helper.py", "value = 7\n"})
	if err := os.Chmod(filepath.Dir(wheel), 0o755); err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(passable(t, 0o755), filepath.Base(wheel))
	text, err := os.ReadFile(wheel)
	if err == nil {
		err = os.WriteFile(shared, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(passable(t, 0o755), "user_module.py")
	const uses = "import os, helper\n\ndef run_fn(fn_args):\n    print('value', helper.value)\n    os.makedirs(fn_args.serving_model_dir)\n" +
		"    try:\n        open(helper.__file__, 'a').close()\n        print('write helper succeeds')\n    except OSError:\n        print('write helper fails')\n"
	if err := os.WriteFile(source, []byte(uses), 0o644); err != nil {
		t.Fatal(err)
	}
	a, _ := job(t, work, "")
	a.Module, a.TrainSteps = module.Source{Path: source, Requirements: []string{shared}}, new(3)
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	if !strings.Contains(outcome.LogTail, "value 7\n") || !strings.Contains(outcome.LogTail, "write helper fails\n") {
		t.Errorf("it says %s", outcome.LogTail)
	}
	err = filepath.WalkDir(cache, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("%s belongs to user %d", path, info.Sys().(*syscall.Stat_t).Uid)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// reachEnv is set in a process with mounts of its own, in which all users can access Python.
const reachEnv = "RUNNER_TEST_REACH"

// withinReach reports whether all users can access an interpreter and what it imports. If they
// can't, as below root's home, the test runs again in a process with mounts of its own, in which
// they can, and withinReach returns false.
func withinReach(t *testing.T, python string) bool {
	t.Helper()
	if os.Getenv(reachEnv) == "mount" {
		mountWithinReach(t, python)
		return true
	}
	probe := exec.Command(python, "-c", "pass")
	probe.Dir, probe.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
	if probe.Run() == nil {
		return true
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), reachEnv+"=mount")
	again.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("with mounts of its own: %v\n%s", err, out)
	}
	return false
}

// mountWithinReach mounts an empty directory over each directory on the way to Python that others
// can't enter, and Python's files in it.
func mountWithinReach(t *testing.T, python string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), python, "-c", "import sys; print(sys.prefix); print(sys.base_prefix)").Output()
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]*os.File{}
	for folder := range strings.Lines(string(out)) {
		folder = strings.TrimSpace(folder)
		for _, folder := range []string{folder, resolved(t, folder)} {
			if kept[folder], err = os.Open(folder); err != nil {
				t.Fatal(err)
			}
		}
	}
	for folder, file := range kept {
		for _, part := range above(folder) {
			info, err := os.Stat(part)
			if err == nil && info.Mode().Perm()&1 == 0 {
				err = syscall.Mount("tmpfs", part, "tmpfs", 0, "mode=755")
			}
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), folder, "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
	}
}

func resolved(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// above returns the directories that contain a path, the outermost first.
func above(path string) (folders []string) {
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		folders = append([]string{dir}, folders...)
	}
	return folders
}
