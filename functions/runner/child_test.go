package runner_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// childEnv makes this test binary the module that the tests start.
const childEnv = "RUNNER_TEST_CHILD"

func TestMain(m *testing.M) {
	if entered, err := process.Enter(os.Args); entered {
		fmt.Println(err)
		os.Exit(126)
	}
	if do := os.Getenv(runnerEnv); do != "" {
		os.Exit(runRunner(do))
	}
	if os.Getenv(childEnv) == "" {
		// Modules in these tests write to directories of the tests. Those of access_test.go may
		// not.
		if err := os.Setenv("STOKER_MODULE_WRITE", os.TempDir()); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	os.Exit(module.Process(ctx, module.Module{Train: child, Check: look}))
}

// child does what custom_config.do names.
func child(ctx context.Context, a *module.Args) error {
	var config struct {
		Do   string `json:"do"`
		File string `json:"file"`
	}
	if err := a.Config(&config); err != nil {
		return err
	}
	do, ok := behaviours()[config.Do]
	if !ok {
		return fmt.Errorf("no behaviour %q", config.Do)
	}
	return do(ctx, a, config.File)
}

type behaviour func(ctx context.Context, a *module.Args, file string) error

func behaviours() map[string]behaviour {
	return map[string]behaviour{
		"succeed": func(_ context.Context, a *module.Args, _ string) error {
			fmt.Println("on standard output")
			fmt.Fprintln(os.Stderr, "on standard error")
			a.Report(1, 2, map[string]float64{"loss": 0.5})
			a.Checkpointed(1)
			a.Report(2, 2, map[string]float64{"loss": 0.25})
			a.Result(map[string]float64{"accuracy": 0.875})
			return os.MkdirAll(a.ServingModelDir, 0o755)
		},
		"says its home": func(_ context.Context, a *module.Args, _ string) error {
			home, err := os.Getwd()
			fmt.Println("read " + filepath.Join(home, "file"))
			return errors.Join(err, errors.New("write "+filepath.Join(home, "file")+": no space"))
		},
		"settings": func(_ context.Context, a *module.Args, _ string) error {
			defer a.Send(module.Message{Type: module.MessageSettings, Settings: []byte("[1]")})
			return errors.Join(a.Settings(map[string]int{"units": 4}), a.Settings(map[string]int{"units": 8}))
		},
		"raise": func(context.Context, *module.Args, string) error { return errors.New("the labels are all the same") },
		"bad input": func(context.Context, *module.Args, string) error {
			return module.BadInput(errors.New("record 7 of train"))
		},
		"disk full": func(context.Context, *module.Args, string) error {
			return fmt.Errorf("write checkpoint: %w", syscall.ENOSPC)
		},
		"panic":  func(context.Context, *module.Args, string) error { panic("too hot") },
		"exit 3": func(context.Context, *module.Args, string) error { os.Exit(3); return nil },
		"exit 0": func(context.Context, *module.Args, string) error { os.Exit(0); return nil },
		// As in C: Go's runtime would exit instead.
		"segfault": func(context.Context, *module.Args, string) error {
			return syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, nil)
		},
		"killed":          func(context.Context, *module.Args, string) error { return killSelf(syscall.SIGKILL) },
		"asked to leave":  func(context.Context, *module.Args, string) error { os.Exit(75); return nil },
		"wait":            wait,
		"ignore SIGTERM":  ignore,
		"print 100 MB":    print100MB,
		"print and raise": printAndRaise,
		"garbage":         garbage,
		"talk after done": talkAfterDone,
		"fork":            fork,
		"fork away":       forkAway,
		"fork away and wait": func(ctx context.Context, a *module.Args, file string) error {
			return errors.Join(forkAway(ctx, a, file), wait(ctx, a, file))
		},
		"fork away unmarked": forkAwayUnmarked,
		"fork away unmarked and wait": func(ctx context.Context, a *module.Args, file string) error {
			return errors.Join(forkAwayUnmarked(ctx, a, file), wait(ctx, a, file))
		},
		"spy": spy,
		"fork and wait": func(ctx context.Context, a *module.Args, file string) error {
			return errors.Join(fork(ctx, a, file), wait(ctx, a, file))
		},
		"leak":               leak,
		"leak in a child":    leakInAChild,
		"report environment": reportEnvironment,
		"linger":             linger,
		"crash in a routine": crashInRoutine,
		"close and wait":     closeAndWait,
		"report pid":         reportPID,
		"grow":               grow,
		"grow somewhat":      growSomewhat,
		"grow and shrink":    growAndShrink,
		"done twice":         doneTwice,
		"raid":               raid,
		"lift limit":         liftLimit,
		"report user":        reportUser,
		"trap":               trap,
	}
}

// progressFile returns a copy of the progress descriptor: if it is closed, or garbage-collected,
// the module's own stays open.
func progressFile() *os.File {
	fd, err := syscall.Dup(3)
	if err != nil {
		panic(err)
	}
	return os.NewFile(uintptr(fd), "progress")
}

func killSelf(s syscall.Signal) error {
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		return err
	}
	select {}
}

func wait(ctx context.Context, a *module.Args, file string) error {
	a.Report(1, 0, nil)
	<-ctx.Done()
	return os.WriteFile(filepath.Join(a.WorkingDir, "checkpoint"), []byte(context.Cause(ctx).Error()), 0o600)
}

func ignore(_ context.Context, a *module.Args, _ string) error {
	signal.Ignore(syscall.SIGTERM)
	a.Report(1, 0, nil)
	select {}
}

func print100MB(context.Context, *module.Args, string) error {
	fmt.Println("the first line")
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 100 << 10 {
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
	fmt.Println("the last line")
	return nil
}

func printAndRaise(context.Context, *module.Args, string) error {
	for i := range 2000 {
		fmt.Println("line", i)
	}
	return errors.New("raised at the end")
}

func garbage(_ context.Context, a *module.Args, _ string) error {
	progress := progressFile()
	fmt.Fprintln(progress, "no JSON at all \x00\xff")
	fmt.Fprintln(progress, `{"type":"unknown"}`)
	fmt.Fprintln(progress, `{"type":"error"}`)
	fmt.Fprintln(progress, `{"type":"progress","step":"one"}`)
	fmt.Fprintln(progress, strings.Repeat("long ", 100_000))
	a.Report(3, 3, nil)
	return nil
}

func talkAfterDone(_ context.Context, _ *module.Args, _ string) error {
	progress := progressFile()
	fmt.Fprintln(progress, `{"type":"done","metrics":{"a":1}}`)
	fmt.Fprintln(progress, `{"type":"error","error":{"kind":"input","message":"too late"}}`)
	fmt.Fprintln(progress, `{"type":"progress","step":9}`)
	os.Exit(0)
	return nil
}

// doneTwice reports done and goes on sending, all at once.
func doneTwice(context.Context, *module.Args, string) error {
	_, err := progressFile().WriteString("{\"type\":\"done\"}\n{\"type\":\"done\"}\n")
	return err
}

// fork leaves a grandchild behind that holds every descriptor, and reports its process id.
func fork(_ context.Context, _ *module.Args, file string) error {
	cmd := exec.Command("sleep", "600")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{progressFile()}
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.WriteFile(file, fmt.Append(nil, cmd.Process.Pid), 0o600)
}

// forkAway is fork with a grandchild in a session of its own.
func forkAway(_ context.Context, _ *module.Args, file string) error {
	cmd := exec.Command("sleep", "600")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{progressFile()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.WriteFile(file, fmt.Append(nil, cmd.Process.Pid), 0o600)
}

// forkAwayUnmarked is forkAway with a grandchild whose environment does not name its owner.
func forkAwayUnmarked(_ context.Context, _ *module.Args, file string) error {
	cmd := exec.Command("/bin/sleep", "600")
	cmd.Env = []string{"A=B"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.WriteFile(file, fmt.Append(nil, cmd.Process.Pid), 0o600)
}

// leakInAChild has another process grow, and survives it.
func leakInAChild(context.Context, *module.Args, string) error {
	fmt.Println(exec.Command("sh", "-c", `x=$(head -c 400000000 /dev/zero | tr '\0' x)`).Run())
	select {}
}

// spy searches for the secrets of the process that started it.
func spy(context.Context, *module.Args, string) error {
	for _, name := range []string{"environ", "mem"} {
		file, err := os.Open(fmt.Sprintf("/proc/%d/%s", os.Getppid(), name))
		if err != nil {
			fmt.Println(err)
			continue
		}
		_ = file.Close()
		fmt.Println("can read", name)
	}
	return nil
}

// leak grows until it is stopped.
func leak(context.Context, *module.Args, string) error {
	var kept [][]byte
	for {
		block := make([]byte, 4<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		kept = append(kept, block)
		time.Sleep(time.Millisecond) // so that the kernel of a small machine need not intervene
		runtime.KeepAlive(kept)
	}
}

func reportEnvironment(_ context.Context, a *module.Args, file string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Join(append(os.Environ(), "WD="+dir), "\n")), 0o600)
}

// linger reports that it is done and then does not exit.
func linger(context.Context, *module.Args, string) error {
	fmt.Fprintln(progressFile(), `{"type":"done","metrics":{"a":1}}`)
	signal.Ignore(syscall.SIGTERM)
	select {}
}

func crashInRoutine(context.Context, *module.Args, string) error {
	go func() { panic("in a goroutine of its own") }()
	select {}
}

// closeAndWait closes its standard descriptors and its progress, as a daemon would.
func closeAndWait(ctx context.Context, _ *module.Args, _ string) error {
	for fd := range 4 {
		_ = syscall.Close(fd)
	}
	<-ctx.Done()
	return nil
}

// reportPID reports this process's id as its step, and leaves a file behind.
func reportPID(_ context.Context, a *module.Args, _ string) error {
	entries, err := os.ReadDir(".")
	if err != nil {
		return err
	}
	fmt.Println("the working directory of", os.Getpid(), "holds", len(entries), "files")
	a.Report(os.Getpid(), 0, nil)
	return os.WriteFile("left-behind", nil, 0o400)
}

// held keeps the memory of grown processes in use.
var held []byte

func grow(context.Context, *module.Args, string) error         { return hold(300 << 20) }
func growSomewhat(context.Context, *module.Args, string) error { return hold(80 << 20) }

func growAndShrink(context.Context, *module.Args, string) error {
	err := hold(150 << 20)
	held = nil
	debug.FreeOSMemory()
	return err
}

func hold(size int) error {
	held = make([]byte, size)
	for i := 0; i < size; i += 4096 {
		held[i] = 1
	}
	return nil
}

// reportUser leaves a file that only the user may read, and a link.
func reportUser(_ context.Context, a *module.Args, _ string) error {
	if a.ServingModelDir != "" {
		if err := errors.Join(os.MkdirAll(a.ServingModelDir, 0o700), os.WriteFile(filepath.Join(a.ServingModelDir, "weights"), nil, 0o600)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(a.WorkingDir, "user"), fmt.Appendln(nil, os.Getuid()), 0o600)
}

// trap puts a link in the place of the next trial's directory.
func trap(_ context.Context, a *module.Args, where string) error {
	return os.Symlink(where, filepath.Join(filepath.Dir(filepath.Dir(a.WorkingDir)), "next"))
}

// look is the check of this test binary: whether a file can be read and written.
func look(_ context.Context, question json.RawMessage) (any, error) {
	var path string
	if err := json.Unmarshal(question, &path); err != nil {
		return nil, err
	}
	_, read := os.ReadFile(path)
	file, write := os.OpenFile(path, os.O_WRONLY, 0)
	if write == nil {
		write = file.Close()
	}
	return map[string]any{"User": os.Getuid(), "Read": read == nil, "Write": write == nil}, nil
}

// hostEnv makes this test binary a runner whose module does what it names, with the file of
// fileEnv, or runs a TFX module that it names.
const (
	runnerEnv = "RUNNER_TEST_HOST"
	fileEnv   = "RUNNER_TEST_FILE"
)

// runRunner prints a line at the module's first message, and its log at the end.
func runRunner(do string) int {
	r, err := runner.New(runner.Options{
		Builtins: map[string]string{"test": "builtin:test@1"},
		Env:      []string{childEnv + "=1"}, Warm: 1, PythonWarm: runner.WarmFork,
	})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	a := assignmentIn(os.TempDir(), do)
	a.CustomConfig["file"] = os.Getenv(fileEnv)
	if strings.HasSuffix(do, ".py") {
		a.Module = module.Source{Path: do}
	}
	outcome, err := r.Run(context.Background(), a, runner.Limits{}, func(module.Message) { fmt.Println("running") })
	fmt.Println(outcome.LogTail)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startRunner starts such a runner, and returns when its module runs.
func startRunner(t *testing.T, do, file string, env ...string) *exec.Cmd {
	t.Helper()
	r := exec.CommandContext(t.Context(), os.Args[0])
	r.Env = append(os.Environ(), runnerEnv+"="+do, fileEnv+"="+file)
	r.Env = append(r.Env, env...)
	out, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("host says %q: %v", line, err)
	}
	return r
}

func kill(r *exec.Cmd) { _, _ = r.Process.Kill(), r.Wait() }
