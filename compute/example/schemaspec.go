package example

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/example/schemapb"
)

// sequenceStruct is the name of the struct under which a schema keeps the feature_lists of tf.SequenceExamples
// (tfx_bsl/tfxio/tf_sequence_example_record.py).
const sequenceStruct = "##SEQUENCE##"

// Spec is how TensorFlow reads examples of this schema: a feature with a shape is FixedLen and must be there, all others are
// VarLen; a dense tensor representation may give a default (schema_as_feature_spec of tf.Transform, and
// TensorRepresentations of tfx_bsl). Features that are deprecated or not yet in production are left out.
//
// The index and value features of a sparse_feature are columns of their own; putting them together is the reader's business.
func (s *Schema) Spec() (Spec, error) {
	if s.proto.GetGenerateLegacyFeatureSpec() {
		return nil, s.bad(errors.New("generate_legacy_feature_spec is set, which no released TensorFlow reads"))
	}
	spec, err := s.features(s.proto.GetFeature())
	if err != nil {
		return nil, s.bad(err)
	}
	if err := s.represent(spec); err != nil {
		return nil, s.bad(err)
	}
	slices.SortFunc(spec, func(a, b Feature) int { return strings.Compare(a.Name, b.Name) })
	if err := spec.Validate(); err != nil {
		return nil, s.bad(err)
	}
	return spec, nil
}

// EnvironmentSpec is Spec for one environment, as TensorFlow Metadata defines it: features that name another one, or exclude
// this one, are left out. Labels are often marked so for SERVING.
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

func (s *Schema) features(protos []*schemapb.Feature) (Spec, error) {
	var spec Spec
	for _, p := range protos {
		if !inUse(p) {
			continue
		}
		if p.GetType() == schemapb.FeatureType_STRUCT && p.GetName() == sequenceStruct {
			steps, err := s.features(p.GetStructDomain().GetFeature())
			if err != nil {
				return nil, err
			}
			for _, f := range steps {
				f.Sequence = true
				spec = append(spec, f)
			}
			continue
		}
		f, err := s.feature(p)
		if err != nil {
			return nil, fmt.Errorf("feature %q: %w", p.GetName(), err)
		}
		spec = append(spec, f)
	}
	return spec, nil
}

// inUse is tf.Transform's _include_in_parsing_spec.
func inUse(p *schemapb.Feature) bool {
	switch p.GetLifecycleStage() {
	case schemapb.LifecycleStage_DEPRECATED, schemapb.LifecycleStage_PLANNED, schemapb.LifecycleStage_ALPHA, schemapb.LifecycleStage_DEBUG_ONLY:
		return false
	}
	return !p.GetDeprecated()
}

func (s *Schema) feature(p *schemapb.Feature) (Feature, error) {
	kinds := map[schemapb.FeatureType]Kind{schemapb.FeatureType_BYTES: Bytes, schemapb.FeatureType_INT: Int64, schemapb.FeatureType_FLOAT: Float}
	f := Feature{Name: p.GetName(), Kind: kinds[p.GetType()]}
	if f.Kind == 0 {
		return f, fmt.Errorf("type %v is none of BYTES, INT, FLOAT", p.GetType())
	}
	if p.GetShape() != nil {
		if fraction := p.GetPresence().GetMinFraction(); fraction != 1 {
			return f, fmt.Errorf("shape is set but presence.min_fraction is %v, not 1: use value_count where the feature may be absent", fraction)
		}
		f.Shape = dims(p.GetShape())
	}
	s.setDomain(&f, p)
	return f, nil
}

func dims(shape *schemapb.FixedShape) []int {
	sizes := make([]int, len(shape.GetDim()))
	for i, d := range shape.GetDim() {
		sizes[i] = int(d.GetSize())
	}
	return sizes
}

// setDomain keeps the domains that say which values there are. A reference to a domain that is not there counts as none, as it
// does in TensorFlow.
func (s *Schema) setDomain(f *Feature, p *schemapb.Feature) {
	f.Vocabulary = p.GetStringDomain().GetValue()
	ints := p.GetIntDomain()
	if name := p.GetDomain(); name != "" {
		for _, d := range s.proto.GetStringDomain() {
			if d.GetName() == name {
				f.Vocabulary = d.GetValue()
			}
		}
		for _, d := range s.proto.GetIntDomain() {
			if d.GetName() == name {
				ints = d
			}
		}
	}
	f.Categorical = ints.GetIsCategorical()
	if ints != nil && (ints.Min != nil || ints.Max != nil) {
		f.IntRange = &Range{Min: math.MinInt64, Max: math.MaxInt64}
		if ints.Min != nil {
			f.IntRange.Min = ints.GetMin()
		}
		if ints.Max != nil {
			f.IntRange.Max = ints.GetMax()
		}
	}
}
