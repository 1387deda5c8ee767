package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// traces are those of three jobs, one after another, and what each module finds in its environment.
var traces = []struct {
	told *module.Trace
	want string
}{
	{&module.Trace{Parent: traceParent, State: "rojo=1"}, traceParent + " rojo=1"},
	{&module.Trace{Parent: traceParent}, traceParent + " "},
	{nil, " "},
}

// Whatever a module is written in, it goes on in the trace of its job, and one whose process has served before in no other.
func TestAModuleFindsTheTraceOfItsJobInItsEnvironment(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nread assignment\necho \"at $TRACEPARENT $TRACESTATE\"\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range traces {
		a := assignment(t, "")
		a.Module, a.Trace = module.Source{Path: program}, c.told
		_, err := newRunner(t, 0).Run(t.Context(), a, runner.Limits{}, nil)
		if said := asError(t, err).LogTail; said != "at "+c.want+"\n" {
			t.Errorf("a program: %q, want %q", said, c.want)
		}
	}
	for warm := range 2 {
		host := newRunner(t, warm)
		for _, c := range traces {
			a := assignment(t, "tell environment")
			file := filepath.Join(t.TempDir(), "environment")
			a.Trace, a.CustomConfig["file"] = c.told, file
			if _, err := host.Run(t.Context(), a, runner.Limits{}, nil); err != nil {
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
	for way, host := range hosts {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			for _, c := range traces {
				a := pythonAssignment(t, "import os\nat = os.environ.get('TRACEPARENT', '') + ' ' + os.environ.get('TRACESTATE', '')\n"+
					"def run_fn(fn_args):\n    raise SystemExit('at [' + at + ']')\n")
				a.Trace = c.told
				_, err := host.Run(t.Context(), a, runner.Limits{}, nil)
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
