package example

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

// Tensors returns the feature spec that TensorFlow makes from this schema, sorted by name:
// schema_as_feature_spec of tf.Transform 1.21 on TensorFlow 2.21, errors included. A feature with a
// shape is FixedLen and must always be present, all others are VarLen, sparse features are Sparse;
// the default group of tensor representations overrides that. Features that are deprecated or not
// yet in production are left out.
//
// A schema with a struct is one of tf.SequenceExamples: the struct's features are their
// feature_lists, each a Ragged tensor. If such a schema has no tensor representations, which
// tf.Transform requires, they are inferred as tfx_bsl does when it reads.
func (s *Schema) Tensors() ([]TensorSpec, error) {
	if s.proto.GetGenerateLegacyFeatureSpec() {
		return nil, s.bad(errors.New("generate_legacy_feature_spec is set, which no released TensorFlow reads"))
	}
	parse := s.tensors
	if slices.ContainsFunc(s.proto.GetFeature(), isStruct) {
		parse = s.sequenceTensors
	}
	all, err := parse()
	if err != nil {
		return nil, s.bad(err)
	}
	slices.SortFunc(all, func(a, b TensorSpec) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func isStruct(f *schemapb.Feature) bool { return f.GetType() == schemapb.FeatureType_STRUCT }

func (s *Schema) tensors() (all []TensorSpec, err error) {
	reps, err := s.representations()
	if err != nil {
		return nil, err
	}
	features := map[string]*schemapb.Feature{}
	for _, f := range s.proto.GetFeature() {
		features[f.GetName()] = f
	}
	return s.represent(reps, func(path []string) (*schemapb.Feature, error) {
		switch f := features[strings.Join(path, ".")]; {
		case len(path) == 0:
			return nil, errors.New("feature_path is empty")
		case f == nil || len(path) > 1:
			return nil, fmt.Errorf("the schema has no feature %q", strings.Join(path, "."))
		default:
			return f, nil
		}
	})
}

// sequenceTensors returns those of a schema of tf.SequenceExamples
// (CreateTfSequenceExampleParserConfig of tfx_bsl).
func (s *Schema) sequenceTensors() (all []TensorSpec, err error) {
	var reps representations
	if group, own := s.proto.GetTensorRepresentationGroup()[""]; own {
		reps = group.GetTensorRepresentation()
	} else if reps, err = s.infer(); err != nil {
		return nil, err
	}
	features := map[string]*schemapb.Feature{}
	if err := primitives(features, "", s.proto.GetFeature()); err != nil {
		return nil, err
	}
	return s.represent(reps, func(path []string) (*schemapb.Feature, error) {
		f := features[pathKey(path)]
		switch {
		case f == nil:
			return nil, fmt.Errorf("the schema has no feature %q", strings.Join(path, "."))
		case len(path) > 2:
			return nil, fmt.Errorf("feature %q is in a struct inside a struct: one level is read only", strings.Join(path, "."))
		}
		return f, nil
	})
}

// pathKey makes a key from a path: no name contains a zero byte on purpose.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// primitives finds all features that are not structs, by path.
func primitives(found map[string]*schemapb.Feature, above string, features []*schemapb.Feature) error {
	for _, f := range features {
		if !isStruct(f) {
			found[above+f.GetName()] = f
			continue
		}
		if len(f.GetStructDomain().GetSparseFeature()) > 0 {
			return fmt.Errorf("feature %q: %w", f.GetName(), errStructOfSparse)
		}
		if err := primitives(found, above+f.GetName()+"\x00", f.GetStructDomain().GetFeature()); err != nil {
			return err
		}
	}
	return nil
}

// represent makes a tensor of each representation. find returns the feature at a path, or what is
// wrong with that.
func (s *Schema) represent(reps representations, find func(path []string) (*schemapb.Feature, error)) (all []TensorSpec, err error) {
	for _, name := range slices.Sorted(maps.Keys(reps)) {
		path, err := valuePath(reps[name])
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		f, err := find(path)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		t, err := represent(reps[name], f)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		t.Name, t.Sequence = name, len(path) == 2
		s.setDomain(&t, f)
		all = append(all, t)
	}
	return all, nil
}
