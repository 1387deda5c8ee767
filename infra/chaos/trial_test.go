package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// tinyStudy returns the space that tiny searches; the pipeline has the algorithm.
func tinyStudy() tune.Config {
	return tune.Config{
		Space: space.Space{
			{Name: "x", Kind: space.Float, Max: 1, Sampling: space.Linear, Default: 0.0},
			{Name: "y", Kind: space.Float, Max: 1, Sampling: space.Linear, Default: 0.0},
		},
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: tune.Random}, Seed: 5, Parallel: studyWorkers,
	}
}

func sayStudy(on func(module.Message)) error {
	text, err := json.Marshal(tinyStudy())
	if err == nil {
		on(module.Message{Type: module.MessageStudy, Study: text})
	}
	return err
}

// tinyLoss returns that of two values after some steps: what is better early is not always better
// late.
func tinyLoss(x, y float64, steps int) float64 {
	return (x-0.3)*(x-0.3) + (y-0.7)*(y-0.7)/float64(steps)
}

// trial continues from the step in its working directory, one step at a time, and writes each step
// there.
func (m modules) trial(ctx context.Context, a module.Assignment, on func(module.Message)) (runner.Outcome, error) {
	values, _ := a.Hyperparameters["values"].(map[string]any)
	x, _ := values["x"].(float64)
	y, _ := values["y"].(float64)
	state := filepath.Join(a.WorkingDir, "steps")
	done := 0
	if text, err := os.ReadFile(state); err == nil {
		if _, err := fmt.Sscan(string(text), &done); err != nil {
			return runner.Outcome{}, host(err)
		}
	} else if a.Trial.Parent != "" {
		return runner.Outcome{}, &runner.Error{Kind: runner.KindModule, Err: fmt.Errorf("trial %s finds nothing of %s", a.Trial.ID, a.Trial.Parent)}
	}
	for step := done + 1; step <= *a.TrainSteps; step++ {
		select {
		case <-ctx.Done():
			return runner.Outcome{}, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
		case <-time.After(10 * stepTime):
		}
		if err := os.WriteFile(state, []byte(fmt.Sprint(step)), 0o600); err != nil {
			return runner.Outcome{}, host(err)
		}
		on(module.Message{Type: module.MessageProgress, Phase: "training", Step: step, Steps: *a.TrainSteps})
		on(module.Message{Type: module.MessageCheckpoint, Step: step})
	}
	return runner.Outcome{Metrics: map[string]float64{"loss": tinyLoss(x, y, *a.TrainSteps)}}, nil
}
