package execution_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// counter is a Component that counts the bytes of its examples.
type counter struct{}

func (counter) Describe(job events.Job) (execution.Description, error) {
	spec, err := pipeline.FromJSON(job.Spec)
	return execution.Description{
		Component: "Counter", Outputs: map[string]string{"count": "Count"}, Spec: spec, Reads: job.Inputs,
		Args: []pipeline.Args{spec.Trainer.TrainArgs}, Resources: spec.Trainer.Resources,
	}, err
}

func (counter) Identity(e execution.Execution) any { return execution.ByContent(e.Inputs) }

func (counter) Start(_ context.Context, a *execution.Attempt) (execution.Work, error) {
	return &count{attempt: a}, nil
}

func (counter) Event(job events.Job, done execution.Committed, made result.Result) events.Event {
	data := &events.HParamsReady{Hyperparameters: done.Manifest.Outputs["count"].URI, Execution: done.Commit.Execution, Cached: made.Job != job.ID}
	return events.Event{ID: "count-" + job.ID, Source: "/counter", Pipeline: job.Pipeline, Run: job.Run, Data: data}
}

// count is the Work of one attempt: from the staged inputs to the outputs in the workspace.
type count struct{ attempt *execution.Attempt }

func (*count) Settled() bool { return false }
func (*count) Resumes() bool { return false }

func (c *count) Run(context.Context) error {
	files, err := filepath.Glob(c.attempt.Workspace.In(c.attempt.Execution.Inputs[0].Dir, "*"))
	if err != nil {
		return err
	}
	bytes := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		bytes += len(text)
	}
	fmt.Println("count", len(files), "file of", bytes, "bytes")
	if err := os.MkdirAll(c.attempt.Workspace.Out("count"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(c.attempt.Workspace.Out("count", "bytes.txt"), fmt.Append(nil, bytes), 0o600)
}

func (c *count) Check(context.Context) (result.Result, error) { return c.attempt.Result(), nil }

// noModules is a Runner for a Component that runs no module.
type noModules struct{ execution.Runner }

func (noModules) Digest(context.Context, module.Source) (string, error) { return "sha256:none", nil }
func (noModules) Check(context.Context, json.RawMessage, runner.Limits) (json.RawMessage, error) {
	return json.RawMessage("{}"), nil
}

// Two jobs have the same inputs. The work is done for the first one; the second one has the same
// execution, and announces its result.
func Example() {
	ctx, store := context.Background(), storagetest.NewMemory()
	examples := storage.Ref{Bucket: "artifacts", Key: "examples"}
	if _, err := store.Put(ctx, examples.Join("Split-train", "data-0"), strings.NewReader("17 rows"), 7); err != nil {
		fmt.Println(err)
		return
	}
	p, err := pipeline.Parse("penguin.yaml", []byte("pipeline: penguin\nmodule: builtin:dnn\ntrainer: {wait_for: [examples]}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	spec, err := p.JSON()
	if err != nil {
		fmt.Println(err)
		return
	}

	x := execution.New(store, noModules{}, execution.Options{Root: storage.Ref{Bucket: "artifacts"}})
	for number, id := range []string{"job-1", "job-2"} {
		job := events.Job{ID: id, Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Run: id, Spec: spec,
			Inputs: events.Inputs{Examples: []events.Examples{{URI: examples.String()}}}}
		evs, err := x.Execute(ctx, worker.Task{
			Job: job, Attempt: events.Attempt{ID: fmt.Sprint("attempt-", number), Number: 1},
			Report: func(events.Progress) {}, Prove: func() error { return nil },
		}, counter{})
		if err != nil {
			fmt.Println(err)
			return
		}
		data := evs[0].Data.(*events.HParamsReady)
		fmt.Println(id, "cached:", data.Cached, strings.HasPrefix(data.Hyperparameters, "s3://artifacts/penguin/Counter/count/"))
	}
	// Output:
	// count 1 file of 7 bytes
	// job-1 cached: false true
	// job-2 cached: true true
}
