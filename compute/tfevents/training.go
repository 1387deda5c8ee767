package tfevents

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// The runs of a training, as Keras names them. The log directory itself is a run too: it has
// hyperparameters and text.
const (
	runTrain      = "train"
	runValidation = "validation"
)

// runs are all runs of a training.
var runs = [...]string{".", runTrain, runValidation}

// TrainingOptions configure what a Training writes, and where.
type TrainingOptions struct {
	Dir string // the log directory: TFX's model_run

	// Keep is a directory that survives an interruption together with the checkpoints: the log is
	// copied to it at each of them, so that a training that resumes elsewhere has its whole log.
	// "": none.
	Keep string

	EpochRows int64 // rows of training data; 0: not known, and the whole training is one epoch
	BatchSize int   // rows of a step

	LearningRate func() float64 // nil: it is not logged

	// Histograms is the number of steps after which Weights are logged, 0 for never. Weights calls
	// yield for each tensor.
	Histograms int
	Weights    func(yield func(name string, values []float32))

	Session Session // the training's hyperparameters
	Config  string  // the same as text for users, in Markdown; "": none

	Now  func() time.Time // as in Options, like those below
	Host string
	PID  int
}

// Training logs one training from its first step to its last with the tags that Keras's TensorBoard
// callback gives them:
//
//	train/       batch_loss, batch_learning_rate over steps: loss is the mean since the last point
//	             epoch_loss, epoch_learning_rate over epochs from 0: the mean of the epoch's steps
//	             <tensor>/histogram over steps
//	validation/  epoch_<metric> over epochs, evaluation_<metric>_vs_iterations over steps
//	.            config, hyperparameters, and at the end evaluation_<metric>
//
// A step belongs to the epoch of its last row, and the last epoch may be incomplete. The longer a
// training is, the rarer its points are (see spacing), so the log, and the copy of it that is kept
// with a checkpoint, grow only with the logarithm of the steps.
//
// A Training that resumes from a checkpoint writes the same log as an uninterrupted one, in more
// files and with other times. It is for one goroutine at a time.
type Training struct {
	o       TrainingOptions
	begun   bool
	state   state
	writers map[string]*Writer
	kept    []state
}

// NewTraining logs nothing yet: the first step shows whether the training resumes from a
// checkpoint.
func NewTraining(o TrainingOptions) *Training {
	return &Training{o: o, writers: map[string]*Writer{}}
}

// How often a curve has a point: at first every lossEvery steps, or every epoch.
const (
	lossEvery       = 10
	lossPoints      = 2048
	epochPoints     = 2048
	histogramPoints = 128
)

// spacing returns the distance between points at a step: base, doubled as often as needed for
// points of them to reach the step. So a curve has at most points up to base*points, and half as
// many more whenever its length doubles.
func spacing(step, base, points int64) int64 {
	for base*points < step {
		base *= 2
	}
	return base
}

// Step logs one step, counted from 1, after the weights have changed.
func (t *Training) Step(step int64, loss float64) error {
	if err := t.begin(step - 1); err != nil {
		return err
	}
	t.state.Step = step
	t.state.Batch.add(loss)
	t.state.Epoch.add(loss)
	if step%spacing(step, lossEvery, lossPoints) == 0 {
		if err := t.point(); err != nil {
			return err
		}
	}
	if t.o.Histograms > 0 && step%spacing(step, int64(t.o.Histograms), histogramPoints) == 0 {
		if err := t.histograms(); err != nil {
			return err
		}
	}
	if t.epochAt(step+1) == t.epochAt(step) {
		return nil
	}
	if epoch := t.epochAt(step); epoch%spacing(epoch, 1, epochPoints) == 0 {
		return t.epoch(epoch)
	}
	t.state.Epoch = mean{}
	return nil
}

// epochAt returns the epoch, from 0, of the last row of a step.
func (t *Training) epochAt(step int64) int64 {
	if t.o.EpochRows <= 0 || step <= 0 {
		return 0
	}
	return (step*int64(t.o.BatchSize) - 1) / t.o.EpochRows
}

// point logs the loss since the last point, and the learning rate if that has changed.
func (t *Training) point() error {
	if t.state.Batch.Count == 0 {
		return nil
	}
	w, err := t.writer(runTrain)
	if err != nil {
		return err
	}
	if err := w.Scalar(t.state.Step, "batch_loss", t.state.Batch.take()); err != nil || t.o.LearningRate == nil {
		return err
	}
	rate := t.o.LearningRate()
	if t.state.Rated && rate == t.state.Rate {
		return nil
	}
	t.state.Rate, t.state.Rated = rate, true
	return w.Scalar(t.state.Step, "batch_learning_rate", rate)
}

// epoch logs the means of an epoch.
func (t *Training) epoch(epoch int64) error {
	w, err := t.writer(runTrain)
	if err != nil {
		return err
	}
	err = w.Scalar(epoch, "epoch_loss", t.state.Epoch.take())
	if err == nil && t.o.LearningRate != nil {
		err = w.Scalar(epoch, "epoch_learning_rate", t.o.LearningRate())
	}
	return err
}

func (t *Training) histograms() error {
	w, err := t.writer(runTrain)
	if err != nil {
		return err
	}
	t.o.Weights(func(name string, values []float32) {
		if err == nil {
			err = w.Histogram(t.state.Step, name+"/histogram", values)
		}
	})
	return err
}

// Evaluated logs the metrics of an evaluation after a step.
func (t *Training) Evaluated(step int64, metrics map[string]float64) error {
	if err := t.begin(step); err != nil {
		return err
	}
	w, err := t.writer(runValidation)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		err = errors.Join(err,
			w.Scalar(t.epochAt(step), "epoch_"+name, metrics[name]), w.Scalar(step, "evaluation_"+name+"_vs_iterations", metrics[name]))
	}
	return err
}

// Validated logs the metrics of an evaluation during the training, over steps only: an epoch need
// not have ended. A step that has been logged is ignored, so a training that resumes may evaluate
// its step once more.
func (t *Training) Validated(step int64, metrics map[string]float64) error {
	if err := t.begin(step); err != nil || t.state.Validated >= step {
		return err
	}
	w, err := t.writer(runValidation)
	if err != nil {
		return err
	}
	t.state.Validated = step
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		err = errors.Join(err, w.Scalar(step, "evaluation_"+name+"_vs_iterations", metrics[name]))
	}
	return err
}

// Finish logs the end of a training after a step: its final metrics, by which TensorBoard compares
// it with others. metrics may be nil.
func (t *Training) Finish(step int64, metrics map[string]float64) error {
	if err := t.begin(step); err != nil {
		return err
	}
	if err := t.point(); err != nil {
		return err
	}
	if t.state.Epoch.Count > 0 {
		if err := t.epoch(t.epochAt(step)); err != nil {
			return err
		}
	}
	w, err := t.writer(".")
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(metrics))
	for _, name := range names {
		err = errors.Join(err, w.Scalar(step, "evaluation_"+name, metrics[name]))
	}
	return errors.Join(err, w.Experiment(t.experiment(names)), w.EndSession(StatusSuccess))
}

// experiment returns a column for each hyperparameter and each metric.
func (t *Training) experiment(metrics []string) Experiment {
	var e Experiment
	for _, name := range slices.Sorted(maps.Keys(t.o.Session.Values)) {
		e.HParams = append(e.HParams, HParam{Name: name})
	}
	for _, name := range metrics {
		e.Metrics = append(e.Metrics, Metric{Tag: "evaluation_" + name, Name: name})
	}
	return e
}
