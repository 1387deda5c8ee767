package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stoker-ml/stoker/compute/nn/autodiff"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// Options configure a training. The meaning of zero values is in their comments.
type Options struct {
	Steps     int // batches to learn from; 0: until the source ends, which must then have an end
	EvalSteps int // batches to evaluate on; 0: all
	BatchSize int // rows of the largest batch of the training source
	Optimizer optim.Optimizer
	// Threads that compute a step together; 0: 1, because a worker's jobs share its cores; their
	// number does not change the result.
	Threads  int
	Machines autodiff.Machines // devices that compute the steps; nil: this computer's cores

	Checkpoints Checkpoints
	Evaluations Evaluations
	LogEvery    int // steps between two reports; 0: 100

	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now; determines when Checkpoints.Interval is over

	// Stepped is called for each step, from 1, once the weights have changed (the model's may still
	// be the old ones, if a device trains); Report for progress; Checkpointing for each checkpoint
	// before any of it exists, for what must exist when it does; Checkpointed for each that is safe
	// on disk. Any may be nil. They run on the loop's goroutine.
	Stepped       func(step int, loss float32)
	Report        func(Progress)
	Checkpointing func(step int)
	Checkpointed  func(step int)

	// Validate is called after each step for which ValidateAt returns true, before a checkpoint of
	// that step is written, and once more when a training resumes from such a step. The model then
	// has the weights of that step, and Validate must not change it. Its error ends the training.
	// Both are nil, or neither is.
	ValidateAt func(step int) bool
	Validate   func(ctx context.Context, step int) error

	// Continue is called after each step and returns whether there is another. false ends the
	// training as the end of its data does, an error as any other error. It may be nil, and runs on
	// the loop's goroutine.
	Continue func(ctx context.Context, step int) (bool, error)
}

// Checkpoints configure where and when a training is saved: whenever Every or Interval requires it,
// and when the context ends. Checkpoints do not change the result.
type Checkpoints struct {
	Dir      string        // "": no checkpoints
	Every    int           // steps between two; 0: not by steps
	Interval time.Duration // time of training between two; 0: not by time
	Last     bool          // one more after the last step
	Keep     int           // how many to keep; 0: 1; negative: all
	// Determines the order of batches: a checkpoint of another seed is refused.
	Seed int64
}

// Progress is one report.
type Progress struct {
	Phase Phase
	Step  int // batches done in this phase
	Steps int // how many there will be; 0: not known
	// In training: loss, the mean since the last report; in an evaluation: empty.
	Metrics map[string]float64
}

// Phase is what the loop is doing.
type Phase string

// The phases.
const (
	Training   Phase = "training"
	Evaluating Phase = "evaluating"
)

// Result is the result of a training.
type Result struct {
	Steps   int                // steps taken, including those before a resumed checkpoint
	Resumed int                // the step of the checkpoint that it resumed from; 0: from the start
	Metrics map[string]float64 // on the evaluation data, see Evaluate; nil without such data

	Confusion *Confusion // on the evaluation data, if it suits the model; see Measure
}

// ErrNotFinite is in the chain of the error of a training whose loss, or one of whose weights,
// became NaN or infinite.
var ErrNotFinite = errors.New("not a finite number")

const defaultLogEvery = 100

func (o *Options) check() error {
	switch {
	case o.Steps < 0 || o.EvalSteps < 0:
		return fmt.Errorf("steps %d, evaluation steps %d: expected 0 or more", o.Steps, o.EvalSteps)
	case o.Threads < 0:
		return fmt.Errorf("%d threads: expected 1 or more", o.Threads)
	case o.Optimizer == nil:
		return fmt.Errorf("no optimizer")
	}
	if o.LogEvery <= 0 {
		o.LogEvery = defaultLogEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Stepped == nil {
		o.Stepped = func(int, float32) {}
	}
	if o.Report == nil {
		o.Report = func(Progress) {}
	}
	if o.Checkpointing == nil {
		o.Checkpointing = func(int) {}
	}
	if o.Checkpointed == nil {
		o.Checkpointed = func(int) {}
	}
	if o.ValidateAt == nil {
		o.ValidateAt = func(int) bool { return false }
	}
	if o.Continue == nil {
		o.Continue = func(context.Context, int) (bool, error) { return true, nil }
	}
	return nil
}
