package space

// Contains says whether values lie in the space: those of its active parameters are within their
// ranges, or among their choices, or their defaults. What they lack has its default, and what is of
// no parameter, or of none that is active, counts for nothing.
func (s Space) Contains(values Values) bool {
	_, outside := s.Outside(values)
	return !outside
}

// Outside is the first active parameter that doesn't take its value; false if the space contains
// the values.
func (s Space) Outside(values Values) (first Parameter, outside bool) {
	s.Fill(func(p Parameter) any {
		value, given := values.Lookup(p.Name)
		if !given {
			return p.Start()
		}
		value = p.cast(value)
		if !outside && !p.takes(value) && !same(value, p.Start()) {
			first, outside = p, true
		}
		return value
	})
	return first, outside
}

// takes says whether a value of the parameter's kind is one of it, or lies between two of them.
func (p Parameter) takes(value any) bool {
	switch p.Kind {
	case Int, Float:
		_, whole := value.(int64)
		number := toFloat(value) // no number of a text
		return number >= p.Min && number <= p.Max && (whole || p.Kind == Float)
	case Choice:
		return oneOf(value, p.Choices)
	case Boolean:
		_, truth := value.(bool)
		return truth
	}
	return true
}
