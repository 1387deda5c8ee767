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

// Options say how to train. Zero values are what their comments say.
type Options struct {
	Steps     int // batches to learn from; 0: until the source ends, which it must do then
	EvalSteps int // batches to evaluate on; 0: all there are
	BatchSize int // rows of the largest batch the training source gives
	Optimizer optim.Optimizer
	Threads   int               // that take a step together; 0: 1, since a worker's jobs share its cores. Their number changes no result
	Machines  autodiff.Machines // that take the steps; nil: this computer's cores

	Checkpoints Checkpoints
	Evaluations Evaluations
	LogEvery    int // steps between two reports; 0: 100

	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now; says when Checkpoints.Interval is over

	// Stepped is called for each step, from 1, once the weights have changed (those of the model
	// may still be those before, where a device trains), Report of progress, Checkpointing of each
	// checkpoint before there is anything of it, for what has to be there when it is; Checkpointed
	// of each that is safe on disk. Any may be nil. They run on the loop's goroutine.
	Stepped       func(step int, loss float32)
	Report        func(Progress)
	Checkpointing func(step int)
	Checkpointed  func(step int)

	// Continue is asked behind each step whether there is another. false ends the training as the
	// end of its data does, an error ends it as any other. It may be nil, and runs on the loop's
	// goroutine.
	Continue func(ctx context.Context, step int) (bool, error)
}

// Checkpoints say where and when a training is saved: whenever it is time by Every or by Interval,
// and when the context ends. A checkpoint changes nothing of the result.
type Checkpoints struct {
	Dir      string        // "": nowhere
	Every    int           // steps between two; 0: no matter
	Interval time.Duration // of training between two; 0: no matter
	Last     bool          // one more behind the last step
	Keep     int           // how many; 0: 1; below 0: all
	Seed     int64         // decides the order of batches: a checkpoint of another seed is refused
}

// Progress is one report.
type Progress struct {
	Phase   Phase
	Step    int                // batches done in this phase
	Steps   int                // how many there will be; 0: not known
	Metrics map[string]float64 // training: loss, the mean since the last report. evaluating: empty
}

// Phase is what the loop is doing.
type Phase string

// The phases.
const (
	Training   Phase = "training"
	Evaluating Phase = "evaluating"
)

// Result is how a training ended.
type Result struct {
	Steps   int                // taken, those before a resumed checkpoint included
	Resumed int                // the step of the checkpoint it went on from; 0: from the start
	Metrics map[string]float64 // on the evaluation data; see Evaluate. nil without such data

	Confusion *Confusion // on the evaluation data, where it suits the model; see Measure
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
	if o.Continue == nil {
		o.Continue = func(context.Context, int) (bool, error) { return true, nil }
	}
	return nil
}
