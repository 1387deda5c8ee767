package execution

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/runner"
)

// checker answers each question with refused, and counts the questions.
type checker struct {
	Runner
	refused string
	asked   int
}

func (c *checker) Check(context.Context, json.RawMessage, runner.Limits) (json.RawMessage, error) {
	c.asked++
	return json.Marshal(modelcheck.Answer{Refused: c.refused})
}

// A worker checks a graph and a schema once, and again if a single byte, a name or a limit changes.
func TestAGraphThatWasAcceptedIsNotCheckedAgain(t *testing.T) {
	t.Parallel()
	c := &checker{}
	executor := &Executor{runner: c}
	base := func(t *testing.T) (a *Attempt, graph string) {
		a = &Attempt{Workspace: Workspace{t.TempDir()}, executor: executor, Execution: Execution{Inputs: []Input{{Key: transformGraph, Dir: "graph"}}}}
		graph = a.Workspace.In("graph")
		write(t, filepath.Join(graph, "transform_fn", "saved_model.pb"), "graph")
		write(t, filepath.Join(graph, "transform_fn", "assets", "vocab"), "words")
		return a, graph
	}
	for _, step := range []struct {
		name   string
		change func(t *testing.T, a *Attempt, graph string)
		asked  int
	}{
		{"the first time", func(*testing.T, *Attempt, string) {}, 1},
		{"as it was", func(*testing.T, *Attempt, string) {}, 1},
		{"a byte", func(t *testing.T, _ *Attempt, graph string) {
			write(t, filepath.Join(graph, "transform_fn", "saved_model.pb"), "grapH")
		}, 2},
		{"a name", func(t *testing.T, _ *Attempt, graph string) {
			if err := os.Rename(filepath.Join(graph, "transform_fn", "assets", "vocab"), filepath.Join(graph, "transform_fn", "assets", "words")); err != nil {
				t.Fatal(err)
			}
		}, 3},
		{"bytes of the next file", func(t *testing.T, _ *Attempt, graph string) {
			write(t, filepath.Join(graph, "transform_fn", "assets", "vocab"), "wordsgraph")
			write(t, filepath.Join(graph, "transform_fn", "saved_model.pb"), "")
		}, 4},
		{"a limit", func(_ *testing.T, a *Attempt, _ string) { a.Execution.Resources.Memory = 1 << 30 }, 5},
		{"an operation that the operator allows", func(*testing.T, *Attempt, string) { executor.opts.GraphOps = []string{"ReadFile"} }, 6},
		{"the same", func(*testing.T, *Attempt, string) {}, 6},
		{"a schema", func(t *testing.T, a *Attempt, _ string) { withSchema(t, a, "feature {}") }, 7},
		{"another schema", func(t *testing.T, a *Attempt, _ string) { withSchema(t, a, "feature { }") }, 8},
		{"the same schema", func(t *testing.T, a *Attempt, _ string) { withSchema(t, a, "feature { }") }, 8},
	} {
		a, graph := base(t)
		step.change(t, a, graph)
		if err := a.checkInputs(t.Context()); err != nil || c.asked != step.asked {
			t.Errorf("%s: %d checks, want %d; %v", step.name, c.asked, step.asked, err)
		}
	}
}

func withSchema(t *testing.T, a *Attempt, text string) {
	t.Helper()
	a.Job.Inputs.Schema = "s3://bucket/schema"
	write(t, a.Workspace.In("schema", "schema.pbtxt"), text)
}

func TestAGraphThatWasRefusedIsCheckedAgain(t *testing.T) {
	t.Parallel()
	c := &checker{refused: "it writes files"}
	a := &Attempt{Workspace: Workspace{t.TempDir()}, executor: &Executor{runner: c}, Execution: Execution{Inputs: []Input{{Key: BaseModel, Dir: "base"}}}}
	write(t, a.Workspace.In("base", "saved_model.pb"), "graph")
	for range 2 {
		if _, refused := events.AsKind(a.checkInputs(t.Context()), events.FailureInput); !refused {
			t.Error("it is accepted")
		}
	}
	if c.asked != 2 {
		t.Errorf("%d checks of 2", c.asked)
	}
}

// Inputs that are too large to be read twice are checked each time.
func TestALargeGraphIsCheckedEachTime(t *testing.T) {
	t.Parallel()
	c := &checker{}
	a := &Attempt{Workspace: Workspace{t.TempDir()}, executor: &Executor{runner: c}, Execution: Execution{Inputs: []Input{{Key: BaseModel, Dir: "base"}}}}
	large := a.Workspace.In("base", "variables")
	write(t, large, "")
	if err := os.Truncate(large, mostAcceptedSize+1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := a.checkInputs(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if c.asked != 2 {
		t.Errorf("%d checks of 2", c.asked)
	}
}

func TestNoMoreGraphsAreRememberedThanFit(t *testing.T) {
	t.Parallel()
	var a acceptedInputs
	for i := range 2*mostAccepted + 1 {
		a.add([32]byte{byte(i), byte(i >> 8), byte(i >> 16)})
	}
	if len(a.known) > mostAccepted || !a.has([32]byte{0, byte(2 * mostAccepted >> 8)}) {
		t.Errorf("%d are remembered", len(a.known))
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Hashing follows no link: a graph with one is checked each time.
func TestAGraphWithALinkIsCheckedEachTime(t *testing.T) {
	t.Parallel()
	c := &checker{}
	a := &Attempt{Workspace: Workspace{t.TempDir()}, executor: &Executor{runner: c}, Execution: Execution{Inputs: []Input{{Key: BaseModel, Dir: "base"}}}}
	write(t, a.Workspace.In("base", "saved_model.pb"), "graph")
	if err := os.Symlink("saved_model.pb", a.Workspace.In("base", "linked")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := a.checkInputs(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if c.asked != 2 {
		t.Errorf("%d checks of 2", c.asked)
	}
}
