package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// raid tries to read and to write each of several paths, separated by colons, to list its parent
// directory, and to signal and limit its parent process.
func raid(_ context.Context, _ *module.Args, paths string) error {
	for path := range strings.SplitSeq(paths, ":") {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			fmt.Println("create", path, succeeds(os.WriteFile(filepath.Join(path, "raided"), nil, 0o600)))
			continue
		}
		_, err := os.ReadFile(path)
		fmt.Println("read", path, succeeds(err))
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			err = file.Close()
		}
		fmt.Println("write", path, succeeds(err))
		fmt.Println("replace", path, succeeds(errors.Join(os.Rename(path, path+"-raided"), os.Rename(path+"-raided", path))))
	}
	file, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", os.Getppid()), os.O_RDWR, 0)
	if err == nil {
		err = file.Close()
	}
	fmt.Println("write parent", succeeds(err))
	raidParent()
	return nil
}

// liftLimit sets the memory limit of its own cgroup, which is in the cgroup parent, to that of an
// unlimited one. If it succeeds, it keeps running for a while.
func liftLimit(_ context.Context, _ *module.Args, parent string) error {
	own, err := filepath.Glob(filepath.Join(parent, "*", "*", "memory.*limit_in_bytes"))
	newer, _ := filepath.Glob(filepath.Join(parent, "*", "*", "memory.max"))
	if err != nil || len(own)+len(newer) == 0 {
		return fmt.Errorf("no limit in %s: %w", parent, err)
	}
	for _, file := range append(own, newer...) {
		none := "-1"
		if filepath.Base(file) == "memory.max" {
			none = "max"
		}
		err := os.WriteFile(file, []byte(none), 0)
		fmt.Println("lift", succeeds(err))
		if err == nil {
			defer time.Sleep(10 * time.Second)
		}
	}
	return nil
}

func succeeds(err error) string {
	if err != nil {
		return "fails"
	}
	return "succeeds"
}

// prey are files and directories that a module may and may not access. The worker's environment
// names some of them.
type prey struct{ hidden, kept, open []string }

func newPrey(t *testing.T, a module.Assignment, cache string) prey {
	t.Helper()
	home, stack := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("NATS_CREDS", filepath.Join(t.TempDir(), "worker.creds"))
	t.Setenv("STOKER_MODULE_HIDE", filepath.Join(stack, "mounted")+":"+filepath.Join(stack, "open", "hidden"))
	shared := t.TempDir()
	t.Setenv("STOKER_MODULE_WRITE", shared+":"+filepath.Join(stack, "open"))
	p := prey{
		hidden: []string{filepath.Join(home, ".aws", "credentials"), filepath.Join(home, ".config", "stoker", "config.yaml"), os.Getenv("NATS_CREDS"),
			filepath.Join(stack, "connection.json"), filepath.Join(stack, "mounted", "creds"),
			filepath.Join(stack, "open", "hidden", "key")},
		kept: []string{filepath.Join(cache, "0123", "module"), filepath.Join(stack, "other", "saved_model.pb"), filepath.Join(home, ".profile")},
		open: []string{filepath.Join(a.WorkingDir, "checkpoint"), filepath.Join(filepath.Dir(a.ServingModelDir), "model"), filepath.Join(shared, "file")},
	}
	for _, path := range slices.Concat(p.hidden, p.kept, p.open) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("secret"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// options returns the options of a runner whose modules are confined.
func (p prey) options(cache string) runner.Options {
	return runner.Options{CacheDir: cache, Env: []string{childEnv + "=1"}, Hidden: []string{p.hidden[3]}}
}

// all returns the paths for raid.
func (p prey) all() string {
	paths := slices.Concat(p.hidden, p.kept, p.open)
	for _, path := range slices.Concat(p.kept, p.hidden) {
		paths = append(paths, filepath.Dir(path))
	}
	return strings.Join(append(paths, "/tmp", "/sys/fs/cgroup"), ":")
}

// check compares what a module reports with what it may do.
func (p prey) check(t *testing.T, said string) {
	t.Helper()
	want := func(text, outcome string) {
		t.Helper()
		if !strings.Contains(said, text+" "+outcome+"\n") {
			t.Errorf("%q, want that it %s", text, outcome)
		}
	}
	for _, path := range p.hidden {
		want("read "+path, "fails")
		want("write "+path, "fails")
		want("replace "+path, "fails")
		want("create "+filepath.Dir(path), "fails")
	}
	for _, path := range p.kept {
		want("read "+path, "succeeds")
		want("write "+path, "fails")
		want("replace "+path, "fails")
		want("create "+filepath.Dir(path), "fails")
	}
	for _, path := range p.open {
		want("read "+path, "succeeds")
		want("write "+path, "succeeds")
		want("replace "+path, "succeeds")
	}
	want("create /tmp", "fails")
	want("create /sys/fs/cgroup", "fails")
	want("write parent", "fails")
	want("limit parent", "fails")
	want("slow down parent", "fails")
	if !slices.ContainsFunc(process.SandboxLacks(), func(text string) bool { return strings.Contains(text, "signals") }) {
		want("look for parent", "fails")
		want("signal parent", "fails")
	}
	if t.Failed() {
		t.Log(said)
	}
}

// canSandbox is false on a machine without Landlock. There a worker that requires it does not
// start, and doctor reports what is missing: see its tests.
func canSandbox(t *testing.T) bool {
	t.Helper()
	cannot := process.CanSandbox()
	if cannot == nil {
		return true
	}
	t.Setenv("STOKER_MODULE_SANDBOX", "required")
	if _, err := runner.New(runner.Options{}); err == nil || !strings.Contains(err.Error(), cannot.Error()) {
		t.Errorf("modules can't be kept apart (%v), and a worker that is to do it starts: %v", cannot, err)
	}
	return false
}

func TestAModuleReadsNoCredentialsAndWritesWhatIsItsOwn(t *testing.T) {
	if !canSandbox(t) {
		return
	}
	cache, a := t.TempDir(), assignment(t, "raid")
	// Its parent does not exist.
	a.ServingModelDir = filepath.Join(t.TempDir(), "model", "Format-Serving")
	a.Module.Path = os.Args[0]
	prey := newPrey(t, a, cache)
	a.CustomConfig["file"] = prey.all()
	r, err := runner.New(prey.options(cache))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	prey.check(t, outcome.LogTail)
	session, err := r.Open(t.Context(), a.Module)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	outcome, err = session.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err, outcome.LogTail)
	}
	prey.check(t, outcome.LogTail)

	t.Setenv("STOKER_MODULE_SANDBOX", "off")
	open, err := runner.New(prey.options(cache))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	outcome, err = open.Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || !strings.Contains(outcome.LogTail, "read "+prey.hidden[0]+" succeeds\n") {
		t.Errorf("without a sandbox the module says %s, %v", outcome.LogTail, err)
	}
}

// Builtin modules execute files of others in processes that serve one job after another.
func TestABuiltinModuleReadsNoCredentialsAndWritesWhereJobsWorkAlone(t *testing.T) {
	if !canSandbox(t) {
		return
	}
	elsewhere := folderElsewhere(t, "")
	t.Setenv("STOKER_MODULE_WRITE", "")
	for name, free := range map[string]bool{"auto": false, "off": true} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("STOKER_MODULE_SANDBOX", name)
			a := assignment(t, "raid")
			a.Module.Path = "builtin:test"
			key, own := filepath.Join(t.TempDir(), "key"), filepath.Join(a.WorkingDir, "checkpoint")
			if err := errors.Join(os.WriteFile(key, []byte("secret"), 0o600), os.WriteFile(own, []byte("mine"), 0o600)); err != nil {
				t.Fatal(err)
			}
			a.CustomConfig["file"] = strings.Join([]string{key, own, elsewhere}, ":")
			r, err := runner.New(runner.Options{
				Builtins: map[string]string{"test": "builtin:test@1"}, CacheDir: t.TempDir(), Env: []string{childEnv + "=1"}, Warm: 1,
				Hidden: []string{key}, WorkDir: filepath.Dir(a.WorkingDir),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for range 2 { // in the same process
				outcome, err := r.Run(t.Context(), a, runner.Limits{}, nil)
				if err != nil {
					t.Fatal(err, outcome.LogTail)
				}
				for what, can := range map[string]bool{"read " + key: free, "create " + elsewhere: free, "write " + own: true} {
					if !strings.Contains(outcome.LogTail, what+map[bool]string{true: " succeeds", false: " fails"}[can]+"\n") {
						t.Errorf("%s: want %t, it says\n%s", what, can, outcome.LogTail)
					}
				}
			}
		})
	}
}

// raidScript is raid, of a TFX module.
const raidScript = `
import os, resource, signal

def attempt(what, path, do):
    try:
        do()
        print(what, path, "succeeds")
    except OSError:
        print(what, path, "fails")

def run_fn(fn_args):
    for path in fn_args.custom_config["file"].split(":"):
        if os.path.isdir(path):
            attempt("create", path, lambda: open(os.path.join(path, "raided"), "w").close())
            continue
        attempt("read", path, lambda: open(path).read())
        attempt("write", path, lambda: os.close(os.open(path, os.O_WRONLY)))
        attempt("replace", path, lambda: (os.rename(path, path + "-raided"), os.rename(path + "-raided", path)))
    attempt("write", "parent", lambda: os.close(os.open(f"/proc/{os.getppid()}/mem", os.O_RDWR)))
    parent = os.getppid()
    attempt("look for", "parent", lambda: os.kill(parent, 0))
    attempt("signal", "parent", lambda: os.kill(parent, signal.SIGURG))
    attempt("limit", "parent", lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, resource.prlimit(parent, resource.RLIMIT_NOFILE)))
    attempt("slow down", "parent", lambda: os.setpriority(os.PRIO_PROCESS, parent, os.getpriority(os.PRIO_PROCESS, parent)))
`

func TestATFXModuleReadsNoCredentialsAndWritesWhatIsItsOwn(t *testing.T) {
	if !canSandbox(t) {
		return
	}
	python := tftest.Python(t)
	for _, way := range ways() {
		t.Run(way, func(t *testing.T) {
			cache, a := t.TempDir(), pythonAssignment(t, raidScript)
			prey := newPrey(t, a, cache)
			a.CustomConfig = map[string]any{"file": prey.all()}
			opts := prey.options(cache)
			opts.Python, opts.Warm, opts.PythonWarm = python, 1, way
			opts.Env = append(opts.Env, "STOKER_PRELOAD=")
			r, err := runner.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			log := filepath.Join(t.TempDir(), "log.txt")
			outcome, err := r.Run(t.Context(), a, runner.Limits{LogPath: log}, nil)
			if err != nil {
				t.Fatal(err, outcome.LogTail)
			}
			said, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			prey.check(t, string(said))
		})
	}
}

func ways() []string {
	if runtime.GOOS == "linux" {
		return runner.Warmth()
	}
	return []string{runner.WarmIdle, runner.WarmOff}
}
