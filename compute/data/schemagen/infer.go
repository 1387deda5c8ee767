package schemagen

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

// DefaultMaxStringDomain is the largest number of distinct strings in a domain, unless Options set
// another one.
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

// Schema is an inferred schema.
type Schema struct {
	Proto *schemapb.Schema
	Notes []string // features and domains that a later split removed, and why
}

// Features returns how many features the schema has, including those in a struct.
func (s *Schema) Features() (n int) {
	for _, f := range s.Proto.Feature {
		if f.GetType() == schemapb.FeatureType_STRUCT {
			n += len(f.GetStructDomain().GetFeature())
			continue
		}
		n++
	}
	return n
}

// Infer infers the schema of the first split and updates it with each other one, in that order.
// Features are sorted by name, followed by the struct of feature_lists and by features that only
// later splits have. The same statistics give the same bytes.
func Infer(o Options, splits ...*Statistics) (*Schema, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if err := checkName(splits); err != nil {
		return nil, err
	}
	s := &Schema{Proto: &schemapb.Schema{}}
	for i, split := range splits {
		if split.records == 0 {
			return nil, fmt.Errorf("%w: split %q has no record", example.ErrInput, split.Split)
		}
		if i > 0 {
			s.update(o, split)
			continue
		}
		for _, f := range sorted(split.features) {
			s.Proto.Feature = append(s.Proto.Feature, s.create(o, split, f))
		}
		if split.sequences {
			s.createStruct(o, split)
		}
	}
	if len(s.Proto.Feature) == 0 {
		return nil, fmt.Errorf("%w: the records have no feature", example.ErrInput)
	}
	return s, nil
}

// checkName refuses a feature that has the name of the struct for the feature_lists of any split.
func checkName(splits []*Statistics) error {
	sequences := slices.ContainsFunc(splits, func(s *Statistics) bool { return s.sequences })
	for _, split := range splits {
		if sequences && split.features[SequenceStruct] != nil {
			return fmt.Errorf("%w: split %q has a feature %q: the name is that of the feature_lists in a schema: rename the feature",
				example.ErrInput, split.Split, SequenceStruct)
		}
	}
	return nil
}

func sorted(features map[string]*feature) []*feature {
	return slices.SortedFunc(maps.Values(features), func(a, b *feature) int { return strings.Compare(a.name(), b.name()) })
}

// createStruct adds the struct of the feature_lists. Each record of a split with feature_lists
// counts as one that has it.
func (s *Schema) createStruct(o Options, split *Statistics) {
	domain := &schemapb.StructDomain{}
	made := &schemapb.Feature{
		Name:      proto.String(SequenceStruct),
		Type:      schemapb.FeatureType_STRUCT.Enum(),
		Presence:  &schemapb.FeaturePresence{MinCount: proto.Int64(1), MinFraction: proto.Float64(1)},
		ShapeType: &schemapb.Feature_ValueCount{ValueCount: &schemapb.ValueCount{Min: proto.Int64(1), Max: proto.Int64(1)}},
	}
	for _, f := range sorted(split.steps) {
		domain.Feature = append(domain.Feature, s.create(o, split, f))
	}
	if len(domain.Feature) > 0 {
		made.DomainInfo = &schemapb.Feature_StructDomain{StructDomain: domain}
	}
	s.Proto.Feature = append(s.Proto.Feature, made)
}

// create makes a feature, and its string_domain in the schema.
func (s *Schema) create(o Options, split *Statistics, f *feature) *schemapb.Feature {
	made := &schemapb.Feature{
		Name:     proto.String(f.name()),
		Type:     f.typeOf().Enum(),
		Presence: &schemapb.FeaturePresence{MinCount: proto.Int64(min(f.lists.present, 1))},
	}
	if f.lists.present > 0 {
		levels := split.levels(f)
		if levels[0].present == levels[0].total {
			made.Presence.MinFraction = proto.Float64(1)
		}
		if shape := fixedShape(levels); shape != nil && !o.NoShape {
			made.ShapeType = &schemapb.Feature_Shape{Shape: shape}
		} else {
			createCount(made, levels)
		}
	}
	s.createDomain(o, made, f)
	return made
}

// fixedShape returns nil if a list is missing or if lengths vary.
func fixedShape(levels []valency) *schemapb.FixedShape {
	shape := &schemapb.FixedShape{}
	for _, level := range levels {
		if level.present < level.total || !level.fixed() {
			return nil
		}
		shape.Dim = append(shape.Dim, &schemapb.FixedShape_Dim{Size: proto.Int64(int64(level.fewest))})
	}
	return shape
}

// createCount sets value_count, or value_counts if lists are nested.
func createCount(made *schemapb.Feature, levels []valency) {
	if len(levels) == 1 {
		if levels[0].fewest > 0 {
			made.ShapeType = &schemapb.Feature_ValueCount{ValueCount: countOf(levels[0])}
		}
		return
	}
	list := &schemapb.ValueCountList{}
	for _, level := range levels {
		list.ValueCount = append(list.ValueCount, countOf(level))
	}
	made.ShapeType = &schemapb.Feature_ValueCounts{ValueCounts: list}
}

func countOf(level valency) *schemapb.ValueCount {
	switch {
	case level.fixed():
		return &schemapb.ValueCount{Min: proto.Int64(int64(level.fewest)), Max: proto.Int64(int64(level.most))}
	case level.fewest > 0:
		return &schemapb.ValueCount{Min: proto.Int64(1)}
	}
	return &schemapb.ValueCount{}
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
		name := domainName(f.path)
		s.Proto.StringDomain = append(s.Proto.StringDomain, &schemapb.StringDomain{Name: &name, Value: words})
		made.DomainInfo = &schemapb.Feature_Domain{Domain: name}
	}
}

// boolDomain returns nil unless there is one string for true, one for false, or both.
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

// standardStep matches a step of a path that needs no quotes.
var standardStep = regexp.MustCompile(`^(\([^()]*\)|[^().']+)$`)

// domainName returns the name of a feature's string_domain: its path, in the notation of TensorFlow
// Data Validation.
func domainName(path []string) string {
	steps := make([]string, len(path))
	for i, step := range path {
		if steps[i] = step; !standardStep.MatchString(step) {
			steps[i] = "'" + strings.ReplaceAll(step, "'", "''") + "'"
		}
	}
	return strings.Join(steps, ".")
}
