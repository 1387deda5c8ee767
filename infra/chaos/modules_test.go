package chaos

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/runner"
)

// tiny is a module that trains within the worker's own process: hundreds of trainings are about all
// that is around them.
const tiny = module.BuiltinPrefix + "tiny"

// tinyFile is the same as a module that can tune: it always finds the hyperparameters that upstream
// publishes for other runs.
const tinyFile = "./tiny.py"

func isTiny(source module.Source) bool { return source.Path == tiny || source.Path == tinyFile }

// modules is the trainer's runner: the real one, and tiny.
type modules struct {
	host   *runner.Runner
	cutter *cutter
}

func newModules(c *cutter, log *slog.Logger) (modules, error) {
	host, err := runner.New(runner.Options{Builtins: builtin.Digests(), Logger: log})
	return modules{host, c}, err
}

func (m modules) Check(ctx context.Context, question json.RawMessage, limits runner.Limits) (json.RawMessage, error) {
	return m.host.Check(ctx, question, limits)
}

func (m modules) Digest(ctx context.Context, source module.Source) (string, error) {
	if isTiny(source) {
		return "builtin:tiny@1", nil
	}
	return m.host.Digest(ctx, source)
}

func (m modules) Run(ctx context.Context, a module.Assignment, limits runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	switch {
	case a.Call == module.CallTune && a.CustomConfig["study"] != nil:
		return runner.Outcome{}, hostOrNil(sayStudy(on))
	case a.Call == module.CallTrial:
		return m.trial(ctx, a, on)
	case isTiny(a.Module):
		return m.train(ctx, a, limits, on)
	}
	return m.host.Run(ctx, a, limits, func(message module.Message) {
		_ = m.cutter.around(pointTrain, func() error { on(message); return nil })
	})
}

const (
	tinySteps = 4
	tinyWidth = 1024 // parameters: 4 KiB, so that there is a model to cut through
	stepTime  = 10 * time.Millisecond
)

// train continues from the last checkpoint in its working directory, and writes one at each step.
func (m modules) train(ctx context.Context, a module.Assignment, limits runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	if err := os.WriteFile(limits.LogPath, []byte("tiny begins\n"), 0o600); err != nil {
		return runner.Outcome{}, host(err)
	}
	seed, err := seedOf(a)
	if err != nil {
		return runner.Outcome{}, host(err)
	}
	done, weights, err := resume(a.WorkingDir)
	if err != nil {
		return runner.Outcome{}, host(err)
	}
	for step := done + 1; step <= tinySteps; step++ {
		select {
		case <-ctx.Done():
			return runner.Outcome{}, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
		case <-time.After(stepTime):
		}
		weights = learn(weights, seed, step)
		if err := keep(a.WorkingDir, step, weights); err != nil {
			return runner.Outcome{}, host(err)
		}
		_ = m.cutter.around(pointTrain, func() error {
			on(module.Message{Type: module.MessageProgress, Phase: "training", Step: step, Steps: tinySteps})
			on(module.Message{Type: module.MessageCheckpoint, Step: step})
			return nil
		})
	}
	if a.Call == module.CallTune {
		return runner.Outcome{}, hostOrNil(writeSearch(a))
	}
	if err := writeModel(a.ServingModelDir, weights); err != nil {
		return runner.Outcome{}, host(err)
	}
	return runner.Outcome{Metrics: map[string]float64{"loss": float64(weights[0])}}, nil
}

func host(err error) error { return &runner.Error{Kind: runner.KindHost, Err: err} }

func hostOrNil(err error) error {
	if err == nil {
		return nil
	}
	return host(err)
}

const tinyResults = `[{"trial_id": "0", "score": 1.0, "units": 8}]`

// writeSearch writes what a search leaves.
func writeSearch(a module.Assignment) error {
	return errors.Join(
		os.WriteFile(filepath.Join(a.BestHyperparametersDir, "best_hyperparameters.txt"), []byte(hyperparameters), 0o600),
		os.WriteFile(filepath.Join(a.TunerResultsDir, "tuner_results.json"), []byte(tinyResults), 0o600))
}

// tinyWeights returns those of an undisturbed training.
func tinyWeights(seed uint64) (weights []float32) {
	for step := range tinySteps {
		weights = learn(weights, seed, step+1)
	}
	return weights
}

// learn adds a number to each weight that depends only on the data and the step.
func learn(weights []float32, seed uint64, step int) []float32 {
	r := rand.New(rand.NewPCG(seed, uint64(step)))
	next := make([]float32, tinyWidth)
	copy(next, weights)
	for i := range next {
		next[i] += r.Float32()
	}
	return next
}

// seedOf returns a digest of all that tiny learns from.
func seedOf(a module.Assignment) (uint64, error) {
	var files []string
	for _, pattern := range slices.Concat(a.TrainFiles, a.EvalFiles) {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return 0, err
		}
		files = append(files, found...)
	}
	bodies := make([][]byte, len(files))
	for i, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		bodies[i] = body
	}
	values, err := json.Marshal(a.Hyperparameters["values"])
	if err != nil {
		return 0, err
	}
	return tinySeed(values, bodies...), nil
}

func tinySeed(values []byte, files ...[]byte) uint64 {
	hash := sha256.New()
	for _, text := range append(files, values) {
		fmt.Fprintf(hash, "%d\n", len(text))
		hash.Write(text)
	}
	return binary.BigEndian.Uint64(hash.Sum(nil))
}

// checkpoint is the file that tiny keeps below its working folder.
type checkpoint struct {
	Step    int       `json:"step"`
	Weights []float32 `json:"weights"`
}

const checkpointFile = "tiny.json"

func keep(dir string, step int, weights []float32) error {
	text, err := json.Marshal(checkpoint{step, weights})
	if err != nil {
		return err
	}
	next := filepath.Join(dir, checkpointFile)
	if err := os.WriteFile(next+".next", text, 0o600); err != nil {
		return err
	}
	return os.Rename(next+".next", next)
}

func resume(dir string) (step int, weights []float32, err error) {
	file, err := os.Open(filepath.Join(dir, checkpointFile))
	if os.IsNotExist(err) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return 0, nil, err
	}
	var c checkpoint
	if err := json.Unmarshal(text, &c); err != nil {
		return 0, nil, fmt.Errorf("checkpoint in %s: %w", dir, err)
	}
	return c.Step, c.Weights, nil
}

// writeModel writes a model that adds weights to its input.
func writeModel(dir string, weights []float32) error {
	return savedmodel.Write(dir, savedmodel.Model{
		Spec: example.Spec{{Name: "x", Kind: example.Float, Shape: []int{tinyWidth}}},
		Graph: &nn.Graph{
			Inputs:  []nn.Input{{Name: "x", Kind: nn.Float32, Width: tinyWidth}},
			Params:  []nn.Param{{Name: "weights", Shape: []int{tinyWidth}, Values: weights, Trainable: true}},
			Nodes:   []nn.Node{{Name: "y", Op: nn.OpAddBias, In: []string{"x", "weights"}}},
			Outputs: []nn.Output{{Name: "y", Node: "y", Width: tinyWidth}},
		},
	})
}
