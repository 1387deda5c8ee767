package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

func TestALogIsBoundedHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	log := &boundedLog{}
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 1<<10)
	for range 1 << 10 {
		if n, err := log.Write(chunk); n != len(chunk) || err != nil {
			t.Fatalf("wrote %d, error %v", n, err)
		}
	}
	if len(log.last) > 2*tailBytes || cap(log.last) > 4*tailBytes {
		t.Errorf("keeps %d bytes in %d", len(log.last), cap(log.last))
	}
	if tail := log.tail(); len(tail) > eventTailBytes || !strings.HasPrefix(tail, "0123") || !strings.HasSuffix(tail, "abcde\n") {
		t.Errorf("tail has %d bytes", len(tail))
	}
	_, _ = log.Write([]byte("\xff\xfe end"))
	if tail := log.tail(); !strings.HasSuffix(tail, "\uFFFD end") {
		t.Errorf("tail ends %q", tail[len(tail)-20:])
	}
}

// Whatever a module writes, the listener accepts only messages of the protocol, ignores those after
// the last one, and reads to the end.
func FuzzListen(f *testing.F) {
	f.Add([]byte(`{"type":"progress","step":1,"metrics":{"loss":0.5}}` + "\n" + `{"type":"done"}` + "\n"))
	f.Add([]byte(`{"type":"error","error":{"kind":"input","message":"bad"}}` + "\n" + `{"type":"done"}` + "\n"))
	f.Add([]byte("no JSON\n\x00\xff\n" + strings.Repeat("x", module.MaxMessageBytes+1) + "\n{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := &listener{log: io.Discard, done: make(chan struct{})}
		l.on = func(m module.Message) {
			if m.Type != module.MessageProgress && m.Type != module.MessageCheckpoint || l.finished || l.failure != nil {
				t.Errorf("heard %+v", m)
			}
		}
		r := bytes.NewReader(text)
		l.listen(r)
		if r.Len() != 0 {
			t.Errorf("%d bytes were not read", r.Len())
		}
		known := []module.ErrorKind{module.KindInput, module.KindHost, module.KindModule}
		if l.failure != nil && (l.finished || !slices.Contains(known, l.failure.Kind)) {
			t.Errorf("finished %v, failure %+v", l.finished, l.failure)
		}
	})
}

func TestAMemoryLimitThatCanNotBeSetIsNamedByItsCause(t *testing.T) {
	t.Parallel()
	x := &exchange{request: request{assignment: module.Assignment{Module: module.Source{Path: "builtin:test"}}, limits: Limits{MemoryBytes: 1 << 20}}}
	for cause, kind := range map[error]Kind{syscall.EBUSY: KindResources, syscall.EACCES: KindHost} {
		failed, ok := errors.AsType[*Error](x.limitFailure(cause))
		want := "module builtin:test: limit memory to 1.0 MiB: " + cause.Error()
		if !ok || failed.Kind != kind || failed.Error() != want {
			t.Errorf("%v, want %s: %s", failed, kind, want)
		}
	}
}

func TestAHostThatCanNotHaveTheCgroupItWasGivenDoesNotStart(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Cgroup: t.TempDir()}); err == nil {
		t.Error("it starts all the same")
	}
}

func TestProcessesStayAsLongAsOptionsSay(t *testing.T) {
	t.Parallel()
	for said, want := range map[time.Duration]time.Duration{0: 10 * time.Minute, time.Hour: time.Hour} {
		r, err := New(Options{CacheDir: t.TempDir(), PythonIdle: said})
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if r.warmRules.idle != want {
			t.Errorf("%s: they stay %s", said, r.warmRules.idle)
		}
	}
}

// The test can't have a kernel without Landlock, so it passes the reason.
func TestAWorkerWithoutASandboxWarnsWhenItStarts(t *testing.T) {
	for how, want := range map[string]int{"": 1, "auto": 1, "off": 0} {
		t.Setenv(process.SandboxEnv, how)
		var text bytes.Buffer
		opts := Options{Logger: slog.New(slog.NewTextHandler(&text, nil))}
		a, err := accessWhere(opts, errors.New("no Landlock"))
		if err != nil || a.on {
			t.Errorf("%q: it is on, error %v", how, err)
		}
		if got := strings.Count(text.String(), "level=WARN msg=\"modules run without a sandbox"); got != want {
			t.Errorf("%q: %d warnings, want %d: %s", how, got, want, text.String())
		}
	}
}

func TestNeitherModulesNorTheirCompilersGetCredentials(t *testing.T) {
	t.Parallel()
	secrets := []string{
		"AWS_SECRET_ACCESS_KEY=s", "AWS_SESSION_TOKEN=s", "MINIO_ROOT_PASSWORD=s", "MC_HOST_stoker=https://a:s@h", "NATS_URL=nats://u:s@h", "NATS_NKEY=/n",
		"NATS_CREDS=/c", "NATS_PASSWORD=s", "NATS_TOKEN=s", "STOKER_CONSOLE_TOKEN=s",
	}
	kept := []string{"PATH=/bin", "LANG=C"}
	if got := allowedEnv(append(slices.Clone(kept), secrets...)); !slices.Equal(got, kept) {
		t.Errorf("a module gets %q", got)
	}
	for _, pair := range goEnvironment(append(slices.Clone(kept), append(secrets, "HF_TOKEN=s", "GOFLAGS=-toolexec=s")...), "/h") {
		if strings.HasSuffix(pair, "=s") || strings.Contains(pair, "NATS") || strings.Contains(pair, "MC_") {
			t.Errorf("a compiler gets %q", pair)
		}
	}
	if got := allowedEnv([]string{"HF_TOKEN=s", "GITHUB_TOKEN=s", "OPENLINEAGE_API_KEY=s", "OTEL_EXPORTER_OTLP_HEADERS=s"}); len(got) > 0 {
		t.Errorf("a module gets %q, which nobody said it may", got)
	}
}

func TestWhatAModuleWritesToHoldsNothingOfTheWorkers(t *testing.T) {
	t.Parallel()
	const w = "/workspace"
	train := module.Assignment{
		WorkingDir: w + "/working", ModelRunDir: w + "/out/model_run", ServingModelDir: w + "/out/model/Format-Serving",
		EvalModelDir: w + "/out/model/Format-TFMA",
		Predictions:  &module.Predictions{Path: w + "/answers/predictions.jsonl", LabelsPath: w + "/answers/labels.json"},
	}
	tune := module.Assignment{
		WorkingDir: w + "/working", BestHyperparametersDir: w + "/out/best_hyperparameters", TunerResultsDir: w + "/out/tuner_results",
	}
	for name, assignment := range map[string]module.Assignment{"train": train, "tune": tune} {
		for _, path := range []string{w, w + "/in", w + "/out", w + "/log.txt", w + "/checkpoints-1"} {
			if slices.ContainsFunc(ownFolders(assignment), func(folder string) bool {
				rel, err := filepath.Rel(folder, path)
				return err == nil && filepath.IsLocal(rel)
			}) {
				t.Errorf("%s: the module may write to %s: %q", name, path, ownFolders(assignment))
			}
		}
	}
}

// planted returns a module's directory with a link to a file of the worker's, a pipe and a device,
// and the content of that file.
func planted(t *testing.T) (base, dir, victim string) {
	t.Helper()
	base, victim = t.TempDir(), filepath.Join(t.TempDir(), "precious")
	dir = filepath.Join(base, "module")
	err := errors.Join(
		os.WriteFile(victim, []byte("precious"), 0o600), os.Mkdir(dir, 0o700), os.Symlink(victim, filepath.Join(dir, "link")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Symlink("/dev/zero", filepath.Join(dir, "device")),
		os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600), os.Symlink("file", filepath.Join(dir, "near")),
		os.Symlink(filepath.Dir(victim), filepath.Join(base, "elsewhere")),
	)
	if err != nil {
		t.Fatal(err)
	}
	return base, dir, victim
}

func TestOnlyRegularFilesOfAModuleAreRead(t *testing.T) {
	t.Parallel()
	base, dir, _ := planted(t)
	for _, name := range []string{"link", "near", "pipe", "device", "."} {
		if text, err := ReadInFolder(base, dir, name, 100); err == nil {
			t.Errorf("%s: read %q", name, text)
		}
	}
	if text, err := ReadInFolder(base, dir, "file", 4); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadInFolder(base, dir, "file", 3); err == nil || !strings.Contains(err.Error(), "more than 3 bytes") {
		t.Errorf("a file that is too long: %v", err)
	}
	if _, err := ReadInFolder(base, filepath.Join(base, "elsewhere"), "precious", 100); err == nil {
		t.Error("a link was taken for the folder")
	}
}

func TestNothingIsWrittenThroughALinkOfAModule(t *testing.T) {
	t.Parallel()
	base, dir, victim := planted(t)
	for _, name := range []string{"link", "pipe", "file"} {
		if err := WriteInFolder(base, dir, name, []byte("new")); err != nil {
			t.Error(err)
		}
		if text, err := ReadInFolder(base, dir, name, 100); err != nil || string(text) != "new" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if err := WriteInFolder(base, filepath.Join(base, "elsewhere"), "precious", nil); err == nil {
		t.Error("a link was taken for the folder")
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the worker's file holds %q, %v", text, err)
	}
}

func TestFoldersAreMovedThroughNoLink(t *testing.T) {
	t.Parallel()
	base, dir, victim := planted(t)
	out := filepath.Join(t.TempDir(), "out")
	if err := MoveOut(base, filepath.Join(dir, "link"), out); err == nil {
		t.Error("a link was taken for a folder")
	}
	for _, move := range []error{
		MoveOut(base, filepath.Join(base, "elsewhere", "precious"), out), MoveIn(t.TempDir(), base, filepath.Join(base, "elsewhere", "precious")),
	} {
		if move == nil {
			t.Error("a link was followed")
		}
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
	if err := MoveIn(t.TempDir(), base, dir); err != nil {
		t.Error(err)
	}
	if err := MoveOut(base, dir, out); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(out); err != nil || !info.IsDir() {
		t.Error(err)
	}
}

func TestTheCountOfTakenCheckpointsIsNotWrittenThroughALink(t *testing.T) {
	t.Parallel()
	home, victim := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	if err := errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), os.Symlink(victim, filepath.Join(home, takenFile))); err != nil {
		t.Fatal(err)
	}
	countCheckpoints(home, nil)(module.Message{Type: module.MessageCheckpoint, All: true})
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the worker's file holds %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(home, takenFile)); err != nil || string(text) != "1\n" {
		t.Errorf("the count is %q, %v", text, err)
	}
}

func TestNoIdleProcessBeforeTheFirstJob(t *testing.T) {
	t.Parallel()
	pool, started := catPool(t, 2)
	if n := started.Load(); n != 0 {
		t.Errorf("%d processes started by a pool that nobody asked", n)
	}
	first := take(t, pool)
	defer first.End()
	pool.refills.Wait()
	if n := started.Load(); n != 2 || len(pool.idle) != 1 {
		t.Errorf("%d processes started, %d idle, want 2 and 1", n, len(pool.idle))
	}
}

func TestAProcessThatIsPutBackIsTakenAgain(t *testing.T) {
	t.Parallel()
	pool, started := catPool(t, 1)
	first := take(t, pool)
	for range 3 {
		pool.putBack(first)
		if p := take(t, pool); p != first {
			p.End()
			t.Error("another process was taken")
		}
	}
	defer first.End()
	pool.refills.Wait()
	if n := started.Load(); n != 1 {
		t.Errorf("%d processes started", n)
	}
}

func TestAProcessIsTakenByOneAtATime(t *testing.T) {
	t.Parallel()
	pool, _ := catPool(t, 1)
	first, second := take(t, pool), take(t, pool)
	if first == second {
		t.Fatal("one process was taken twice at once")
	}
	pool.putBack(first)
	pool.putBack(second) // one too many
	if len(pool.idle) != 1 || pool.idle[0] != first || !second.Dead() {
		t.Errorf("%d idle; the one too many is dead: %v", len(pool.idle), second.Dead())
	}
}

func TestALostProcessIsReplaced(t *testing.T) {
	t.Parallel()
	pool, started := catPool(t, 1)
	take(t, pool).End()
	pool.lost()
	pool.refills.Wait()
	if n := started.Load(); n != 2 || len(pool.idle) != 1 {
		t.Errorf("%d processes started, %d idle, want 2 and 1", n, len(pool.idle))
	}
}

func TestClosingEndsIdleProcesses(t *testing.T) {
	t.Parallel()
	pool, started := catPool(t, 3)
	atWork := take(t, pool)
	pool.refills.Wait()
	idle := pool.idle
	pool.close()
	pool.putBack(atWork)
	for _, p := range append(idle, atWork) {
		if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d goes on: %v", p.PID(), err)
		}
	}
	before := started.Load()
	defer take(t, pool).End()
	pool.refills.Wait()
	if n := started.Load(); n != before+1 {
		t.Errorf("a closed pool started %d idle processes", n-before-1)
	}
}

// catPool returns a pool of processes that wait on their standard input.
func catPool(t *testing.T, size int) (*warmPool, *atomic.Int64) {
	t.Helper()
	var started atomic.Int64
	place := supervisorForTest(t)
	pool := newWarmPool(size, func() (*child, error) {
		started.Add(1)
		p, err := place.Start(process.Command{Line: []string{"/bin/cat"}})
		return &child{Process: p}, err
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(pool.close)
	return pool, &started
}

func take(t *testing.T, pool *warmPool) *child {
	t.Helper()
	p, err := pool.take(0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func supervisorForTest(t *testing.T) *process.Supervisor {
	t.Helper()
	place, err := process.Open("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := place.Close(); err != nil {
			t.Error(err)
		}
	})
	return place
}

func TestAKerasThatIsNotThereIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		packages   map[string]string
		keras      string
		want, says string
		workers    int
	}{
		"3 of TensorFlow 2.15": {
			map[string]string{"tensorflow": "2.15.1", "keras": "2.15.0"}, "3", "",
			"has only Keras 2; Keras 3 needs TensorFlow 2.16 or later", 1,
		},
		"2 without tf_keras": {
			map[string]string{"tensorflow": "2.21.0", "keras": "3.15.1"}, "2", "",
			"has only Keras 3; add tf_keras to module.requirements", 1,
		},
		"auto of TensorFlow 2.15": {
			map[string]string{"tensorflow-cpu": "2.15.1", "keras": "2.15.0"}, "auto", "2",
			"Keras 2.15.0: this Python has no other", 1,
		},
		"left out, without tf_keras": {
			map[string]string{"tensorflow": "2.21.0", "keras": "3.15.1"}, "", "3",
			"Keras 3.15.1: this Python has no other", 1,
		},
		"2 by name": {
			map[string]string{"tensorflow": "2.21.0", "keras": "3.15.1", "tf-keras": "2.21.0"}, "2", "2",
			"Keras 2.21.0: module.keras says so", 1,
		},
		"2 for several workers": {
			map[string]string{"tensorflow": "2.21.0", "keras": "3.15.1", "tf-keras": "2.21.0"}, "2", "2",
			"Keras 2.21.0: several workers train with no other", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ready := prepared{environment: python.Environment{Interpreter: "/py", Packages: c.packages}}
			source, a := module.Source{Keras: c.keras}, module.Assignment{Call: module.CallTrain, Workers: c.workers}
			choice, err := (&pythonRunner{}).chooseKeras(t.Context(), ready, source, a)
			said := choice.line(ready.environment)
			if err != nil {
				said = err.Error()
			}
			if choice.Version != c.want || choice.open || !strings.Contains(said, c.says) {
				t.Errorf("chose %+v, saying %s\nwant %q, saying %s", choice, said, c.want, c.says)
			}
		})
	}
}

func TestVisibleGPUsAreThoseThatCUDAWouldSee(t *testing.T) {
	t.Parallel()
	machine := t.TempDir()
	for _, dir := range []string{"proc/driver/nvidia/gpus/0000:17:00.0", "proc/driver/nvidia/gpus/0000:65:00.0", "dev/nvidia0", "dev/nvidiactl"} {
		makeDir(t, machine, dir)
	}
	container := t.TempDir() // without the driver's directory
	makeDir(t, container, "dev/nvidia3")
	makeDir(t, container, "dev/nvidia-uvm")
	for name, test := range map[string]struct {
		env  map[string]string
		root string
		want string
	}{
		"a machine":                       {nil, machine, "0 1"},
		"a container":                     {nil, container, "0"},
		"a machine without":               {nil, t.TempDir(), ""},
		"the user names some":             {map[string]string{visibleEnv: "1, 0"}, machine, "1 0"},
		"the user names UUIDs":            {map[string]string{visibleEnv: "GPU-8932f937,MIG-GPU-1/0/0"}, t.TempDir(), "GPU-8932f937 MIG-GPU-1/0/0"},
		"CUDA stops at what is no device": {map[string]string{visibleEnv: "1,-1,0"}, machine, "1"},
		"the user hides all":              {map[string]string{visibleEnv: ""}, machine, ""},
		"the user hides all by a number":  {map[string]string{visibleEnv: "-1"}, machine, ""},
		"a scheduler hides all":           {map[string]string{visibleEnv: "NoDevFiles"}, machine, ""},
		"the runtime was given none":      {map[string]string{"NVIDIA_VISIBLE_DEVICES": "void"}, machine, ""},
		"the runtime was given all":       {map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}, machine, "0 1"},
	} {
		getenv := func(name string) (string, bool) { value, ok := test.env[name]; return value, ok }
		if got := strings.Join(visibleGPUs(getenv, test.root), " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func makeDir(t *testing.T, root, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestGPUsAreSharedOutOverSlots(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		devices string
		slots   int
		want    string
	}{
		{"", 2, "|"}, {"0", 1, "0"}, {"0", 3, "0|0|0"}, {"0 1", 3, "0|1|0"}, {"0 1 2 3", 1, "0 1 2 3"},
		{"0 1 2 3", 2, "0 1|2 3"}, {"0 1 2 3 4", 2, "0 1|2 3 4"}, {"a b", 2, "a|b"}, {"0", 0, "0"},
	} {
		var got []string
		for _, share := range shareGPUs(strings.Fields(test.devices), test.slots) {
			got = append(got, strings.Join(share, " "))
		}
		if text := strings.Join(got, "|"); text != test.want {
			t.Errorf("%q over %d slots: %s, want %s", test.devices, test.slots, text, test.want)
		}
	}
}

func FuzzSharesHoldEveryDeviceOnceWhereThereAreEnough(f *testing.F) {
	f.Add(8, 3)
	f.Fuzz(func(t *testing.T, devices, slots int) {
		devices, slots = 1+abs(devices)%64, 1+abs(slots)%64
		all := make([]string, devices)
		for i := range all {
			all[i] = strings.Repeat("x", i)
		}
		shares := shareGPUs(all, slots)
		for _, share := range shares {
			if len(share) == 0 {
				t.Errorf("%d devices over %d slots: a slot has none", devices, slots)
			}
		}
		if devices >= slots && !slices.Equal(slices.Concat(shares...), all) {
			t.Errorf("%d devices over %d slots: %v", devices, slots, shares)
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func TestJobsAtOnceHaveGPUsOfTheirOwn(t *testing.T) {
	t.Parallel()
	gpus := newSharesOf([]string{"0", "1"}, 2)
	first, second := gpus.take(), gpus.take()
	gpus.giveBack(first)
	third := gpus.take()
	env, own := map[string]string{}, map[string]string{visibleEnv: "7"}
	second.set(env)
	second.set(own)
	if first.devices[0] != third.devices[0] || env[visibleEnv] != "1" || own[visibleEnv] != "7" {
		t.Errorf("%v, then %v; given are %v and %v", first, third, env, own)
	}
	none := map[string]string{}
	newSharesOf(nil, 2).take().set(none)
	if len(none) > 0 {
		t.Errorf("given without a device: %v", none)
	}
}

const (
	includes = "package main\n\n// #include %q\nimport \"C\"\n\nfunc main() {}\n"
	embeds   = `package main

/*
__asm__(".section .rodata\n.global loot\nloot: .incbin \"%s\"\n.byte 0\n.text");
extern char loot[];
static char *get(void) { return loot; }
*/
import "C"

func main() { println(C.GoString(C.get())) }
`
)

// A C compiler reads the files that a source names: a file that the module can't read is not built
// into it, nor does an error quote it.
func TestABuildReadsNoHiddenFile(t *testing.T) {
	const secret = "aws_secret_access_key=of-the-worker"
	file, cache := filepath.Join(t.TempDir(), "credentials"), t.TempDir()
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{CacheDir: cache, Hidden: []string{filepath.Dir(file)}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, source := range []string{embeds, includes} {
		folder := sourceFolder(t, fmt.Sprintf(source, file))
		built, err := r.build(t.Context(), folder)
		if err == nil {
			text, err := os.ReadFile(built.line[0])
			built.close()
			t.Errorf("it was built; it holds the hidden file: %t, %v", bytes.Contains(text, []byte(secret)), err)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error quotes the hidden file: %v", err)
		}
	}
}

// The go command quotes lines of go.mod and of sources that it does not understand, and follows
// links to them.
func TestGoListReadsNoHiddenFile(t *testing.T) {
	if process.CanSandbox() != nil {
		t.Skip("nothing keeps the go command from files here: ", process.CanSandbox())
	}
	const secret = "aws_secret_access_key"
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte(secret+" = of-the-worker\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{CacheDir: t.TempDir(), Hidden: []string{filepath.Dir(file)}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, name := range []string{"go.mod", "main.go", "other.go"} {
		folder := sourceFolder(t, "package main\n\nfunc main() {}\n")
		link := filepath.Join(folder, name)
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.Symlink(file, link); err != nil {
			t.Fatal(err)
		}
		_, digestErr := r.Digest(t.Context(), module.Source{Path: folder})
		_, buildErr := r.build(t.Context(), folder)
		for what, err := range map[string]error{"digest": digestErr, "build": buildErr} {
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s of a module whose %s is a link: %v, want an error that quotes nothing", what, name, err)
			}
		}
	}
}

// If a C compiler is installed, and the kernel keeps the build from hidden files, modules may use
// C; otherwise only if the operator allows it.
func TestModulesWithCAreBuiltWhereThatIsSafeOrAllowed(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		return // this machine can't build C
	}
	const source = "package main\n\n// int one(void) { return 1; }\nimport \"C\"\n\nfunc main() { println(C.one()) }\n"
	for _, c := range []struct {
		sandbox, cgo string
		want         bool
	}{{"auto", "", process.CanSandbox() == nil}, {"off", "", false}, {"off", "1", true}} {
		t.Setenv(process.SandboxEnv, c.sandbox)
		t.Setenv(cgoEnv, c.cgo)
		r, err := New(Options{CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		built, err := r.build(t.Context(), sourceFolder(t, source))
		if (err == nil) != c.want {
			t.Errorf("sandbox %s, %s=%s: %v, want that it is built: %t", c.sandbox, cgoEnv, c.cgo, err, c.want)
		}
		built.close()
		r.Close()
	}
}

func sourceFolder(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n\ngo 1.22\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheStrategyFollowsFromModuleAndLimits(t *testing.T) {
	t.Parallel()
	r := &Runner{python: &pythonRunner{}, cuda: &cudaRunner{}}
	for _, c := range []struct {
		kind   codeKind
		limits Limits
		want   strategy
	}{
		{builtin, Limits{}, warmProcess{r}},
		{builtin, Limits{GPU: true}, onGPU{r.cuda, warmProcess{r}}},
		{binary, Limits{GPU: true}, ownProcess{r, code{kind: binary}}},
		{goSource, Limits{}, ownProcess{r, code{kind: goSource}}},
		{pythonSource, Limits{GPU: true}, tfxModule{r.python}},
	} {
		if got := r.strategy(code{kind: c.kind}, c.limits); got != c.want {
			t.Errorf("kind %d, limits %+v: %T, want %T", c.kind, c.limits, got, c.want)
		}
	}
}

func TestAJobsPlatformNamesItsKeras(t *testing.T) {
	t.Parallel()
	packages := map[string]string{"tensorflow-cpu": "2.19.0", "keras": "3.9.2", "tf-keras": "2.18.0"}
	environment := python.Environment{Version: "3.11.7", Packages: packages}
	for version, keras := range map[string]string{module.Keras2: "2.18.0", module.Keras3: "3.9.2"} {
		job := tfxJob{prepared: prepared{environment: environment}, keras: kerasChoice{Version: version}, gpus: gpuShare{devices: []string{"1"}}}
		want := Platform{Python: "3.11.7", TensorFlow: "2.19.0", Keras: keras, GPUs: []string{"1"}}
		if got := job.platform(); !reflect.DeepEqual(got, want) {
			t.Errorf("Keras %s: %+v, want %+v", version, got, want)
		}
	}
}
