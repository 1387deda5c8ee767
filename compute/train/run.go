package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
)

// Run trains m on data, from the newest checkpoint if there is one, and evaluates it on eval, which
// may be nil. The same options, initial weights and batches give the same final weights to the bit,
// interrupted and resumed or not.
//
// When ctx ends, a checkpoint is written and the error has context.Cause(ctx) in its chain.
func Run(ctx context.Context, o Options, m *nn.Model, data, eval Source) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, fmt.Errorf("train: %w", err)
	}
	l := loop{Options: o, model: m, data: data, evaluator: evaluator{Evaluations: o.Evaluations}}
	if err := l.resume(ctx); err != nil {
		return Result{}, fmt.Errorf("train: resume: %w", err)
	}
	if err := l.train(ctx); err != nil {
		return l.result, l.leave(ctx, err)
	}
	if err := l.measure(ctx, eval); err != nil {
		return l.result, l.leave(ctx, err)
	}
	return l.result, nil
}

// loop is a training in progress. Its result.Steps is the number of steps taken.
type loop struct {
	Options
	model   *nn.Model
	data    Source
	program *autodiff.Program // while steps are taken
	result  Result
	saved   int       // step of the last checkpoint
	since   time.Time // when it was written, or when the first step here was taken

	evaluator evaluator

	lossSum float64 // since the last report
	losses  int

	// Where the rows of the current batch come from, and of the one before, for errors about
	// numbers.
	origins, before []example.Origin
}

// resume restores the newest complete checkpoint, if there is one, and moves the data to its
// position.
func (l *loop) resume(ctx context.Context) error {
	if l.Checkpoints.Dir == "" {
		return nil
	}
	found, err := l.Checkpoints.load(l.model, l.Optimizer)
	step := found.Step
	if err != nil || step == 0 {
		return err
	}
	l.resumed(found)
	if err := l.evaluator.resume(l.Checkpoints.Dir, step); err != nil {
		return err
	}
	if err := skip(ctx, l.data, step); err != nil {
		return fmt.Errorf("skip %d batches: %w", step, err)
	}
	return nil
}

// resumed restores the loop's state as of a checkpoint. Checkpoints of other kernels differ only in
// the last bits.
func (l *loop) resumed(from header) {
	step := from.Step
	l.result.Steps, l.result.Resumed, l.saved = step, step, step
	l.Logger.Info("going on from a checkpoint", "step", step)
	if here := nn.KernelSet(); from.Kernels != here {
		l.Logger.Warn("the checkpoint comes from another kind of machine: the result may differ in the last bits", "step", step,
			"kernels", here, "checkpoint_kernels", from.Kernels)
	}
}

// train takes steps until there are enough, or the data ends.
func (l *loop) train(ctx context.Context) (err error) {
	l.program, err = autodiff.NewProgramWith(l.model, l.BatchSize, autodiff.Options{Threads: l.Threads, Machines: l.Machines})
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	defer func() { err = errors.Join(err, l.program.Sync(), l.program.Close()) }()
	l.program.Resume(l.result.Steps)
	l.since = l.Now()
	l.evaluator.since = l.since
	if err := l.atResume(ctx); err != nil {
		return err
	}
	if l.result.Resumed > 0 {
		if err := l.validate(ctx); err != nil {
			return err
		}
	}
	if err := l.steps(ctx); err != nil {
		return err
	}
	l.report()
	if err := l.sound(); err != nil || !l.Checkpoints.Last {
		return err
	}
	return l.save(ctx)
}

// steps takes steps until there are enough, the data ends, or Continue ends the training.
func (l *loop) steps(ctx context.Context) error {
	for more := true; more && (l.Steps == 0 || l.result.Steps < l.Steps); {
		if ctx.Err() != nil {
			return fmt.Errorf("train: %w", context.Cause(ctx))
		}
		batch, err := l.data.Next(ctx)
		if errors.Is(err, io.EOF) {
			if l.result.Steps > 0 {
				return nil
			}
			err = fmt.Errorf("%w: the training data has no batch: %w", example.ErrInput, err)
		}
		if err == nil {
			err = l.step(ctx, batch)
		}
		if err != nil {
			return fmt.Errorf("train: step %d: %w", l.result.Steps+1, err)
		}
		if more, err = l.Continue(ctx, l.result.Steps); err != nil {
			return fmt.Errorf("train: after step %d: %w", l.result.Steps, err)
		}
	}
	return nil
}

// step learns from one batch, and saves and reports if that is due.
func (l *loop) step(ctx context.Context, b nn.Batch) error {
	l.before, l.origins = l.origins, append(l.before[:0], originsOf(l.data)...)
	loss, err := l.program.Step(b, l.Optimizer)
	if err != nil {
		return l.locate(err, b)
	}
	if !finite(float64(loss)) {
		return l.notFinite(loss, b)
	}
	l.result.Steps++
	l.lossSum += float64(loss)
	l.losses++
	l.Stepped(l.result.Steps, loss)
	if l.result.Steps%l.LogEvery == 0 {
		l.report()
	}
	if err := l.validate(ctx); err != nil || !l.due() {
		return err
	}
	return l.save(ctx)
}

// validate calls Validate if the last step is one for it.
func (l *loop) validate(ctx context.Context) error {
	if !l.ValidateAt(l.result.Steps) {
		return nil
	}
	if err := l.program.Sync(); err != nil {
		return err
	}
	return l.Validate(ctx, l.result.Steps)
}

// measure evaluates the trained model.
func (l *loop) measure(ctx context.Context, eval Source) (err error) {
	switch {
	case l.evaluator.Open != nil:
		return l.atEnd(ctx)
	case eval != nil:
		var found Measured
		found, err = evaluate(ctx, l.model, eval, l.EvalSteps, l.Report)
		l.result.take(found)
	}
	return err
}

// due reports whether a checkpoint is due.
func (l *loop) due() bool {
	c := l.Checkpoints
	return c.Every > 0 && l.result.Steps%c.Every == 0 || c.Interval > 0 && l.Now().Sub(l.since) >= c.Interval
}

func (l *loop) report() {
	if l.losses == 0 {
		return
	}
	loss := map[string]float64{"loss": l.lossSum / float64(l.losses)}
	l.lossSum, l.losses = 0, 0
	l.Report(Progress{Phase: Training, Step: l.result.Steps, Steps: l.Steps, Metrics: loss})
}

// save writes a checkpoint, and evaluates the model after it if requested.
func (l *loop) save(ctx context.Context) error {
	if l.Checkpoints.Dir == "" || l.saved == l.result.Steps {
		return nil
	}
	if err := l.program.Sync(); err != nil {
		return err
	}
	if err := l.sound(); err != nil {
		return err
	}
	l.Checkpointing(l.result.Steps)
	if err := l.Checkpoints.save(l.result.Steps, l.model, l.Optimizer); err != nil {
		return err
	}
	l.saved, l.since = l.result.Steps, l.Now()
	var err error
	if ctx.Err() == nil {
		err = l.atCheckpoint(ctx)
	}
	// The checkpoint is complete, even if there was no time to evaluate it.
	if err == nil || ctx.Err() != nil {
		l.Checkpointed(l.saved)
	}
	return err
}

// leave saves the state if err is that ctx ended. After other errors the last checkpoint remains.
func (l *loop) leave(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		err = errors.Join(err, cause)
	}
	return errors.Join(err, l.save(ctx))
}
