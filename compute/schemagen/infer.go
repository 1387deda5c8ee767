package schemagen

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/example"
	"github.com/stoker-ml/stoker/compute/example/schemapb"
)

// DefaultMaxStringDomain is how many distinct strings a domain has at most where Options do not say otherwise.
const DefaultMaxStringDomain = 100

// Options are those of TensorFlow Data Validation's infer_schema.
type Options struct {
	NoShape         bool // value_count instead of a shape: infer_feature_shape=False
	MaxStringDomain int  // distinct values of a string_domain, 0 to 1000: max_string_domain_size
}

// Check returns an error if the options are out of range.
func (o Options) Check() error {
	if o.MaxStringDomain < 0 || o.MaxStringDomain > maxDistinct {
		return fmt.Errorf("string domain of up to %d values: expected 0 to %d", o.MaxStringDomain, maxDistinct)
	}
	return nil
}

// Schema is what was inferred.
type Schema struct {
	Proto *schemapb.Schema
	Notes []string // features and domains that a later split took away, and why
}

// Infer infers the schema of the first split and updates it with each other one, in that order. Features are sorted by name;
// those that only a later split has come last. The same statistics give the same bytes.
func Infer(o Options, splits ...*Statistics) (*Schema, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	s := &Schema{Proto: &schemapb.Schema{}}
	for i, split := range splits {
		if split.records == 0 {
			return nil, fmt.Errorf("%w: split %q has no record", example.ErrInput, split.Split)
		}
		if i == 0 {
			for _, f := range split.sorted() {
				s.create(o, split, f)
			}
			continue
		}
		s.update(o, split)
	}
	if len(s.Proto.Feature) == 0 {
		return nil, fmt.Errorf("%w: the records have no feature", example.ErrInput)
	}
	return s, nil
}

func (s *Statistics) sorted() []*feature {
	return slices.SortedFunc(maps.Values(s.features), func(a, b *feature) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
}

// create adds a feature.
func (s *Schema) create(o Options, split *Statistics, f *feature) {
	made := &schemapb.Feature{Name: &f.name, Type: f.typeOf().Enum(), Presence: &schemapb.FeaturePresence{MinCount: proto.Int64(min(f.present, 1))}}
	s.Proto.Feature = append(s.Proto.Feature, made)
	if f.present > 0 {
		always := f.present == split.records
		if always {
			made.Presence.MinFraction = proto.Float64(1)
		}
		fixed := f.fewest == f.most && f.fewest > 0
		switch {
		case always && fixed && !o.NoShape:
			size := int64(f.fewest)
			made.ShapeType = &schemapb.Feature_Shape{Shape: &schemapb.FixedShape{Dim: []*schemapb.FixedShape_Dim{{Size: &size}}}}
		case fixed:
			count := int64(f.fewest)
			made.ShapeType = &schemapb.Feature_ValueCount{ValueCount: &schemapb.ValueCount{Min: &count, Max: &count}}
		case f.fewest > 0:
			made.ShapeType = &schemapb.Feature_ValueCount{ValueCount: &schemapb.ValueCount{Min: proto.Int64(1)}}
		}
	}
	s.createDomain(o, made, f)
}

var (
	trueWords  = []string{"TRUE", "true", "SET", "set", "1", ""}
	falseWords = []string{"FALSE", "false", "CLEAR", "clear", "0"}
)

func (s *Schema) createDomain(o Options, made *schemapb.Feature, f *feature) {
	words := f.strings.sorted()
	switch domain := boolDomain(words); {
	case f.kind == example.Int64 && f.integers.min >= 0 && f.integers.max == 1:
		made.DomainInfo = &schemapb.Feature_BoolDomain{BoolDomain: &schemapb.BoolDomain{}}
	case f.kind != example.Bytes || !f.strings.any || f.strings.badUTF8:
	case domain != nil:
		made.DomainInfo = &schemapb.Feature_BoolDomain{BoolDomain: domain}
	case !f.strings.notInt:
		made.DomainInfo = &schemapb.Feature_IntDomain{IntDomain: &schemapb.IntDomain{}}
	case !f.strings.tooMany && len(words) <= o.MaxStringDomain:
		s.Proto.StringDomain = append(s.Proto.StringDomain, &schemapb.StringDomain{Name: &f.name, Value: words})
		made.DomainInfo = &schemapb.Feature_Domain{Domain: f.name}
	}
}

// boolDomain is nil for words that are not one word for true, one for false, or one of both.
func boolDomain(words []string) *schemapb.BoolDomain {
	if len(words) == 0 || len(words) > 2 {
		return nil
	}
	domain := &schemapb.BoolDomain{}
	for _, word := range words {
		switch {
		case domain.TrueValue == nil && slices.Contains(trueWords, word):
			domain.TrueValue = &word
		case domain.FalseValue == nil && slices.Contains(falseWords, word):
			domain.FalseValue = &word
		default:
			return nil
		}
	}
	return domain
}
