package space

// Contains says whether values lie in the space: those of its active parameters within their ranges, or among their choices. What they
// lack has its default, and what is of no parameter, or of none that is active, counts for nothing.
func (s Space) Contains(values Values) bool {
	_, outside := s.Outside(values)
	return !outside
}

// Outside is the first active parameter that doesn't take its value; false if the space contains the values.
func (s Space) Outside(values Values) (Parameter, bool) {
	for _, p := range s {
		if value, given := values.Lookup(p.Name); given && s.Active(p, values) && !p.takes(value) {
			return p, true
		}
	}
	return Parameter{}, false
}

// takes says whether a value is one of the parameter's, or lies between two of them.
func (p Parameter) takes(value any) bool {
	switch p.Kind {
	case Int, Float:
		number := toFloat(value) // no number of a text
		return number >= p.Min && number <= p.Max
	case Choice:
		return oneOf(value, p.Choices)
	}
	return true
}
