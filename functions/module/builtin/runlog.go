package builtin

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/tfevents"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// runLog writes what TensorBoard shows. A log that can't be written is no reason to fail a training: it ends, and the
// module's log says why.
type runLog struct {
	training *tfevents.Training // nil: there is no log, or no more of it
	log      *slog.Logger
	step     int    // the last one taken
	name     string // of the module
}

// newRunLog logs below model_run_dir, if there is one, and keeps what it logs with the checkpoints. Of a trial without a model it is
// the study that keeps a log.
func (r runner) newRunLog(name string, c config, s *survey, n network, a module.Assignment) *runLog {
	l := &runLog{log: r.log, name: name}
	if a.ModelRunDir == "" || a.Trial != nil && a.ServingModelDir == "" {
		return l
	}
	o := tfevents.TrainingOptions{
		Dir: a.ModelRunDir, EpochRows: s.rows, BatchSize: c.BatchSize, Histograms: c.Histograms, Weights: n.eachWeight,
		LearningRate: func() float64 { return c.rateOf(l.step) }, Now: r.now,
	}
	if a.WorkingDir != "" {
		o.Keep = filepath.Join(a.WorkingDir, "run_log")
	}
	o.Session.Values, o.Config = c.describe(name)
	l.training = tfevents.NewTraining(o)
	return l
}

// eachWeight yields every tensor that is learnt.
func (n network) eachWeight(yield func(name string, values []float32)) {
	for _, p := range n.model.Graph.Params {
		if p.Trainable {
			yield(p.Name, p.Values)
		}
	}
}

// logged are the keys of the configuration that decide what is learnt.
var logged = []string{
	"activation", "batch_normalization", "batch_size", "clip_norm", "clip_value", "cross_buckets", "dropout", "embedding_dim", "epochs",
	"global_clip_norm", "hash_buckets", "hidden_units", "huber_delta", "initializer", "l1", "l2", "label", "label_smoothing", "learning_rate",
	"linear_learning_rate", "linear_optimizer", "loss", "optimizer", "seed", "task",
}

// describe is the configuration as hyperparameters, lists being JSON, and as Markdown.
func (c config) describe(name string) (values map[string]any, markdown string) {
	text, err := json.MarshalIndent(c, "", "  ")
	var all map[string]any
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		panic(err) // a struct of numbers, text and lists of numbers
	}
	values = map[string]any{"module": module.BuiltinPrefix + name}
	for _, key := range logged {
		value, ok := all[key]
		if !ok {
			continue // another module's
		}
		switch value := value.(type) {
		case nil:
			values[key] = "[]"
		case []any:
			list, _ := json.Marshal(value) // it was JSON a moment ago
			values[key] = string(list)
		case string:
			if value != "" {
				values[key] = value
			}
		default:
			values[key] = value
		}
	}
	return values, fmt.Sprintf("%s%s\n\n```json\n%s\n```\n", module.BuiltinPrefix, name, text)
}

// follow logs a training that these options are for. A checkpoint is copied by whoever keeps it while the training goes on,
// so that its log is there before it is.
func (l *runLog) follow(o *train.Options) {
	o.Stepped = func(step int, loss float32) {
		l.step = step
		l.do(func(t *tfevents.Training) error { return t.Step(int64(step), float64(loss)) })
	}
	o.Checkpointing = func(step int) {
		l.do(func(t *tfevents.Training) error { return t.Checkpoint(int64(step)) })
	}
}

// finish logs how the training ended, unless err says that it did not.
func (l *runLog) finish(result train.Result, err error) {
	step, metrics := int64(result.Steps), maps.Clone(result.Metrics)
	delete(metrics, "example_count") // says nothing of the model
	delete(metrics, "weighted_example_count")
	if err == nil && metrics != nil {
		l.do(func(t *tfevents.Training) error { return t.Evaluated(step, metrics) })
	}
	if err == nil {
		l.do(func(t *tfevents.Training) error { return t.Finish(step, metrics) })
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
