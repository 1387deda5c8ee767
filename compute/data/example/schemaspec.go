package example

import (
	"fmt"
	"reflect"
	"slices"
)

// Spec is what is read of each record for the schema's Tensors: the feature of each, and those that
// hold places or row lengths, which are columns of their own; putting tensors together is the
// reader's business. A feature with a FixedLen tensor must be there unless it has a default; one
// with tensors of other layouts, or of several, is read with any number of values.
func (s *Schema) Spec() (Spec, error) {
	tensors, err := s.Tensors()
	if err != nil {
		return nil, err
	}
	var spec Spec
	for _, t := range tensors {
		for _, f := range t.columns() {
			if spec, err = spec.merge(f); err != nil {
				return nil, s.bad(fmt.Errorf("tensor %q: %w", t.Name, err))
			}
		}
	}
	slices.SortFunc(spec, func(a, b Feature) int { return a.compare(b) })
	if err := spec.Validate(); err != nil {
		return nil, s.bad(err)
	}
	return spec, nil
}

// merge adds a feature, or reads one that is there in a way that suits both.
func (s Spec) merge(f Feature) (Spec, error) {
	i := slices.IndexFunc(s, func(g Feature) bool { return g.Name == f.Name && g.Sequence == f.Sequence })
	if i < 0 {
		return append(s, f), nil
	}
	if s[i].Kind != f.Kind {
		return s, fmt.Errorf("feature %q is read as %v here and as %v by another tensor", f.Name, f.Kind, s[i].Kind)
	}
	if !slices.Equal(s[i].Shape, f.Shape) || (s[i].Shape == nil) != (f.Shape == nil) || !reflect.DeepEqual(s[i].Default, f.Default) {
		s[i].Shape, s[i].Default = nil, nil
	}
	return s, nil
}

// EnvironmentSpec is Spec for one environment, as TensorFlow Metadata defines it: features that
// name another one, or exclude this one, are left out. Labels are often marked so for SERVING.
func (s *Schema) EnvironmentSpec(environment string) (Spec, error) {
	spec, err := s.Spec()
	if err != nil {
		return nil, err
	}
	var absent []string
	for _, f := range s.proto.GetFeature() {
		in := slices.Contains(s.proto.GetDefaultEnvironment(), environment) || slices.Contains(f.GetInEnvironment(), environment)
		if !in || slices.Contains(f.GetNotInEnvironment(), environment) {
			absent = append(absent, f.GetName())
		}
	}
	return spec.Without(absent...), nil
}

func (s *Schema) bad(err error) error { return inputError{fmt.Errorf("schema %s: %w", s.name, err)} }
