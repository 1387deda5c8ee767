package space

import "math"

// Fill makes values: it calls choose for each active parameter except a Fixed one, parents first,
// in order. If two active parameters share a name, the first has it.
func (s Space) Fill(choose func(Parameter) any) Values {
	values := make(Values, 0, len(s))
	for _, p := range s {
		if _, known := values.Lookup(p.Name); known || !p.holds(values) {
			continue
		}
		if p.Kind == Fixed {
			values = append(values, Value{p.Name, p.Fixed})
			continue
		}
		values = append(values, Value{p.Name, choose(p)})
	}
	return values
}

// Defaults returns the default values of the active parameters.
func (s Space) Defaults() Values { return s.Fill(Parameter.Start) }

// Start returns the default of a parameter: the minimum, the first choice or false if none was
// given.
func (p Parameter) Start() any {
	switch {
	case p.Kind == Fixed:
		return p.Fixed
	case p.Default != nil:
		return p.Default
	case p.Kind == Choice:
		return p.Choices[0]
	case p.Kind == Boolean:
		return false
	default:
		return p.number(p.Min)
	}
}

// Complete makes complete values from given ones: it leaves out those of inactive parameters, and
// adds defaults for missing ones. It converts given numbers to their parameter's type: 1 is 1.0 for
// a Float.
func (s Space) Complete(given Values) Values {
	return s.Fill(func(p Parameter) any {
		if value, ok := given.Lookup(p.Name); ok {
			return p.cast(value)
		}
		return p.Start()
	})
}

// Active reports whether the conditions of a parameter and those of all its ancestors hold under
// some values: the value of an inactive parent does not count.
func (s Space) Active(p Parameter, values Values) bool {
	active := make(Values, 0, len(s))
	for _, q := range s {
		if value, ok := values.Lookup(q.Name); ok && q.holds(active) {
			active = append(active, Value{q.Name, value})
		}
	}
	return p.holds(active)
}

// holds reports whether the conditions hold, under values that have none of an inactive parent.
func (p Parameter) holds(values Values) bool {
	for _, c := range p.Conditions {
		if value, ok := values.Lookup(c.Parent); !ok || !oneOf(value, c.Values) {
			return false
		}
	}
	return true
}

// cast converts a value to a parameter's kind.
func (p Parameter) cast(value any) any {
	switch f := toFloat(value); {
	case math.IsNaN(f): // a string
		return value
	case p.Kind == Float:
		return f
	case p.Kind == Int && f == float64(int64(f)):
		return int64(f)
	case p.Kind == Boolean:
		return f != 0
	case p.Kind == Choice && position(value, p.Choices) >= 0:
		return p.Choices[position(value, p.Choices)]
	}
	return value
}
