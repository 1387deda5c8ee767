package training

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/transform"
	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// ShuffleBuffer is that of TensorFlow's make_batched_features_dataset and of TFX's DataAccessor.
const ShuffleBuffer = 10000

// Training is a network and the configuration of its training. It is for one Run.
type Training struct {
	Assignment module.Assignment
	Dir        string // of checkpoints and the run log, below it; "": none
	Report     func(module.Message)
	Logger     *slog.Logger
	Now        func() time.Time

	Model   *nn.Model
	Feed    train.Feed
	Classes []string // names of the label's classes; nil for a number, and if they are unknown

	// Rows are the training examples; Open opens a reader of examples.
	Rows example.Options
	Open func(example.Options) (transform.Reader, error)
	// Eval are the rows on which the trained model is evaluated; nil: none.
	Eval *example.Options
	// Measure returns the metrics of the trained model in place of an evaluation on Eval. It may be
	// nil.
	Measure func(ctx context.Context, steps int) (map[string]float64, error)

	// Validation evaluates the model during the training; nil: only the trained model is evaluated.
	Validation *Validation

	// Options are those of the loop. Run adds the callbacks of the run log and of reports, and the
	// directory of checkpoints.
	Options train.Options

	// Settings are reported as the settings of the training, together with those from the fields
	// above. nil: nothing is reported, as for a trial.
	Settings map[string]any

	Log Log
}

// Validation evaluates a model during its training, without an effect on the result. The metrics
// are reported as those of the training step, with the prefix val_, and are in the run log.
type Validation struct {
	At      func(step int) bool // the steps after which it is evaluated; not the last one
	Measure func(ctx context.Context) (map[string]float64, error)
}

// Source returns a reader's rows in the form that a model takes. Closing it closes the reader.
func Source(r transform.Reader, feed train.Feed) train.CloseSource {
	return source{train.FromExamples(r, feed), r}
}

type source struct {
	train.Source
	io.Closer
}

// WarmStart copies weights of the model or checkpoint at from into the network, by rules. It prints
// the table of copied weights to standard error, and writes it as warm_start.txt and
// warm_start.json to the assignment's model_run_dir. If the model can't be read, or none of its
// weights fits, the error is of kind input and begins with the name of the setting.
func (t *Training) WarmStart(setting, from, transformGraph string, rules warmstart.Rules) error {
	table, err := warmstart.StartFrom(from, warmstart.Network{
		Graph: t.Model.Graph, TransformGraph: transformGraph, Logits: "logits", Classes: t.Classes,
	}, rules)
	if err != nil {
		return module.BadInput(fmt.Errorf("%s: %w", setting, err))
	}
	t.Logger.Info("warm start", "from", table.From, "params", len(table.Params), "taken", table.Taken(), "left", len(table.Left))
	fmt.Fprint(os.Stderr, table) // the job's log keeps the table's layout
	if t.Assignment.ModelRunDir == "" {
		return nil
	}
	return table.Keep(t.Assignment.ModelRunDir)
}

// Run trains the network, from the newest checkpoint below Dir if there is one, and evaluates it.
// If ctx ends, it leaves a checkpoint, and the error has context.Cause(ctx) in its chain.
func (t *Training) Run(ctx context.Context) (result train.Result, err error) {
	if err := t.reportSettings(); err != nil {
		return result, err
	}
	rows, err := t.Open(t.Rows)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var eval train.Source
	if t.Eval != nil {
		evalRows, err := t.Open(*t.Eval)
		if err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, evalRows.Close()) }()
		eval = train.FromExamples(evalRows, t.Feed)
	}
	log := t.openLog()
	defer func() { log.finish(result, err) }()
	result, err = train.Run(ctx, t.options(log), t.Model, train.FromExamples(rows, t.Feed), eval)
	if err == nil && t.Measure != nil {
		result.Metrics, err = t.Measure(ctx, result.Steps)
	}
	return result, err
}

// options returns those of the loop. A worker copies a checkpoint while the training continues, so
// the run log is saved before the checkpoint, and again after its evaluation.
func (t *Training) options(log *runLog) train.Options {
	o, p := t.Options, progress{report: t.Report, now: t.Now, trial: t.Assignment.Trial != nil}
	o.Logger, o.Now, o.Report, o.Stepped = t.Logger, t.Now, p.send, log.stepped
	if t.Dir != "" {
		o.Checkpoints.Dir = filepath.Join(t.Dir, "checkpoints")
	} else {
		o.Checkpoints = train.Checkpoints{}
	}
	if t.Validation != nil {
		o.ValidateAt = t.Validation.At
		o.Validate = func(ctx context.Context, step int) error { return t.validate(ctx, log, &p, step) }
	}
	before := o.Checkpointing
	o.Checkpointing = func(step int) {
		log.checkpoint(step)
		if before != nil {
			before(step)
		}
	}
	done := o.Evaluations.Done
	o.Evaluations.Done = func(ctx context.Context, all []train.Evaluation) error {
		log.evaluated(all[len(all)-1])
		return done(ctx, all)
	}
	o.Checkpointed = func(step int) {
		if o.Evaluations.Open != nil {
			log.checkpoint(step)
		}
		t.Report(module.Message{Type: module.MessageCheckpoint, Step: step})
	}
	return o
}

// validate evaluates the model after a step. A loss that is not finite at this step is no error:
// the result may be.
func (t *Training) validate(ctx context.Context, log *runLog, p *progress, step int) error {
	metrics, err := t.Validation.Measure(ctx)
	if errors.Is(err, train.ErrNotFinite) {
		t.Logger.Warn("not evaluated during the training", "step", step, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	metrics = ofModel(metrics)
	log.validated(step, metrics)
	p.validated(step, t.Options.Steps, metrics)
	return nil
}

// reportSettings reports the settings of the training. Each value is read where the training reads
// it.
func (t *Training) reportSettings() error {
	if t.Settings == nil {
		return nil
	}
	optimizer, err := optim.Config(t.Options.Optimizer)
	if err != nil {
		return err
	}
	all := maps.Clone(t.Settings)
	maps.Copy(all, map[string]any{
		"label": t.Feed.Label.Feature, "loss": t.Model.Loss.Name(), "optimizer_config": optimizer,
		"train_steps": t.Options.Steps, "eval_steps": t.Options.EvalSteps,
		"batch_size": t.Rows.BatchSize, "epochs": t.Rows.Epochs, "shuffle_buffer": t.Rows.ShuffleBuffer, "seed": int64(t.Rows.Seed),
	})
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("settings as JSON: %w", err)
	}
	t.Report(module.Message{Type: module.MessageSettings, Settings: text})
	return nil
}

// WriteMetrics writes metrics.json and, if the result has one, confusion_matrix.json.
func WriteMetrics(a module.Assignment, classes []string, result train.Result) error {
	if result.Metrics != nil {
		if err := a.WriteMetrics(result.Metrics); err != nil {
			return err
		}
	}
	if result.Confusion != nil {
		return a.WriteConfusion(classes, result.Confusion.Counts)
	}
	return nil
}

// BadInput turns an error caused by the data into a module.Error of kind input, unless ctx has
// ended.
func BadInput(ctx context.Context, err error) error {
	if errors.Is(err, example.ErrInput) && ctx.Err() == nil {
		return module.BadInput(err)
	}
	return err
}

// Steps returns 0 for Python's None.
func Steps(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
