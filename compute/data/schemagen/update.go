package schemagen

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

// update makes the schema fit another split.
func (s *Schema) update(o Options, split *Statistics) {
	o.NoShape = true
	u := update{s, split, "feature"}
	var sequence *schemapb.Feature
	known := map[string]bool{}
	for _, made := range s.Proto.Feature {
		known[made.GetName()] = true
		if made.GetType() == schemapb.FeatureType_STRUCT {
			sequence = made
			continue
		}
		u.feature(made, split.features[made.GetName()])
	}
	for _, f := range sorted(split.features) {
		if !known[f.name()] {
			s.Proto.Feature = append(s.Proto.Feature, s.create(o, split, f))
		}
	}
	switch {
	case sequence != nil:
		u.sequence(o, sequence)
	case split.sequences:
		s.createStruct(o, split)
	}
}

// update is the change of a schema by one split.
type update struct {
	*Schema
	split *Statistics
	what  string // the name of made, for notes
}

// sequence updates the struct of feature_lists.
func (u update) sequence(o Options, sequence *schemapb.Feature) {
	if deprecated(sequence) {
		return
	}
	if !u.split.sequences {
		u.deprecate(sequence, "no record of split %s has feature_lists", u.split.Split)
	}
	u.what = "feature list"
	known := map[string]bool{}
	for _, made := range sequence.GetStructDomain().GetFeature() {
		known[made.GetName()] = true
		u.feature(made, u.split.steps[made.GetName()])
	}
	for _, f := range sorted(u.split.steps) {
		if known[f.name()] {
			continue
		}
		if sequence.GetStructDomain() == nil {
			sequence.DomainInfo = &schemapb.Feature_StructDomain{StructDomain: &schemapb.StructDomain{}}
		}
		domain := sequence.GetStructDomain()
		domain.Feature = append(domain.Feature, u.create(o, u.split, f))
	}
}

func deprecated(made *schemapb.Feature) bool {
	return made.GetLifecycleStage() == schemapb.LifecycleStage_DEPRECATED
}

// feature updates one feature. f is nil if the split does not have it.
func (u update) feature(made *schemapb.Feature, f *feature) {
	if deprecated(made) {
		return
	}
	if f == nil || f.lists.present == 0 {
		if made.GetPresence().GetMinCount() > 0 || made.GetPresence().GetMinFraction() > 0 {
			u.deprecate(made, "no record of split %s has it", u.split.Split)
		}
		return
	}
	levels := u.split.levels(f)
	updateCounts(made, levels)
	if dropShape(made, levels) {
		u.note(made, "has no fixed number of values in split %s: shape dropped", u.split.Split)
	}
	updatePresence(made.GetPresence(), levels[0])
	if made.GetType() != f.typeOf() {
		u.deprecate(made, "%s in split %s, %s before", f.typeOf(), u.split.Split, made.GetType())
	}
	u.domain(made, f)
}

func (u update) note(made *schemapb.Feature, format string, args ...any) {
	u.Notes = append(u.Notes, fmt.Sprintf("%s %q ", u.what, made.GetName())+fmt.Sprintf(format, args...))
}

func (u update) deprecate(made *schemapb.Feature, format string, args ...any) {
	made.LifecycleStage = schemapb.LifecycleStage_DEPRECATED.Enum()
	u.note(made, "is marked DEPRECATED: "+format, args...)
}

// updateCounts updates value_count or value_counts, whichever is set.
func updateCounts(made *schemapb.Feature, levels []valency) {
	if count := made.GetValueCount(); count != nil {
		updateCount(count, levels[0])
	}
	for i, count := range made.GetValueCounts().GetValueCount() {
		updateCount(count, levels[i])
	}
}

func updateCount(count *schemapb.ValueCount, level valency) {
	if count.Min != nil && int64(level.fewest) < count.GetMin() {
		count.Min = nil
		if level.fewest > 0 {
			count.Min = proto.Int64(int64(level.fewest))
		}
	}
	if count.Max != nil && int64(level.most) > count.GetMax() {
		count.Max = proto.Int64(int64(level.most))
	}
}

// dropShape removes a shape if a list is missing, lengths vary or the shape has another number of
// values. It returns whether it did.
func dropShape(made *schemapb.Feature, levels []valency) bool {
	if made.GetShape() == nil {
		return false
	}
	if seen := fixedShape(levels); seen != nil && valuesOf(seen) == valuesOf(made.GetShape()) {
		return false
	}
	made.ShapeType = nil
	return true
}

// valuesOf returns how many values a shape has. Shapes with the same number are the same to
// TensorFlow Data Validation.
func valuesOf(shape *schemapb.FixedShape) int64 {
	n := int64(1)
	for _, dim := range shape.GetDim() {
		n *= dim.GetSize()
	}
	return n
}

func updatePresence(presence *schemapb.FeaturePresence, records valency) {
	if records.present < presence.GetMinCount() {
		presence.MinCount = proto.Int64(records.present)
	}
	if presence.MinFraction == nil || records.present == records.total {
		return
	}
	if fraction := float64(records.present) / float64(records.total); fraction < presence.GetMinFraction() {
		presence.MinFraction = &fraction
	}
}

// domain updates a domain with the values of the split, of whatever kind they are. Without values,
// a domain stays.
func (u update) domain(made *schemapb.Feature, f *feature) {
	switch domain := made.GetDomainInfo().(type) {
	case *schemapb.Feature_Domain:
		u.strings(made, f)
	case *schemapb.Feature_BoolDomain:
		u.bool(made, domain.BoolDomain, f)
	case *schemapb.Feature_IntDomain:
		u.ints(made, domain.IntDomain, f)
	}
}

func (u update) drop(made *schemapb.Feature, why string) {
	made.DomainInfo = nil
	u.note(made, "has %s in split %s: domain dropped", why, u.split.Split)
}

func (u update) strings(made *schemapb.Feature, f *feature) {
	at := slices.IndexFunc(u.Proto.StringDomain, func(d *schemapb.StringDomain) bool { return d.GetName() == made.GetDomain() })
	domain := u.Proto.StringDomain[at]
	why := ""
	switch {
	case f.strings.badUTF8:
		why = "invalid UTF-8"
	case f.strings.tooMany:
		why = "too many distinct values"
	}
	if why != "" {
		u.Proto.StringDomain = slices.Delete(u.Proto.StringDomain, at, at+1)
		u.drop(made, why)
		return
	}
	known := map[string]bool{}
	for _, word := range domain.Value {
		known[word] = true
	}
	for _, word := range f.strings.sorted() {
		if !known[word] {
			domain.Value = append(domain.Value, word)
		}
	}
}

func (u update) bool(made *schemapb.Feature, domain *schemapb.BoolDomain, f *feature) {
	switch f.kind {
	case example.Int64:
		if f.integers.min < 0 || f.integers.max > 1 {
			made.DomainInfo = &schemapb.Feature_IntDomain{IntDomain: &schemapb.IntDomain{Min: &f.integers.min, Max: &f.integers.max}}
			u.note(made, "is no bool in split %s: integers from %d to %d", u.split.Split, f.integers.min, f.integers.max)
		}
	case example.Bytes:
		fits := func(word string) bool {
			return domain.TrueValue != nil && word == domain.GetTrueValue() || domain.FalseValue != nil && word == domain.GetFalseValue()
		}
		if f.strings.tooMany || slices.ContainsFunc(f.strings.sorted(), func(word string) bool { return !fits(word) }) {
			u.drop(made, "another word than those for true and false")
		}
	}
}

func (u update) ints(made *schemapb.Feature, domain *schemapb.IntDomain, f *feature) {
	seen := f.integers
	switch {
	case f.kind != example.Int64 && !f.strings.any:
		return
	case f.kind != example.Int64 && f.strings.notInt:
		u.drop(made, "words that are no integers")
		return
	case f.kind != example.Int64:
		seen = f.strings.integers
	}
	if domain.Min != nil && seen.min < domain.GetMin() {
		domain.Min = &seen.min
	}
	if domain.Max != nil && seen.max > domain.GetMax() {
		domain.Max = &seen.max
	}
}
