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

// Trainer is TFX's trainer_fn: it says what is to be trained, and trains nothing itself. The schema is that of the raw examples.
type Trainer func(args *module.Args, schema *example.Schema) (Spec, error)

// Spec is what a Trainer says.
type Spec struct {
	Estimator Estimator
	Train     TrainSpec
	Eval      EvalSpec

	// EvalReceiver is what the model takes that TensorFlow Model Analysis evaluates: eval_input_receiver_fn. nil: what the exporter
	// whose export is served has.
	EvalReceiver *ServingInput

	// Serve is the name of the exporter whose newest export is served; it may be left out where there is one only.
	Serve string
}

// TrainSpec says what is trained on, and how long.
type TrainSpec struct {
	Input    Input
	MaxSteps *int // batches in all, those before a resumed checkpoint included; nil or 0: until the data end, after Input.Epochs
}

// EvalSpec says how the model is evaluated and exported.
type EvalSpec struct {
	Input     Input
	Steps     *int   // batches; nil or 0: all there are
	Name      string // of the evaluation, for more than one kind of it
	Exporters []Exporter

	// Throttle is how long at least one evaluation begins after the one before. 0: 10 minutes, as in TensorFlow; NoThrottle: every
	// checkpoint is evaluated. The one at the end always is.
	Throttle time.Duration
}

// NoThrottle lets every checkpoint be evaluated.
const NoThrottle time.Duration = -1

const defaultThrottle = 10 * time.Minute

// RunConfig says when checkpoints are written, which are what a training goes on from when it was cut off, and what is
// evaluated; how steps are taken; and where weights come from.
type RunConfig struct {
	SaveCheckpointsSteps int           // steps between two; not both
	SaveCheckpointsEvery time.Duration // of training between two, save_checkpoints_secs; both 0: 10 minutes
	KeepCheckpointMax    int           // how many are kept; 0: 5; below 0: all
	Seed                 *int64        // of initial weights and shuffling, tf_random_seed; nil: the assignment's

	// Threads take a step together, and change no result; 0: 1, since a worker's slots share its cores. More pay off where layers and
	// batches are large.
	Threads int

	// WarmStartFrom is a model or a checkpoint whose weights the new model starts with, by variable name: warm_start_from, and as a
	// rule args.BaseModel. "": nothing.
	WarmStartFrom string
}

const (
	defaultCheckpointEvery = 10 * time.Minute
	defaultKeepCheckpoints = 5
)

// check says what TensorFlow or TFX would, or would find out too late.
func (s Spec) check() error {
	switch {
	case s.Estimator == nil:
		return errors.New("the trainer gave no estimator")
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

// checkWeight refuses a weight column that is no single number, in training or in evaluation.
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
