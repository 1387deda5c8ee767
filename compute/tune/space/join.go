package space

import "slices"

// Join adds the parameters of another space that are not known yet, in their order, but each after
// its parents. What is known stays as it is, whatever the other space says of its range.
func (s Space) Join(found Space) Space {
	joined := slices.Clone(s)
	left := slices.Clone(found)
	for len(left) > 0 {
		next := max(slices.IndexFunc(left, func(p Parameter) bool { return !p.awaits(left) }), 0)
		if p := left[next]; !joined.knows(p) {
			joined = append(joined, p)
		}
		left = slices.Delete(left, next, next+1)
	}
	return joined
}

// awaits says whether a parent stands among some parameters.
func (p Parameter) awaits(others Space) bool {
	return slices.ContainsFunc(p.Conditions, func(c Condition) bool {
		return slices.ContainsFunc(others, func(q Parameter) bool { return q.Name == c.Parent })
	})
}

// knows says whether a parameter of the same name and conditions is in a space.
func (s Space) knows(p Parameter) bool {
	return slices.ContainsFunc(s, func(q Parameter) bool { return p.Is(q) })
}

// Is says whether two parameters are one: by their name and conditions, whatever their ranges.
func (p Parameter) Is(q Parameter) bool {
	return p.Name == q.Name && slices.EqualFunc(p.Conditions, q.Conditions, func(a, b Condition) bool {
		return a.Parent == b.Parent && slices.EqualFunc(a.Values, b.Values, same)
	})
}
