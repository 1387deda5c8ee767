package runner

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
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

// Whatever a module writes, the listener hears only what the protocol knows, stops hearing after the last word, and
// reads to the end.
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

func TestAMemoryLimitThatCanNotBeSetIsToldByWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	e := &request{assignment: module.Assignment{Module: module.Source{Path: "builtin:test"}}, limits: Limits{MemoryBytes: 1 << 20}}
	for cause, kind := range map[error]Kind{syscall.EBUSY: KindResources, syscall.EACCES: KindHost} {
		failed, ok := errors.AsType[*Error](e.unbound(cause))
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
		host, err := New(Options{CacheDir: t.TempDir(), PythonIdle: said})
		if err != nil {
			t.Fatal(err)
		}
		host.Close()
		if host.warmRules.idle != want {
			t.Errorf("%s: they stay %s", said, host.warmRules.idle)
		}
	}
}

// A kernel without Landlock is not to be had here, so that the reason is given.
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
