package trainer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// lacksONNX is a module that reports that its model can't be written in a requested format.
func lacksONNX(a module.Assignment) (runner.Outcome, error) {
	outcome, err := writesModel(a)
	outcome.Unwritten = map[string]string{"onnx": "tf2onnx is not installed"}
	return outcome, err
}

func TestAFormatThatCanNotBeWrittenIsNotedUnlessItIsRequired(t *testing.T) {
	t.Parallel()
	b := setup(t, lacksONNX)
	for _, run := range []string{"monday", "tuesday"} { // the second one finds it done
		got, err := b.handle(t, job(t, "job-"+run, run, spec+"  exports: [onnx]\n"), "a-"+run)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"no onnx: tf2onnx is not installed"}; !slices.Equal(got.Notes, want) {
			t.Errorf("notes %q, want %q", got.Notes, want)
		}
		if !slices.Equal(got.Model.Formats, []string{"Format-Serving"}) {
			t.Errorf("formats %v", got.Model.Formats)
		}
	}
	_, err := b.handle(t, job(t, "j3", "monday", spec+"  exports: [{format: onnx, required: true}]\n"), "a3")
	const want = "onnx is required, but the model can't be written in this format: tf2onnx is not installed"
	if kindOf(err) != events.FailureCheck || !strings.Contains(err.Error(), want) {
		t.Errorf("kind %q of %v, want check of %s", kindOf(err), err, want)
	}
}

func TestWorkersAStrategyAndAGPUMakeAnotherExecution(t *testing.T) {
	t.Parallel()
	// Writes no model.
	b := setup(t, func(module.Assignment) (runner.Outcome, error) { return runner.Outcome{}, nil })
	execution := func(resources string) string {
		t.Helper()
		text := strings.Replace(spec, "builtin:dnn", "./test.py", 1)
		_, err := b.handle(t, job(t, "j1", "monday", text+"  resources: "+resources+"\n"), "a1")
		failure, ok := errors.AsType[*events.Failure](err)
		if !ok || failure.Kind != events.FailureCheck {
			t.Fatal(err)
		}
		return failure.Execution
	}
	one := execution("{}")
	for _, same := range []string{"{workers: 1}", "{class: large, memory: 1GiB}"} {
		if execution(same) != one {
			t.Errorf("%s is another execution", same)
		}
	}
	two := execution("{workers: 2}")
	if execution("{workers: 2, strategy: multi_worker}") != two {
		t.Error("the strategy of two workers is another execution when it is written down")
	}
	known := map[string]string{one: "no resources", two: "{workers: 2}"}
	for _, other := range []string{"{workers: 3}", "{strategy: mirrored}", "{strategy: tpu}", "{class: gpu}", "{strategy: mirrored, class: gpu}"} {
		id := execution(other)
		if same, ok := known[id]; ok {
			t.Errorf("%s is the same execution as %s", other, same)
		}
		known[id] = other
	}
}
