package publishers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

// publisher runs one of them, with its environment.
type publisher func(t *testing.T, env []string, args ...string) (said string, err error)

func TestGoPublishes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a program is compiled")
	}
	program := filepath.Join(t.TempDir(), "publish")
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	check(t, func(t *testing.T, env []string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), env...)
		said, err := cmd.CombinedOutput()
		return string(said), err
	})
}

// run is one that has to be escaped, in the subject and in the headers.
const run = "monday 1, 50 % ä"

const data = `{"examples": [{"uri": "s3://data/penguin/monday", "splits": ["train", "eval"]}], "schema": "s3://data/penguin/schema"}`

// check has a publisher publish examples.ready in both modes, twice, over TLS and by each kind of
// credentials, and without any.
func check(t *testing.T, publish publisher) {
	file := filepath.Join(t.TempDir(), "data.json")
	must(t, os.WriteFile(file, []byte(data), 0o600))
	for name, start := range map[string]func(*testing.T) broker{"credentials": trusting, "nkey": keyed} {
		for _, mode := range []string{"binary", "structured"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				b := start(t)
				for range 2 {
					if said, err := publish(t, b.env, "examples.ready", "penguin", run, file, mode); err != nil {
						t.Fatalf("%v: %s", err, said)
					}
				}
				wantEvent(t, b)
				stranger := slices.DeleteFunc(slices.Clone(b.env), func(v string) bool { return !strings.HasPrefix(v, "NATS_URL") && !strings.HasPrefix(v, "NATS_CA") })
				if said, err := publish(t, stranger, "examples.ready", "penguin", "tuesday", file); err == nil {
					t.Errorf("a stranger is let in: %s", said)
				}
				wantEvent(t, b)
			})
		}
	}
	refusals(t, publish, file)
	silenced(t, publish, file)
}

// wantEvent checks that this is the only event, on the subject on which Stoker itself would publish
// it.
func wantEvent(t *testing.T, b broker) {
	t.Helper()
	var evs []events.Event
	for recorded, err := range b.bus.Read(t.Context(), events.Query{}) {
		must(t, err)
		must(t, recorded.Err)
		if want := events.EventSubject(recorded.Event); recorded.Message.Subject != want {
			t.Errorf("subject %s, want %s", recorded.Message.Subject, want)
		}
		evs = append(evs, recorded.Event)
	}
	if len(evs) != 1 {
		t.Fatalf("%d events, want 1", len(evs))
	}
	f := evs[0]
	ready, ok := f.Data.(*events.ExamplesReady)
	if !ok || f.Pipeline != "penguin" || f.Run != run || ready.Examples[0].URI != "s3://data/penguin/monday" || ready.Schema == "" {
		t.Errorf("got %+v", f)
	}
}
