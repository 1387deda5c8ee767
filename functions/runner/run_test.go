package runner_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

func TestAModuleThatSucceedsTellsItsProgressAndMetrics(t *testing.T) {
	t.Parallel()
	var heard []module.Message
	outcome, err := newRunner(t, 0).Run(t.Context(), assignment(t, "succeed"), runner.Limits{}, func(m module.Message) {
		heard = append(heard, m)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []module.Message{
		{Type: module.MessageProgress, Phase: "training", Step: 1, Steps: 2, Metrics: map[string]float64{"loss": 0.5}},
		{Type: module.MessageCheckpoint, Step: 1},
		{Type: module.MessageProgress, Phase: "training", Step: 2, Steps: 2, Metrics: map[string]float64{"loss": 0.25}},
	}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if outcome.Metrics["accuracy"] != 0.875 || outcome.LogTail != "on standard output\non standard error\n" {
		t.Errorf("outcome is %+v", outcome)
	}
	if outcome.MaxRSSBytes < 1<<20 {
		t.Errorf("resident size is %d bytes", outcome.MaxRSSBytes)
	}
}

func TestHowAModuleEndsDecidesTheKindOfItsError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		do   string
		kind runner.Kind
		says string
	}{
		{"raise", runner.KindModule, "the labels are all the same"},
		{"bad input", runner.KindInput, "record 7 of train"},
		{"disk full", runner.KindHost, "write checkpoint: no space left on device"},
		{"panic", runner.KindModule, "panic: too hot\ngithub.com/stoker-ml/stoker/functions/runner_test.behaviours"},
		{"exit 3", runner.KindModule, "left with exit status 3"},
		{"exit 0", runner.KindModule, "left without saying that it was done"},
		{"segfault", runner.KindCrash, "ended by signal 11: segmentation fault"},
		{"killed", runner.KindCrash, "killed by someone else, perhaps because memory ran out"},
		{"asked to leave", runner.KindCrash, "was asked to leave by someone else"},
		{"crash in a routine", runner.KindModule, "left with exit status 2"},
		{"unknown", runner.KindModule, `no behaviour "unknown"`},
	}
	for _, test := range tests {
		t.Run(test.do, func(t *testing.T) {
			t.Parallel()
			_, err := newRunner(t, 0).Run(t.Context(), assignment(t, test.do), runner.Limits{}, nil)
			failed := asError(t, err)
			if failed.Kind != test.kind || !strings.HasPrefix(failed.Error(), "module builtin:test: "+test.says) {
				t.Errorf("%s: %s, want %s: %s", failed.Kind, failed, test.kind, test.says)
			}
		})
	}
}

func TestAPanicInAGoroutineIsInTheLogsTail(t *testing.T) {
	t.Parallel()
	_, err := newRunner(t, 0).Run(t.Context(), assignment(t, "crash in a routine"), runner.Limits{}, nil)
	if failed := asError(t, err); !strings.Contains(failed.LogTail, "panic: in a goroutine of its own") {
		t.Errorf("log tail is %q", failed.LogTail)
	}
}

func TestCancellingLetsAModuleWriteACheckpoint(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	preempted := errors.New("preempted")
	a := assignment(t, "wait")
	_, err := newRunner(t, 0).Run(ctx, a, runner.Limits{}, func(module.Message) { cancel(preempted) })
	if failed := asError(t, err); failed.Kind != runner.KindStopped || !errors.Is(err, preempted) {
		t.Errorf("%s: %v, want stopped with its cause", failed.Kind, err)
	}
	if text, err := os.ReadFile(filepath.Join(a.WorkingDir, "checkpoint")); err != nil {
		t.Errorf("checkpoint %q: %v", text, err)
	}
}

func TestAModuleThatIgnoresSIGTERMIsKilled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	limits := runner.Limits{Grace: 50 * time.Millisecond}
	_, err := newRunner(t, 0).Run(ctx, assignment(t, "ignore SIGTERM"), limits, func(module.Message) { cancel() })
	if failed := asError(t, err); failed.Kind != runner.KindStopped || !errors.Is(err, context.Canceled) {
		t.Errorf("%s: %v, want stopped", failed.Kind, err)
	}
}

func TestACancelledContextStartsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := assignment(t, "succeed")
	_, err := newRunner(t, 0).Run(ctx, a, runner.Limits{}, nil)
	if failed := asError(t, err); failed.Kind != runner.KindStopped {
		t.Errorf("%s: %v, want stopped", failed.Kind, err)
	}
	if _, err := os.Stat(a.ServingModelDir); err == nil {
		t.Error("the module ran")
	}
}

func TestAModuleOverItsTimeIsStopped(t *testing.T) {
	t.Parallel()
	a := assignment(t, "wait")
	_, err := newRunner(t, 0).Run(t.Context(), a, runner.Limits{Timeout: 300 * time.Millisecond}, nil)
	failed := asError(t, err)
	if failed.Kind != runner.KindResources || failed.Error() != "module builtin:test: ran longer than 300ms" {
		t.Errorf("%s: %s", failed.Kind, failed)
	}
}

func TestAModuleOverItsMemoryIsKilled(t *testing.T) {
	t.Parallel()
	_, err := newRunner(t, 0).Run(t.Context(), assignment(t, "leak"), runner.Limits{MemoryBytes: 200 << 20}, nil)
	failed := asError(t, err)
	if failed.Kind != runner.KindResources || !strings.HasSuffix(failed.Error(), " of memory, 200.0 MiB allowed") {
		t.Errorf("%s: %s", failed.Kind, failed)
	}
}

func TestALongLogKeepsItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	outcome, err := newRunner(t, 0).Run(t.Context(), assignment(t, "print 100 MB"), runner.Limits{LogPath: path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const printed = 100<<20 + int64(len("the first line\nthe last line\n"))
	if outcome.LogBytes != printed {
		t.Errorf("log has %d bytes, printed were %d", outcome.LogBytes, printed)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log := string(text)
	kept := int64(8<<20 + 1<<20)
	note := "\n... " + strconv.FormatInt(printed-kept, 10) + " bytes left out ...\n"
	if int64(len(log)) != kept+int64(len(note)) || !strings.Contains(log, note) {
		t.Errorf("log file has %d bytes", len(log))
	}
	if !strings.HasPrefix(log, "the first line\n") || !strings.HasSuffix(log, "\nthe last line\n") {
		t.Error("log file lacks its beginning or its end")
	}
}

func TestAShortLogIsKeptWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	_, err := newRunner(t, 0).Run(t.Context(), assignment(t, "print and raise"), runner.Limits{LogPath: path}, nil)
	text, readErr := os.ReadFile(path)
	if readErr != nil {
		t.Fatal(readErr)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if lines[0] != "line 0" || lines[1999] != "line 1999" || lines[2000] != "raised at the end" {
		t.Errorf("log has %d lines", len(lines))
	}
	tail := asError(t, err).LogTail
	if len(tail) > 8<<10 || !strings.HasPrefix(tail, "line ") || !strings.HasSuffix(tail, "line 1999\nraised at the end\n") {
		t.Errorf("tail has %d bytes and begins %.20q", len(tail), tail)
	}
}

func TestGarbageOnTheProgressDescriptorIsLogged(t *testing.T) {
	t.Parallel()
	var heard []int
	outcome, err := newRunner(t, 0).Run(t.Context(), assignment(t, "garbage"), runner.Limits{}, func(m module.Message) {
		heard = append(heard, m.Step)
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(heard, []int{3}) {
		t.Errorf("heard steps %v, want 3 alone", heard)
	}
	for _, want := range []string{`"no JSON at all \x00\xff\n"`, `unheard of`, `\"type\":\"error\"`, `\"step\":\"one\"`, `"long long `} {
		if !strings.Contains(outcome.LogTail, want) {
			t.Errorf("log lacks %s:\n%s", want, outcome.LogTail)
		}
	}
}

func TestNothingIsHeardAfterDone(t *testing.T) {
	t.Parallel()
	outcome, err := newRunner(t, 0).Run(t.Context(), assignment(t, "talk after done"), runner.Limits{}, func(m module.Message) {
		t.Errorf("heard %+v", m)
	})
	if err != nil || outcome.Metrics["a"] != 1 {
		t.Errorf("outcome %+v, error %v", outcome, err)
	}
}

func TestAModuleThatIsDoneAndStaysIsEnded(t *testing.T) {
	t.Parallel()
	outcome, err := newRunner(t, 0).Run(t.Context(), assignment(t, "linger"), runner.Limits{Grace: 50 * time.Millisecond}, nil)
	if err != nil || outcome.Metrics["a"] != 1 {
		t.Errorf("outcome %+v, error %v", outcome, err)
	}
}

func TestAModuleThatClosesItsDescriptorsCanBeStopped(t *testing.T) {
	t.Parallel()
	_, err := newRunner(t, 0).Run(t.Context(), assignment(t, "close and wait"), runner.Limits{Timeout: 300 * time.Millisecond}, nil)
	if failed := asError(t, err); failed.Kind != runner.KindResources {
		t.Errorf("%s: %s", failed.Kind, failed)
	}
}

func TestNoGrandchildOutlivesItsModule(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"fork", "fork and wait"} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			a := assignment(t, do)
			file := filepath.Join(t.TempDir(), "pid")
			a.CustomConfig["file"] = file
			started := time.Now()
			_, err := newRunner(t, 0).Run(ctx, a, runner.Limits{}, func(module.Message) { cancel() })
			if stopped := do == "fork and wait"; (err != nil) != stopped {
				t.Errorf("error is %v", err)
			}
			if took := time.Since(started); took > 5*time.Minute {
				t.Errorf("took %s: waited for the grandchild", took)
			}
			waitUntilGone(t, file)
		})
	}
}

func TestTheEnvironmentHoldsNoCredentials(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("NATS_CREDS", "secret")
	t.Setenv("TF_CPP_MIN_LOG_LEVEL", "1")
	t.Setenv("TF_USE_LEGACY_KERAS", "1")
	t.Setenv("STOKER_KERNELS", "portable")
	for _, terraform := range []string{"TF_VAR_password", "TF_TOKEN_app_terraform_io", "TF_CLI_ARGS", "TF_HTTP_PASSWORD", "TF_ENCRYPTION"} {
		t.Setenv(terraform, "secret")
	}
	a := assignment(t, "tell environment")
	file := filepath.Join(t.TempDir(), "environment")
	a.CustomConfig["file"] = file
	if _, err := newRunner(t, 0).Run(t.Context(), a, runner.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		values[name] = value
	}
	if strings.Contains(string(text), "secret") || values["TF_CPP_MIN_LOG_LEVEL"] != "1" ||
		values["TF_USE_LEGACY_KERAS"] != "1" || values["STOKER_KERNELS"] != "portable" || values["PATH"] != os.Getenv("PATH") {
		t.Errorf("environment is\n%s", text)
	}
	if values["HOME"] == os.Getenv("HOME") || values["HOME"] != values["TMPDIR"] || values["HOME"] != values["WD"] {
		t.Errorf("HOME is %s, TMPDIR %s, working directory %s", values["HOME"], values["TMPDIR"], values["WD"])
	}
	if _, err := os.Stat(values["HOME"]); err == nil {
		t.Errorf("%s is still there", values["HOME"])
	}
}

func newRunner(t testing.TB, warm int) *runner.Runner {
	t.Helper()
	host, err := runner.New(runner.Options{
		Builtins: map[string]string{"test": "builtin:test@1"},
		CacheDir: t.TempDir(),
		Env:      []string{childEnv + "=1"},
		Warm:     warm,
		Logger:   slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

// assignment asks the test's child to do something.
func assignment(t testing.TB, do string) module.Assignment {
	t.Helper()
	return assignmentIn(t.TempDir(), do)
}

func assignmentIn(dir, do string) module.Assignment {
	return module.Assignment{
		Version:         module.ProtocolVersion,
		Module:          module.Source{Path: "builtin:test"},
		Call:            module.CallTrain,
		WorkingDir:      dir,
		TrainFiles:      []string{filepath.Join(dir, "Split-train", "*")},
		ServingModelDir: filepath.Join(dir, "Format-Serving"),
		CustomConfig:    map[string]any{"do": do},
	}
}

func asError(t *testing.T, err error) *runner.Error {
	t.Helper()
	failed, ok := errors.AsType[*runner.Error](err)
	if !ok {
		t.Fatalf("error is %v, want a *runner.Error", err)
	}
	return failed
}

// waitUntilGone fails if the process whose number is in file goes on. A killed orphan is gone when init has waited for it.
func waitUntilGone(t *testing.T, file string) {
	t.Helper()
	pid := readPID(t, file)
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid) {
			return
		}
	}
	t.Errorf("process %d goes on", pid)
}

func readPID(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestAProcessThatLeavesItsGroupIsEndedTooAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	a := assignment(t, "fork away")
	file := filepath.Join(t.TempDir(), "pid")
	a.CustomConfig["file"] = file
	started := time.Now()
	outcome, err := newRunner(t, 0).Run(t.Context(), a, runner.Limits{}, nil)
	if err != nil || outcome.LogTail != "" {
		t.Errorf("outcome %+v, error %v", outcome, err)
	}
	if took := time.Since(started); took > 5*time.Minute {
		t.Errorf("took %s", took)
	}
	if runtime.GOOS == "linux" {
		waitUntilGone(t, file)
	} else if err := syscall.Kill(readPID(t, file), syscall.SIGKILL); err != nil {
		t.Errorf("end what runner can't reach: %v", err)
	}
}

func TestTheEndOfOneModuleLeavesTheProcessesOfAnotherAlone(t *testing.T) {
	t.Parallel()
	host := newRunner(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	a := assignment(t, "fork away and wait")
	file := filepath.Join(t.TempDir(), "pid")
	a.CustomConfig["file"] = file
	_, _ = host.Run(ctx, a, runner.Limits{}, func(module.Message) { // it ends as stopped, which others test
		defer cancel()
		if _, err := host.Run(t.Context(), assignment(t, "succeed"), runner.Limits{}, nil); err != nil {
			t.Error(err)
		}
		if pid := readPID(t, file); syscall.Kill(pid, 0) != nil || isZombie(pid) {
			t.Error("the process of a running module was ended")
		}
	})
}

func TestIdleProcessesServeAssignmentsLikeNewOnes(t *testing.T) {
	t.Parallel()
	host := newRunner(t, 2)
	for range 4 {
		outcome, err := host.Run(t.Context(), assignment(t, "succeed"), runner.Limits{}, nil)
		if err != nil || outcome.Metrics["accuracy"] != 0.875 {
			t.Errorf("outcome %+v, error %v", outcome, err)
		}
	}
}

// The home of a process is gone when its failure is read, on another machine.
func TestAFailureDoesNotNameTheHomeOfItsProcess(t *testing.T) {
	t.Parallel()
	_, err := newRunner(t, 0).Run(t.Context(), assignment(t, "says its home"), runner.Limits{}, nil)
	failed := asError(t, err)
	if !strings.HasSuffix(failed.Error(), "write ~/file: no room") || !strings.HasPrefix(failed.LogTail, "read ~/file\n") || strings.Contains(failed.LogTail, os.TempDir()) {
		t.Errorf("%s, log %s", failed, failed.LogTail)
	}
}
