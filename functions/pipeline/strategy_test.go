package pipeline_test

import (
	"testing"

	"github.com/stoker-ml/stoker/functions/pipeline"
)

func TestWorkersAndStrategyFillEachOtherIn(t *testing.T) {
	t.Parallel()
	const head = "pipeline: p\nmodule: ./m.py\ntrainer: {resources: "
	tests := []struct {
		resources string
		want      pipeline.Resources
	}{
		{"{}", pipeline.Resources{Class: "cpu", Workers: 1}},
		{"{workers: 2}", pipeline.Resources{Class: "cpu", Workers: 2, Strategy: "multi_worker"}},
		{"{workers: 3, strategy: multi_worker, class: gpu}", pipeline.Resources{Class: "gpu", Workers: 3, Strategy: "multi_worker"}},
		{"{strategy: mirrored}", pipeline.Resources{Class: "cpu", Workers: 1, Strategy: "mirrored"}},
		{"{strategy: tpu}", pipeline.Resources{Class: "tpu", Workers: 1, Strategy: "tpu"}},
		{"{strategy: tpu, class: tpu-v5}", pipeline.Resources{Class: "tpu-v5", Workers: 1, Strategy: "tpu"}},
	}
	for _, test := range tests {
		p := parse(t, head+test.resources+"}\n")
		if p.Trainer.Resources != test.want {
			t.Errorf("%s is %+v, want %+v", test.resources, p.Trainer.Resources, test.want)
		}
	}
}

func TestClassesGPUAndThoseBelowItWantAGPU(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]bool{"gpu": true, "gpu-a100": true, "gpu-": true, "cpu": false, "gpus": false, "a100-gpu": false, "no-gpu": false, "": false} {
		if got := (pipeline.Resources{Class: class}).WantsGPU(); got != want {
			t.Errorf("class %q wants a GPU: %v, want %v", class, got, want)
		}
	}
}

func TestAStrategyThatCanNotBeIsRefusedWhereItStands(t *testing.T) {
	t.Parallel()
	tests := []struct{ module, resources, want string }{
		{"m.py", "{strategy: mirored}",
			`p.yaml:3:23: trainer.resources.strategy: expected one of mirrored, multi_worker, tpu, got "mirored"; did you mean mirrored?`},
		{"m.py", "{workers: 0}", `p.yaml:3:23: trainer.resources.workers: expected 1 to 64, got 0; default: 1`},
		{"m.py", "{workers: 65}", `p.yaml:3:23: trainer.resources.workers: expected 1 to 64, got 65; default: 1`},
		{"m.py", "{strategy: multi_worker}", `p.yaml:3:23: trainer.resources.strategy: multi_worker is for workers: 2 or more`},
		{"m.py", "{workers: 2, strategy: tpu}",
			`p.yaml:3:35: trainer.resources.strategy: tpu is for one process, and workers is 2: expected multi_worker`},
		{"builtin:dnn", "{workers: 2}", "p.yaml:3:23: trainer.resources.workers: builtin:dnn trains in one process and on its own; " +
			"several processes and the strategies of tf.distribute are for TFX modules"},
		{"builtin:dnn", "{strategy: mirrored}", "p.yaml:3:23: trainer.resources.strategy: builtin:dnn trains in one process and on its own; " +
			"several processes and the strategies of tf.distribute are for TFX modules"},
	}
	for _, test := range tests {
		text := "pipeline: p\nmodule: " + test.module + "\ntrainer: {resources: " + test.resources + "}\n"
		_, err := pipeline.Parse("p.yaml", []byte(text))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s\nerror is\n%v\nwant\n%s", text, err, test.want)
		}
	}
}
