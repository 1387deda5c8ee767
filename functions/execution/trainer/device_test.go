package trainer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A class belongs to workers, and a worker without a GPU may serve class gpu. Then the model's
// event reports that, and the model is not that of a job that asked for a CPU.
func TestAJobOfClassGPUThatTrainedOnACPUSaysSo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		class, device string
		noted         bool
	}{
		{"gpu", module.DeviceCPU, true}, {"gpu", module.DeviceGPU, false}, {"gpu", "", false}, {"gpu-a100", module.DeviceCPU, true},
	} {
		b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
			outcome, err := writesModel(a)
			outcome.Device = test.device
			return outcome, err
		})
		cpu, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
		if err != nil || len(cpu.Notes) > 0 {
			t.Fatalf("%+v, %v", cpu, err)
		}
		gpu, err := b.handle(t, job(t, "j2", "tuesday", spec+"  resources: {class: "+test.class+"}\n"), "a2")
		if err != nil {
			t.Fatal(err)
		}
		if gpu.Execution == cpu.Execution || gpu.Cached {
			t.Errorf("%q: class %s is the execution of class cpu", test.device, test.class)
		}
		says := slices.ContainsFunc(gpu.Notes, func(note string) bool {
			return strings.HasPrefix(note, "trained on a CPU: the class is "+test.class+",")
		})
		if says != test.noted {
			t.Errorf("class %s on %q: notes %q", test.class, test.device, gpu.Notes)
		}
	}
}

// A training that is asked for deterministic results is a different execution, except for builtin
// modules, which are always deterministic.
func TestADeterministicTrainingIsAnotherExecution(t *testing.T) {
	t.Parallel()
	const own = `
pipeline: penguin
module: s3://stoker/up/penguin_utils.py
trainer:
  wait_for: [transform]
  train_args: {num_steps: 3}
`
	for text, cached := range map[string]bool{spec: true, own: false} {
		var asked []bool
		b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
			asked = append(asked, a.Deterministic)
			return writesModel(a)
		})
		b.put(t, "up/penguin_utils.py", "def run_fn(args): pass\n")
		if _, err := b.handle(t, job(t, "j1", "monday", text), "a1"); err != nil {
			t.Fatal(err)
		}
		second, err := b.handle(t, job(t, "j2", "tuesday", text+"  deterministic: on\n"), "a2")
		if err != nil {
			t.Fatal(err)
		}
		if second.Cached != cached || !cached && !slices.Equal(asked, []bool{false, true}) {
			t.Errorf("cached %v, asked %v", second.Cached, asked)
		}
	}
}
