package builtin

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/internal/spelling"
)

// goal is the prediction to learn, and how it is measured.
type goal struct {
	task  task
	label train.Label
	loss  nn.Loss

	classWeights []float32 // nil: none
}

// width of the logits.
func (g goal) width() int { return max(g.label.Classes, 1) }

// maxInferred is how many classes may be inferred from values: with more, a number was probably
// meant.
const maxInferred = 1000

func newGoal(c config, d dataset, s *survey) (goal, error) {
	if width(d.label) != 1 {
		return goal{}, fmt.Errorf("label %q has shape %v, expected one value", d.label.Name, d.label.Shape)
	}
	classes, err := countClasses(c, d, s)
	if err != nil {
		return goal{}, fmt.Errorf("label %q: %w", d.label.Name, err)
	}
	g := goal{task: c.Task, label: train.Label{Feature: d.label.Name, Vocabulary: d.label.Vocabulary}}
	if g.task == "" {
		g.task = taskOf(classes)
	}
	switch g.task {
	case regression:
	case binary:
		if classes > 2 {
			return goal{}, fmt.Errorf("label %q has %d classes, task binary expects 2", d.label.Name, classes)
		}
		g.label.Classes = 1
	default:
		g.task, g.label.Classes = classification, max(classes, 2)
	}
	if g.loss, err = c.lossConfig.of(g.task); err != nil {
		return goal{}, err
	}
	g.classWeights, err = c.weigh(g, s)
	return g, err
}

func taskOf(classes int) task {
	switch {
	case classes == 0:
		return regression
	case classes <= 2:
		return binary
	}
	return classification
}

// countClasses returns 0 for a number.
func countClasses(c config, d dataset, s *survey) (int, error) {
	if c.Task == regression || c.Task == "" && c.NumClasses == 0 && d.label.Kind == example.Float {
		if d.label.Kind == example.Bytes {
			return 0, fmt.Errorf("is a string, and no number to regress on")
		}
		return 0, nil
	}
	if s.labels.fraction || s.labels.min < 0 {
		return 0, fmt.Errorf("%w: has values that are no classes 0, 1, 2 ...; custom_config task: regression takes any number",
			example.ErrInput)
	}
	classes := int64(c.NumClasses)
	switch {
	case classes > 0:
	case d.label.Kind == example.Bytes:
		classes = int64(len(d.label.Vocabulary))
	case d.label.IntRange != nil && d.label.IntRange.Max < math.MaxInt64:
		classes = d.label.IntRange.Max + 1
	default:
		classes = s.labels.max + 1
	}
	if s.labels.max >= max(classes, 2) {
		return 0, fmt.Errorf("%w: has the value %d, expected 0 to %d", example.ErrInput, s.labels.max, max(classes, 2)-1)
	}
	if c.NumClasses == 0 && classes > maxInferred {
		return 0, fmt.Errorf("%w: has values up to %d: set custom_config num_classes if they are classes, or task: regression",
			example.ErrInput, classes-1)
	}
	return int(classes), nil
}

// lossConfig selects the loss. The zero value is the loss that suits the task.
type lossConfig struct {
	Loss           string  `json:"loss,omitempty"`
	HuberDelta     float64 `json:"huber_delta,omitempty"`
	LabelSmoothing float64 `json:"label_smoothing,omitempty"`
	// Of each class by its name or number, or balanced.
	ClassWeights any `json:"class_weights,omitempty"`
}

const balanced = "balanced"

// Bounds of huber_delta: a smaller one is nothing in float32, and of a larger one the square
// overflows.
const (
	minDelta = 1e-30
	maxDelta = 1e15
)

// lossNames are the losses of a task, the default first. Keras's short names are accepted too.
var lossNames = map[task][]string{
	classification: {"categorical_crossentropy"},
	binary:         {"binary_crossentropy"},
	regression:     {"mean_squared_error", "mse", "mean_absolute_error", "mae", "huber"},
}

func (l lossConfig) check() error {
	all := slices.Concat(lossNames[classification], lossNames[binary], lossNames[regression])
	switch {
	case l.Loss != "" && !slices.Contains(all, l.Loss):
		return fmt.Errorf("custom_config: loss: expected one of %s, got %q%s", strings.Join(all, ", "), l.Loss, spelling.Suggestion(l.Loss, all))
	case l.HuberDelta != 0 && l.Loss != "huber":
		return fmt.Errorf("custom_config: huber_delta: applies only to the loss huber, got loss %q", l.Loss)
	case l.HuberDelta != 0 && !(l.HuberDelta >= minDelta && l.HuberDelta <= maxDelta):
		return fmt.Errorf("custom_config: huber_delta: expected a number from %g to %g, got %v", float64(minDelta), float64(maxDelta), l.HuberDelta)
	case !(l.LabelSmoothing >= 0 && l.LabelSmoothing < 1):
		return fmt.Errorf("custom_config: label_smoothing: expected a number from 0 to below 1, got %v", l.LabelSmoothing)
	}
	_, err := l.classWeights()
	return err
}

// of returns the loss of a task.
func (l lossConfig) of(t task) (nn.Loss, error) {
	if l.Loss != "" && !slices.Contains(lossNames[t], l.Loss) {
		return nil, fmt.Errorf("custom_config: loss: %s is no loss of task %s, expected one of %s", l.Loss, t, strings.Join(lossNames[t], ", "))
	}
	if t == regression && l.LabelSmoothing != 0 {
		return nil, fmt.Errorf("custom_config: label_smoothing: a numeric label has no classes")
	}
	switch {
	case t == binary:
		return nn.SigmoidCrossEntropy{Smoothing: nn.Smoothing(l.LabelSmoothing)}, nil
	case t != regression:
		return nn.SoftmaxCrossEntropy{Smoothing: nn.Smoothing(l.LabelSmoothing)}, nil
	}
	switch l.Loss {
	case "huber":
		return nn.Huber{Delta: l.HuberDelta}, nil
	case "mean_absolute_error", "mae":
		return nn.MeanAbsoluteError{}, nil
	}
	return nn.MeanSquaredError{}, nil
}

// classWeights returns the given weights, by class; nil if there are none, or balanced ones.
func (l lossConfig) classWeights() (map[string]float64, error) {
	const expected = `expected "balanced", or an object of a number for each class, like {"0": 1, "1": 5}`
	switch given := l.ClassWeights.(type) {
	case nil:
		return nil, nil
	case string:
		if given != balanced {
			return nil, fmt.Errorf("custom_config: class_weights: %s, got %q", expected, given)
		}
		return nil, nil
	case map[string]any:
		weights := map[string]float64{}
		for _, class := range slices.Sorted(maps.Keys(given)) {
			w, ok := number(given[class])
			if !ok || !(w >= 0) || w > maxWeight {
				return nil, fmt.Errorf("custom_config: class_weights: class %s: expected a number from 0 to %g, got %v", class, float64(maxWeight), given[class])
			}
			weights[class] = w
		}
		if len(weights) > 0 {
			return weights, nil
		}
	}
	return nil, fmt.Errorf("custom_config: class_weights: %s, got %v", expected, l.ClassWeights)
}

// maxWeight is the largest weight of an example or a class.
const maxWeight = 1e9

// number returns v, as decoded from YAML or JSON, as a number.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// weigh returns the weight of each class that custom_config gives, by its name or its number, 1 for
// others. Balanced weights are rows / (classes x rows of the class), as in scikit-learn: all
// classes have the same total weight.
func (l lossConfig) weigh(g goal, s *survey) ([]float32, error) {
	if l.ClassWeights == nil {
		return nil, nil
	}
	if g.task == regression {
		return nil, fmt.Errorf("custom_config: class_weights: a numeric label has no classes")
	}
	given, err := l.classWeights()
	if err != nil {
		return nil, err
	}
	weights := make([]float32, max(g.label.Classes, 2))
	if given == nil {
		s.balance(weights)
		return weights, nil
	}
	for class := range weights {
		weights[class] = 1
	}
	names := map[int]string{} // that were given
	for _, class := range slices.Sorted(maps.Keys(given)) {
		at := slices.Index(g.label.Vocabulary, class)
		if at < 0 {
			if at, err = strconv.Atoi(class); err != nil || at < 0 || at >= len(weights) {
				return nil, fmt.Errorf("custom_config: class_weights: the label has no class %q, expected one of 0 to %d%s", class, len(weights)-1, named(g.label.Vocabulary))
			}
		}
		if other, twice := names[at]; twice {
			return nil, fmt.Errorf("custom_config: class_weights: %q and %q are the same class", other, class)
		}
		names[at], weights[at] = class, float32(given[class])
	}
	if slices.Max(weights) == 0 {
		return nil, fmt.Errorf("custom_config: class_weights: 0 for all classes: the model would learn nothing, expected one above 0")
	}
	return weights, nil
}

// named lists the names of classes, if they have names.
func named(classes []string) string {
	if len(classes) == 0 {
		return ""
	}
	return ", or of " + strings.Join(classes[:min(len(classes), 20)], ", ")
}

// balance sets the weights by the number of rows of each class in the train split. A class without
// rows gets weight 0.
func (s *survey) balance(weights []float32) {
	rows := 0.0
	for _, n := range s.classes {
		rows += n
	}
	for class := range weights {
		if n := s.classes[int64(class)]; n > 0 {
			weights[class] = float32(rows / (float64(len(weights)) * n))
		}
	}
}
