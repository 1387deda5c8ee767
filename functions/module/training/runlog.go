package training

import (
	"log/slog"
	"maps"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/compute/train"
)

// Log configures the contents of the event files for TensorBoard, besides losses and metrics.
type Log struct {
	Off          bool                   // a search logs its trials itself
	EpochRows    int64                  // rows of training data; 0: the whole training is one epoch
	Histograms   int                    // steps between histograms of the weights; 0: none
	LearningRate func(step int) float64 // of a step, from 1; nil: it is not logged
	Values       map[string]any         // hyperparameters
	Config       string                 // the configuration in Markdown
}

// runLog writes event files. If that fails, the log ends and the training continues; the error is
// in the module's log.
type runLog struct {
	training    *tfevents.Training // nil: no log, or it has ended
	log         *slog.Logger
	step        int  // the last one
	evaluations bool // the metrics of the result have been logged
}

// openLog returns a log below model_run_dir, if that is set. The log is kept with the checkpoints.
func (t *Training) openLog() *runLog {
	l := &runLog{log: t.Logger, evaluations: t.Options.Evaluations.Open != nil}
	if t.Assignment.ModelRunDir == "" || t.Log.Off {
		return l
	}
	o := tfevents.TrainingOptions{
		Dir: t.Assignment.ModelRunDir, EpochRows: t.Log.EpochRows, BatchSize: t.Rows.BatchSize,
		Histograms: t.Log.Histograms, Weights: t.eachWeight, Config: t.Log.Config, Now: t.Now,
	}
	o.Session.Values = t.Log.Values
	if t.Dir != "" {
		o.Keep = filepath.Join(t.Dir, "run_log")
	}
	if t.Log.LearningRate != nil {
		o.LearningRate = func() float64 { return t.Log.LearningRate(l.step) }
	}
	l.training = tfevents.NewTraining(o)
	return l
}

// eachWeight yields every trainable tensor.
func (t *Training) eachWeight(yield func(name string, values []float32)) {
	for _, p := range t.Model.Graph.Params {
		if p.Trainable {
			yield(p.Name, p.Values)
		}
	}
}

func (l *runLog) stepped(step int, loss float32) {
	l.step = step
	l.do(func(t *tfevents.Training) error { return t.Step(int64(step), float64(loss)) })
}

func (l *runLog) checkpoint(step int) {
	l.do(func(t *tfevents.Training) error { return t.Checkpoint(int64(step)) })
}

func (l *runLog) evaluated(e train.Evaluation) {
	l.do(func(t *tfevents.Training) error { return t.Evaluated(int64(e.Step), ofModel(e.Metrics)) })
}

func (l *runLog) validated(step int, metrics map[string]float64) {
	l.do(func(t *tfevents.Training) error { return t.Validated(int64(step), metrics) })
}

// finish logs the end of the training, unless it failed with err, and closes the log.
func (l *runLog) finish(result train.Result, err error) {
	if err == nil {
		if result.Metrics != nil && !l.evaluations {
			l.evaluated(train.Evaluation{Step: result.Steps, Metrics: result.Metrics})
		}
		l.do(func(t *tfevents.Training) error { return t.Finish(int64(result.Steps), ofModel(result.Metrics)) })
	}
	l.do((*tfevents.Training).Close)
}

// ofModel returns the metrics that describe the model.
func ofModel(metrics map[string]float64) map[string]float64 {
	metrics = maps.Clone(metrics)
	delete(metrics, "example_count")
	delete(metrics, "weighted_example_count")
	return metrics
}

func (l *runLog) do(write func(*tfevents.Training) error) {
	if l.training == nil {
		return
	}
	if err := write(l.training); err != nil {
		l.log.Warn("run log stopped", "error", err)
		_ = l.training.Close() // the error is the one that was logged
		l.training = nil
	}
}
