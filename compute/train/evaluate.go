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

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Measured is the result of an evaluation.
type Measured struct {
	Metrics map[string]float64 // see Evaluate
	// For up to 256 classes, and for a single binary output; otherwise nil.
	Confusion *Confusion
}

// Evaluate runs m forward over at most steps batches, 0 for all, and returns the mean loss of their
// rows as "loss", their number as "example_count", and further metrics that depend on the loss: for
// classes "accuracy"; for binary outputs "accuracy", "precision", "recall", "auc" and "keras_auc";
// for numbers "mae" and "rmse". They are the values that TensorFlow Model Analysis computes for the
// exported model on the same rows, and keras_auc is that of Keras's own AUC. A source without rows
// is an error.
//
// If batches have weights, all metrics are weighted, and "weighted_example_count" is the sum of the
// weights, which must be more than 0; the model's Reduction defines how the rows' losses are
// combined.
func Evaluate(ctx context.Context, m *nn.Model, s Source, steps int) (map[string]float64, error) {
	measured, err := Measure(ctx, m, s, steps)
	return measured.Metrics, err
}

// Measure is Evaluate with the confusion matrix.
func Measure(ctx context.Context, m *nn.Model, s Source, steps int) (Measured, error) {
	return evaluate(ctx, m, s, steps, func(Progress) {})
}

func evaluate(ctx context.Context, m *nn.Model, s Source, steps int, report func(Progress)) (Measured, error) {
	e, err := nn.NewEvaluator(m.Graph, m.Logits)
	if err != nil {
		return Measured{}, fmt.Errorf("evaluate: %w", err)
	}
	meters, done := newMeters(m), 0
	for ; steps == 0 || done < steps; done++ {
		batch, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = blame(e.Run(batch.Inputs), m.Graph, originsOf(s))
		}
		if err != nil {
			return Measured{}, fmt.Errorf("evaluate: batch %d: %w", done, err)
		}
		if err := meters.add(e.Value(m.Logits).Floats, batch); err != nil {
			return Measured{}, fmt.Errorf("evaluate: batch %d: %w", done, explain(err, m, batch, originsOf(s)))
		}
		if done%defaultLogEvery == 0 {
			report(Progress{Phase: Evaluating, Step: done + 1, Steps: steps})
		}
	}
	switch {
	case meters.rows == 0:
		return Measured{}, fmt.Errorf("evaluate: %w: there is no row to evaluate on", example.ErrInput)
	case !(meters.weight > 0):
		return Measured{}, fmt.Errorf("evaluate: %w: the weights of %d rows add up to %v, expected more than 0",
			example.ErrInput, meters.rows, meters.weight)
	}
	metrics := meters.metrics()
	if loss := metrics["loss"]; !finite(loss) {
		return Measured{}, fmt.Errorf("evaluate: loss is %w: %v", ErrNotFinite, loss)
	}
	return Measured{metrics, meters.confusion()}, nil
}

// take stores the result of the last evaluation.
func (r *Result) take(m Measured) { r.Metrics, r.Confusion = m.Metrics, m.Confusion }

// Evaluations are evaluations during a training, as in tf.estimator.train_and_evaluate: one when a
// checkpoint has been written, and one at the end, which replaces the one on Run's eval.
type Evaluations struct {
	// Open opens the evaluation data, from its beginning each time. nil: there are no such
	// evaluations.
	Open func() (CloseSource, error)

	// Throttle is the minimum time between the start of an evaluation and the start of the one
	// before, or of the training; 0: every checkpoint is evaluated. There is always one at the end.
	Throttle time.Duration

	// Done is called with all evaluations so far, the newest last, before Checkpointed is called
	// with the checkpoint. A training that resumes from a checkpoint includes those before it. Its
	// error ends the training. It may be nil, and runs on the loop's goroutine.
	Done func(ctx context.Context, all []Evaluation) error
}

// CloseSource is a Source that has to be closed.
type CloseSource interface {
	Source
	io.Closer
}

// Evaluation is one evaluation during a training.
type Evaluation struct {
	Step    int                `json:"step"`
	Final   bool               `json:"final,omitempty"` // no step comes after it
	Metrics map[string]float64 `json:"metrics"`         // see Evaluate
}

// evaluationsFile stores them next to the checkpoints, so that a resumed training knows which model
// was the best.
const evaluationsFile = "evaluations.json"

// evaluator is the evaluations of one loop.
type evaluator struct {
	Evaluations
	all   []Evaluation
	since time.Time // start of the last one
}

// resume restores the evaluations of steps up to step: the later steps will be taken again.
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

// atCheckpoint evaluates the model after a checkpoint, if it is due. The last evaluation is left
// for atEnd.
func (l *loop) atCheckpoint(ctx context.Context) error {
	e := &l.evaluator
	if e.Open == nil || l.result.Steps == l.Steps || e.evaluated(l.result.Steps) || l.Now().Sub(e.since) < e.Throttle {
		return nil
	}
	return l.evaluate(ctx, false)
}

// atResume evaluates at a checkpoint whose evaluation was interrupted. Whether a checkpoint was due
// because of its time is no longer known.
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
	if e.evaluated(l.result.Steps) { // the data ended at a checkpoint that was due
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
