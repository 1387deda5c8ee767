package builtin

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/warmstart"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/training"
)

// config is custom_config, with the hyperparameters applied; see the package comment.
type config struct {
	Label           string  `json:"label"`
	LabelKey        string  `json:"label_key"`
	Task            task    `json:"task"`
	NumClasses      int     `json:"num_classes"`
	HiddenUnits     []int   `json:"hidden_units"`
	Activation      string  `json:"activation"`
	Optimizer       string  `json:"optimizer"`
	LearningRate    float64 `json:"learning_rate"`
	BatchSize       int     `json:"batch_size"`
	EvalBatchSize   int     `json:"eval_batch_size"`
	EmbeddingDim    int     `json:"embedding_dim"`
	HashBuckets     int     `json:"hash_buckets"`
	Seed            int64   `json:"seed"`
	Epochs          int     `json:"epochs"`
	CheckpointEvery int     `json:"checkpoint_every"`
	CheckpointAfter float64 `json:"checkpoint_seconds"`
	Histograms      int     `json:"histograms"`
	EvaluateEvery   int     `json:"evaluate_every"`
	Threads         int     `json:"threads,omitempty"`

	WarmStart warmstart.Rules `json:"warm_start"`
	// For a search: it does not affect a single training.
	Space any `json:"space,omitempty"`
	layersConfig
	lossConfig
	stepsConfig
	chosenConfig
	normalizeConfig
	wideConfig
}

// tuned are the hyperparameters that a search may set.
type tuned struct {
	LearningRate *float64 `json:"learning_rate"`
	NumLayers    *int     `json:"num_layers"`
	Units        *int     `json:"units"`
	BatchSize    *int     `json:"batch_size"`
	Optimizer    *string  `json:"optimizer"`
	Activation   *string  `json:"activation"`
	EmbeddingDim *int     `json:"embedding_dim"`
	Seed         *int64   `json:"seed"`
	Dropout      *float64 `json:"dropout"`
	L1           *float64 `json:"l1"`
	L2           *float64 `json:"l2"`

	LinearLearningRate *float64 `json:"linear_learning_rate"`
	LinearOptimizer    *string  `json:"linear_optimizer"`
}

// task is the kind of prediction.
type task string

const (
	classification task = "classification"
	binary         task = "binary"
	regression     task = "regression"
)

// newConfig reads an assignment's configuration for the module of that name.
func newConfig(name string, a module.Assignment, log *slog.Logger) (config, error) {
	c := config{
		HiddenUnits: []int{8, 8}, Activation: "relu", Optimizer: "adam", LearningRate: 0.01, BatchSize: 32,
		EmbeddingDim: 8, HashBuckets: 100, Seed: a.Seed, CheckpointAfter: 30, wideConfig: wideOf(name),
	}
	if err := a.Config(&c); err != nil {
		return c, err
	}
	if c.EvalBatchSize == 0 {
		// Even if a search varies it: eval_args counts batches, and all trials are evaluated with
		// the same number of rows.
		c.EvalBatchSize = c.BatchSize
	}
	if err := c.tune(name, a, log); err != nil {
		return c, err
	}
	if c.Label == "" {
		c.Label = c.LabelKey
	}
	if name == "linear" {
		if err := c.checkHidden(a.CustomConfig); err != nil {
			return c, err
		}
		c.HiddenUnits = nil
	}
	if err := c.wideConfig.check(name); err != nil {
		return c, err
	}
	c.fill()
	if training.Steps(a.TrainSteps) == 0 && c.Epochs == 0 {
		return c, errNoEnd
	}
	return c, c.check()
}

// fill sets the defaults that depend on other keys.
func (c *config) fill() {
	if len(c.Crosses) > 0 && c.CrossBuckets == 0 {
		c.CrossBuckets = defaultCrossBuckets
	}
	if c.Loss == "huber" && c.HuberDelta == 0 {
		c.HuberDelta = 1 // as in Keras
	}
}

// CheckConfig validates a pipeline's custom_config for the builtin module of that name, as far as
// possible without its data. The error names the key.
func CheckConfig(name string, customConfig map[string]any) error {
	name = strings.TrimPrefix(name, module.BuiltinPrefix)
	if err := checkName(name); err != nil {
		return err
	}
	one := 1 // when to stop is not up to custom_config alone
	c, err := newConfig(name, module.Assignment{CustomConfig: customConfig, TrainSteps: &one}, slog.New(slog.DiscardHandler))
	if err == nil && c.Label == "" {
		err = fmt.Errorf("custom_config: label: missing, expected the feature to predict")
	}
	if err == nil {
		_, err = c.space(name)
	}
	return err
}

// Metrics returns the metrics that the builtin modules may report with a custom_config. They depend
// on the task: that of the keys task and num_classes, or, if neither is given, that of the label,
// so then the metrics of all tasks are returned.
func Metrics(customConfig map[string]any) []string {
	var c config
	if (module.Assignment{CustomConfig: customConfig}).Config(&c) != nil {
		c = config{} // CheckConfig refuses it
	}
	if c.Task == "" && c.NumClasses > 0 {
		c.Task = taskOf(c.NumClasses)
	}
	metrics := []string{"loss"}
	switch c.Task {
	case regression:
		metrics = append(metrics, "mae", "rmse")
	case binary:
		metrics = append(metrics, "accuracy", "precision", "recall", "auc", "keras_auc")
	case classification:
		metrics = append(metrics, "accuracy")
	default:
		metrics = append(metrics, "accuracy", "precision", "recall", "auc", "keras_auc", "mae", "rmse")
	}
	return append(metrics, "example_count", "train_loss")
}

// deviation ends the name of the standard deviation of a metric between folds.
const deviation = "_std"

// ValidationMetrics returns the metrics that a trial with validation may report with a
// custom_config: the means of the folds, and the standard deviations between them.
func ValidationMetrics(customConfig map[string]any) (metrics []string) {
	for _, metric := range Metrics(customConfig) {
		switch metric {
		case "train_loss":
		case "example_count":
			metrics = append(metrics, metric)
		default:
			metrics = append(metrics, metric, metric+deviation)
		}
	}
	return metrics
}

// CheckSteps checks that a training with a custom_config that CheckConfig accepts ends. The error
// names the keys.
func CheckSteps(customConfig map[string]any, trainSteps int) error {
	if _, epochs := customConfig["epochs"]; trainSteps == 0 && !epochs {
		return errNoEnd
	}
	return nil
}

var errNoEnd = errors.New("neither train_args.num_steps nor custom_config.epochs says when to stop training")

// tune applies the hyperparameters.
func (c *config) tune(name string, a module.Assignment, log *slog.Logger) error {
	var t tuned
	values, _ := a.Hyperparameters["values"].(map[string]any) // nil without a search
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(hyperparameters(name), key) {
			log.Warn("hyperparameter unknown to the module ignored",
				"module", module.BuiltinPrefix+name, "hyperparameter", key)
		} else if err := c.varies(key); err != nil {
			log.Warn("hyperparameter ignored", "module", module.BuiltinPrefix+name, "hyperparameter", key, "why", err)
		}
	}
	if err := a.Tuned(&t); err != nil {
		return err
	}
	if t.LearningRate != nil {
		c.LearningRate, c.Schedule = *t.LearningRate, c.Schedule.from()
	}
	override(&c.BatchSize, t.BatchSize)
	override(&c.Optimizer, t.Optimizer)
	override(&c.Activation, t.Activation)
	override(&c.EmbeddingDim, t.EmbeddingDim)
	override(&c.Seed, t.Seed)
	override(&c.L1, t.L1)
	override(&c.L2, t.L2)
	if name != "linear" {
		override(&c.Dropout, t.Dropout)
	}
	if name == wideDeep {
		if t.LinearLearningRate != nil {
			c.LinearLearningRate, c.LinearSchedule = *t.LinearLearningRate, c.LinearSchedule.from()
		}
		override(&c.LinearOptimizer, t.LinearOptimizer)
	}
	return c.tuneLayers(t)
}

// varies returns an error for a hyperparameter that this configuration fixes.
func (c config) varies(hyperparameter string) error {
	switch hyperparameter {
	case "learning_rate":
		return c.Schedule.varies(hyperparameter)
	case "linear_learning_rate":
		return c.LinearSchedule.varies(hyperparameter)
	}
	return nil
}

func (c *config) tuneLayers(t tuned) error {
	if t.NumLayers == nil && t.Units == nil {
		return nil
	}
	layers, units := len(c.HiddenUnits), 8
	if layers > 0 {
		units = c.HiddenUnits[0]
	}
	override(&layers, t.NumLayers)
	override(&units, t.Units)
	if layers < 0 || layers > 1000 {
		return fmt.Errorf("hyperparameters: num_layers %d: expected 0 to 1000", layers)
	}
	c.HiddenUnits = slices.Repeat([]int{units}, layers)
	return nil
}

func override[T any](value, by *T) {
	if by != nil {
		*value = *by
	}
}

// check validates the values.
func (c config) check() error {
	for _, n := range []struct {
		key             string
		value, min, max int
	}{
		{"num_classes", c.NumClasses, 0, 1 << 20}, {"epochs", c.Epochs, 0, 1 << 24}, {"checkpoint_every", c.CheckpointEvery, 0, 1 << 24},
		{"histograms", c.Histograms, 0, 1 << 24}, {"evaluate_every", c.EvaluateEvery, 0, 1 << 24}, {"threads", c.Threads, 0, 1 << 10},
		// A whole batch is held in memory, even if the data has few rows.
		{"batch_size", c.BatchSize, 1, 1 << 16}, {"eval_batch_size", c.EvalBatchSize, 1, 1 << 16},
		{"embedding_dim", c.EmbeddingDim, 1, 1 << 16}, {"hash_buckets", c.HashBuckets, 1, 1 << 24},
	} {
		if n.value < n.min || n.value > n.max {
			return fmt.Errorf("custom_config: %s: expected %d to %d, got %d", n.key, n.min, n.max, n.value)
		}
	}
	if c.CheckpointAfter < 0 || c.CheckpointAfter > maxCheckpointSeconds {
		return fmt.Errorf("custom_config: checkpoint_seconds: expected 0 to %d, got %v", maxCheckpointSeconds, c.CheckpointAfter)
	}
	for _, units := range c.HiddenUnits {
		if units < 1 || units > 1<<20 {
			return fmt.Errorf("custom_config: hidden_units: expected 1 to %d units in a layer, got %d", 1<<20, units)
		}
	}
	if c.Task != "" && c.Task != classification && c.Task != binary && c.Task != regression {
		return fmt.Errorf("custom_config: task: expected classification, binary or regression, got %q", c.Task)
	}
	for _, err := range []error{
		checkOptimizer("", c.Optimizer, c.LearningRate, c.Schedule), c.layersConfig.check(), c.lossConfig.check(), c.stepsConfig.check(c.LearningRate), c.chosenConfig.check(), c.normalizeConfig.check(),
	} {
		if err != nil {
			return err
		}
	}
	if err := c.WarmStart.Check(); err != nil {
		return fmt.Errorf("custom_config: warm_start: %w", err)
	}
	if _, err := nn.ActivationNamed(c.Activation); err != nil {
		return fmt.Errorf("custom_config: activation: %w%s", err, spelling.Suggestion(c.Activation, nn.ActivationNames()))
	}
	return nil
}

// checkOptimizer checks an optimizer and its rate, whose keys begin with prefix.
func checkOptimizer(prefix, name string, rate float64, over schedule) error {
	if _, err := optim.New(name, 0); err != nil {
		return fmt.Errorf("custom_config: %soptimizer: %w%s", prefix, err, spelling.Suggestion(name, optim.Names()))
	}
	if rate == 0 && over == nil { // 0 is allowed as the start of a schedule that warms up
		return fmt.Errorf("custom_config: %slearning_rate: expected a number above 0, got 0: the model would learn nothing", prefix)
	}
	if _, err := optim.New(name, rate); err != nil {
		return fmt.Errorf("custom_config: %slearning_rate: %w", prefix, err)
	}
	return nil
}

const maxCheckpointSeconds = 7 * 24 * 3600

// steps returns the number of steps of a training on so many rows.
func (c config) steps(a module.Assignment, rows int64) int {
	steps := training.Steps(a.TrainSteps)
	if epochs := (int(rows)*c.Epochs + c.BatchSize - 1) / c.BatchSize; steps == 0 || epochs > 0 && epochs < steps {
		return epochs
	}
	return steps
}

// interval returns the time between checkpoints, 0 if they don't depend on time.
func (c config) interval() time.Duration {
	return time.Duration(c.CheckpointAfter * float64(time.Second))
}

func (c config) optimizer() (optim.Optimizer, error) {
	return optim.New(c.Optimizer, c.LearningRate)
}
