package space

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Own begins names that are not a parameter's: those of an algorithm's values, tuner/epochs and the
// like.
const Own = "tuner/"

// maxInt is the largest Int: a float64 still distinguishes it from its neighbors.
const maxInt = 1 << 53

// Check returns what is wrong with a space: a parameter that Parameter.Check refuses, two that are
// the same, or a condition on a parent that doesn't come before it.
func (s Space) Check() error {
	for i, p := range s {
		if err := p.Check(); err != nil {
			return err
		}
		if s[:i].knows(p) {
			return fmt.Errorf("%s: is there twice, under the same conditions", p.Name)
		}
		for _, c := range p.Conditions {
			if !slices.ContainsFunc(s[:i], func(q Parameter) bool { return q.Name == c.Parent }) {
				return fmt.Errorf("%s: depends on %s: expected the name of a parameter before it", p.Name, c.Parent)
			}
		}
	}
	return nil
}

// Check returns what is wrong with a parameter by itself, beginning with its name. It refuses what
// KerasTuner refuses.
func (p Parameter) Check() error {
	if p.Name == "" || strings.HasPrefix(p.Name, Own) {
		return fmt.Errorf("a parameter named %q: expected a name, and none that begins with %s, which is the tuner's own", p.Name, Own)
	}
	err := p.checkConditions()
	if err == nil {
		err = p.checkKind()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

func (p Parameter) checkConditions() error {
	for _, c := range p.Conditions {
		if c.Parent == p.Name {
			return errors.New("depends on a parameter by its own name")
		}
		if c.Parent == "" || len(c.Values) == 0 {
			return fmt.Errorf("depends on %q being one of %d values: expected a parent and a value", c.Parent, len(c.Values))
		}
		for _, value := range c.Values {
			if !finite(value) {
				return fmt.Errorf("depends on %s being %v: expected a number, a text or a truth", c.Parent, value)
			}
		}
	}
	return nil
}

func (p Parameter) checkKind() error {
	switch p.Kind {
	case Int, Float:
		return errors.Join(p.checkRange(), p.checkNumberDefault())
	case Choice:
		return p.checkChoices()
	case Boolean:
		if _, ok := p.Default.(bool); !ok && p.Default != nil {
			return fmt.Errorf("default %v: expected a truth", p.Default)
		}
		return nil
	case Fixed:
		if !finite(p.Fixed) {
			return fmt.Errorf("value %v: expected a number, a text or a truth", p.Fixed)
		}
		return nil
	default:
		return fmt.Errorf("class %q: expected Int, Float, Choice, Boolean or Fixed", p.Kind)
	}
}

func (p Parameter) checkRange() error {
	for _, bound := range []float64{p.Min, p.Max, p.Step} {
		if math.IsNaN(bound) || math.IsInf(bound, 0) {
			return fmt.Errorf("%v among its bounds and step: expected a finite number", bound)
		}
		if p.Kind == Int && (bound != math.Trunc(bound) || math.Abs(bound) > maxInt) {
			return fmt.Errorf("%v among its bounds and step: expected a whole number, at most 2^53", bound)
		}
	}
	switch {
	case p.Min > p.Max:
		return fmt.Errorf("min_value %v is more than max_value %v", p.Min, p.Max)
	case p.linear() && p.Step < 0:
		return fmt.Errorf("step %v: expected a positive number", p.Step)
	case p.linear():
		return nil
	case p.Sampling != Log && p.Sampling != ReverseLog:
		return fmt.Errorf("sampling %q: expected linear, log or reverse_log", p.Sampling)
	case p.Min <= 0:
		return fmt.Errorf("min_value %v: expected a positive number, as for all of sampling %s", p.Min, p.Sampling)
	case p.Step != 0 && p.Step <= 1:
		return fmt.Errorf("step %v: expected more than 1, since with sampling %s it multiplies", p.Step, p.Sampling)
	}
	return nil
}

// checkNumberDefault accepts a default beyond the limits, because KerasTuner does.
func (p Parameter) checkNumberDefault() error {
	switch v := p.Default.(type) {
	case nil:
		return nil
	case int64:
		if p.Kind == Int {
			return nil
		}
	case float64:
		if p.Kind == Float && finite(v) {
			return nil
		}
	}
	return fmt.Errorf("default %v (%T): expected a number as %s has them", p.Default, p.Default, p.Kind)
}

func (p Parameter) checkChoices() error {
	if len(p.Choices) == 0 {
		return errors.New("no values to choose from")
	}
	for i, choice := range p.Choices {
		if _, truth := choice.(bool); truth || !finite(choice) {
			return fmt.Errorf("values[%d] is %v: expected a number or a text; truths are written 1 and 0", i, choice)
		}
		if fmt.Sprintf("%T", choice) != fmt.Sprintf("%T", p.Choices[0]) {
			return fmt.Errorf("values[%d] is %v: expected all of one type, as %v is", i, choice, p.Choices[0])
		}
	}
	switch {
	case p.Ordered && isText(p.Choices[0]):
		return errors.New("ordered, but texts have no order")
	case p.Default != nil && !oneOf(p.Default, p.Choices):
		return fmt.Errorf("default %v: expected one of its values", p.Default)
	}
	return nil
}

func isText(value any) bool {
	_, ok := value.(string)
	return ok
}

// finite reports whether a log can hold a value.
func finite(value any) bool {
	f, ok := value.(float64)
	return scalar(value) && !(ok && (math.IsNaN(f) || math.IsInf(f, 0)))
}
