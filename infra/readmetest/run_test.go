package readmetest_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/infra/readmetest"
)

// run runs the commands of a Markdown text in an empty folder.
func run(t *testing.T, ctx context.Context, timeout time.Duration, text ...string) error {
	t.Helper()
	blocks, err := readmetest.Parse("README.md", strings.Join(text, ""))
	if err != nil {
		t.Fatal(err)
	}
	return readmetest.Run(ctx, blocks, readmetest.Options{Dir: t.TempDir(), Env: os.Environ(), Timeout: timeout, Log: t.Output()})
}

func TestCommandsShareOneShell(t *testing.T) {
	t.Parallel()
	err := run(t, t.Context(), 2*time.Minute,
		fenced("", "console", "$ mkdir there; cd there", "$ export WORD=\"it's\"", "$ cat > file <<END", "> $WORD here", "> END"),
		fenced("", "console", "$ cat file; basename \"$PWD\"", "it's here", "there", "$ ls /nowhere || printf 'no newline'", "...", "no newline"),
		fenced("<!-- ci: skip because it fails -->", "console", "$ false"))
	if err != nil {
		t.Fatal(err)
	}
}

func TestACommandThatDoesNotDoWhatTheReadmeSaysIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"another output": {[]string{"$ echo one; echo two", "one", "three"},
			"README.md:3: $ echo one; echo two: prints something else\n  the page says:\n    one\n    three\n  it prints:\n    one\n    two\n"},
		"more output":     {[]string{"$ echo one; echo two", "one"}, "prints something else"},
		"a bad exit":      {[]string{"$ true", "$ echo why >&2; (exit 3)"}, "README.md:4: $ echo why >&2; (exit 3): exit status 3\n    why\n"},
		"bad syntax":      {[]string{"$ echo 'open"}, "exit status"},
		"an unknown name": {[]string{"$ stoker-that-is-not-there"}, "exit status 127"},
		"the shell's end": {[]string{"$ exit 0", "$ true"}, "README.md:3: $ exit 0: it ended the shell"},
		"waiting input":   {[]string{"$ read answer"}, "exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(t, t.Context(), 2*time.Minute, fenced("", "console", test.lines...))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v\nwants %s", err, test.want)
			}
		})
	}
}

func TestThreeDotsStandForAnyText(t *testing.T) {
	t.Parallel()
	err := run(t, t.Context(), 2*time.Minute, fenced("", "console",
		"$ seq 1 9", "1", "...", "8", "9",
		"$ echo 'took 31 ms (a+b)'; echo", "took ... ms (a+b)",
		"$ true", "...",
		"$ echo anything"))
	if err != nil {
		t.Fatal(err)
	}
}

func TestACommandInTheBackgroundIsAwaitedAndEndedByCtrlC(t *testing.T) {
	t.Parallel()
	service := `trap 'echo bye > ended; exit 0' INT; mkfifo asked; echo starting; echo ready 4222; while true; do cat asked > answer; done`
	err := run(t, t.Context(), 2*time.Minute,
		fenced("", "console", "$ mkdir there; cd there"),
		fenced("<!-- ci: background -->", "console", "$ "+service, "...", "ready ..."),
		fenced("", "console", "$ echo question > asked"),
		fenced("", "console", "$ ls", "...", "asked", "..."))
	if err != nil {
		t.Fatal(err)
	}
}

func TestACommandInTheBackgroundThatEndsIsAnError(t *testing.T) {
	t.Parallel()
	early := fenced("<!-- ci: background -->", "console", "$ echo sorry", "ready")
	if err := run(t, t.Context(), 2*time.Minute, early); err == nil || !strings.Contains(err.Error(), "README.md:3: $ echo sorry: ended without") {
		t.Errorf("before it is ready: %v", err)
	}
	late := fenced("<!-- ci: background -->", "console", "$ echo $$ > pid; echo ready", "ready") +
		fenced("", "console", "$ while kill -0 $(cat pid); do sleep 0.01; done")
	if err := run(t, t.Context(), 2*time.Minute, late); err == nil || !strings.Contains(err.Error(), "ended before the last block was done") {
		t.Errorf("after it is ready: %v", err)
	}
}

func TestACommandThatHangsIsEnded(t *testing.T) {
	t.Parallel()
	err := run(t, t.Context(), 100*time.Millisecond, fenced("", "console", "$ echo begun; sleep 600"))
	if err == nil || !strings.Contains(err.Error(), "not done in 100ms") {
		t.Errorf("too long: %v", err)
	}
	stop := errors.New("the test is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
	if err := run(t, ctx, 2*time.Minute, fenced("", "console", "$ sleep 600")); !errors.Is(err, stop) {
		t.Errorf("stopped from outside: %v", err)
	}
}
