package space

import "math"

// Fill makes values: it asks for that of each active parameter, parents first, in order. A Fixed
// one is not asked for. Where two active parameters share a name, the first has it.
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

// Defaults are the values of a trial that nobody chose anything for.
func (s Space) Defaults() Values { return s.Fill(Parameter.Start) }

// Start is the default of a parameter: the least value, the first choice or false where none was
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

// Complete makes values of some that were given: those that are of no active parameter are left
// out, and those that are missing are defaults. A given number is as its parameter has numbers: 1
// is 1.0 to a Float.
func (s Space) Complete(given Values) Values {
	return s.Fill(func(p Parameter) any {
		if value, ok := given.Lookup(p.Name); ok {
			return p.cast(value)
		}
		return p.Start()
	})
}

// Active says whether the conditions of a parameter hold under some values, and those of all its
// ancestors: the value of a parent that is not active itself counts for nothing.
func (s Space) Active(p Parameter, values Values) bool {
	active := make(Values, 0, len(s))
	for _, q := range s {
		if value, ok := values.Lookup(q.Name); ok && q.holds(active) {
			active = append(active, Value{q.Name, value})
		}
	}
	return p.holds(active)
}

// holds says whether the conditions hold, under values that have none of an inactive parent.
func (p Parameter) holds(values Values) bool {
	for _, c := range p.Conditions {
		if value, ok := values.Lookup(c.Parent); !ok || !oneOf(value, c.Values) {
			return false
		}
	}
	return true
}

// cast is a value as a parameter's kind has it.
func (p Parameter) cast(value any) any {
	switch f := toFloat(value); {
	case math.IsNaN(f): // a text
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
