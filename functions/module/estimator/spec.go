package estimator

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/training"
)

// Trainer is TFX's trainer_fn: it returns what to train, and trains nothing itself. The schema is
// that of the raw examples.
type Trainer func(args *module.Args, schema *example.Schema) (Spec, error)

// Spec is the result of a Trainer.
type Spec struct {
	Estimator Estimator
	Train     TrainSpec
	Eval      EvalSpec

	// EvalReceiver is the input of the model for TensorFlow Model Analysis: eval_input_receiver_fn.
	// nil: the input of the exporter that is served.
	EvalReceiver *ServingInput

	// Serve is the name of the exporter whose newest export is served; optional if there is only
	// one.
	Serve string
}

// TrainSpec is the training data and the length of the training.
type TrainSpec struct {
	Input Input
	// Batches in total, including those before a resumed checkpoint; nil or 0: until the data end,
	// after Input.Epochs.
	MaxSteps *int
}

// EvalSpec says how the model is evaluated and exported.
type EvalSpec struct {
	Input     Input
	Steps     *int   // batches; nil or 0: all data
	Name      string // of the evaluation, if there are several kinds
	Exporters []Exporter

	// Throttle is the minimum time between the starts of two evaluations. 0: 10 minutes, as in
	// TensorFlow; NoThrottle: every checkpoint is evaluated. The final evaluation is always made.
	Throttle time.Duration
}

// NoThrottle makes every checkpoint be evaluated.
const NoThrottle time.Duration = -1

const defaultThrottle = 10 * time.Minute

// RunConfig configures when checkpoints are written, from which an interrupted training resumes,
// and which are evaluated; how steps are computed; and the source of initial weights.
type RunConfig struct {
	SaveCheckpointsSteps int // steps between two; not both
	// Of training between two, save_checkpoints_secs; both 0: 10 minutes.
	SaveCheckpointsEvery time.Duration
	KeepCheckpointMax    int // how many checkpoints are kept; 0: 5; below 0: all
	// Of initial weights and shuffling, tf_random_seed; nil: the assignment's.
	Seed *int64

	// Threads share the work of a step, and don't change the result; 0: 1, since a worker's slots
	// share its cores. Use more if layers and batches are large.
	Threads int

	// WarmStartFrom is a model or a checkpoint whose weights initialize the new model, by variable
	// name: warm_start_from, usually args.BaseModel. "": none.
	WarmStartFrom string
}

const (
	defaultCheckpointEvery = 10 * time.Minute
	defaultKeepCheckpoints = 5
)

// check returns the errors that TensorFlow or TFX would return, or would detect too late.
func (s Spec) check() error {
	switch {
	case s.Estimator == nil:
		return errors.New("the trainer returned no estimator")
	case training.Steps(s.Train.MaxSteps) == 0 && s.Train.Input.Epochs == 0:
		return errors.New("train spec: neither max steps (train_args: num_steps) nor the input's epochs say when to stop training")
	case training.Steps(s.Train.MaxSteps) < 0 || training.Steps(s.Eval.Steps) < 0:
		return fmt.Errorf("max steps %d, evaluation steps %d: expected more than 0", training.Steps(s.Train.MaxSteps), training.Steps(s.Eval.Steps))
	}
	if err := s.Train.Input.check(); err != nil {
		return fmt.Errorf("train spec: input: %w", err)
	}
	if err := s.Eval.Input.check(); err != nil {
		return fmt.Errorf("eval spec: input: %w", err)
	}
	if s.Train.Input.Label != s.Eval.Input.Label {
		return fmt.Errorf("the label is %q in training and %q in evaluation", s.Train.Input.Label, s.Eval.Input.Label)
	}
	return s.checkExporters()
}

func (c RunConfig) check() error {
	switch {
	case c.SaveCheckpointsSteps != 0 && c.SaveCheckpointsEvery != 0:
		return errors.New("run config: checkpoints by steps and by time cannot both be set")
	case c.SaveCheckpointsSteps < 0 || c.SaveCheckpointsEvery < 0:
		return errors.New("run config: checkpoints every so many steps, or so often: expected more than 0")
	case c.Threads < 0:
		return fmt.Errorf("run config: %d threads: expected 1 or more, or 0 for one", c.Threads)
	}
	return nil
}

// checkWeight returns an error unless the weight column is a single number, in training and in
// evaluation.
func (p plan) checkWeight(s Spec) error {
	if p.weight == "" {
		return nil
	}
	for _, features := range []example.Spec{s.Train.Input.Features, s.Eval.Input.Features} {
		f, ok := features.Find(p.weight)
		switch {
		case !ok:
			return fmt.Errorf("weight column %q is no feature, expected one of %v", p.weight, features.Names())
		case f.Kind == example.Bytes || f.Sequence || max(f.Size(), 1) != 1:
			return fmt.Errorf("weight column %q: expected a feature that is a single number", p.weight)
		}
	}
	return nil
}

func (c RunConfig) every() time.Duration {
	if c.SaveCheckpointsSteps > 0 {
		return 0
	}
	return cmp.Or(c.SaveCheckpointsEvery, defaultCheckpointEvery)
}

func (c RunConfig) keep() int { return cmp.Or(c.KeepCheckpointMax, defaultKeepCheckpoints) }

func (c RunConfig) seed(args *module.Args) int64 {
	if c.Seed != nil {
		return *c.Seed
	}
	return args.Seed
}

func (s EvalSpec) throttle() time.Duration {
	if s.Throttle < 0 {
		return 0
	}
	return cmp.Or(s.Throttle, defaultThrottle)
}
