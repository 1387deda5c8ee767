package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A module is any program that speaks the protocol. This one is a shell script, and finds fault
// with its data.
func ExampleRunner_Run() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "module.sh")
	const text = `#!/bin/sh
read -r assignment
echo '{"type":"progress","phase":"training","step":1,"steps":10}' >&$STOKER_PROGRESS_FD
echo 'looking at record 7'
echo '{"type":"error","error":{"kind":"input","message":"record 7 has no label"}}' >&$STOKER_PROGRESS_FD
exit 1
`
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		panic(err)
	}

	r, err := runner.New(runner.Options{})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	_, err = r.Run(context.Background(), module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: program}, Call: module.CallTrain,
		TrainFiles: []string{"/data/Split-train/*"}, ServingModelDir: filepath.Join(dir, "Format-Serving"),
	}, runner.Limits{Timeout: time.Minute, MemoryBytes: 1 << 30}, func(m module.Message) {
		fmt.Println(m.Phase, m.Step, "of", m.Steps)
	})
	if failed, ok := errors.AsType[*runner.Error](err); ok {
		fmt.Printf("%s: %s\n", failed.Kind, errors.Unwrap(failed.Err))
		fmt.Printf("log: %s", failed.LogTail)
	}
	// Output:
	// training 1 of 10
	// input: record 7 has no label
	// log: looking at record 7
}

func TestAModuleThatSucceedsReportsItsProgressAndMetrics(t *testing.T) {
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
		{"exit 3", runner.KindModule, "exited with status 3"},
		{"exit 0", runner.KindModule, "exited without reporting a result"},
		{"segfault", runner.KindCrash, "ended by signal 11: segmentation fault"},
		{"killed", runner.KindCrash, "killed from outside, perhaps because memory ran out"},
		{"asked to leave", runner.KindCrash, "stopped by a signal from outside"},
		{"crash in a routine", runner.KindModule, "exited with status 2"},
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
	for _, want := range []string{`"no JSON at all \x00\xff\n"`, `unknown`, `\"type\":\"error\"`, `\"step\":\"one\"`, `"long long `} {
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
	a := assignment(t, "report environment")
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
	r, err := runner.New(runner.Options{
		Builtins: map[string]string{"test": "builtin:test@1"},
		CacheDir: t.TempDir(),
		Env:      []string{childEnv + "=1"},
		Warm:     warm,
		Logger:   slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// assignment returns an assignment that has the test's child do something.
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

// waitUntilGone fails if the process whose id is in file continues. A killed orphan is gone when
// init has waited for it.
func waitUntilGone(t *testing.T, file string) {
	t.Helper()
	pid := readPID(t, file)
	for end := time.Now().Add(8 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
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
	r := newRunner(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	a := assignment(t, "fork away and wait")
	file := filepath.Join(t.TempDir(), "pid")
	a.CustomConfig["file"] = file
	// It ends as stopped, which other tests check.
	_, _ = r.Run(ctx, a, runner.Limits{}, func(module.Message) {
		defer cancel()
		if _, err := r.Run(t.Context(), assignment(t, "succeed"), runner.Limits{}, nil); err != nil {
			t.Error(err)
		}
		if pid := readPID(t, file); syscall.Kill(pid, 0) != nil || isZombie(pid) {
			t.Error("the process of a running module was ended")
		}
	})
}

func TestIdleProcessesServeAssignmentsLikeNewOnes(t *testing.T) {
	t.Parallel()
	r := newRunner(t, 2)
	for range 4 {
		outcome, err := r.Run(t.Context(), assignment(t, "succeed"), runner.Limits{}, nil)
		if err != nil || outcome.Metrics["accuracy"] != 0.875 {
			t.Errorf("outcome %+v, error %v", outcome, err)
		}
	}
}

// The home of a process no longer exists when its failure is read, on another machine.
func TestAFailureDoesNotNameTheHomeOfItsProcess(t *testing.T) {
	t.Parallel()
	_, err := newRunner(t, 0).Run(t.Context(), assignment(t, "says its home"), runner.Limits{}, nil)
	failed := asError(t, err)
	if !strings.HasSuffix(failed.Error(), "write ~/file: no space") || !strings.HasPrefix(failed.LogTail, "read ~/file\n") || strings.Contains(failed.LogTail, os.TempDir()) {
		t.Errorf("%s, log %s", failed, failed.LogTail)
	}
}

// jobs is a slog.Handler that records the job of each line, as a trace would.
type jobs struct {
	slog.Handler

	mu   sync.Mutex
	seen map[string]any
}

type ofJob struct{}

func (j *jobs) Enabled(context.Context, slog.Level) bool { return true }

func (j *jobs) Handle(ctx context.Context, line slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen[line.Message] = ctx.Value(ofJob{})
	return nil
}

// Lines about a job's process are logged in the job's ctx, so that they have its trace.
func TestALineAboutAJobsProcessIsTheJobs(t *testing.T) {
	t.Parallel()
	lines := &jobs{Handler: slog.DiscardHandler, seen: map[string]any{}}
	r, err := runner.New(runner.Options{
		Builtins: map[string]string{"test": "builtin:test@1"}, CacheDir: t.TempDir(), Env: []string{childEnv + "=1"}, Warm: 1, Logger: slog.New(lines),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	ctx := context.WithValue(t.Context(), ofJob{}, "monday's")
	if _, err := r.Run(ctx, assignment(t, "done twice"), runner.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	lines.mu.Lock()
	defer lines.mu.Unlock()
	if job, said := lines.seen["module process not reused"]; !said || job != "monday's" {
		t.Errorf("said: %t, of job %v; all lines: %v", said, job, lines.seen)
	}
}

const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// traces are those of three jobs, one after another, and what each module finds in its environment.
var traces = []struct {
	given *module.Trace
	want  string
}{
	{&module.Trace{Parent: traceParent, State: "rojo=1"}, traceParent + " rojo=1"},
	{&module.Trace{Parent: traceParent}, traceParent + " "},
	{nil, " "},
}

// A module in any language continues the trace of its job, and a process that has served other jobs
// continues no other trace.
func TestAModuleFindsTheTraceOfItsJobInItsEnvironment(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nread assignment\necho \"at $TRACEPARENT $TRACESTATE\"\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range traces {
		a := assignment(t, "")
		a.Module, a.Trace = module.Source{Path: program}, c.given
		_, err := newRunner(t, 0).Run(t.Context(), a, runner.Limits{}, nil)
		if said := asError(t, err).LogTail; said != "at "+c.want+"\n" {
			t.Errorf("a program: %q, want %q", said, c.want)
		}
	}
	for warm := range 2 {
		r := newRunner(t, warm)
		for _, c := range traces {
			a := assignment(t, "report environment")
			file := filepath.Join(t.TempDir(), "environment")
			a.Trace, a.CustomConfig["file"] = c.given, file
			if _, err := r.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := variable(string(text), "TRACEPARENT") + " " + variable(string(text), "TRACESTATE"); got != c.want {
				t.Errorf("Go, %d warm: %q, want %q", warm, got, c.want)
			}
		}
	}
}

func TestATFXModuleFindsTheTraceOfItsJobWhenItIsImported(t *testing.T) {
	hosts := map[string]*runner.Runner{"cold": pythonRunner(t)}
	for _, way := range runner.Warmth() {
		hosts[way] = warmRunner(t, way)
	}
	for way, r := range hosts {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			for _, c := range traces {
				a := pythonAssignment(t, "import os\nat = os.environ.get('TRACEPARENT', '') + ' ' + os.environ.get('TRACESTATE', '')\n"+
					"def run_fn(fn_args):\n    raise SystemExit('at [' + at + ']')\n")
				a.Trace = c.given
				_, err := r.Run(t.Context(), a, runner.Limits{}, nil)
				if said := fmt.Sprint(err); !strings.Contains(said, "at ["+c.want+"]") {
					t.Errorf("%s: %s, want %q", way, said, c.want)
				}
			}
		})
	}
}

func variable(environment, name string) string {
	for line := range strings.Lines(environment) {
		if value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), name+"="); ok {
			return value
		}
	}
	return ""
}

// The time from Run to the first line of the module's own code, with a new process and with an idle
// one. The process is this test's binary: a real one has more to load.
func BenchmarkFirstWord(b *testing.B) {
	for name, warm := range map[string]int{"new": 0, "idle": 1} {
		b.Run(name, func(b *testing.B) {
			r := newRunner(b, warm)
			a := assignment(b, "succeed")
			var first time.Duration
			for b.Loop() {
				started, heard := time.Now(), false
				_, err := r.Run(b.Context(), a, runner.Limits{}, func(module.Message) {
					if !heard {
						heard, first = true, first+time.Since(started)
					}
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(first.Microseconds())/1000/float64(b.N), "ms/first-word")
		})
	}
}

// The time of one assignment of a session whose module has nothing to do: the cost of a trial
// besides its training.
func BenchmarkSession(b *testing.B) {
	s, err := newRunner(b, 0).Open(b.Context(), module.Source{Path: "builtin:test"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	a := assignment(b, "succeed")
	for b.Loop() {
		if _, err := s.Run(b.Context(), a, runner.Limits{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// cudaProgram returns a program for GPUs that answers a probe with a shell script's lines, and
// serves modules as the test's own child.
func cudaProgram(t *testing.T, probe string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stoker-cuda")
	script := "#!/bin/sh\nif [ \"$1\" = probe ]; then\n" + probe + "\nfi\n" +
		"echo \"on GPU $CUDA_VISIBLE_DEVICES, kernels in $CUDA_CACHE_PATH\"\nexec '" + os.Args[0] + "' \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func cudaRunner(t *testing.T, program string) *runner.Runner {
	t.Helper()
	r, err := runner.New(runner.Options{
		Builtins: map[string]string{"test": "builtin:test@1"}, CacheDir: t.TempDir(), Env: []string{childEnv + "=1", "CUDA_VISIBLE_DEVICES=GPU-7"},
		CUDA: program,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

const fakeGPU = `echo asked >> "$0.asked"; echo '{"device":"NVIDIA L4","memory":24000000000}'; exit 0`

func TestABuiltinModuleThatWantsAGPUIsRunByTheProgramForGPUs(t *testing.T) {
	t.Parallel()
	program := cudaProgram(t, fakeGPU)
	r := cudaRunner(t, program)
	for range 2 {
		outcome, err := r.Run(t.Context(), assignment(t, "succeed"), runner.Limits{GPU: true}, func(module.Message) {})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(outcome.LogTail, "\n")
		if lines[0] != "training on GPU NVIDIA L4" || !strings.HasPrefix(lines[1], "on GPU GPU-7, kernels in /") || outcome.Metrics["accuracy"] != 0.875 {
			t.Errorf("metrics %v, log:\n%s", outcome.Metrics, outcome.LogTail)
		}
	}
	if asked, err := os.ReadFile(program + ".asked"); err != nil || string(asked) != "asked\n" {
		t.Errorf("the program was probed: %q, %v, expected once", asked, err)
	}
}

func TestOthersAreNotRunByTheProgramForGPUs(t *testing.T) {
	t.Parallel()
	program := cudaProgram(t, fakeGPU)
	outcome, err := cudaRunner(t, program).Run(t.Context(), assignment(t, "succeed"), runner.Limits{}, func(module.Message) {})
	if err != nil || strings.Contains(outcome.LogTail, "GPU") {
		t.Errorf("%v, log:\n%s", err, outcome.LogTail)
	}
	if _, err := os.Stat(program + ".asked"); err == nil {
		t.Error("the program was probed, and nobody wanted a GPU")
	}
}

func TestWithoutAGPUABuiltinModuleTrainsOnTheCPUAndItsLogSaysWhy(t *testing.T) {
	t.Parallel()
	noDevice := `echo 'Error in initialization, please refer to "https://docs.nvidia.com" for details on: NoDevice'; exit 1`
	for name, test := range map[string]struct{ program, says string }{
		"no device":  {cudaProgram(t, noDevice), "exit status 1: Error in initialization, please refer to \"https://docs.nvidia.com\" for details on: NoDevice\n"},
		"an error":   {cudaProgram(t, "echo something; echo 'stoker-cuda: the PTX is too new' >&2; exit 1"), "exit status 1: stoker-cuda: the PTX is too new\n"},
		"no answer":  {cudaProgram(t, "echo hello; exit 0"), `expected a line of JSON that names a device, got "hello"`},
		"no program": {filepath.Join(t.TempDir(), "stoker-cuda"), "no such file or directory (STOKER_CUDA names the program for GPUs, else it is stoker-cuda next to stoker)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome, err := cudaRunner(t, test.program).Run(t.Context(), assignment(t, "succeed"), runner.Limits{GPU: true}, func(module.Message) {})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(outcome.LogTail, "no GPU, training on the CPU: ") || !strings.Contains(outcome.LogTail, test.says) {
				t.Errorf("the log is %q, expected %q in it", outcome.LogTail, test.says)
			}
			if strings.Contains(outcome.LogTail, "on GPU GPU-7") || outcome.Metrics["accuracy"] != 0.875 {
				t.Errorf("metrics %v, log:\n%s", outcome.Metrics, outcome.LogTail)
			}
		})
	}
}

func TestASessionKeepsOneProcessOnTheGPU(t *testing.T) {
	t.Parallel()
	session, err := cudaRunner(t, cudaProgram(t, fakeGPU)).Open(t.Context(), module.Source{Path: "builtin:test"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for i := range 3 {
		outcome, err := session.Run(t.Context(), assignment(t, "succeed"), runner.Limits{GPU: true}, func(module.Message) {})
		if err != nil {
			t.Fatal(err)
		}
		if named := strings.HasPrefix(outcome.LogTail, "training on GPU NVIDIA L4\n"); named != (i == 0) {
			t.Errorf("log of trial %d: %q", i, outcome.LogTail)
		}
		if started := strings.Contains(outcome.LogTail, "on GPU GPU-7"); started != (i == 0) {
			t.Errorf("trial %d started a process: %v", i, started)
		}
	}
}
