package module

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Args is the argument of a module's function: its assignment, and methods that report progress, which
// may be called from several goroutines.
type Args struct {
	Assignment
	out *sender
}

// Report reports that step of steps is reached, with metrics so far. 0 steps: not known. It is cheap, but
// not free: call it a few times a second, not at every step. Metrics that are NaN or infinite are left
// out, since JSON can't hold them.
func (a *Args) Report(step, steps int, metrics map[string]float64) {
	a.Send(Message{Type: MessageProgress, Phase: "training", Step: step, Steps: steps, Metrics: metrics})
}

// Checkpointed reports that the files below WorkingDir are a whole checkpoint of step. The worker keeps all of them in the store
// while the training goes on, and lays them out below the WorkingDir of the attempt that goes on from them, wherever it runs. A
// file of more than 1 MiB is not to be written to again: write another one and rename it.
func (a *Args) Checkpointed(step int) {
	a.Send(Message{Type: MessageCheckpoint, Step: step})
}

// Settings reports what the training uses, defaults included: batch size, optimizer, whatever the module chooses itself. values is
// marshaled as JSON and must be an object; the last call counts. The worker keeps it with the model, without its secrets, where
// people look up what a model was trained with. Without a call that is what the assignment has. An error means that values is no
// JSON object or has more than MaxMessageBytes.
func (a *Args) Settings(values any) error { return a.out.sendSettings(values) }

// given are the settings that an assignment itself has.
func (a Assignment) given() map[string]any {
	all := map[string]any{"seed": a.Seed}
	for key, value := range map[string]*int{"train_steps": a.TrainSteps, "eval_steps": a.EvalSteps} {
		if value != nil {
			all[key] = *value
		}
	}
	if len(a.CustomConfig) > 0 {
		all["custom_config"] = a.CustomConfig
	}
	if values, _ := a.Hyperparameters["values"].(map[string]any); len(values) > 0 {
		all["hyperparameters"] = values
	}
	if a.Deterministic {
		all["deterministic"] = true
	}
	return all
}

// Result sets the metrics that the finished model is known by. The last call counts.
func (a *Args) Result(metrics map[string]float64) {
	a.Send(Message{Type: MessageDone, Metrics: metrics})
}

// Send sends any message. One of type "done" is held back until the function has returned. That nobody listens any
// more is no reason to end a training, so there is no error.
func (a *Args) Send(m Message) { _ = a.out.send(m) }

// WriteMetrics writes metrics.json below ModelRunDir, if there is one: an object of numbers by name.
func (a Assignment) WriteMetrics(metrics map[string]float64) error {
	return a.writeRun("metrics.json", metrics)
}

// WriteConfusion writes confusion_matrix.json next to it: classes, their names where they are known, and counts, of which
// counts[i][j] is how many rows of class i the model takes for class j, each as many times as it weighs.
func (a Assignment) WriteConfusion(classes []string, counts [][]float64) error {
	return a.writeRun("confusion_matrix.json", struct {
		Classes []string    `json:"classes,omitempty"`
		Counts  [][]float64 `json:"counts"`
	}{classes, counts})
}

func (a Assignment) writeRun(name string, value any) error {
	if a.ModelRunDir == "" {
		return nil
	}
	text, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		err = os.MkdirAll(a.ModelRunDir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(a.ModelRunDir, name), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// The environment's names for where in a trace a process works.
const (
	traceParentEnv = "TRACEPARENT"
	traceStateEnv  = "TRACESTATE"
)

// Environ is the trace as variables that a process begins with, for programs that speak no word of this package's.
func (t *Trace) Environ() (all []string) {
	if t == nil || t.Parent == "" {
		return nil
	}
	all = append(all, traceParentEnv+"="+t.Parent)
	if t.State != "" {
		all = append(all, traceStateEnv+"="+t.State)
	}
	return all
}

// export leaves the trace where OpenTelemetry's tools look for it, and nothing of an earlier assignment's.
func (t *Trace) export() {
	if t == nil {
		t = &Trace{}
	}
	for name, value := range map[string]string{traceParentEnv: t.Parent, traceStateEnv: t.State} {
		if value == "" {
			_ = os.Unsetenv(name) // fails for names alone that can't be
			continue
		}
		_ = os.Setenv(name, value)
	}
}
