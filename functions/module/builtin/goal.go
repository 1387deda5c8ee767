package builtin

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// goal is what is predicted, and how that is measured.
type goal struct {
	task  task
	label train.Label
	loss  nn.Loss

	classWeights []float32 // nil: none
}

// width of the logits.
func (g goal) width() int { return max(g.label.Classes, 1) }

// maxInferred is how many classes may be inferred from values: beyond, a number was likely meant.
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

// countClasses is 0 for a number.
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
