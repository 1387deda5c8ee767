package module_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
)

func TestAFunctionGetsItsAssignmentAndIsDone(t *testing.T) {
	t.Parallel()
	want := assignment()
	var got module.Assignment
	said, err := serve(t.Context(), line(t, want), func(_ context.Context, a *module.Args) error {
		got = a.Assignment
		a.Report(5, 10, map[string]float64{"loss": 0.5, "nan": math.NaN(), "inf": math.Inf(1)})
		a.Result(map[string]float64{"accuracy": 0.5})
		a.Checkpointed(10)
		a.Result(map[string]float64{"accuracy": 0.75})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("assignment (-want +got):\n%s", diff)
	}
	const messages = `{"type":"progress","phase":"training","step":5,"steps":10,"metrics":{"loss":0.5}}
{"type":"checkpoint","step":10}
{"type":"settings","settings":{"custom_config":{"label":"species"},"seed":0,"train_steps":10}}
{"type":"done","metrics":{"accuracy":0.75}}
`
	if said != messages {
		t.Errorf("said\n%swant\n%s", said, messages)
	}
}

func TestSeveralAssignmentsAreServedOneAfterAnother(t *testing.T) {
	t.Parallel()
	calls := 0
	said, err := serve(t.Context(), line(t, assignment())+line(t, assignment()), func(_ context.Context, a *module.Args) error {
		if calls++; calls == 1 {
			a.Result(map[string]float64{"accuracy": 1})
		}
		return nil
	})
	const given = `{"type":"settings","settings":{"custom_config":{"label":"species"},"seed":0,"train_steps":10}}` + "\n"
	if want := given + `{"type":"done","metrics":{"accuracy":1}}` + "\n" + given + `{"type":"done"}` + "\n"; said != want || err != nil || calls != 2 {
		t.Errorf("%d calls, error %v, said %s", calls, err, said)
	}
}

func TestAnErrorIsReportedWithItsKindAndEndsServing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("no labels"), `{"type":"error","error":{"kind":"module","message":"no labels"}}`},
		{fmt.Errorf("read train: %w", module.BadInput(errors.New("record 3"))), `{"type":"error","error":{"kind":"input","message":"read train: record 3"}}`},
		{
			fmt.Errorf("checkpoint: %w", &os.PathError{Op: "write", Path: "/w/ckpt", Err: syscall.ENOSPC}),
			`{"type":"error","error":{"kind":"host","message":"checkpoint: write /w/ckpt: no space left on device"}}`,
		},
		{errors.Join(errors.New("export"), syscall.EDQUOT), `{"type":"error","error":{"kind":"host","message":"export\ndisk quota exceeded"}}`},
		{
			fmt.Errorf("%w: %w", &module.Error{Kind: module.KindModule, Message: "chosen"}, syscall.ENOSPC),
			`{"type":"error","error":{"kind":"module","message":"chosen: no space left on device"}}`,
		},
	} {
		calls := 0
		said, err := serve(t.Context(), line(t, assignment())+line(t, assignment()), func(context.Context, *module.Args) error {
			calls++
			return test.err
		})
		if said != test.want+"\n" || !errors.Is(err, test.err) || calls != 1 {
			t.Errorf("%d calls, error %v, said %s want %s", calls, err, said, test.want)
		}
	}
}

func TestAVeryLongErrorIsShortened(t *testing.T) {
	t.Parallel()
	said, _ := serve(t.Context(), line(t, assignment()), func(context.Context, *module.Args) error {
		return errors.New(strings.Repeat("\x01é", module.MaxMessageBytes))
	})
	var m module.Message
	if err := json.Unmarshal([]byte(said), &m); err != nil || len(said) > module.MaxMessageBytes || m.Error == nil {
		t.Errorf("said %d bytes: %v", len(said), err)
	}
}

func TestAPanicIsAnErrorWithThePlaceItCameFrom(t *testing.T) {
	t.Parallel()
	_, err := serve(t.Context(), line(t, assignment()), func(context.Context, *module.Args) error { panic("too hot") })
	if err == nil || !strings.HasPrefix(err.Error(), "panic: too hot\ngithub.com/stoker-ml/stoker/functions/module_test.") {
		t.Errorf("error is %v", err)
	}
}

func TestAStoppedModuleIsNeverDone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	terminated := errors.New("terminated")
	said, err := serve(ctx, line(t, assignment()), func(context.Context, *module.Args) error {
		cancel(terminated)
		return nil
	})
	if said != "" || !errors.Is(err, module.ErrStopped) || !errors.Is(err, terminated) {
		t.Errorf("said %q, error %v", said, err)
	}
}

func TestAModuleThatWasAskedToLeaveBeginsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	said, err := serve(ctx, line(t, assignment()), func(context.Context, *module.Args) error {
		t.Error("it began")
		return nil
	})
	if said != "" || !errors.Is(err, module.ErrStopped) {
		t.Errorf("said %q, error %v", said, err)
	}
}

func TestABadAssignmentNamesItsField(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(a *module.Assignment)
		want   string
	}{
		"version": {func(a *module.Assignment) { a.Version = 2 }, "version: expected 1, got 2"},
		"module":  {func(a *module.Assignment) { a.Module = module.Source{} }, "module: missing"},
		"call":    {func(a *module.Assignment) { a.Call = "guess" }, `call: expected train, tune, trial or check, got "guess"`},
		"tune": {func(a *module.Assignment) {
			a.Call, a.BestHyperparametersDir, a.TunerResultsDir = module.CallTune, "/best", "/results"
		}, "module builtin:dnn can't tune"},
		"files":    {func(a *module.Assignment) { a.TrainFiles = nil }, "train_files: missing"},
		"steps":    {func(a *module.Assignment) { a.TrainSteps = new(-1) }, "train_steps: expected 0 or more, got -1"},
		"no model": {func(a *module.Assignment) { a.ServingModelDir = "" }, "serving_model_dir: missing"},
		"relative": {func(a *module.Assignment) { a.SchemaPath = "schema.pbtxt" }, `schema_path: expected an absolute path, got "schema.pbtxt"`},
		"pattern":  {func(a *module.Assignment) { a.EvalFiles = []string{"eval/*"} }, `train_files or eval_files: expected an absolute path, got "eval/*"`},
		"predictions": {
			func(a *module.Assignment) { a.Predictions = &module.Predictions{Path: "p.jsonl"} },
			`predictions.path: expected an absolute path, got "p.jsonl"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assignment()
			test.change(&a)
			said, err := serve(t.Context(), line(t, a), func(context.Context, *module.Args) error { return nil })
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(said, `"type":"error"`) {
				t.Errorf("error is %v, want %s; said %s", err, test.want, said)
			}
		})
	}
}

func TestAnAssignmentThatBreaksOffIsNoAssignment(t *testing.T) {
	t.Parallel()
	_, err := serve(t.Context(), strings.TrimSuffix(line(t, assignment()), "}\n"), nil)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error is %v", err)
	}
	if _, err := serve(t.Context(), "not JSON\n", nil); err == nil {
		t.Error("took a line that is no JSON")
	}
}

// A module's main function is `func main() { module.Main(module.Module{Train: train}) }`.
func ExampleServe() {
	train := func(ctx context.Context, a *module.Args) error {
		config := struct {
			Units int `json:"units"`
		}{Units: 8}
		if err := a.Config(&config); err != nil {
			return err
		}
		for step := 1; step <= *a.TrainSteps && ctx.Err() == nil; step++ {
			a.Report(step, *a.TrainSteps, map[string]float64{"loss": 1 / float64(step)})
		}
		a.Result(map[string]float64{"accuracy": 0.875})
		return nil // a real module has written a SavedModel to a.ServingModelDir
	}
	assignment := `{"version":1,"module":"/modules/mine","call":"train","train_files":["/data/Split-train/*"],` +
		`"train_steps":2,"serving_model_dir":"/out/Format-Serving","custom_config":{"units":16}}` + "\n"
	err := module.Serve(context.Background(), strings.NewReader(assignment), os.Stdout, module.Module{Train: train})
	fmt.Println(err)
	// Output:
	// {"type":"progress","phase":"training","step":1,"steps":2,"metrics":{"loss":1}}
	// {"type":"progress","phase":"training","step":2,"steps":2,"metrics":{"loss":0.5}}
	// {"type":"settings","settings":{"custom_config":{"units":16},"seed":0,"train_steps":2}}
	// {"type":"done","metrics":{"accuracy":0.875}}
	// <nil>
}

// Only a valid assignment reaches the function, and only that is answered with done.
func FuzzServe(f *testing.F) {
	text, err := json.Marshal(assignment())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(text, '\n'))
	f.Add([]byte("{}\n"))
	f.Add([]byte("{\"version\":1\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var progress bytes.Buffer
		calls := 0
		err := module.Serve(t.Context(), bytes.NewReader(in), &progress, module.Module{
			Train: func(_ context.Context, a *module.Args) error {
				calls++
				return a.Validate()
			},
		})
		if done := strings.Count(progress.String(), `"type":"done"`); done != calls || (err == nil) != !strings.Contains(progress.String(), `"type":"error"`) {
			t.Errorf("%d calls, %d done, error %v", calls, done, err)
		}
	})
}

func serve(ctx context.Context, in string, train func(context.Context, *module.Args) error) (said string, err error) {
	var progress bytes.Buffer
	err = module.Serve(ctx, strings.NewReader(in), &progress, module.Module{Train: train})
	return progress.String(), err
}

func line(t *testing.T, a module.Assignment) string {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func assignment() module.Assignment {
	return module.Assignment{
		Version: 1, Module: module.Source{Path: "builtin:dnn"}, Call: module.CallTrain,
		WorkingDir: "/work", TrainFiles: []string{"/in/Split-train/*"}, EvalFiles: []string{"/in/Split-eval/*"},
		TrainSteps: new(10), ServingModelDir: "/out/Format-Serving", ModelRunDir: "/out/run",
		CustomConfig: map[string]any{"label": "species"},
	}
}

func TestAModuleSaysWhatItTrainsWith(t *testing.T) {
	t.Parallel()
	calls := 0
	said, err := serve(t.Context(), line(t, assignment())+line(t, assignment()), func(_ context.Context, a *module.Args) error {
		if calls++; calls == 2 {
			return nil // not called for the first one
		}
		for _, wrong := range []any{[]int{1}, "text", nil, math.NaN(), map[string]string{"long": strings.Repeat("x", module.MaxMessageBytes)}} {
			if err := a.Settings(wrong); err == nil {
				t.Errorf("%.20v is taken", wrong)
			}
		}
		return a.Settings(map[string]any{"units": 8})
	})
	const want = `{"type":"settings","settings":{"units":8}}
{"type":"done"}
{"type":"settings","settings":{"custom_config":{"label":"species"},"seed":0,"train_steps":10}}
{"type":"done"}
`
	if err != nil || said != want {
		t.Errorf("%v, said\n%s", err, said)
	}
}
