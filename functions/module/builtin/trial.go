package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/training"
)

// A trial is evaluated at most maxEvaluations times during its training. It checks every stopCheck
// steps whether it should stop.
const (
	maxEvaluations = 8
	stopCheck      = 10
)

// asTrial turns a training into that of a trial: the same weights to the bit, evaluated during the
// training, so that a trial that does worse than others can be stopped, and with a checkpoint at
// its end if others may resume from it.
func (r runner) asTrial(ctx context.Context, of *training.Training, c config, d *data, n network) error {
	a := of.Assignment
	if len(a.EvalFiles) == 0 {
		return fmt.Errorf("%w: a trial needs evaluation data, and there is none", example.ErrInput)
	}
	rows, err := d.evaluation(ctx, c, n, a, r.log)
	if err != nil {
		return err
	}
	t := &trial{assignment: a, report: r.report, evaluate: func(ctx context.Context) (map[string]float64, error) {
		return evaluate(ctx, n, rows, training.Steps(a.EvalSteps))
	}}
	if a.WorkingDir != "" {
		t.dir = filepath.Join(a.WorkingDir, "checkpoints")
	}
	if err := t.plan(c, d.survey.rows, rows.rows); err != nil {
		return err
	}
	of.Options.Checkpoints.Last = a.Trial.Keep
	of.Options.Checkpointing = func(int) { t.save() }
	of.Options.ValidateAt, of.Options.Validate, of.Options.Continue = t.due, t.evaluateAt, t.next
	of.Eval, of.Measure, of.Settings = nil, t.end, nil
	return nil
}

func evaluate(ctx context.Context, n network, rows *heldRows, most int) (_ map[string]float64, err error) {
	source, err := rows.source()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	return train.Evaluate(ctx, n.model, source, most)
}

// trial is a running trial.
type trial struct {
	assignment module.Assignment
	dir        string // of its checkpoints; "": none
	report     func(module.Message)
	evaluate   func(context.Context) (map[string]float64, error)

	// steps: after the first until the last, with an evaluation every so many steps
	first, last, every int
	course             []evaluation
	resumed            bool // the evaluations of an earlier attempt have been reported
}

// evaluation holds the metrics after a step.
type evaluation struct {
	Step    int                `json:"step"`
	Metrics map[string]float64 `json:"metrics"`
}

// plan decides when the trial is evaluated: rarely enough that evaluation costs less than the
// training, whose rows take about three times as long. It depends only on the trial and its data,
// so that another attempt evaluates at the same steps.
func (t *trial) plan(c config, trainRows int64, evalRows int) error {
	t.last = c.steps(t.assignment, trainRows)
	if of := t.assignment.Trial; of.Epochs > 0 {
		t.first = t.last * of.From / of.Epochs
	}
	taken := t.last - t.first
	times := min(max(taken*c.BatchSize/max(evalRows, 1), 1), maxEvaluations)
	t.every = max((taken+times-1)/times, 1)
	return t.load()
}

// due implements train.Options.ValidateAt.
func (t *trial) due(step int) bool { return step > t.first && (step-t.first)%t.every == 0 }

// next implements train.Options.Continue.
func (t *trial) next(_ context.Context, step int) (bool, error) {
	t.reportEarlier(step)
	return !(t.due(step) || step%stopCheck == 0) || !t.assignment.Stopped(), nil
}

// evaluateAt evaluates and reports the trial after a step, unless an earlier attempt has.
func (t *trial) evaluateAt(ctx context.Context, step int) error {
	t.reportEarlier(step)
	if last := len(t.course) - 1; last >= 0 && t.course[last].Step == step {
		return nil
	}
	metrics, err := t.evaluate(ctx)
	if err != nil {
		return err
	}
	e := evaluation{step, metrics}
	t.course = append(t.course, e)
	t.send(e)
	return nil
}

// end returns the metrics after the last step of the trial.
func (t *trial) end(ctx context.Context, step int) (map[string]float64, error) {
	if err := t.evaluateAt(ctx, step); err != nil {
		return nil, err
	}
	return t.course[len(t.course)-1].Metrics, nil
}

func (t *trial) send(e evaluation) {
	t.report(module.Message{Type: module.MessageProgress, Phase: string(train.Training), Step: e.Step, Steps: t.last, Metrics: e.Metrics})
}

// reportEarlier reports the evaluations of an earlier attempt, once the first step of this one is
// known. Those after its checkpoint will be repeated.
func (t *trial) reportEarlier(step int) {
	if t.resumed {
		return
	}
	t.resumed = true
	t.course = slices.DeleteFunc(t.course, func(e evaluation) bool { return e.Step > step })
	for _, e := range t.course {
		t.send(e)
	}
}

// courseFile is kept with a trial's checkpoints, so that an attempt that resumes from one of them
// knows the evaluations before it.
const courseFile = "course.json"

// savedCourse is the content of courseFile. The trial's ID distinguishes it from a parent's.
type savedCourse struct {
	Trial  string       `json:"trial"`
	Course []evaluation `json:"course"`
}

// load reads the evaluations of an earlier attempt.
func (t *trial) load() error {
	if t.dir == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(t.dir, courseFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var before savedCourse
	if err == nil {
		err = json.Unmarshal(text, &before)
	}
	if err != nil {
		return fmt.Errorf("evaluations of the trial's earlier attempt: %w", err)
	}
	if before.Trial == t.assignment.Trial.ID {
		t.course = before.Course
	}
	return nil
}

// save writes the evaluations that belong to a checkpoint, atomically. Without them another attempt
// reports fewer evaluations, and ends with the same metrics.
func (t *trial) save() {
	if t.dir == "" {
		return
	}
	text, err := json.Marshal(savedCourse{t.assignment.Trial.ID, t.course})
	if err == nil {
		err = os.MkdirAll(t.dir, 0o755)
	}
	path := filepath.Join(t.dir, courseFile)
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o644)
	}
	if err == nil {
		_ = os.Rename(path+".new", path)
	}
}
