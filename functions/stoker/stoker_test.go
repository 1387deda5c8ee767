package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/backend"
)

// TestMain lets the scripts run this binary under the name stoker, including in child processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"stoker": main})
}

// TestScripts runs stories of the command line, each on an empty machine.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			data, err := filepath.Abs("../../local/demo/data")
			env.Setenv("DEMO", data)
			env.Setenv("TFX", filepath.Join(data, "../../../compute/tf/warmstart/testdata/penguin/model"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			return err
		},
		// [python3] is true if Python is installed; an error if scripts that need it must not be
		// skipped.
		Condition: func(name string) (bool, error) {
			if name != "python3" {
				return false, fmt.Errorf("no condition %q", name)
			}
			python, err := tftest.FindPython3()
			return python != "", err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"waitfor": waitFor, "waitrun": waitRun, "wipe": wipe, "forget": forget, "exits": exits, "mistake": mistake, "serves": serves, "secured": secured, "alone": alone, "receiver": receiver, "documents": documents, "roled": roled, "roletries": roletries, "hostile": hostile, "graft": graft, "refuser": refuser, "printable": printable, "generate": generate},
	})
}

// waitFor waits until a file exists, which a background command writes when it is ready.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor FILE")
	}
	const patience = 8 * time.Minute
	for start := time.Now(); time.Since(start) < patience; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s did not come", args[0])
}

// waitRun waits until stoker reports a run in a state: waitrun RUN STATE [PIPELINE].
func waitRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: waitrun RUN STATE [PIPELINE]")
	}
	show := []string{"runs", "show", args[0], "-o", "json"}
	if len(args) > 2 {
		show = append(show, "--pipeline", args[2])
	}
	want := fmt.Sprintf("%q: %q", "state", args[1])
	const patience = 8 * time.Minute
	for start := time.Now(); time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		if err := ts.Exec("stoker", show...); err == nil && strings.Contains(ts.ReadFile("stdout"), want) {
			return
		}
	}
	ts.Fatalf("run %s did not become %s", args[0], args[1])
}

// wipe removes every object below a prefix from the local stack's bucket, as any client with its
// keys can.
func wipe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: wipe PREFIX")
	}
	connection, err := local.ReadConnection(ts.MkAbs("data/stoker"))
	ts.Check(err)
	store, err := backend.Open(context.Background(), connection.Store())
	ts.Check(err)
	defer store.Close()
	root, err := storage.ParseRef(connection.Root)
	ts.Check(err)
	for object, err := range store.List(context.Background(), root.Join(args[0])) {
		ts.Check(err)
		ts.Check(store.Delete(context.Background(), object.Ref))
	}
}

// forget deletes the KV bucket of joins of the local stack.
func forget(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: forget")
	}
	ctx := context.Background()
	connection, err := local.ReadConnection(ts.MkAbs("data/stoker"))
	ts.Check(err)
	bus, err := jetstream.Connect(ctx, connection.NATS, jetstream.Options{})
	ts.Check(err)
	defer bus.Close()
	joins, err := bus.KV(ctx, events.KVJoins)
	ts.Check(err)
	for entry, err := range joins.All(ctx) {
		ts.Check(err)
		ts.Check(joins.Delete(ctx, entry.Key, entry.Revision))
	}
}

// exits runs a command that must end with a status: exits 2 stoker nonsense.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = strconv.Itoa(ended.ExitCode())
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// mistake runs a command that must end with a status, print nothing on standard output, and say on
// standard error, in one line, what is wrong: mistake 2 PATTERN stoker nonsense.
func mistake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: mistake STATUS PATTERN COMMAND...")
	}
	exits(ts, false, slices.Concat(args[:1], args[2:]))
	out, said := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	if out != "" || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "stoker: ") {
		ts.Fatalf("expected one line of error; stdout %q, stderr %q", out, said)
	}
	if !regexp.MustCompile(args[1]).MatchString(strings.TrimPrefix(strings.TrimSuffix(said, "\n"), "stoker: ")) {
		ts.Fatalf("%q does not match %s", said, args[1])
	}
}
