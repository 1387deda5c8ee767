package schemagen

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/example/schemapb"
)

// update makes the schema fit another split.
func (s *Schema) update(o Options, split *Statistics) {
	known := map[string]bool{}
	for _, made := range s.Proto.Feature {
		known[made.GetName()] = true
		if made.GetLifecycleStage() == schemapb.LifecycleStage_DEPRECATED {
			continue
		}
		f := split.features[made.GetName()]
		if f == nil || f.present == 0 {
			if made.GetPresence().GetMinCount() > 0 || made.GetPresence().GetMinFraction() > 0 {
				s.deprecate(made, "no record of split %s has it", split.Split)
			}
			continue
		}
		updateCount(made, f)
		if s.updateShape(made, f, split) {
			s.note(made, "has no fixed number of values in split %s: shape dropped", split.Split)
		}
		updatePresence(made.GetPresence(), f, split)
		if made.GetType() != f.typeOf() {
			s.deprecate(made, "%s in split %s, %s before", f.typeOf(), split.Split, made.GetType())
			continue
		}
		s.updateDomain(made, f, split)
	}
	o.NoShape = true
	for _, f := range split.sorted() {
		if !known[f.name] {
			s.create(o, split, f)
		}
	}
}

func (s *Schema) note(made *schemapb.Feature, format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf("feature %q ", made.GetName())+fmt.Sprintf(format, args...))
}

func (s *Schema) deprecate(made *schemapb.Feature, format string, args ...any) {
	made.LifecycleStage = schemapb.LifecycleStage_DEPRECATED.Enum()
	s.note(made, "is marked DEPRECATED: "+format, args...)
}

func updateCount(made *schemapb.Feature, f *feature) {
	count := made.GetValueCount()
	if count == nil {
		return
	}
	if count.Min != nil && int64(f.fewest) < count.GetMin() {
		count.Min = nil
		if f.fewest > 0 {
			count.Min = proto.Int64(int64(f.fewest))
		}
	}
	if count.Max != nil && int64(f.most) > count.GetMax() {
		count.Max = proto.Int64(int64(f.most))
	}
}

// updateShape says whether it dropped the shape.
func (s *Schema) updateShape(made *schemapb.Feature, f *feature, split *Statistics) bool {
	shape := made.GetShape()
	if shape == nil || f.present == split.records && f.fewest == f.most && int64(f.fewest) == shape.GetDim()[0].GetSize() {
		return false
	}
	made.ShapeType = nil
	return true
}

func updatePresence(presence *schemapb.FeaturePresence, f *feature, split *Statistics) {
	if f.present < presence.GetMinCount() {
		presence.MinCount = proto.Int64(f.present)
	}
	if presence.MinFraction == nil || f.present == split.records {
		return
	}
	if fraction := float64(f.present) / float64(split.records); fraction < presence.GetMinFraction() {
		presence.MinFraction = &fraction
	}
}

func (s *Schema) updateDomain(made *schemapb.Feature, f *feature, split *Statistics) {
	switch domain := made.GetDomainInfo().(type) {
	case *schemapb.Feature_Domain:
		s.updateStrings(made, f, split)
	case *schemapb.Feature_BoolDomain:
		s.updateBool(made, domain.BoolDomain, f, split)
	case *schemapb.Feature_IntDomain:
		s.updateInts(made, domain.IntDomain, f, split)
	}
}

func (s *Schema) drop(made *schemapb.Feature, split *Statistics, why string) {
	made.DomainInfo = nil
	s.note(made, "has %s in split %s: domain dropped", why, split.Split)
}

func (s *Schema) updateStrings(made *schemapb.Feature, f *feature, split *Statistics) {
	at := slices.IndexFunc(s.Proto.StringDomain, func(d *schemapb.StringDomain) bool { return d.GetName() == made.GetDomain() })
	domain := s.Proto.StringDomain[at]
	why := ""
	switch {
	case f.strings.badUTF8:
		why = "invalid UTF-8"
	case f.strings.tooMany:
		why = "too many distinct values"
	}
	if why != "" {
		s.Proto.StringDomain = slices.Delete(s.Proto.StringDomain, at, at+1)
		s.drop(made, split, why)
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

func (s *Schema) updateBool(made *schemapb.Feature, domain *schemapb.BoolDomain, f *feature, split *Statistics) {
	if made.GetType() == schemapb.FeatureType_INT {
		if f.integers.min < 0 || f.integers.max > 1 {
			made.DomainInfo = &schemapb.Feature_IntDomain{IntDomain: &schemapb.IntDomain{Min: &f.integers.min, Max: &f.integers.max}}
			s.note(made, "is no bool in split %s: integers from %d to %d", split.Split, f.integers.min, f.integers.max)
		}
		return
	}
	fits := func(word string) bool {
		return domain.TrueValue != nil && word == domain.GetTrueValue() || domain.FalseValue != nil && word == domain.GetFalseValue()
	}
	if f.strings.tooMany || slices.ContainsFunc(f.strings.sorted(), func(word string) bool { return !fits(word) }) {
		s.drop(made, split, "another word than those for true and false")
	}
}

func (s *Schema) updateInts(made *schemapb.Feature, domain *schemapb.IntDomain, f *feature, split *Statistics) {
	seen := f.integers
	if made.GetType() == schemapb.FeatureType_BYTES {
		if seen = f.strings.integers; f.strings.any && f.strings.notInt {
			s.drop(made, split, "words that are no integers")
			return
		}
	}
	if domain.Min != nil && seen.min < domain.GetMin() {
		domain.Min = &seen.min
	}
	if domain.Max != nil && seen.max > domain.GetMax() {
		domain.Max = &seen.max
	}
}
