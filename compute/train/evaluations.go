package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Evaluations are evaluations while a training goes on, as tf.estimator.train_and_evaluate has
// them: one when a checkpoint has been written, and one at the end, which takes the place of that
// on Run's eval.
type Evaluations struct {
	// Open gives the evaluation data, from their beginning each time. nil: there are no such
	// evaluations.
	Open func() (CloseSource, error)

	// Throttle is how long at least one starts after the start of the one before, or of the
	// training; 0: every checkpoint is evaluated. The one at the end always is.
	Throttle time.Duration

	// Done is called with all evaluations so far, the newest last, before Checkpointed is called
	// with the checkpoint. A training that goes on from a checkpoint has those that came before it.
	// Its error ends the training. It may be nil, and runs on the loop's goroutine.
	Done func(ctx context.Context, all []Evaluation) error
}

// CloseSource is a Source that has to be closed.
type CloseSource interface {
	Source
	io.Closer
}

// Evaluation is what one evaluation found.
type Evaluation struct {
	Step    int                `json:"step"`
	Final   bool               `json:"final,omitempty"` // no step comes after it
	Metrics map[string]float64 `json:"metrics"`         // see Evaluate
}

// evaluationsFile keeps them next to the checkpoints, so that a resumed training knows which model
// was the best.
const evaluationsFile = "evaluations.json"

// evaluator is the evaluations of one loop.
type evaluator struct {
	Evaluations
	all   []Evaluation
	since time.Time // start of the last one
}

// resume takes up the evaluations of up to step: later ones are of steps that will be taken again.
func (e *evaluator) resume(dir string, step int) error {
	text, err := os.ReadFile(filepath.Join(dir, evaluationsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &e.all)
	}
	if err != nil {
		return fmt.Errorf("evaluations so far: %w", err)
	}
	e.all = slices.DeleteFunc(e.all, func(one Evaluation) bool { return one.Step > step || one.Final })
	return nil
}

// atCheckpoint evaluates the model behind a checkpoint, if it is time to. What comes last is left
// for atEnd.
func (l *loop) atCheckpoint(ctx context.Context) error {
	e := &l.evaluator
	if e.Open == nil || l.result.Steps == l.Steps || e.evaluated(l.result.Steps) || l.Now().Sub(e.since) < e.Throttle {
		return nil
	}
	return l.evaluate(ctx, false)
}

// atResume evaluates at a checkpoint whose evaluation was cut off. Whether a checkpoint was due for
// its time is not known any more.
func (l *loop) atResume(ctx context.Context) error {
	every := l.Checkpoints.Every
	if l.result.Resumed == 0 || every == 0 || l.result.Resumed%every != 0 {
		return nil
	}
	return l.atCheckpoint(ctx)
}

func (e *evaluator) evaluated(step int) bool {
	return len(e.all) > 0 && e.all[len(e.all)-1].Step == step
}

// atEnd evaluates the model that was trained.
func (l *loop) atEnd(ctx context.Context) error {
	e := &l.evaluator
	if e.evaluated(l.result.Steps) { // the data ended where a checkpoint was due
		e.all = e.all[:len(e.all)-1]
	}
	return l.evaluate(ctx, true)
}

func (l *loop) evaluate(ctx context.Context, final bool) (err error) {
	e := &l.evaluator
	e.since = l.Now()
	source, err := e.Open()
	if err != nil {
		return fmt.Errorf("evaluate: open the data: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	found, err := evaluate(ctx, l.model, source, l.EvalSteps, l.Report)
	if err != nil {
		return err
	}
	l.result.take(found)
	e.all = append(e.all, Evaluation{Step: l.result.Steps, Final: final, Metrics: found.Metrics})
	if e.Done != nil {
		if err := e.Done(ctx, e.all); err != nil {
			return fmt.Errorf("after the evaluation at step %d: %w", l.result.Steps, err)
		}
	}
	return l.keepEvaluations()
}

func (l *loop) keepEvaluations() error {
	if l.Checkpoints.Dir == "" {
		return nil
	}
	text, err := json.Marshal(l.evaluator.all)
	if err == nil {
		err = os.MkdirAll(l.Checkpoints.Dir, 0o755)
	}
	if err == nil {
		err = writeWhole(filepath.Join(l.Checkpoints.Dir, evaluationsFile), text)
	}
	if err != nil {
		return fmt.Errorf("keep evaluations: %w", err)
	}
	return nil
}
