package space

import (
	"iter"
	"slices"
)

// maxSize is up to where points are counted.
const maxSize = 1_000_000

// Size returns how many points a space has; 0 if they are infinitely many, or more than a million.
func (s Space) Size() int {
	for _, p := range s {
		if p.Count() == 0 {
			return 0
		}
	}
	n := 1
	for _, part := range s.parts() {
		left := part.size(nil, maxSize/n)
		if left > maxSize/n {
			return 0
		}
		n *= left
	}
	return n
}

// size counts the points of a space whose first values are given, up to one more than a limit.
func (s Space) size(given Values, bound int) int {
	if len(s) == 0 {
		return 1
	}
	p, rest := s[0], s[1:]
	_, known := given.Lookup(p.Name)
	switch {
	case known || !p.holds(given):
		return rest.size(given, bound)
	case p.Count() > bound: // each value has at least one point
		return bound + 1
	case !rest.HasChild(p):
		n := rest.size(given.With(p.Name, p.nth(0)), bound/p.Count()) // whatever its value is
		return min(n*p.Count(), bound+1)
	}
	n := 0
	for value := range p.each() {
		if n += rest.size(given.With(p.Name, value), bound-n); n > bound {
			break
		}
	}
	return min(n, bound+1)
}

// HasChild reports whether any parameter depends on this one.
func (s Space) HasChild(of Parameter) bool {
	return slices.ContainsFunc(s, func(p Parameter) bool {
		return slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Parent == of.Name })
	})
}

// parts splits a space into spaces that don't depend on each other.
func (s Space) parts() []Space {
	of := map[string]int{} // by name
	part := func(name string) int {
		if _, ok := of[name]; !ok {
			of[name] = len(of)
		}
		return of[name]
	}
	for _, p := range s {
		own := part(p.Name)
		for _, c := range p.Conditions {
			parent := part(c.Parent)
			for name, at := range of {
				if at == parent {
					of[name] = own
				}
			}
		}
	}
	parts := make([]Space, len(of))
	for _, p := range s {
		parts[of[p.Name]] = append(parts[of[p.Name]], p)
	}
	return parts
}

// Points iterates over every point of a finite space, varying the last parameter first. For an
// infinite space it yields nothing.
func (s Space) Points() iter.Seq[Values] { return s.Walk(Parameter.each) }

// Walk iterates over the points that consist of some values of each parameter, like an odometer:
// the last parameter varies fastest, so children take all their values before their parent takes
// its next. A Fixed parameter has only its own value.
func (s Space) Walk(of func(Parameter) iter.Seq[any]) iter.Seq[Values] {
	return func(yield func(Values) bool) { s.walk(nil, of, yield) }
}

// walk iterates over those whose first values are given. It returns whether to continue.
func (s Space) walk(given Values, of func(Parameter) iter.Seq[any], yield func(Values) bool) bool {
	if len(s) == 0 {
		return yield(given)
	}
	p, rest := s[0], s[1:]
	switch _, known := given.Lookup(p.Name); {
	case known || !p.holds(given):
		return rest.walk(given, of, yield)
	case p.Kind == Fixed:
		return rest.walk(given.With(p.Name, p.Fixed), of, yield)
	}
	for value := range of(p) {
		if !rest.walk(given.With(p.Name, value), of, yield) {
			return false
		}
	}
	return true
}
