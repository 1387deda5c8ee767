package trainer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck/modelchecktest"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// inProcess runs a module in this process, which trains a model that is a text.
type inProcess struct{ modelchecktest.Here }

func (inProcess) Digest(context.Context, module.Source) (string, error) { return "sha256:text@1", nil }

func (inProcess) Run(_ context.Context, a module.Assignment, limits runner.Limits, _ func(module.Message)) (runner.Outcome, error) {
	err := os.WriteFile(limits.LogPath, []byte("trained a text\n"), 0o600)
	if err == nil {
		err = os.MkdirAll(a.ServingModelDir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(a.ServingModelDir, "model.txt"), []byte("y = 2x + 1"), 0o600)
	}
	return runner.Outcome{Metrics: map[string]float64{"accuracy": 0.93}}, err
}

// A worker takes a train job off the queue, and its trainer stages the examples, runs the module,
// publishes the model and announces it.
func Example() {
	ctx, bus, store := context.Background(), bustest.NewMemory(0), storagetest.NewMemory()
	examples := storage.Ref{Bucket: "artifacts", Key: "examples"}
	for _, split := range []string{"Split-train", "Split-eval"} {
		if _, err := store.Put(ctx, examples.Join(split, "data-0"), strings.NewReader("rows"), 4); err != nil {
			fmt.Println(err)
			return
		}
	}
	p, err := pipeline.Parse("text.yaml", []byte("pipeline: text\nmodule: ./text\ntrainer: {wait_for: [examples], model: any, skew: {check: off}}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	spec, err := p.JSON()
	if err != nil {
		fmt.Println(err)
		return
	}
	err = bus.Enqueue(ctx, events.Job{
		ID: "5f3a", Function: events.FunctionTrain, Class: "cpu", Pipeline: "text", Run: "17", Spec: spec,
		Inputs: events.Inputs{Examples: []events.Examples{{URI: examples.String()}}},
		Causes: []events.Cause{{Kind: events.KindExamplesReady, Source: "/tfx", ID: "examples-17", Sequence: 1}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	executor := execution.New(store, inProcess{}, execution.Options{Root: storage.Ref{Bucket: "artifacts"}})
	w := worker.New(bus, worker.Options{Functions: []worker.Function{trainer.New(executor, trainer.Options{})}})
	if _, err := w.Once(ctx, 0); err != nil {
		fmt.Println(err)
		return
	}
	for recorded := range bus.Read(ctx, events.Query{}) {
		trained, ok := recorded.Event.Data.(*events.ModelTrained)
		if !ok {
			fmt.Println(recorded.Event.Data.Summary())
			return
		}
		fmt.Println(trained.Metrics, trained.Model.Formats, strings.HasPrefix(trained.Model.URI, "s3://artifacts/text/Trainer/model/"))
	}
	// Output: map[accuracy:0.93] [Format-Serving] true
}
