package space

import (
	"fmt"
	"strings"
)

// fields reads the members of a config by name; err is the first error.
type fields struct {
	of  object
	err error
}

// text returns a string member; "" if it is null or missing.
func (f *fields) text(name string) string {
	value, _ := f.of.find(name)
	s, ok := value.(string)
	if !ok && value != nil {
		f.fail(name, "a text", value)
	}
	return s
}

// number returns a number member; 0 if it is null or missing.
func (f *fields) number(name string) float64 {
	switch value, _ := f.of.find(name); value.(type) {
	case int64, float64:
		return toFloat(value)
	case nil:
		return 0
	default:
		f.fail(name, "a number", value)
		return 0
	}
}

// must returns a number member that is required.
func (f *fields) must(name string) float64 {
	if value, _ := f.of.find(name); value == nil {
		f.fail(name, "a number", nil)
	}
	return f.number(name)
}

// list returns a list member; nil if it is null or missing.
func (f *fields) list(name string) []any {
	value, _ := f.of.find(name)
	list, ok := value.([]any)
	if !ok && value != nil {
		f.fail(name, "a list", value)
	}
	return list
}

// scalar returns a member that is a value; nil if it is null or missing.
func (f *fields) scalar(name string) any {
	value, _ := f.of.find(name)
	if value != nil && !scalar(value) {
		f.fail(name, "a number, a text or a truth", value)
		return nil
	}
	return value
}

func (f *fields) fail(name, expected string, got any) {
	if f.err == nil {
		f.err = fmt.Errorf("%s: expected %s, got %s", name, expected, brief(got))
	}
}

// readParameter makes a parameter from its config.
func readParameter(kind Kind, config object) (Parameter, error) {
	f := &fields{of: config}
	p := Parameter{Name: f.text("name"), Kind: kind, Default: f.scalar("default")}
	p.Conditions = readConditions(f)
	switch kind {
	case Int, Float:
		p.Min, p.Max, p.Step = f.must("min_value"), f.must("max_value"), f.number("step")
		p.Sampling = Sampling(strings.ToLower(f.text("sampling")))
	case Choice:
		p.Choices = withoutTruths(f.list("values"))
		p.Ordered = readOrdered(f, p)
	case Fixed:
		p.Fixed = f.scalar("value")
	}
	p = p.normal()
	if f.err != nil {
		return p, fmt.Errorf("%s: %w", p.Name, f.err)
	}
	return p, p.Check()
}

// normal returns a parameter as get_config would return it: with defaults that Python leaves out.
func (p Parameter) normal() Parameter {
	if (p.Kind == Int || p.Kind == Float) && p.Sampling == "" {
		p.Sampling = Linear
	}
	if (p.Kind == Int || p.Kind == Float) && p.Min <= p.Max {
		p.Step = p.by()
	}
	if p.Default != nil && p.Kind != Fixed {
		p.Default = p.cast(p.Default)
	}
	return p
}

// readOrdered returns whether choices have an order: by default numbers do.
func readOrdered(f *fields, p Parameter) bool {
	switch value, _ := f.of.find("ordered"); v := value.(type) {
	case bool:
		return v
	case nil:
		return len(p.Choices) > 0 && !isText(p.Choices[0])
	default:
		f.fail("ordered", "a truth", value)
		return false
	}
}

// withoutTruths replaces booleans by ones and zeros, as KerasTuner does in a Choice.
func withoutTruths(choices []any) []any {
	list := make([]any, len(choices))
	for i, choice := range choices {
		switch v := choice.(type) {
		case bool:
			list[i] = int64(toFloat(v))
		default:
			list[i] = choice
		}
	}
	return list
}

func readConditions(f *fields) []Condition {
	var conditions []Condition
	for i, one := range f.list("conditions") {
		class, config, err := readClassed(one)
		if err == nil && class != "Parent" {
			err = fmt.Errorf("expected a Parent, got %s", brief(class))
		}
		inner := &fields{of: config}
		c := Condition{Parent: inner.text("name"), Values: inner.list("values")}
		if err == nil {
			err = inner.err
		}
		if err != nil && f.err == nil {
			f.err = fmt.Errorf("conditions[%d]: %w", i, err)
		}
		conditions = append(conditions, c)
	}
	return conditions
}
