package estimator

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/compute/train"
)

// runLog writes what TensorBoard shows, below model_run. A log that can't be written is no reason to fail a training: it
// ends, and the module's log says why.
type runLog struct {
	training *tfevents.Training // nil: there is no log, or no more of it
	log      *slog.Logger
}

func (r runner) newRunLog(spec Spec, p plan, n network) *runLog {
	l := &runLog{log: r.log}
	if r.args.ModelRunDir == "" {
		return l
	}
	l.training = tfevents.NewTraining(tfevents.TrainingOptions{
		Dir: r.args.ModelRunDir, Keep: filepath.Join(r.working, "run_log"), BatchSize: spec.Train.Input.BatchSize, Now: r.now,
		Config: fmt.Sprintf("%T with %d linear and %d deep feature columns, hidden units %v, optimizer %s\n",
			spec.Estimator, len(p.linear), len(p.deep), p.hiddenUnits, n.optimizer.Name()),
	})
	return l
}

// follow logs a training that these options are for. The log of a checkpoint is kept before there is one, since whoever keeps
// checkpoints copies them while the training goes on, and once more when the checkpoint has been evaluated.
func (l *runLog) follow(o *train.Options) {
	told := o.Checkpointed
	o.Stepped = func(step int, loss float32) {
		l.do(func(t *tfevents.Training) error { return t.Step(int64(step), float64(loss)) })
	}
	o.Checkpointing = func(step int) {
		l.do(func(t *tfevents.Training) error { return t.Checkpoint(int64(step)) })
	}
	o.Checkpointed = func(step int) {
		o.Checkpointing(step)
		told(step)
	}
}

// evaluated logs the last of these evaluations.
func (l *runLog) evaluated(all []train.Evaluation) {
	last := all[len(all)-1]
	l.do(func(t *tfevents.Training) error { return t.Evaluated(int64(last.Step), last.Metrics) })
}

// finish logs how the training ended, unless err says that it did not.
func (l *runLog) finish(result train.Result, err error) {
	if err == nil {
		l.do(func(t *tfevents.Training) error { return t.Finish(int64(result.Steps), result.Metrics) })
	}
	l.do((*tfevents.Training).Close)
}

func (l *runLog) do(write func(*tfevents.Training) error) {
	if l.training == nil {
		return
	}
	if err := write(l.training); err != nil {
		l.log.Warn("the run log ends here", "error", err)
		_ = l.training.Close() // what is wrong has been told
		l.training = nil
	}
}
