package space

import (
	"fmt"
	"math"
)

// Encode encodes what KerasTuner calls a config, which is TFX's best_hyperparameters.txt: byte for
// byte as Python's json.dumps, on one line without a newline. (But a Float's step is a float, even
// if a Python program passed 2 and not 2.0.)
func (s Space) Encode(values Values) ([]byte, error) {
	for _, p := range s {
		if err := p.Check(); err != nil {
			return nil, err
		}
	}
	if err := values.check(); err != nil {
		return nil, err
	}
	return appendPython(nil, object{{"space", s.list()}, {"values", values.object()}}), nil
}

// MarshalJSON writes KerasTuner's list of objects with class_name and config.
func (s Space) MarshalJSON() ([]byte, error) {
	for _, p := range s {
		if err := p.Check(); err != nil {
			return nil, err
		}
	}
	return appendPython(nil, s.list()), nil
}

// MarshalJSON writes an object in the order of the values, with numbers as in Python: a Float is
// 1.0.
func (v Values) MarshalJSON() ([]byte, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	for _, value := range v {
		if f, ok := value.Of.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return nil, fmt.Errorf("value of %s: %v: JSON has none", value.Name, f)
		}
	}
	return appendPython(nil, v.object()), nil
}

// check returns an error for the first value whose type values don't have.
func (v Values) check() error {
	for _, value := range v {
		if !scalar(value.Of) {
			return fmt.Errorf("value of %s: expected an int64, a float64, a string or a bool, got %T", value.Name, value.Of)
		}
	}
	return nil
}

// object returns the values as a JSON object.
func (v Values) object() object {
	o := make(object, len(v))
	for i, value := range v {
		o[i] = member{value.Name, value.Of}
	}
	return o
}

// list returns the space as a JSON list.
func (s Space) list() []any {
	list := make([]any, len(s))
	for i, p := range s {
		list[i] = classed(string(p.Kind), p.config())
	}
	return list
}

// classed returns an object of a class as Keras writes it.
func classed(class string, config object) object {
	return object{{"class_name", class}, {"config", config}}
}

// config returns the result of get_config of KerasTuner's class, with its keys in their order. The
// default of an Int is null if none was given; that of a Float or a Choice is written all the same;
// a Fixed has no such key.
func (p Parameter) config() object {
	conditions := make([]any, len(p.Conditions))
	for i, c := range p.Conditions {
		conditions[i] = classed("Parent", object{{"name", c.Parent}, {"values", c.Values}})
	}
	name, where := member{"name", p.Name}, member{"conditions", conditions}
	start := member{"default", p.Start()}
	switch p.Kind {
	case Int:
		start.value = p.Default
		return append(object{name, start, where}, p.bounds()...)
	case Float:
		return append(object{name, start, where}, p.bounds()...)
	case Choice:
		return object{name, start, where, {"values", p.Choices}, {"ordered", p.Ordered}}
	case Boolean:
		return object{name, start, where}
	default:
		return object{name, where, {"value", p.Fixed}}
	}
}

// bounds returns the members of an Int and a Float for the range and its steps.
func (p Parameter) bounds() object {
	step := member{name: "step"}
	if by := p.by(); by != 0 {
		step.value = p.number(by)
	}
	sampling := p.Sampling
	if sampling == "" {
		sampling = Linear
	}
	return object{{"min_value", p.number(p.Min)}, {"max_value", p.number(p.Max)}, step, {"sampling", string(sampling)}}
}

// scalar reports whether a value is of a type that values have.
func scalar(value any) bool {
	switch value.(type) {
	case int64, float64, string, bool:
		return true
	default:
		return false
	}
}
