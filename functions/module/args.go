package module

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Args is the argument of a module's function: its assignment, and methods that report progress.
// The methods may be called concurrently.
type Args struct {
	Assignment
	out *sender
}

// Report reports that step of steps is reached, with the metrics so far. steps is 0 if the number
// is unknown. A call is cheap, but not free: call it a few times a second, not at every step.
// Metrics that are NaN or infinite are left out, since JSON can't hold them.
func (a *Args) Report(step, steps int, metrics map[string]float64) {
	a.Send(Message{Type: MessageProgress, Phase: "training", Step: step, Steps: steps, Metrics: metrics})
}

// Checkpointed reports that the files below WorkingDir are a complete checkpoint of step. The
// worker keeps all of them in the store during the training, and restores them below the WorkingDir
// of the attempt that resumes from them, on any worker. A file of more than 1 MiB must not be
// written to again: write another one and rename it.
func (a *Args) Checkpointed(step int) {
	a.Send(Message{Type: MessageCheckpoint, Step: step})
}

// Settings reports what the training uses, defaults included: batch size, optimizer, and whatever
// else the module chooses itself. values is marshaled as JSON and must be an object; the last call
// counts. The worker keeps it with the model, without its secrets, to show what a model was trained
// with. Without a call, it keeps the settings of the assignment. Settings returns an error if
// values is no JSON object or has more than MaxMessageBytes.
func (a *Args) Settings(values any) error { return a.out.sendSettings(values) }

// given returns the settings that an assignment itself has.
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

// Result sets the metrics of the finished model. The last call counts.
func (a *Args) Result(metrics map[string]float64) {
	a.Send(Message{Type: MessageDone, Metrics: metrics})
}

// Send sends any message. One of type "done" is held back until the function has returned. It
// returns no error, because a lost connection to the worker is no reason to end a training.
func (a *Args) Send(m Message) { _ = a.out.send(m) }

// WriteMetrics writes metrics.json below ModelRunDir, if that is set: an object of numbers by name.
func (a Assignment) WriteMetrics(metrics map[string]float64) error {
	return a.writeRun("metrics.json", metrics)
}

// WriteConfusion writes confusion_matrix.json next to it: classes, the names if they are known; and
// counts, where counts[i][j] is the number of rows of class i that the model predicts as class j,
// each multiplied by its weight.
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

// The environment variables that hold the position of a process in a trace.
const (
	traceParentEnv = "TRACEPARENT"
	traceStateEnv  = "TRACESTATE"
)

// Environ returns the trace as environment variables for a process, for programs that don't use
// this package.
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

// export sets the variables in which the tools of OpenTelemetry expect the trace, and removes those
// of an earlier assignment.
func (t *Trace) export() {
	if t == nil {
		t = &Trace{}
	}
	for name, value := range map[string]string{traceParentEnv: t.Parent, traceStateEnv: t.State} {
		if value == "" {
			_ = os.Unsetenv(name) // fails only for invalid names
			continue
		}
		_ = os.Setenv(name, value)
	}
}
